"""What the detectors find in a change: in the text it adds, what it must not contain, and how risky that makes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from memoryhub import detectors
from memoryhub.detectors import Finding, KnownText
from memoryhub.domain import spaces
from memoryhub.models import File, LongtermEntry, Revision, Source, Space
from memoryhub.text import diff
from memoryhub.text.lines import text_of

KNOWN_TEXTS_LIMIT = 200
SHRINKS_TO, FROM_SIZE = 0.5, 500  # a text of so many bytes that keeps less than this share may be an accident


@spaces.on_event("check_text")
def check_text(space: Space, text: str, *, before: str = "") -> list[Finding]:
    """Refuses secrets in what a write adds, and answers the other findings. Every door calls it, trusted or not."""
    found = findings_in(before, text)
    spaces.refuse_secrets(space, found)
    return [one for one in found if one.code != "secrets"]


def findings_of(space: Space, path: str, before: bytes | None, after: bytes | None) -> list[Finding]:
    """Findings in what a change of a file adds, compared with what memory says already; `path` is empty for a text that is
    no file's."""
    known = _unchanged_only(known_texts(space, path, before), before, after)
    return findings_in(text_of(before or b""), text_of(after or b""), known)


def _unchanged_only(known: Sequence[KnownText], before: bytes | None, after: bytes | None) -> list[KnownText]:
    """The file's own text counts as known only where the change leaves it: a moved line is no duplicate."""
    if not known or before is None or known[0].text != text_of(before):
        return list(known)
    lines_after = set(text_of(after or b"").split("\n"))
    added = lines_after - set(text_of(before).split("\n"))
    own = "\n".join(line if line in lines_after and line not in added else "" for line in known[0].text.split("\n"))
    return [replace(known[0], text=own), *known[1:]]


def findings_in(before: str, after: str, known: Sequence[KnownText] = ()) -> list[Finding]:
    """Findings in the lines that a change adds, at their places in the text it makes."""
    if not before:
        return detectors.find(after, context=known)
    changes = diff.compare(before, after, context=0)
    starts = _line_starts(changes.new_lines)
    found: list[Finding] = []
    for hunk in changes.hunks:
        added = "".join(changes.new_lines[hunk.new_start : hunk.new_end])
        shift = starts[hunk.new_start] if hunk.new_start < len(starts) else 0
        found += [
            replace(one, start=one.start + shift, end=one.end + shift, line=one.line + hunk.new_start)
            for one in (detectors.find(added, context=known) if added else [])
        ]
    return found


def _line_starts(lines: list[str]) -> list[int]:
    starts, at = [], 0
    for line in lines:
        starts.append(at)
        at += len(line)
    return starts


def known_texts(space: Space, path: str, before: bytes | None) -> list[KnownText]:
    """What memory says already: the file itself, the sources of prompts, and long-term memory."""
    paths = set(Source.objects.within(space).filter(is_on=True).values_list("path", flat=True)) - {path}
    rows = File.objects.within(space).filter(path__in=paths, is_deleted=False, thread_id="", size__lt=200_000)
    newest = {(row.pk, row.revision): row.path for row in rows[:KNOWN_TEXTS_LIMIT]}
    texts = Revision.objects.within(space).filter(
        file_id__in=[pk for pk, _ in newest], number__in={n for _, n in newest}
    )
    known = [
        KnownText(newest[row.file_id, row.number], text_of(bytes(row.content)))
        for row in texts
        if (row.file_id, row.number) in newest
    ]
    entries = LongtermEntry.objects.within(space).filter(state="active").order_by("-id")[:KNOWN_TEXTS_LIMIT]
    known += [KnownText(f"long-term memory L-{entry.number}", entry.content) for entry in entries]
    return [KnownText(path, text_of(before)), *known] if before and path else known


def risk_of(found: Iterable[Finding], before: bytes | None, after: bytes | None) -> int:
    """0 plain, 1 some, 2 look closely."""
    return 2 if shrinks(before, after) else detectors.RANK.get(detectors.worst(found), 0)


def is_source(space: Space, path: str) -> bool:
    """Whether a prompt shows this file: one that is moved away takes it out as a deletion does."""
    return Source.objects.within(space).filter(path=path, is_on=True).exists()


def shrinks(before: bytes | None, after: bytes | None) -> bool:
    """A change that throws most of a text away."""
    return len(before or b"") >= FROM_SIZE and len(after or b"") < SHRINKS_TO * len(before or b"")
