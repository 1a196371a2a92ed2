"""Replace everything by what a backup holds."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from memoryhub.domain import exchange, nodes
from memoryhub.management.base import HubCommand
from memoryhub.models import Space
from memoryhub.server import datadir, dump
from memoryhub.server.migrate import migrate_if_needed
from memoryhub.text.counted import counted

SECONDS_TO_END = 30.0  # of a hub that has said that it stops


class Command(HubCommand):
    help = (
        "Replace the whole hub by a backup. What was there is first kept in a backup of its own. Stop the hub before. "
        "Directories that this hub mounts itself are brought back; those of another hub stay as they are, and their files go into a "
        "new folder beside the data directory, or in it where that is a volume."
    )
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", metavar="FILE")
        parser.add_argument(
            "--write-mounts",
            action="store_true",
            help="write into all mounted directories, also those that another hub may use",
        )
        parser.add_argument("--stop-nodes", action="store_true", help="stop the nodes that run on this database first")
        parser.add_argument("--while-running", action="store_true", help="replace the database under running nodes")

    def run(
        self, *, file: str, write_mounts: bool, stop_nodes: bool, while_running: bool, **options: Any
    ) -> dict[str, Any]:
        dump.require_own_connection()
        source = Path(file).expanduser().absolute()
        stopped = self.stop_nodes(source) if stop_nodes else []
        # Refused while the hub of this data directory runs; one that was told to stop has a moment to end.
        lock = datadir.hub_lock(settings.DATA_DIR, wait=SECONDS_TO_END if stopped else 0)
        try:
            made_at = dump.look_into(source)["made_at"]
            if not while_running:
                nodes.require_none_running(besides=nodes.this_node())
            beside = None if write_mounts else folder_for_mounts(settings.DATA_DIR)
            own = exchange.mounted_directories()

            def keep() -> str:
                if not options["json"]:
                    self.stdout.write(self.plan(made_at, beside, own))
                    self.stdout.flush()
                return self.keep_what_is_there()

            about, kept = dump.read(source, keep)
            migrate_if_needed()
            exchange.mark_stored_secrets()
            if beside:
                exchange.move_mounts(beside, own)
            problems = exchange.give_back_the_disk(about["made_at"])
            exchange.note_restore(about["made_at"])
        finally:
            lock.release()
        return {
            "restored": about["made_at"], "spaces": Space.objects.count(), "kept": kept, "problems": problems,
            "mounts": str(beside) if beside and beside.exists() else None, "stopped": stopped,
        }  # fmt: skip

    def stop_nodes(self, source: Path) -> list[str]:
        """Tells every node to stop, that of this data directory included, and waits for them; a file that is no backup stops
        none."""
        dump.look_into(source)
        return nodes.stop_all()

    def plan(self, made_at: str, beside: Path | None, own: set[str]) -> str:
        """What will happen, said before it does."""
        where = "the database of DATABASE_URL" if settings.DATABASE_URL else str(settings.DATA_DIR)
        lines = [f"Replacing everything in {where} by the backup of {made_at}."]
        if beside is None:
            lines.append("Every directory that the backup mounts is brought to what the backup has.")
            return "\n".join(lines)
        if own:
            lines.append(f"Brought to what the backup has, where it mounts them: {', '.join(sorted(own)[:10])}.")
        lines.append(
            f"Files of all other directories that it mounts go into {beside}; the directories stay as they are."
        )
        return "\n".join(lines)

    def keep_what_is_there(self) -> str:
        if not Space.objects.exists():
            return ""
        exchange.take_in_the_disk()
        now = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        return str(dump.write(settings.DATA_DIR / f"before-restore-{now}.tar")["file"])

    def say(self, answer: dict[str, Any]) -> str:
        lines = [f"Restored the backup of {answer['restored']}: {counted(answer['spaces'], 'space')}."]
        if answer["stopped"]:
            lines.append(f"Stopped: {', '.join(answer['stopped'])}. Start them again.")
        if answer["mounts"]:
            lines.append(
                f"Directories of another hub were not touched: their files are in {answer['mounts']}, which this hub mounts now. "
                "To write into the directories themselves, restore with --write-mounts."
            )
        if answer["kept"]:
            lines.append(f"What was there before is kept in {answer['kept']}.")
        return "\n".join(lines + [f"Not on disk yet: {problem}" for problem in answer["problems"]])


def folder_for_mounts(data_dir: Path) -> Path:
    """A folder beside the data directory that is not there yet; in it where that is a volume, or nothing may be made beside it."""
    inside = os.path.ismount(data_dir) or not os.access(data_dir.parent, os.W_OK, effective_ids=True)
    first = data_dir / "mounts" if inside else data_dir.with_name(f"{data_dir.name}-mounts")
    numbered = (first.with_name(f"{first.name}-{number}") for number in range(2, 10_000))
    return next(folder for folder in (first, *numbered) if not folder.exists())
