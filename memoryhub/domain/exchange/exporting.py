"""The hub as a folder that people read without it: files as files, lists as JSON lines, no secret in any of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models

from memoryhub.domain import activity, longterm
from memoryhub.models import (
    Agent,
    AllowedValue,
    File,
    Membership,
    Mount,
    Person,
    PolicyRule,
    Proposal,
    ProposalComment,
    Record,
    RecordState,
    Revision,
    Source,
    Space,
    WorkingEntry,
    WorkingRevision,
)

# Keys, digests, caches, and what only means something inside this hub's tables.
LEFT_OUT = {
    "password",
    "digest",
    "same_as",
    "words",
    "stat",
    "written_revision",
    "written_sha256",
    "space",
    "preferences",
}
LISTS: dict[str, type[models.Model]] = {
    "agents.jsonl": Agent,
    "values-that-are-no-secrets.jsonl": AllowedValue,
    "mounts.jsonl": Mount,
    "exceptions.jsonl": PolicyRule,
    "sources.jsonl": Source,
    "proposals.jsonl": Proposal,
    "comments.jsonl": ProposalComment,
    "quarantine.jsonl": Record,
    "quarantine-states.jsonl": RecordState,
    "working.jsonl": WorkingEntry,
    "working-history.jsonl": WorkingRevision,
}
ABOUT = """\
What is here, one folder for each space:

  files/      every memory file as it is now, below its virtual path
  history/    every earlier text of a file: history/<path>/<revision>
  revisions.jsonl  for each of them who wanted it, who approved it, and which lines a reviewer wrote
  *.jsonl     one JSON object a line: agents, mounts, sources, proposals, quarantine, working and long-term memory, activity

people.jsonl and activity.jsonl beside this file are the hub's own. Passwords and tokens are not here;
`memoryhub backup` keeps those, and is what `memoryhub restore` reads.
"""


def export(to: Path) -> dict[str, int]:
    """Writes everything readable into an empty folder; says how much of it there is."""
    (to / "README.txt").write_text(ABOUT)
    _lines(to / "people.jsonl", (as_dict(person) for person in Person.objects.order_by("pk")))
    _write(to / "activity.jsonl", activity.as_json_lines(activity.find_lines(None).iterator(chunk_size=2000)))
    counts = {"spaces": 0, "files": 0, "revisions": 0}
    for space in Space.objects.order_by("pk"):
        files, revisions = _space(space, to / space.slug)
        counts = {
            "spaces": counts["spaces"] + 1,
            "files": counts["files"] + files,
            "revisions": counts["revisions"] + revisions,
        }
    return counts


def _space(space: Space, folder: Path) -> tuple[int, int]:
    folder.mkdir()
    members = Membership.objects.within(space).select_related("person")
    about = {**as_dict(space), "members": {member.person.username: member.role for member in members}}
    (folder / "space.json").write_text(json.dumps(about, ensure_ascii=False, indent=1, cls=DjangoJSONEncoder) + "\n")
    for name, model in LISTS.items():
        rows = model._default_manager.filter(space_id=space.pk).order_by("pk")
        _lines(folder / name, (as_dict(row) for row in rows.iterator(chunk_size=500)))
    revisions = Revision.objects.within(space).defer("content").order_by("file_id", "number")
    _lines(folder / "revisions.jsonl", (_without_text(row) for row in revisions.iterator(chunk_size=500)))
    _write(folder / "longterm.jsonl", longterm.export_entries(space))
    _write(folder / "activity.jsonl", activity.as_json_lines(activity.find_lines(space).iterator(chunk_size=2000)))
    return _files(space, folder)


def _files(space: Space, folder: Path) -> tuple[int, int]:
    rows = Revision.objects.within(space).select_related("file").order_by("file_id", "number")
    files = revisions = 0
    for revision in rows.iterator(chunk_size=50):
        revisions += 1
        if revision.is_deleted:
            continue
        content, file = bytes(revision.content), revision.file
        _put(folder / "history", f"{place(file)}/{revision.number:04}{PurePosixPath(file.path).suffix}", content)
        if revision.number == file.revision and not file.is_deleted:
            files += 1
            _put(folder / "files", place(file), content)
    return files, revisions


def place(file: File) -> str:
    """The virtual path as one below a folder; files of a thread lie below its name."""
    thread = f"threads/{file.thread_id.replace('/', '_')}/" if file.thread_id else ""
    return thread + file.path.lstrip("/")


def _put(root: Path, relative: str, content: bytes) -> None:
    """A path that is no file name here (a folder of that name, a segment too long) is kept with `_` for its slashes."""
    try:
        target = root / relative
        if ".." in target.parts:
            raise OSError
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    except OSError:
        root.mkdir(parents=True, exist_ok=True)
        (root / relative.replace("/", "_")[-200:]).write_bytes(content)


def as_dict(row: models.Model) -> dict[str, Any]:
    """The columns of a row, readable."""
    fields = [field for field in row._meta.concrete_fields if field.name not in LEFT_OUT]
    return {field.attname: _readable(getattr(row, field.attname)) for field in fields}


def _without_text(revision: Revision) -> dict[str, Any]:
    """A revision without its text, which is a file in `history/`."""
    fields = [one for one in Revision._meta.concrete_fields if one.name not in LEFT_OUT and one.name != "content"]
    return {one.attname: getattr(revision, one.attname) for one in fields}


def _readable(value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        return bytes(value).decode(errors="backslashreplace")
    return value


def _lines(file: Path, rows: Iterable[dict[str, Any]]) -> None:
    _write(file, (json.dumps(row, ensure_ascii=False, cls=DjangoJSONEncoder) + "\n" for row in rows))


def _write(file: Path, lines: Iterator[str]) -> None:
    with open(file, "w", encoding="utf-8", errors="backslashreplace") as out:
        out.writelines(lines)
