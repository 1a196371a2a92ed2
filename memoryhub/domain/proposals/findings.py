"""What the detectors find in a change: in the text it adds, what it must not contain, and how risky that makes it."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256

from django.conf import settings

from memoryhub import detectors
from memoryhub.db import statements
from memoryhub.db.cache import ENTRY_BYTES, Cache
from memoryhub.detectors import Finding, KnownText, packed
from memoryhub.detectors.changes import detectable, findings_in
from memoryhub.detectors.normalise import normalise
from memoryhub.detectors.rules_digest import rules_digest
from memoryhub.domain import files, spaces
from memoryhub.models import File, Proposal, Source, Space
from memoryhub.stores.known_names import plain
from memoryhub.text.lines import bytes_of, is_text, text_of

KNOWN_TEXTS_LIMIT = 200
SHRINKS_TO, FROM_SIZE = 0.5, 500  # a text of so many bytes that keeps less than this share may be an accident


def check_text(space: Space, text: str, *, before: str = "", only: Iterable[str] | None = None) -> list[Finding]:
    """Refuses secrets in what a write makes of a text, and answers the other findings (`only`: of these detectors). Every door
    calls it, trusted or not. A secret among them is a value of which a person said that it is none."""
    found = findings_in(before, text, only=only)
    if not found:
        return []
    allowed = spaces.refuse_secrets(space, found, text)
    return [one for one in found if one.code != "secrets" or one in allowed]


def check_found(space: Space, found: list[Finding], before: bytes | None, after: bytes | None) -> str:
    """Refuses secrets among the findings of a change. Answers its `checked_digest`, or nothing where a decision has to look again:
    at a value of which a person said that it is no secret, and at what is no text."""
    if found:
        spaces.refuse_secrets(space, found, detectable(after))
    is_clean = is_text(after or b"") and all(one.code != "secrets" for one in found)
    return checked_digest(before, after) if is_clean else ""


def checked_digest(before: bytes | None, after: bytes | None) -> str:
    """Of two texts, and of all that decides which secrets are found in the change of one into the other. Keyed: nobody without the
    hub's key can make one, or try texts against it."""
    parts = [rules_digest(), *(sha256(text or b"").hexdigest() for text in (before, after))]
    return hmac.new(settings.SECRET_KEY.encode(), "\0".join(["no secret", *parts]).encode(), "sha256").hexdigest()


def check_change(space: Space, before: bytes, after: bytes, *, only: Iterable[str] | None = None) -> list[Finding]:
    """`check_text` for contents, which may be text in another encoding, or none between whose bytes text stands."""
    if not is_text(after):
        known = {one.digest for one in spaces.mark_secrets(space, before).secrets}
        for one in spaces.mark_secrets(space, after).secrets:
            if one.digest not in known:
                raise spaces.secret_error(one.kind, one.line)
    found = check_text(space, detectable(after), before=detectable(before), only=only)
    return [*found, UNREADABLE] if cannot_be_read(after) else found


UNREADABLE = Finding(  # at its first byte: a finding of the text, not of its path
    "packed", "high", 0, 1, 1, "Compressed or encrypted: the hub cannot look for secrets and orders in it."
)  # fmt: skip


def cannot_be_read(content: bytes) -> bool:
    """Whether a content is compressed or encrypted in a way that the hub cannot look into, or holds more than it looks at."""
    inside = packed.unpacked(content)
    return inside is not None and not inside.is_whole


_found: Cache[list[Finding]] = Cache(
    "findings in changes", key="space, SHA-256 of path, both texts and the texts that memory holds beside them",
    invalidated_by="nothing: the texts decide", saves="running detectors again at each look at a proposal",
    max_bytes=16 << 20, size_of=lambda found: ENTRY_BYTES + sum(600 + len(one.message) for one in found),
)  # fmt: skip


