"""Connect an agent: memoryhub agent add NAME."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from memoryhub.domain import prompts, spaces
from memoryhub.management.base import HubCommand
from memoryhub.models import HUB


class Command(HubCommand):
    help = "Create an agent and print its token once."
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("verb", choices=["add"])
        parser.add_argument("name")
        parser.add_argument("--space", default="main")
        parser.add_argument("--dialect", default="auto", help="default: auto, what its calls ask for")
        parser.add_argument("--description", default="")

    @transaction.atomic
    def run(self, **options: Any) -> dict[str, Any]:
        space = spaces.get_by_slug(options["space"])
        values = {"dialect": options["dialect"], "description": options["description"]}
        agent, _, secret = prompts.connect_agent(space, HUB, options["name"], token_label="command line", **values)  # noqa: S106
        return {"agent": agent.slug, "space": space.slug, "token": secret}

    def say(self, answer: dict[str, Any]) -> str:
        return f"Created the agent {answer['agent']} in {answer['space']}. Its token is shown only once:\n{answer['token']}"
