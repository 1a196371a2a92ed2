"""What the detectors find in a change: in the text it adds, what it must not contain, and how risky that makes it."""

from __future__ import annotations

import hmac
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import accumulate
from pathlib import Path

from django.conf import settings

from memoryhub import detectors
from memoryhub.db.prepared import prepared
from memoryhub.detectors import Finding, KnownText, packed
from memoryhub.detectors.normalise import normalise
from memoryhub.detectors.rules_digest import rules_digest
from memoryhub.domain import files, spaces
from memoryhub.models import File, LongtermEntry, Proposal, Revision, Source, Space
from memoryhub.stores.known_names import plain
from memoryhub.text import comments
from memoryhub.text.lines import changes, is_text, split, text_of

KNOWN_TEXTS_LIMIT = 200
SHRINKS_TO, FROM_SIZE = 0.5, 500  # a text of so many bytes that keeps less than this share may be an accident


def check_text(space: Space, text: str, *, before: str = "", only: Iterable[str] | None = None) -> list[Finding]:
    """Refuses secrets in what a write makes of a text, and answers the other findings (`only`: of these detectors). Every door
    calls it, trusted or not. A secret among them is a value of which a person said that it is none."""
    found = findings_in(before, text, only=only)
    allowed = spaces.refuse_secrets(space, found, text)
    return [one for one in found if one.code != "secrets" or one in allowed]


def check_found(space: Space, found: list[Finding], before: bytes | None, after: bytes | None) -> str:
    """Refuses secrets among the findings of a change. Answers its `checked_digest`, or nothing where a decision has to look again:
    at a value of which a person said that it is no secret, and at what is no text."""
    spaces.refuse_secrets(space, found, detectable(after))
    is_clean = is_text(after or b"") and all(one.code != "secrets" for one in found)
    return checked_digest(before, after) if is_clean else ""


def checked_digest(before: bytes | None, after: bytes | None) -> str:
    """Of two texts, and of all that decides which secrets are found in the change of one into the other. Keyed: nobody without the
    hub's key can make one, or try texts against it."""
    parts = [rules_digest(Path(__file__)), *(sha256(text or b"").hexdigest() for text in (before, after))]
    return hmac.new(settings.SECRET_KEY.encode(), "\0".join(["no secret", *parts]).encode(), "sha256").hexdigest()


@spaces.on_event("check_change")
def check_change(space: Space, before: bytes, after: bytes, *, only: Iterable[str] | None = None) -> list[Finding]:
    """`check_text` for contents, which may be text in another encoding, or none between whose bytes text stands."""
    if not is_text(after):
        known = {one.digest for one in spaces.mark_secrets(space, before).secrets}
        for one in spaces.mark_secrets(space, after).secrets:
            if one.digest not in known:
                raise spaces.secret_error(one.kind, one.line)
    found = check_text(space, detectable(after), before=detectable(before), only=only)
    return [*found, UNREADABLE] if cannot_be_read(after) else found


UNREADABLE = Finding(
    "packed", "high", 0, 0, 1, "Compressed or encrypted: the hub cannot look for secrets and orders in it."
)  # fmt: skip


def cannot_be_read(content: bytes) -> bool:
    """Whether a content is compressed or encrypted in a way that the hub cannot look into, or holds more than it looks at."""
    inside = packed.unpacked(content)
    return inside is not None and not inside.is_whole


def findings_of(space: Space, path: str, before: bytes | None, after: bytes | None) -> list[Finding]:
    """Findings in what a change of a file makes of it, compared with what memory says already; `path` is empty for a text that
    is no file's."""
    known = _unchanged_only(known_texts(space, path, before), before, after)
    found = findings_in(detectable(before), detectable(after), known)
    return [UNREADABLE, *found] if after and cannot_be_read(after) else found


