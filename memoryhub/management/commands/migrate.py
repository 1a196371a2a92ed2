"""Bring the database's tables to this version (Django's command, which here takes databases of early hubs as well)."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands.migrate import Command as DjangosCommand

from memoryhub.management.database import database
from memoryhub.server.migrate import finish_older, migrate_beside_others


class Command(DjangosCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--data-dir", metavar="PATH", help="the hub's data directory")

    def run_from_argv(self, argv: list[str]) -> None:
        with database():
            super().run_from_argv(argv)

    def handle(self, *args: Any, **options: Any) -> None:
        migrate_beside_others(lambda: self._migrate(*args, **options))

    def _migrate(self, *args: Any, **options: Any) -> None:
        if not (options["plan"] or options["check_unapplied"]):
            finish_older()
        super().handle(*args, **options)
