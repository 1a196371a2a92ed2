"""Reject a proposal with a reason."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from memoryhub.domain import proposals
from memoryhub.management import deciding
from memoryhub.management.base import HubCommand


class Command(HubCommand):
    help = "Reject a proposal; the agent reads the reason."
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("number", type=int, metavar="N")
        parser.add_argument("--note", required=True, metavar="TEXT", help="the reason; the agent reads it")
        deciding.add_arguments(parser)

    def run(self, **options: Any) -> dict[str, Any]:
        space, actor = deciding.space_and_actor(options)
        done = proposals.reject(space, actor, options["number"], note=options["note"])
        return {"proposal": proposals.as_json(done), "revision": None}

    def say(self, answer: dict[str, Any]) -> str:
        return f"Rejected proposal {answer['proposal']['number']}."