def detectable(content: bytes | None) -> str:
    """A content as the detectors read it: text in UTF-16 is read as such."""
    content = content or b""
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if content.startswith(mark):
            return content[2:].decode(encoding, "replace")
    if b"\x00" in content[:SAMPLE]:
        odd, even = content[1:SAMPLE:2], content[:SAMPLE:2]
        if odd.count(0) * 2 > len(odd):
            return content.decode("utf-16-le", "replace")
        if even.count(0) * 2 > len(even):
            return content.decode("utf-16-be", "replace")
    return text_of(content)


def _unchanged_only(known: Sequence[KnownText], before: bytes | None, after: bytes | None) -> list[KnownText]:
    """The file's own text counts as known only where the change leaves it: a moved line is no duplicate."""
    if not known or before is None or known[0].text != text_of(before):
        return list(known)
    lines_after = set(text_of(after or b"").split("\n"))
    added = lines_after - set(text_of(before).split("\n"))
    own = "\n".join(line if line in lines_after and line not in added else "" for line in known[0].text.split("\n"))
    return [replace(known[0], text=own), *known[1:]]


def findings_in(
    before: str, after: str, known: Sequence[KnownText] = (), *, only: Iterable[str] | None = None
) -> list[Finding]:
    """Findings in the lines that a change touches, at their places in the text it makes, and those that come about because
    these lines and the ones around them stand together now. Prompts leave HTML comments out, so words are read across them."""
    codes = tuple(only or detectors.PROPOSAL)
    found = _findings_in(before, after, known, codes)
    if comments.OPEN not in after:
        return found
    across = _across_comments(before, after, [code for code in codes if code in JOINING])
    new = [one for one in across if not any(one.code == other.code and _overlap(one, other) for other in found)]
    return sorted([*found, *new], key=lambda one: (one.start, one.end, one.code)) if new else found


def _overlap(one: Finding, other: Finding) -> bool:
    return one.start < other.end and other.start < one.end


def _across_comments(before: str, after: str, codes: Sequence[str]) -> Iterator[Finding]:
    """The findings of a text without its comments, at their places in the text with them."""
    if not codes:
        return
    cuts = list(comments.spans(after))
    removed = list(accumulate((end - start for start, end in cuts), initial=0))
    begins = [start - gone for (start, _), gone in zip(cuts, removed, strict=False)]  # of each in the text without them
    starts = _line_starts(split(after))
    for one in _findings_in(comments.without(before), comments.without(after), (), tuple(codes)):
        start = one.start + removed[bisect_right(begins, one.start)]
        end = max(start, one.end + removed[bisect_left(begins, one.end)])
        line = bisect_right(starts, start) if after else 1
        yield _moved(replace(one, start=0, end=end - start), start, line - one.line)


def _findings_in(before: str, after: str, known: Sequence[KnownText], codes: tuple[str, ...]) -> list[Finding]:
    if not before:
        return detectors.find(after, only=codes, context=known)
    old, new = split(before), split(after)
    starts, old_starts = _line_starts(new), _line_starts(old)
    found: list[Finding] = []
    touched = [
        Touched(starts[start], starts[end], old_starts[old_start], old_starts[old_end])
        for old_start, old_end, start, end in changes(old, new)
    ]
    if len(touched) > MAX_STRETCHES:
        return _in_whole(before, after, touched, known, codes)
    for one in touched:
        if one.start < one.end:
            added = detectors.find(after[one.start : one.end], only=codes, context=known)
            found += [_moved(finding, one.start, bisect_right(starts, one.start) - 1) for finding in added]
    for finding in _joined(before, after, touched, starts, [code for code in codes if code in JOINING]):
        if not any(finding.code == one.code and finding.start < one.end and one.start < finding.end for one in found):
            found.append(finding)
    return sorted(found, key=lambda one: (one.start, one.end, one.code))


MAX_STRETCHES = 60  # changes that are looked at one by one; of more, the whole text is looked at once
REACH = 4_000  # characters on each side of a change that are looked at together with it
JOINING = ("secrets", "hidden", "injection")
SAMPLE = 4_000  # bytes that tell the encoding of a text


