"""List the hubs that share this database: which run, their version, their mounted directories."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from memoryhub.domain import files, nodes
from memoryhub.management.base import HubCommand


class Command(HubCommand):
    help = "List the nodes of this database. A node that does not run any more can be taken off the list."
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--forget", metavar="NODE", help="remove a node that will not come back from the list")

    def run(self, *, forget: str | None, **options: Any) -> dict[str, Any]:
        if forget:
            nodes.forget_node(forget)
        mounts = files.mounts_with_nodes()
        listed = [
            {
                "id": node.pk, "name": node.name, "version": node.version, "alive": node.is_running,
                "state": "running" if node.is_running else "stopped" if node.stopped_at else "away",
                "started_at": node.started_at, "seen_at": node.seen_at, "clock_ahead": round(node.clock_ahead, 3),
                "here": node.pk == nodes.this_node(),
                "mounts": [as_json(mount) for mount in mounts if mount.in_charge == node.pk],
            }
            for node in nodes.listed()
        ]  # fmt: skip
        known = {one["id"] for one in listed}
        return {"nodes": listed, "without": [as_json(mount) for mount in mounts if mount.in_charge not in known]}

    def say(self, answer: dict[str, Any]) -> str:
        lines = []
        for node in answer["nodes"]:
            lines.append(f"{node['state']:<8} {node['name']} ({node['id']}), version {node['version']}")
            lines += [f"           {one['prefix']} of {one['space']} on {one['directory']}" for one in node["mounts"]]
        lines += [f"no node  {one['prefix']} of {one['space']} on {one['directory']}" for one in answer["without"]]
        return "\n".join(lines) or "No node has started on this database yet."


def as_json(mount: Any) -> dict[str, str]:
    return {"space": mount.space.slug, "prefix": mount.prefix, "directory": mount.directory}
