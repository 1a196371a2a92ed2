"""What becomes of a change on disk: it counts at once, or it waits for a person as a proposal by `disk`.

A mount says which (`Mount.on_disk`). A change with a secret, hidden characters or an injection waits in either case. What was
on disk when its mount was taken in counts without a word.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from memoryhub import detectors
from memoryhub.db import statements
from memoryhub.detectors import Finding
from memoryhub.detectors.secrets.in_bytes import MARKS
from memoryhub.domain import activity, notify, spaces
from memoryhub.domain.files import revisions
from memoryhub.domain.files.disk import conflicts
from memoryhub.domain.files.disk.marks import DiskText
from memoryhub.domain.files.mounts import Place
from memoryhub.models import HUB, File, Mount, OnDisk, Space
from memoryhub.stores import FilesystemStore, paths
from memoryhub.text.lines import is_text, text_of

WAITS_WITH = ("secrets", "hidden", "injection", detectors.COST)  # the findings with which a change always waits
MAX_PUT_BACKS = 3  # in a row without a decision: two programs that keep undoing each other would never end
ROUNDS_WITHIN = timedelta(hours=1)  # a program that comes back later than this is not fighting
MADE, CHANGED, DELETED = "made", "changed", "deleted"
NEW_EVENT = "file.changed_on_disk"


@dataclass(frozen=True)
class Handling:
    """What a mount does with changes on disk; `taken_in`: its files were all looked at once, so what differs is a change."""

    holds: bool = False
    puts_back: bool = False
    taken_in: bool = False


HANDLING = """
SELECT on_disk, put_back AND NOT put_back_elsewhere, taken_in_at IS NOT NULL FROM memoryhub_mount WHERE space_id = %s AND prefix = %s
"""


def handling_of(space: Space, mount: Mount, file: File | None = None) -> Handling:
    """What the mount does, and with this file; read when something changed, and not with every look at a mount."""
    for on_disk, put_back, taken_in in statements.rows(HANDLING, [space.pk, mount.prefix]):
        holds = on_disk == OnDisk.HOLD and (file is None or file.applies_since is None)
        return Handling(holds, holds and put_back, taken_in)
    return Handling()


def exists(file: File) -> bool:
    return bool(file.revision) and not file.is_deleted


def record_arrival(space: Space, file: File, place: Place, seen: DiskText | None, stat: list[int] | None) -> None:
    """Record what lies on disk and the hub does not know; None is a file that is gone. The row is locked."""
    handling = handling_of(space, place.mount, file)
    if seen is None and not exists(file):
        release(space, file, "The file on disk is gone again.")
        file.written_sha256, file.disk_secrets, file.stat = "", [], None
        file.save(update_fields=["written_sha256", "disk_secrets", "stat"])
        return
    # Not a change, but how a mount was when it was added; or a directory that another one took the place of.
    is_first_look = not handling.taken_in and file.written_revision is None
    found = [] if is_first_look else findings_in_arrival(space, file, seen)
    fights = handling.puts_back and _rounds(file) >= MAX_PUT_BACKS and not _has_to_wait(found)
    if fights and not is_first_look:
        _stop_holding(space, file)
    if not is_first_look and not fights and (handling.holds or _has_to_wait(found)):
        _hold(space, file, seen, found, handling, stat)
    else:
        _let_count(space, file, seen, found, is_first_look=is_first_look)


def _rounds(file: File) -> int:
    """How often the file was put back in a row, and changed again each time."""
    if file.put_back_at is None or timezone.now() - file.put_back_at > ROUNDS_WITHIN:
        return 0
    return file.put_backs


STOPPED = (
    "The file changed again each time it was put back; its changes on disk count now, until somebody holds it again."
)


def _stop_holding(space: Space, file: File) -> None:
    """Lets changes of a file count though its mount holds them: a program changed it again after each round of putting back."""
    spaces.send_event("disk_changed_again", space, file.path, STOPPED)
    file.applies_since, file.put_backs, file.put_back_at = timezone.now(), 0, None
    file.save(update_fields=["applies_since", "put_backs", "put_back_at"])
    activity.record(
        space, HUB, "files.stop_holding", "stopped holding", file.path, url=f"files{file.path}", path=file.path,
        adds=f"changed again after it was put back {MAX_PUT_BACKS} times; its changes on disk count",
    )  # fmt: skip


def _has_to_wait(found: list[Finding]) -> bool:
    return any(one.code in WAITS_WITH for one in found)


def findings_in_arrival(space: Space, file: File, seen: DiskText | None) -> list[Finding]:
    """The findings in the lines that a change on disk adds to the text that the hub hands out, secrets included."""
    if seen is None:
        return []
    before = revisions.newest_text(file)
    found: list[Finding] = []
    if is_text(seen.text):
        found = spaces.ask_event("findings_on_disk", space, file.path, before if exists(file) else None, seen.text)
    return [one for one in found if one.code != "secrets"] + _new_secrets(before, seen)


def _new_secrets(before: bytes, seen: DiskText) -> list[Finding]:
    """A finding for each marked line that is new; where the marks lie in no lines, one for each secret."""
    if not seen.secrets:
        return []
    known = Counter(line for line in text_of(before).split("\n") if MARKS.search(line))
    found, at = [], 0
    for number, line in enumerate(text_of(seen.text).split("\n"), 1):
        if (mark := MARKS.search(line)) and not known[line]:
            found.append(
                _secret(at + mark.start(), at + mark.end(), number, mark.group()[len("[secret removed: ") : -1])
            )
        elif mark:
            known[line] -= 1
        at += len(line) + 1
    if not found and seen.text != before and b"\x00" in seen.text:
        found = [_secret(0, 0, one["line"], one["kind"]) for one in seen.secrets]
    return found


def _secret(start: int, end: int, line: int, kind: str) -> Finding:
    message = (
        f"A secret ({kind}) in line {line} of the file on disk. The hub has a mark in its place and stores it nowhere."
    )
    return Finding("secrets", "high", start, end, line, message, kind)


# ---- counting at once


def _let_count(space: Space, file: File, seen: DiskText | None, found: list[Finding], *, is_first_look: bool) -> None:
    """Make it a revision by `disk`; nobody has reviewed it, unless it was there when the mount was taken in."""
    before, was_pending = file.revision, bool(file.revision) and file.written_revision != file.revision
    release(space, file, "The file changed on disk again, and that change counts.")
    conflicts.record_conflict(space, file, seen, was_pending=was_pending)
    if not is_first_look:
        mark_unreviewed(file, before)
        _notify(space, file, found, "applied", stopped_holding=file.applies_since is not None)


def mark_unreviewed(file: File, before: int) -> None:
    """Note that a change on disk counts that nobody looked at; `before` is the revision that stood before."""
    if file.unreviewed_from is None:
        file.unreviewed_from = before
        file.save(update_fields=["unreviewed_from"])


# ---- waiting for a person


def _hold(
    space: Space, file: File, seen: DiskText | None, found: list[Finding], handling: Handling, stat: list[int] | None
) -> None:
    """Keep it as a proposal. What the hub hands out stays; with `puts_back` the disk returns to it as well."""
    held = DELETED if seen is None else CHANGED if exists(file) else MADE
    file.put_backs = _rounds(file)
    may_put_back = not file.disk_secrets and not (seen and seen.secrets) and file.put_backs < MAX_PUT_BACKS
    goes_back = handling.puts_back and may_put_back
    number = propose(space, file, seen, found, held, since=_since(stat), round=file.put_backs + 1 if goes_back else 0)
    was_pending = bool(file.revision) and file.written_revision != file.revision
    file.held, file.held_proposal = held, number
    file.written_sha256, file.disk_secrets = (seen.digest, seen.secrets) if seen else ("", [])
    file.stat = stat
    if goes_back:
        file.put_backs, file.put_back_at = file.put_backs + 1, timezone.now()
        file.written_revision = None  # so that it is written
    elif not was_pending:
        file.written_revision = file.revision
    file.save(update_fields=HELD_COLUMNS)
    _notify(space, file, found, "held", number)


HELD_COLUMNS = [
    "held", "held_proposal", "put_backs", "put_back_at", "written_sha256", "written_revision", "disk_secrets", "stat",
]  # fmt: skip


def _since(stat: list[int] | None) -> datetime:
    """Since when the bytes of a stat lie there at least, by the time of their inode, which no program can set; of what was written
    just now, and of a deletion, since now."""
    now = timezone.now()
    return min(now, datetime.fromtimestamp(stat[1] / 1e9, UTC)) if stat else now


def propose(
    space: Space, file: File, seen: DiskText | None, found: list[Finding], held: str, *, since: datetime | None = None,
    round: int = 0,
) -> int:  # fmt: skip
    """The number of the proposal that keeps this text; an earlier one for the file that still waits is outdated. `round` counts
    how often it was put back in a row with this change, 0 where it stays on disk."""
    return spaces.ask_event(
        "propose_from_disk", space, path=file.path, content=seen.text if seen else None, found=found, held=held,
        base=(file.revision, file.sha256) if exists(file) else (None, ""),
        secrets=seen.secrets if seen else [], since=since or timezone.now(), round=round,
    )  # fmt: skip


def release(space: Space, file: File, why: str) -> None:
    """What was held on disk is no longer there: a proposal about it that still waits is outdated."""
    if not file.held:
        return
    if file.held_proposal:
        spaces.send_event("disk_changed_again", space, file.path, why)
    file.held, file.held_proposal = "", None
    file.save(update_fields=["held", "held_proposal"])


def forget_put_backs(file: File) -> None:
    """A person decided, or somebody changed the file in the hub: the count of rounds begins anew."""
    if file.put_backs:
        file.put_backs = 0
        file.save(update_fields=["put_backs"])


def record_displaced(space: Space, file: File, place: Place, displaced: DiskText) -> bool:
    """Keep a text that a write displaced as a proposal, if it has to wait; the hub's text is on disk. Answers whether it does."""
    handling = handling_of(space, place.mount, file)
    if not handling.taken_in and file.written_revision is None:
        return False
    found = findings_in_arrival(space, file, displaced)
    if not (handling.holds or _has_to_wait(found)):
        return False
    number = propose(space, file, displaced, found, CHANGED if exists(file) else MADE)
    spaces.send_event("disk_put_back", space, number)
    if displaced.secrets and isinstance(place.store, FilesystemStore):
        place.store.put(place.relative, displaced.raw)  # nobody else has what it holds
        file.held, file.held_proposal = CHANGED if exists(file) else MADE, number
        file.written_sha256, file.disk_secrets, file.stat = displaced.digest, displaced.secrets, None
        file.written_revision = file.revision
        file.save(update_fields=HELD_COLUMNS)
    _notify(space, file, found, "held", number)
    return True


def _notify(
    space: Space,
    file: File,
    found: list[Finding],
    state: str,
    proposal: int | None = None,
    *,
    stopped_holding: bool = False,
) -> None:
    """The notice `file.changed_on_disk` for the webhooks that want it."""
    body: dict[str, Any] = {
        "space": space.slug, "path": file.path, "state": state, "proposal": proposal, "at": timezone.now().isoformat(),
        "revision": file.revision or None, "findings": sorted({one.code for one in found}),
        "url": notify.absolute_url(f"/s/{space.slug}/{paths.page_of(file.path)}"),
        "stopped_holding": stopped_holding,
    }  # fmt: skip
    waits = f" and waits in proposal {proposal}" if proposal else " and counts, not reviewed"
    waits += "; the hub stopped holding it" if stopped_holding else ""
    notify.enqueue_notice(space, NEW_EVENT, body, says=f"{file.path} changed on disk{waits}")
