"""Take over the sources of a configuration file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from memoryhub.domain import prompts, spaces
from memoryhub.errors import Invalid
from memoryhub.management.base import HubCommand
from memoryhub.models import HUB


class Command(HubCommand):
    help = 'Take over the sources of a configuration: {"memory_files": ["/memories/AGENTS.md", …]}.'
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("config", metavar="CONFIG.json")
        parser.add_argument("--space", default="main", metavar="SLUG", help="default: main")

    def run(self, **options: Any) -> dict[str, Any]:
        space = spaces.get_by_slug(options["space"])
        try:
            text = Path(options["config"]).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise Invalid(f"{options['config']} cannot be read: {error}.", code="no_config") from None
        made = prompts.take_over_sources(space, HUB, text)
        return {"space": space.slug, "sources": [source.shown for source in made]}

    def say(self, answer: dict[str, Any]) -> str:
        return "\n".join([f"Sources of {answer['space']}, in this order:", *answer["sources"]])
