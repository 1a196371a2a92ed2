"""Bring in memory from elsewhere: memoryhub bring mem0|letta|langgraph|basic-memory|anthropic|agents-md|longterm PATH."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from memoryhub.domain import accounts, exchange, jobs, longterm, spaces
from memoryhub.domain.exchange import IMPORT_FORMATS, Folder
from memoryhub.errors import HubError, Invalid, NotFound
from memoryhub.management.base import HubCommand
from memoryhub.models import HUB, Actor, Job, Space
from memoryhub.text.counted import counted

LONGTERM = "longterm"  # JSON lines as a hub exports them


class Command(HubCommand):
    help = "Import the memory of another program, or exported long-term memory. Use --dry-run first."
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("kind", choices=[*IMPORT_FORMATS, LONGTERM])
        parser.add_argument("path", type=Path, help="a file, or a folder with everything in it")
        parser.add_argument("--space", default="main")
        parser.add_argument("--to", default="/memories/", metavar="PREFIX", help="where files go (default: /memories/)")
        parser.add_argument("--as", dest="person", metavar="USER", help="the person in whose name it is imported")
        parser.add_argument("--dry-run", action="store_true", help="only list what is new, identical or different")
        parser.add_argument("--overwrite", action="store_true", help="replace texts that are different here")

    def run(self, **options: Any) -> dict[str, Any]:
        space = spaces.get_by_slug(options["space"])
        actor = actor_of(space, options["person"])
        if options["kind"] == LONGTERM:
            return {"space": space.slug, **bring_longterm(space, actor, options["path"], options["dry_run"])}
        job = run_to_end(
            exchange.preview_import(space, actor, options["kind"], read_folder(options["path"]), target=options["to"])
        )
        if not options["dry_run"]:
            job = run_to_end(exchange.start_import(space, actor, job, overwrite=options["overwrite"]))
        return {"space": space.slug, "dry_run": options["dry_run"], "overwrite": options["overwrite"], **job.result}

    def say(self, answer: dict[str, Any]) -> str:
        if "entries" in answer:
            return f"{'Would bring' if answer['dry_run'] else 'Brought'}: {counted(answer['entries'], 'entry', 'entries')}."
        words = {"new": "new", "same": "the same", "conflict": "something else here", "refused": "refused"}
        shown = [line for line in answer["lines"] if line["state"] != "same"]
        lines = [
            f"{words[line['state']]}: {line['name']}{' (' + line['why'] + ')' if line['why'] else ''}" for line in shown
        ]
        counts = ", ".join(f"{answer['counts'].get(state, 0)} {word}" for state, word in words.items())
        left = answer["counts"].get("conflict") and not answer["overwrite"] and not answer["dry_run"]
        hint = " What says something else was left; --overwrite takes the other text." if left else ""
        return "\n".join([*lines, ("Would bring: " if answer["dry_run"] else "Brought: ") + counts + "." + hint])


def bring_longterm(space: Space, actor: Actor, path: Path, dry_run: bool) -> dict[str, Any]:
    if not path.is_file():
        raise NotFound(f"There is no file {path}.")
    (data,) = read_folder(path).values()
    if dry_run:
        return {"dry_run": True, "entries": len(longterm.check_import(space, actor, data))}
    taken = longterm.import_entries(space, actor, data)
    return {"dry_run": False, "entries": run_to_end(taken).result["done"] if isinstance(taken, Job) else taken}


def actor_of(space: Space, person: str | None) -> Actor:
    if not person:
        return HUB
    found = accounts.person_by_name(person)
    membership = spaces.members(space).filter(person=found).first()
    if membership is None:
        raise NotFound(f"{person} is no member of the space {space.slug}.")
    return Actor.of_person(found, membership.role)


def run_to_end(job: Job) -> Job:
    """Runs the job here, or waits for the hub to run it, with its progress on a terminal. Raises if it fails."""
    claimed = jobs.claim([job.kind]) if job.state == Job.WAITING else job
    while claimed and claimed.pk != job.pk:  # older jobs of this kind come first
        jobs.run(claimed)
        claimed = jobs.claim([job.kind])
    if claimed:
        jobs.run(claimed)
    job.refresh_from_db()
    while job.state in (Job.WAITING, Job.RUNNING):  # the running hub is at work on it
        if sys.stderr.isatty():
            print(f"\r{job.done} of {job.total}", end="", file=sys.stderr)
        time.sleep(0.2)
        job.refresh_from_db()
    if job.state == Job.FAILED:
        raise HubError(job.last_error)
    return job


def read_folder(path: Path) -> Folder:
    """The bytes of a file, or of every file of a folder, by name. Links are left out."""
    try:
        if path.is_file():
            return {path.name: path.read_bytes()}
        if not path.is_dir():
            raise NotFound(f"There is no {path}.")
        os.listdir(path)  # `rglob` passes over a folder that may not be read
        found = sorted(one for one in path.rglob("*") if one.is_file() and not one.is_symlink())
        if sum(one.stat().st_size for one in found) > exchange.MAX_IMPORT_BYTES:
            raise Invalid("The folder holds more than 32 MiB. Import it in parts.", code="too_large")
        return {one.relative_to(path).as_posix(): one.read_bytes() for one in found}
    except OSError as problem:
        raise Invalid(f"{path} cannot be read: {problem.strerror or problem}.", code="unreadable") from None
