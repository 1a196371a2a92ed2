"""The base of commands: it opens the database, prints answers as a sentence or JSON, and refusals as a sentence."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DatabaseError

from memoryhub.errors import HubError
from memoryhub.languages import translated, translated_lines
from memoryhub.management import terminal
from memoryhub.management.database import database
from memoryhub.server.migrate import migrate_if_needed
from memoryhub.text.unseen import spelled_out


class HubCommand(BaseCommand):
    """A command of the hub.

    Subclasses say what they take in `add_arguments` (calling super first) and do it in `run(**options)`, which
    returns a dict (printed as JSON with --json, else as `say(answer)`), a str (printed) or None. They raise HubError
    to refuse: one sentence on stderr, exit 1. Wrong arguments exit with 2.
    """

    offers_json = False
    needs_database = True
    requires_system_checks: list[str] = []  # they cost more than most commands; `make test` runs them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--data-dir", metavar="PATH", help="the hub's data directory")
        if self.offers_json:
            parser.add_argument("--json", action="store_true", help="print one JSON document")

    def run(self, **options: Any) -> dict[str, Any] | str | None:
        raise NotImplementedError

    def say(self, answer: dict[str, Any]) -> str:
        """The answer for people, printed unless --json is given."""
        return "\n".join(f"{name}: {value}" for name, value in answer.items())

    def handle(self, *args: Any, **options: Any) -> None:
        if not self.needs_database:
            answer = self.run(**options)
        else:
            with database():
                migrate_if_needed()
                answer = self.run(**options)
        if isinstance(answer, dict):
            # Names in it are anybody's: none moves the cursor of a terminal.
            answer = as_json(answer) if options.get("json") else spelled_out(translated_lines(self.say(answer)))
        if answer is not None:
            self.stdout.write(answer)

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        return terminal.with_help(super().create_parser(prog_name, subcommand, **options))

    def tell(self, text: str) -> None:
        """Prints what `run` finds on its way, in the language of the terminal."""
        self.stdout.write(spelled_out(translated_lines(text)))

    def run_from_argv(self, argv: list[str]) -> None:
        self._called_from_command_line = True
        parser = self.create_parser(argv[0], argv[1])
        options = vars(parser.parse_args(argv[2:]))  # leaves with status 2 on wrong arguments
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a database started here is stopped too
        try:
            self.execute(*options.pop("args", ()), **options)
        except BrokenPipeError:  # `memoryhub … | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except Exception as error:
            if options["traceback"]:
                raise
            self.stderr.write(spelled_out(translated(one_sentence(error))))
            sys.exit(getattr(error, "returncode", 1))


def as_json(answer: dict[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False, indent=2, cls=DjangoJSONEncoder)


def one_sentence(error: Exception) -> str:
    """The message of an error on one line."""
    if isinstance(error, HubError | CommandError):
        return " ".join(str(error).split())
    message = " ".join(str(error).split())
    if isinstance(error, DatabaseError):
        return f"The database refused: {message}"
    return f"{type(error).__name__}: {message} (this is a mistake of memoryhub; --traceback shows where)"
