"""Write everything to one file: spaces, files with their history, layers, people, settings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from memoryhub.domain import exchange, nodes
from memoryhub.errors import Conflict, Invalid
from memoryhub.management.base import HubCommand
from memoryhub.server import dump


class Command(HubCommand):
    help = "Write the whole hub to one file, while it runs or not. The file holds secrets: keep it as you keep the hub."
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", metavar="FILE")

    def run(self, *, file: str, **options: Any) -> dict[str, Any]:
        to = Path(file).expanduser().absolute()
        if os.path.isdir(to):
            raise Invalid(f"{to} is a folder: name a file in it.")
        if not os.path.isdir(to.parent):
            raise Invalid(f"There is no folder {to.parent}.")
        dump.require_own_connection()
        if not nodes.key_of_all(was_given=bool(os.environ.get("SECRET_KEY"))):
            raise Conflict(
                "This data directory has another SECRET_KEY than the nodes of this database: make the backup with the data "
                "directory of a node.",
                code="another_key",
            )
        exchange.take_in_the_disk()
        written = dump.write(to)
        exchange.note_backup(str(to))
        return written

    def say(self, answer: dict[str, Any]) -> str:
        return f"Wrote {answer['file']} ({answer['bytes']:,} bytes)."
