"""Take a framework's template text from a wheel or the installed library: template import deepagents [--version V | --wheel FILE]."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from memoryhub.domain import prompts
from memoryhub.management.base import HubCommand
from memoryhub.models import DialectTemplate


class Command(HubCommand):
    help = "Take a framework's template text from your package index, a wheel, or the installed library."
    offers_json = True

    def create_parser(self, *args: Any, **options: Any) -> CommandParser:
        # Every command of Django has a `--version` that prints Django's; here it is the library's.
        return super().create_parser(*args, **options, conflict_handler="resolve")

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("verb", choices=["import"])
        parser.add_argument("family", choices=["deepagents"])
        source = parser.add_mutually_exclusive_group()
        source.add_argument(
            "--version", dest="release", metavar="V", help="download the wheel of this version from your package index"
        )
        source.add_argument(
            "--wheel", type=Path, metavar="FILE", help="read this wheel instead of the installed library"
        )

    def run(self, **options: Any) -> dict[str, Any]:
        kept = import_template(options["wheel"], options["release"])
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


def import_template(wheel: Path | None, version: str | None) -> DialectTemplate:
    if wheel:
        return prompts.import_template_wheel(wheel)
    return prompts.download_template(version) if version else prompts.import_installed_template()
