"""Take a framework's template text from the installed library or from a wheel: template import deepagents [--wheel FILE]."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from memoryhub.domain import prompts
from memoryhub.management.base import HubCommand


class Command(HubCommand):
    help = "Take a framework's template text from the installed library or from a wheel."
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("verb", choices=["import"])
        parser.add_argument("family", choices=["deepagents"])
        parser.add_argument(
            "--wheel", type=Path, metavar="FILE", help="read this wheel instead of the installed library"
        )

    def run(self, **options: Any) -> dict[str, Any]:
        kept = (
            prompts.import_template_wheel(options["wheel"]) if options["wheel"] else prompts.import_installed_template()
        )
        return {
            "form": kept.form,
            "version": kept.version,
            "bytes": len(kept.text.encode()),
            "sha256": kept.sha256,
            "known": kept.is_known,
            "came_from": kept.came_from,
        }

    def say(self, answer: dict[str, Any]) -> str:
        known = "the published text" if answer["known"] else "a text the hub does not know; it is used all the same"
        return (
            f"{answer['version']} from the {answer['came_from']} serves {answer['form']}: "
            f"{answer['bytes']:,} bytes, sha256 {answer['sha256'][:16]}, {known}."
        )