@dataclass(frozen=True, slots=True)
class Touched:
    """Where a change begins and ends in the new text, and what it replaces in the old one."""

    start: int
    end: int
    old_start: int
    old_end: int

    def has(self, one: Finding) -> bool:
        """Whether a finding lies in it, in part at least; of a deletion, whether it goes over the place."""
        if self.start == self.end:
            return one.start < self.start < one.end
        return one.start < self.end and self.start < one.end


def _in_whole(
    before: str, after: str, touched: list[Touched], known: Sequence[KnownText], codes: tuple[str, ...]
) -> list[Finding]:
    """`findings_in` for very many changes: the findings of the whole text that lie in one of them, and those that the old text did
    not have. Where there are too many to list, all count: the ones that are missing may lie anywhere."""
    found = detectors.find(after, only=codes, context=known)
    count = Counter(one.code for one in found)
    ends = [one.end for one in touched]

    def is_touched(one: Finding) -> bool:
        near = touched[max(0, bisect_left(ends, one.start) - 1) : bisect_right(ends, one.end) + 1]
        return one.code == detectors.COST or count[one.code] >= detectors.MAX_FINDINGS or any(t.has(one) for t in near)

    here = [one for one in found if is_touched(one)]
    others = [one for one in found if one.code in JOINING and not is_touched(one)]
    joined = [code for code in codes if code in JOINING]
    new = _not_there(others, after, before, detectors.find(before, only=joined)) if others else ()
    return sorted([*here, *new], key=lambda one: (one.start, one.end, one.code))


def _joined(before: str, after: str, touched: list[Touched], starts: list[int], codes: list[str]) -> Iterator[Finding]:
    """Findings with the text around each change in view: those that touch it, and those that the old text did not have."""
    for group in _near(touched) if codes else ():
        left = min(REACH, group[0].start)
        right = min(REACH, len(after) - group[-1].end)
        first, last = group[0].start - left, group[-1].end + right
        line = bisect_right(starts, first) - 1
        found = [_moved(one, first, line) for one in detectors.find(after[first:last], only=codes)]
        yield from (one for one in found if any(part.has(one) for part in group))
        others = [one for one in found if not any(part.has(one) for part in group)]
        if others:
            was = before[group[0].old_start - left : group[-1].old_end + right]
            yield from _not_there(others, after, was, detectors.find(was, only=codes))


def _not_there(found: list[Finding], after: str, was: str, earlier: list[Finding]) -> Iterator[Finding]:
    """The findings that an earlier text did not have."""
    there = Counter((one.code, one.kind, was[one.start : one.end]) for one in earlier)
    for one in found:
        key = one.code, one.kind, after[one.start : one.end]
        if there[key]:
            there[key] -= 1
        else:
            yield one


def _near(touched: list[Touched]) -> Iterator[list[Touched]]:
    """The changes in groups whose surroundings overlap."""
    group: list[Touched] = []
    for one in touched:
        if group and one.start - group[-1].end > 2 * REACH:
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def _moved(one: Finding, start: int, line: int) -> Finding:
    """A finding of a stretch, at its place in the whole text; sentences name the line as well."""
    number = one.line + line
    message = one.message.replace(f"in line {one.line} ", f"in line {number} ", 1)
    message = message.replace(f"in line {one.line}.", f"in line {number}.", 1)
    return replace(one, start=one.start + start, end=one.end + start, line=number, message=message)


def _line_starts(lines: list[str]) -> list[int]:
    """Where each line begins, and where the last one ends."""
    return list(accumulate(map(len, lines), initial=0))


NEWEST_ENTRIES = prepared(
    lambda space: LongtermEntry.objects.within(space).filter(state="active").order_by("-id")
    .values_list("number", "content")[:KNOWN_TEXTS_LIMIT]
)  # fmt: skip
SOURCE_PATHS = prepared(lambda space: Source.objects.within(space).filter(is_on=True).values_list("path", flat=True))