def findings_of(space: Space, path: str, before: bytes | None, after: bytes | None) -> list[Finding]:
    """Findings in what a change of a file makes of it, compared with what memory says already: the file itself, the sources of
    prompts, and long-term memory. `path` is empty for a text that is no file's."""
    sources = statements.rows(OTHER_SOURCES, [space.pk, path, space.pk])
    entries = statements.rows(NEWEST_ENTRIES, [space.pk])
    beside = [f"{name} {sha}" for name, sha, _ in sources] + [f"{number} {text}" for number, text in entries]
    key = space.pk, _digest(path.encode(), before, after, *map(bytes_of, beside))
    if (found := _found.get(key)) is None:
        known = [*_own_text(path, before, after), *_texts_beside(space, sources, entries)]
        found = findings_in(detectable(before), detectable(after), known)
        if after and cannot_be_read(after):
            found = [UNREADABLE, *found]
        if all(one.code != detectors.COST for one in found):  # the next look may have more time
            _found.put(key, found)
    return list(found)


def _digest(*parts: bytes | None) -> bytes:
    made = sha256()
    for part in parts:
        made.update(b"none " if part is None else b"%d " % len(part))
        made.update(part or b"")
    return made.digest()


NEWEST_ENTRIES = f"""
SELECT number, content FROM memoryhub_longtermentry WHERE space_id = %s AND state = 'active'
ORDER BY id DESC LIMIT {KNOWN_TEXTS_LIMIT}
"""  # noqa: S608 (a number of ours)
# Path, SHA-256 and key of the newest revision of each source but one.
OTHER_SOURCES = f"""
SELECT f.path, r.sha256, r.id FROM memoryhub_file f
JOIN memoryhub_revision r ON r.space_id = f.space_id AND r.file_id = f.id AND r.number = f.revision
WHERE f.space_id = %s AND f.path <> %s AND f.thread_id = '' AND NOT f.is_deleted AND f.size < 200000
    AND f.path IN (SELECT path FROM memoryhub_source WHERE space_id = %s AND is_on)
ORDER BY f.path LIMIT {KNOWN_TEXTS_LIMIT}
"""  # noqa: S608 (a number of ours)
TEXTS = "SELECT id, content FROM memoryhub_revision WHERE space_id = %s AND id = ANY(%s)"
Sources = list[tuple[str, str, int]]


def _own_text(path: str, before: bytes | None, after: bytes | None) -> list[KnownText]:
    """The file's own text, with empty lines in place of those that the change takes out: a moved line is no duplicate."""
    if not (before and path):
        return []
    stays = set(text_of(after or b"").split("\n"))
    return [KnownText(path, "\n".join(line if line in stays else "" for line in text_of(before).split("\n")))]


def _texts_beside(space: Space, sources: Sources, entries: Iterable[tuple[int, str]]) -> Iterator[KnownText]:
    texts = dict(statements.rows(TEXTS, [space.pk, [pk for _, _, pk in sources]], binary=True)) if sources else {}
    yield from (KnownText(path, text_of(texts[pk])) for path, _, pk in sources if pk in texts)
    yield from (KnownText(f"long-term memory L-{number}", content) for number, content in entries)


MAX_NAMES = 1000


def name_findings(space: Space, path: str) -> list[Finding]:
    """What to look at in the path of a new file: hidden words and letters in it, and names there that look the same."""
    found = [replace(one, start=0, end=0, line=1, message=f"In the path: {one.message}")
             for one in detectors.find(path, only=["hidden", "injection"])]  # fmt: skip
    folder, looks = path.rpartition("/")[0] + "/", _as_it_looks(path)
    beside = File.objects.within(space).filter(path__startswith=folder, is_deleted=False, thread_id="", revision__gt=0)
    sources = Source.objects.within(space).filter(is_on=True).values_list("path", flat=True)
    names = [*sources, *beside.exclude(path=path).values_list("path", flat=True)[:MAX_NAMES]]
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


def risk_of(found: Iterable[Finding], before: bytes | None, after: bytes | None) -> int:
    """0 plain, 1 some, 2 look closely."""
    return 2 if shrinks(before, after) else detectors.RANK.get(detectors.worst(found), 0)


def is_source(space: Space, path: str) -> bool:
    """Whether a prompt shows this file: one that is moved away takes it out as a deletion does."""
    return Source.objects.within(space).filter(path=path, is_on=True).exists()


def shrinks(before: bytes | None, after: bytes | None) -> bool:
    """A change that throws most of a text away."""
    return len(before or b"") >= FROM_SIZE and len(after or b"") < SHRINKS_TO * len(before or b"")
