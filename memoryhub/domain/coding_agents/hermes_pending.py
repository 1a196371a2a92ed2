"""Changes of memory that Hermes keeps until somebody decides (`memory.write_approval`): its files, and what each makes of a text.

One JSON file for each, `pending/memory/<8 hex digits>.json` in its home; deciding removes it. The rules of a change are those of
the agent's own memory tool. The files are written by a program, so everything in them is checked.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
from dataclasses import dataclass
from typing import Any

from memoryhub.domain.coding_agents.entries import SEPARATOR, Format, limits_of
from memoryhub.errors import Conflict, Invalid, TooLarge

FOLDER = os.path.join("pending", "memory")
NAME = re.compile(r"([0-9a-f]{8})\.json")
TARGETS = {"memory": "memories/MEMORY.md", "user": "memories/USER.md"}
ACTIONS = ("add", "replace", "remove")
MAX_BYTES, MAX_FILES, MAX_OPERATIONS = 256 << 10, 200, 200


@dataclass(frozen=True)
class Operation:
    """One step: an entry more, another in place of the one that holds a text, or one less."""

    action: str
    content: str
    old_text: str


@dataclass(frozen=True)
class PendingWrite:
    """A change that waits: the file inside of the agent's home that it is for, and its steps. `digest` is of its own file: the
    same name with other content is another change."""

    id: str
    digest: str
    file: str
    operations: tuple[Operation, ...]
    summary: str
    origin: str


def pending_writes(home: str) -> tuple[list[PendingWrite], list[str]]:
    """The changes that wait in a home, by name, and the names of files that are no such change."""
    found, odd = [], []
    folder = os.path.join(home, FOLDER)
    for name in _names(folder):
        match = NAME.fullmatch(name)
        try:
            if match is None:
                raise Invalid("Its name is no id.")
            found.append(parse_pending(match[1], read_plain(os.path.join(folder, name))))
        except (Invalid, OSError):
            odd.append(name)
    return found, odd


def _names(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(".json"))[:MAX_FILES]
    except OSError:
        return []


def read_plain(path: str) -> bytes:
    """The bytes of a plain file; neither links nor pipes are opened."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Invalid("It is no file.")
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise Invalid("It is too large.")
    return content


def parse_pending(known_id: str, content: bytes) -> PendingWrite:
    """A change as its file has it; refused where any part is not what Hermes writes."""
    try:
        record = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise Invalid("It is no JSON.") from None
    payload = record.get("payload") if isinstance(record, dict) else None
    if not isinstance(payload, dict) or record.get("id") != known_id or record.get("subsystem") != "memory":
        raise Invalid("It is no change of memory.")
    listed = payload.get("operations") if payload.get("action") == "batch" else [payload]
    target = payload.get("target", "memory")
    if not isinstance(listed, list) or not 1 <= len(listed) <= MAX_OPERATIONS or target not in TARGETS:
        raise Invalid("It is no change of memory.")
    operations = tuple(_operation(one) for one in listed)
    return PendingWrite(
        known_id, digest_of(content), TARGETS[target], operations, _words(record, "summary"), _words(record, "origin")
    )


def _operation(given: Any) -> Operation:
    if not isinstance(given, dict) or given.get("action") not in ACTIONS:
        raise Invalid("It has a step that is unknown.")
    content, old = given.get("content") or "", given.get("old_text") or ""
    if not isinstance(content, str) or not isinstance(old, str):
        raise Invalid("It has a step without text.")
    content, old = content.strip(), old.strip()
    if (given["action"] != "remove" and not content) or (given["action"] != "add" and not old):
        raise Invalid("It has a step without text.")
    try:
        (content + old).encode()
    except UnicodeEncodeError:
        raise Invalid("It is no UTF-8.") from None
    return Operation(given["action"], content, old)


def _words(record: dict[str, Any], name: str) -> str:
    found = record.get(name)
    return " ".join(found.encode("utf-8", "replace").decode().split())[:300] if isinstance(found, str) else ""


def text_after_pending(known: Format, pending: PendingWrite, text: str) -> str:
    """The memory file after a change, as the agent writes it; refused where its own tool would refuse it."""
    entries = list(dict.fromkeys(one.strip() for one in text.split(SEPARATOR) if one.strip()))
    for step in pending.operations:
        if step.action == "add":
            entries += [] if step.content in entries else [step.content]
            continue
        at = _place(entries, step.old_text)
        entries[at : at + 1] = [step.content] if step.action == "replace" else []
    after = SEPARATOR.join(entries)
    for limit in limits_of(known, after):
        if limit.is_over:
            raise TooLarge(
                f"The file would have {limit.used:,} {limit.name}; its agent takes {limit.most:,} at most.",
                code="over_limit",
            )
    return after


def _place(entries: list[str], old: str) -> int:
    found = [at for at, one in enumerate(entries) if old in one]
    if not found:
        raise Conflict("The entry that it changes is no longer there.", code="no_entry")
    if len({entries[at] for at in found}) > 1:
        raise Conflict("Several entries hold the text that it looks for.", code="no_entry")
    return found[0]


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def remove_if_same(path: str, digest: str) -> None:
    """Removes the file of a change, as its agent does once it was decided on; not one that says something else by now."""
    with contextlib.suppress(OSError, Invalid):
        if digest_of(read_plain(path)) == digest:
            os.unlink(path)


def discard_pending(home: str, pending: PendingWrite) -> None:
    """Takes a change out of the folder where it waits."""
    remove_if_same(os.path.join(home, FOLDER, f"{pending.id}.json"), pending.digest)
