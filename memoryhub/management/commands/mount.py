"""Route virtual paths to a directory, to the hub, or to files per thread."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from memoryhub.domain import files, spaces
from memoryhub.management.base import HubCommand
from memoryhub.models import HUB, Space


class Command(HubCommand):
    help = "Route virtual paths to a directory, to the hub, or to files per thread."
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("action", choices=["add", "assign"])
        parser.add_argument("prefix", metavar="PREFIX", help="such as /memories/")
        store = parser.add_mutually_exclusive_group()
        store.add_argument("--dir", metavar="PATH", help="files of this directory")
        store.add_argument("--database", action="store_true", help="files that live in the hub")
        store.add_argument("--views", action="store_true", help="read-only files made of working and long-term memory")
        store.add_argument("--thread", action="store_true", help="short-term files, apart for each thread")
        parser.add_argument(
            "--include", metavar="PATTERN", action="append", default=[], help="take in what this pattern matches too"
        )
        parser.add_argument(
            "--exclude", metavar="PATTERN", action="append", default=[], help="leave out what this pattern matches"
        )
        parser.add_argument("--space", default="main", metavar="SLUG", help="default: main")
        parser.add_argument("--policy", default="review", choices=["review", "trusted", "read_only"])
        parser.add_argument(
            "--on-disk", default="apply", choices=["apply", "hold"], help="what a change in the directory does"
        )
        parser.add_argument(
            "--hold", action="store_const", const="hold", dest="on_disk", help="the same as --on-disk hold"
        )
        parser.add_argument(
            "--ends-with-run", action="store_true", help="with --thread: files end when the hub starts again"
        )
        parser.add_argument("--node", metavar="NODE", help="with assign: the node that reads and writes the directory")
        parser.add_argument("--put-back", action="store_true", help="with hold: the file returns to the approved text")

    def run(self, **options: Any) -> dict[str, Any]:
        space = spaces.get_by_slug(options["space"])
        return self.assign(space, options) if options["action"] == "assign" else self.add(space, options)

    def assign(self, space: Space, options: dict[str, Any]) -> dict[str, Any]:
        """Puts another node in charge of a mounted directory."""
        if not options["node"]:
            raise CommandError("Name the node with --node; `memoryhub nodes` lists them.", returncode=2)
        mount = files.mount_at_prefix(space, options["prefix"])
        node = files.put_in_charge(space, HUB, mount, options["node"])
        return {
            "space": space.slug,
            "prefix": mount.prefix,
            "directory": mount.directory,
            "node": node.pk,
            "name": node.name,
        }

    @transaction.atomic
    def add(self, space: Space, options: dict[str, Any]) -> dict[str, Any]:
        if not (options["dir"] or options["database"] or options["views"] or options["thread"]):
            raise CommandError("Say where its files live: --dir, --database, --views or --thread.", returncode=2)
        chosen = {"filesystem": options["dir"], "thread": options["thread"], "views": options["views"]}
        store = next((name for name, given in chosen.items() if given), "database")
        mount = files.add_mount(
            space, HUB, options["prefix"], store=store, directory=options["dir"] or "", policy=options["policy"],
            include=options["include"], exclude=options["exclude"], ends_with_run=options["ends_with_run"],
        )  # fmt: skip
        if options["on_disk"] == "hold" or options["put_back"]:
            mount = files.change_on_disk(space, HUB, mount, options["on_disk"], put_back=options["put_back"])
            files.take_in_mount(space, mount)
        answer: dict[str, Any] = {
            "space": space.slug, "prefix": mount.prefix, "store": mount.store, "directory": mount.directory or None,
            "policy": mount.policy, "on_disk": mount.on_disk,
        }  # fmt: skip
        if found := files.survey_mount(mount):
            answer |= {
                "takes": mount.takes, "include": mount.include.splitlines(), "exclude": mount.exclude.splitlines(),
                "files": found.files, "left_out": found.as_json(), "says": found.sentence(mount.directory),
            }  # fmt: skip
        return answer

    def say(self, answer: dict[str, Any]) -> str:
        if "node" in answer:
            return f"{answer['name']} takes over {answer['prefix']} on {answer['directory']}."
        mounted = f"Mounted {answer['prefix']} on {answer['directory'] or answer['store']}, policy {answer['policy']}."
        return f"{mounted}\n{answer['says']}" if "says" in answer else mounted
