"""Write everything to a folder as files that people can read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from memoryhub.domain import exchange
from memoryhub.errors import Conflict, Unavailable
from memoryhub.management.base import HubCommand
from memoryhub.text.counted import counted


class Command(HubCommand):
    help = "Write files, their history and every list of the hub to an empty folder. Holds no passwords and no tokens."
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("directory", metavar="DIR")

    def run(self, *, directory: str, **options: Any) -> dict[str, Any]:
        to = Path(directory).expanduser().absolute()
        try:
            to.mkdir(parents=True, exist_ok=True, mode=0o700)
            if any(to.iterdir()):
                raise Conflict(f"{to} is not empty: name a new folder.")
            exchange.take_in_the_disk()
            return {"directory": str(to), **exchange.export(to)}
        except OSError as error:
            raise Unavailable(f"{to} could not be written ({error.strerror}).") from error

    def say(self, answer: dict[str, Any]) -> str:
        spaces, files = counted(answer["spaces"], "space"), counted(answer["files"], "file")
        return f"Wrote {spaces} with {files} to {answer['directory']}."
