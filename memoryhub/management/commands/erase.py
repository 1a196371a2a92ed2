"""Erase words permanently, with a receipt."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import CommandParser

from memoryhub.domain import erasure
from memoryhub.domain.erasure import KINDS, Target
from memoryhub.errors import Invalid
from memoryhub.management import deciding
from memoryhub.management.base import HubCommand
from memoryhub.models import Erasure
from memoryhub.text.counted import counted
from memoryhub.text.unseen import spelled_out


class Command(HubCommand):
    help = "Erase words permanently: first with --dry-run, then with --yes. The receipt is printed."
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        chosen = parser.add_mutually_exclusive_group(required=True)
        chosen.add_argument("--session", metavar="ID", help="everything of a session")
        chosen.add_argument("--person", metavar="NAME", help="a person's words")
        chosen.add_argument("--agent", metavar="NAME", help="an agent's words")
        chosen.add_argument("--text", metavar="TEXT", help="an exact text; - reads it from stdin")
        chosen.add_argument("--revision", nargs=2, metavar=("PATH", "N"), help="one revision of a file")
        parser.add_argument("--all-spaces", action="store_true", help="in all spaces and the hub's own tables")
        parser.add_argument("--keep-disk", action="store_true", help="leave files in mounted directories alone")
        how = parser.add_mutually_exclusive_group(required=True)
        how.add_argument("--dry-run", action="store_true", help="only list every place, with counts")
        how.add_argument("--yes", action="store_true", help="erase: this cannot be undone")
        deciding.add_arguments(parser)

    def run(self, **options: Any) -> dict[str, Any]:
        space, actor = deciding.space_and_actor(options)
        where, target = None if options["all_spaces"] else space, target_of(options)
        if options["dry_run"]:
            found = erasure.dry_run(where, actor, target)
            return {"kind": KINDS[found.kind], "columns": found.searched, "places": found.plan}
        return erasure.receipt(erasure.erase_now(where, actor, target), actor)

    def say(self, answer: dict[str, Any]) -> str:
        if "places" in answer:
            rows = [f"{one['rows']:>8,}  {one['place']}" for one in answer["places"]]
            return spelled_out("\n".join(rows or ["Nothing of it stands here."]))
        return spelled_out("\n".join(receipt_lines(answer)))


def target_of(options: dict[str, Any]) -> Target:
    on_disk = not options["keep_disk"]
    if options["revision"]:
        path, number = options["revision"]
        if not number.isdecimal():
            raise Invalid("The number of the revision is missing: --revision PATH N.", code="invalid")
        return Target(Erasure.REVISION, path, int(number), on_disk=on_disk)
    kind = next(
        name for name in (Erasure.SESSION, Erasure.PERSON, Erasure.AGENT, Erasure.TEXT) if options[name] is not None
    )
    what = sys.stdin.read() if kind == Erasure.TEXT and options[kind] == "-" else options[kind]
    return Target(kind, what, on_disk=on_disk)


def receipt_lines(answer: dict[str, Any]) -> list[str]:
    found = {**answer["search"]["rows_found"], **answer["search"].get("rows_found_elsewhere", {})}
    rows = [f"{count:>8,}  {table}" for table, count in answer["rows"].items()]
    stands = [*answer["still_stands"], *(f"{place}: {counted(count, 'row')}" for place, count in found.items())]
    backups = [
        f"{one['file']}, made {one['made_at']}{'' if one['is_there'] else ', no longer there'}"
        for one in answer["backups"]
    ]
    return [
        f"Receipt {answer['receipt']}: erased {answer['kind']}, {counted(sum(answer['rows'].values()), 'row')}.",
        *rows,
        f"A search of {answer['search']['columns']} columns found {'it in' if stands else 'nothing of it.'}",
        *(f"  {one}" for one in stands),
        *(["Backups that still have it:"] if backups else []),
        *(f"  {one}" for one in backups),
    ]
