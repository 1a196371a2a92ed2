"""Make a space: memoryhub space add SLUG."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from memoryhub.domain import spaces
from memoryhub.domain.accounts import hub_owner
from memoryhub.management.base import HubCommand
from memoryhub.models import HUB, Role


class Command(HubCommand):
    help = "Create an empty space: no mounts, no sources."
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("verb", choices=["add"])
        parser.add_argument("slug", help="its address: small letters, digits and hyphens")
        parser.add_argument("--name", default="", help="the name that pages show")

    def run(self, **options: Any) -> dict[str, Any]:
        space = spaces.create(HUB, options["slug"], options["name"])
        # Somebody must be able to open it in the browser: whoever owns the hub.
        spaces.add_member(space, HUB, hub_owner(), Role.OWNER)
        return {"space": space.slug, "name": space.name}

    def say(self, answer: dict[str, Any]) -> str:
        return f"Created the space {answer['space']}. Next: memoryhub mount add /memories/ --database --space {answer['space']}"
