"""Connect an agent: memoryhub agent add NAME; another token for one: memoryhub agent token NAME."""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction
from django.utils import timezone

from memoryhub.domain import accounts, prompts, spaces
from memoryhub.management.base import HubCommand
from memoryhub.models import HUB, Scope


def days(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 36_500:
        raise ArgumentTypeError("a number from 1 to 36500")
    return int(text)


class Command(HubCommand):
    help = "Create an agent, or another token for one, and print the token once."
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("verb", choices=["add", "token"])
        parser.add_argument("name")
        parser.add_argument("--space", default="main")
        parser.add_argument("--dialect", default="auto", help="of a new agent; default: auto, what its calls ask for")
        parser.add_argument("--description", default="", help="of a new agent")
        scopes = "what the token may do; may be given several times; default: everything that agents may"
        parser.add_argument("--scope", action="append", choices=Scope.values, dest="scopes", help=scopes)
        parser.add_argument("--days", type=days, help="the token ends after so many days; default: when it is revoked")

    @transaction.atomic
    def run(self, **options: Any) -> dict[str, Any]:
        space, name = spaces.get_by_slug(options["space"]), options["name"]
        self.is_new = options["verb"] == "add"
        if not self.is_new:
            agent = prompts.agent_by_name(space, name)
        else:
            values = {"dialect": options["dialect"], "description": options["description"]}
            agent = prompts.create_agent(space, HUB, name, **values)
        ends = timezone.now() + timedelta(days=options["days"]) if options["days"] is not None else None
        given = {"label": "command line", "scopes": options["scopes"], "expires_at": ends}
        _, secret = accounts.create_token(space, HUB, agent=agent, **given)
        return {"agent": agent.slug, "space": space.slug, "token": secret}

    def say(self, answer: dict[str, Any]) -> str:
        agent, space = answer["agent"], answer["space"]
        said = (
            f"Created the agent {agent} in {space}."
            if self.is_new
            else f"Created another token for {agent} in {space}."
        )
        return f"{said} The token is shown only once:\n{answer['token']}"