def known_texts(space: Space, path: str, before: bytes | None) -> list[KnownText]:
    """What memory says already: the file itself, the sources of prompts, and long-term memory."""
    paths = _source_paths(space) - {path}
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
    known += [KnownText(f"long-term memory L-{number}", content) for number, content in NEWEST_ENTRIES(space.pk)]
    return [KnownText(path, text_of(before)), *known] if before and path else known


MAX_NAMES = 1000


def name_findings(space: Space, path: str) -> list[Finding]:
    """What to look at in the path of a new file: hidden words and letters in it, and names there that look the same."""
    found = [replace(one, start=0, end=0, line=1, message=f"In the path: {one.message}")
             for one in detectors.find(path, only=["hidden", "injection"])]  # fmt: skip
    folder, looks = path.rpartition("/")[0] + "/", _as_it_looks(path)
    beside = File.objects.within(space).filter(path__startswith=folder, is_deleted=False, thread_id="", revision__gt=0)
    names = [*_source_paths(space), *beside.exclude(path=path).values_list("path", flat=True)[:MAX_NAMES]]
    if alike := next((name for name in names if name != path and _as_it_looks(name) == looks), None):
        says = f"Similar name: {path} looks like {alike}, which is another file."
        found.append(Finding("similar_name", "high", 0, 0, 1, says))
    return found


def program_findings(
    space: Space, agent_id: int | None, places: Iterable[tuple[str, files.Place]], after: bytes | None
) -> list[Finding]:
    """What to look at closely in a change of a program, hook or start file, which a rule of an owner names; refused without."""
    found = []
    for path, place in places:
        if why := files.why_program(space, agent_id, place, path, after):
            says = f"{path} is no memory: {why}. A rule of this space lets agents ask for it."
            found.append(Finding("program", "high", 0, 0, 1, says))
    return found


def checked_places(proposal: Proposal, paths: Collection[str], after: bytes | None) -> list[files.Place]:
    """Where the files of a proposal lie; refused where rules no longer allow one, or did not when it was asked for."""
    places = files.resolve_paths(proposal.space, paths)
    if not (proposal.from_disk or proposal.asked_before_write):  # no agent of the hub asks for what lies on a disk
        program_findings(proposal.space, proposal.agent_id, zip(paths, places, strict=True), after)
    return places


def other_path_findings(space: Space, places: Mapping[str, files.Place]) -> list[Finding]:
    """That a file on disk is read under other paths too: the review page shows the effect on prompts of this path alone."""
    found = []
    for path, place in places.items():
        if others := files.other_paths(space, place):
            says = f"Other paths: on disk {path} is the same file as {', '.join(others[:5])}, which changes with it."
            found.append(Finding("other_path", "mid", 0, 0, 1, says))
    return found


def _as_it_looks(path: str) -> str:
    """A path as a quick reader takes it: without case, accents' spelling, letters of other alphabets that look Latin."""
    return "/".join(plain(part) for part in normalise(path)[0].split("/"))


def _source_paths(space: Space) -> set[str]:
    return set(SOURCE_PATHS(space.pk))


def risk_of(found: Iterable[Finding], before: bytes | None, after: bytes | None) -> int:
    """0 plain, 1 some, 2 look closely."""
    return 2 if shrinks(before, after) else detectors.RANK.get(detectors.worst(found), 0)


def is_source(space: Space, path: str) -> bool:
    """Whether a prompt shows this file: one that is moved away takes it out as a deletion does."""
    return Source.objects.within(space).filter(path=path, is_on=True).exists()


def shrinks(before: bytes | None, after: bytes | None) -> bool:
    """A change that throws most of a text away."""
    return len(before or b"") >= FROM_SIZE and len(after or b"") < SHRINKS_TO * len(before or b"")
