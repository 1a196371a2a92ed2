"""Append a path to what is injected into prompts."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from memoryhub.domain import prompts, spaces
from memoryhub.management.base import HubCommand
from memoryhub.models import HUB


class Command(HubCommand):
    help = "Add a source: a path whose text is put into the prompts of every agent, or of one."
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("action", choices=["add"])
        parser.add_argument("path", metavar="PATH", help="such as /memories/AGENTS.md; the file may be created later")
        parser.add_argument("--space", default="main", metavar="SLUG", help="default: main")
        parser.add_argument("--agent", metavar="NAME", help="only for this agent")

    def run(self, **options: Any) -> dict[str, Any]:
        space = spaces.get_by_slug(options["space"])
        agent = prompts.agent_by_name(space, options["agent"]) if options["agent"] else None
        source = prompts.add_source(space, HUB, options["path"], agent=agent)
        listed = prompts.check_sources(space, prompts.sources_of(space, agent))
        mine = next(row for row in listed if row.source.pk == source.pk)
        return {
            "space": space.slug, "agent": agent.slug if agent else None, "path": source.shown, "status": mine.status,
            "repeated": mine.is_repeated, "mounted": mine.mount is not None, "sources": [row.source.shown for row in listed],
        }  # fmt: skip

    def say(self, answer: dict[str, Any]) -> str:
        lines = [f"{answer['path']} is source {len(answer['sources'])} ({answer['status']})."]
        if answer["repeated"]:
            lines.append("Warning: this path is in the list twice, so prompts show it twice.")
        if not answer["mounted"]:
            lines.append("Warning: nothing is mounted there yet, so it stays missing.")
        return "\n".join(lines)
