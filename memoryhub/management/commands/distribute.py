"""Distribute the large tables over servers by space, with Citus."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from memoryhub.domain import nodes
from memoryhub.management.base import HubCommand
from memoryhub.server import datadir, distribute

SECONDS_TO_END = 30.0  # of a hub that has said that it stops


class Command(HubCommand):
    help = (
        "Distribute the large tables over the servers of a Citus cluster by space. Back up and stop the hub before. What is "
        "distributed already stays, so it can be repeated: after an error, and after an upgrade that brought a table."
    )
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="print the statements and change nothing")
        parser.add_argument("--stop-nodes", action="store_true", help="stop the nodes that run on this database first")

    def run(self, *, dry_run: bool, stop_nodes: bool, **options: Any) -> dict[str, Any]:
        distribute.require_citus()
        found = distribute.tables()
        before = [table.name for table in found if table.is_done]
        statements = [step for table in found for step in table.steps]
        if dry_run:
            return {"distributed": [], "before": before, "statements": statements, "stopped": []}
        stopped = nodes.stop_all() if stop_nodes else []
        lock = datadir.hub_lock(settings.DATA_DIR, wait=SECONDS_TO_END if stopped else 0)
        try:
            nodes.require_none_running(besides=nodes.this_node())
            done = distribute.distribute(lambda name: None if options["json"] else self.tell(f"{name} …"))
        finally:
            lock.release()
        return {"distributed": done, "before": before, "statements": statements if done else [], "stopped": stopped}

    def say(self, answer: dict[str, Any]) -> str:
        if not answer["distributed"] and answer["statements"]:  # a dry run
            return "\n".join(f"{one};" for one in answer["statements"])
        lines = [f"{len(answer['distributed'])} tables are distributed now, {len(answer['before'])} were before."]
        if answer["stopped"]:
            lines.append(f"Stopped: {', '.join(answer['stopped'])}. Start them again.")
        return "\n".join(lines)
