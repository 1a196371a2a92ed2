"""replace everything by what a backup holds"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from memoryhub.domain import exchange
from memoryhub.management.base import HubCommand
from memoryhub.models import Space
from memoryhub.server import datadir, dump
from memoryhub.server.migrate import migrate_if_needed


class Command(HubCommand):
    help = (
        "Replace the whole hub by a backup. What was there is first kept in a backup of its own. Stop the hub before."
    )
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", metavar="FILE")

    def run(self, *, file: str, **options: Any) -> dict[str, Any]:
        lock = datadir.hub_lock(settings.DATA_DIR)  # refused while the hub runs
        try:
            kept = self.keep_what_is_there()
            about = dump.read(Path(file).expanduser().absolute())
            migrate_if_needed()
            exchange.mark_stored_secrets()
            problems = exchange.give_back_the_disk(about["made_at"])
            exchange.note_restore(about["made_at"])
        finally:
            lock.release()
        return {"restored": about["made_at"], "spaces": Space.objects.count(), "kept": kept, "problems": problems}

    def keep_what_is_there(self) -> str:
        if not Space.objects.exists():
            return ""
        exchange.take_in_the_disk()
        now = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        return str(dump.write(settings.DATA_DIR / f"before-restore-{now}.tar")["file"])

    def say(self, answer: dict[str, Any]) -> str:
        lines = [f"Restored the backup of {answer['restored']}: {answer['spaces']} spaces."]
        if answer["kept"]:
            lines.append(f"What was there before is kept in {answer['kept']}.")
        return "\n".join(lines + [f"Not on disk yet: {problem}" for problem in answer["problems"]])
