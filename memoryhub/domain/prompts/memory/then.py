"""What working and long-term memory gave to a query at a past moment, as far as stored rows still tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from memoryhub.dialects import Entry, Warn
from memoryhub.domain import longterm, retrieval, working
from memoryhub.domain.retrieval import Candidate, Limits, readers_for
from memoryhub.models import Agent, EntryRevision, LongtermEntry, Space, WorkingEntry

EMBEDDER_AWAY = "embedder_away"
MAX_CHANGED = 200  # entries whose text of that time is weighed anew
SWEPT_AFTER = timedelta(hours=1)
WORKING_GONE = "Working memory lasts a day at most and holds the newest 50: what has left it since then is not shown."
LONGTERM_GONE = (
    "Too many long-term entries have changed since then; the texts of the newest {most} are weighed as they were."
)


@dataclass(frozen=True, slots=True)
class PastPiece:
    """A piece of an entry's text at a past moment."""

    id: int  # negative: it is no current chunk
    text: str
    entry: LongtermEntry


def working_at(space: Space, agent: Agent, at: datetime, limits: Limits) -> tuple[tuple[Entry, ...], list[Warn]]:
    """The newest entries of that moment that are still stored, and a warning where some may be gone."""
    found = WorkingEntry.objects.within(space).filter(
        Q(expires_at__gt=at) | Q(is_pinned=True), Q(removed_at=None) | Q(removed_at__gt=at),
        agent_key__in=[0, agent.pk], created_at__lte=at,
    )  # fmt: skip
    entries = tuple(
        Entry(one.pk, one.content[: limits.max_chars], one.created_at, own=one.scope == working.AGENT)
        for one in found.order_by("-id")[: limits.hot]
    )
    is_whole = at > timezone.now() - SWEPT_AFTER and not may_have_lost_entries(space, agent, at)
    return entries, [] if is_whole else [Warn("working_memory_gone", None, WORKING_GONE)]


def may_have_lost_entries(space: Space, agent: Agent, at: datetime) -> bool:
    """Whether newer entries may have displaced some since: the limit is reached and an entry was added."""
    full = space.settings["working_limit"]
    for key in (0, agent.pk):
        held = WorkingEntry.objects.within(space).filter(agent_key=key, is_pinned=False, removed_at=None)
        if held.count() >= full and held.filter(created_at__gt=at).exists():
            return True
    return False


def longterm_at(
    space: Space, agent: Agent, query: str, at: datetime, limits: Limits
) -> tuple[tuple[Entry, ...], list[Warn]]:
    """The pieces that fit the query best in long-term memory at that moment, with the texts of that time."""
    changed = changed_since(space, agent, at)
    wanted = retrieval.SearchOptions(candidate_count(changed, limits.cold), 0, limits.threshold, True, limits.words)
    readers = readers_for(agent, None, False)
    hits = retrieval.rank(space, query, readers, wanted)
    old = {piece.id: piece for piece in pieces_at(space, changed[:MAX_CHANGED], at)}
    moved = {entry.number for entry in changed}
    today = [one for one in hits.candidates if is_unchanged_since(hits.texts[one.id], moved, at)]
    past = retrieval.rank_texts(space, query, readers, {number: piece.text for number, piece in old.items()})
    kept, _ = retrieval.split_at_threshold(
        [*today, *past],
        hits.threshold,
        limits.cold,
        strict=wanted.is_strict(hits.embedded_by),
        words=hits.words,
        uncut=hits.uncut,
    )
    warned = as_warnings(hits.warnings)
    if len(changed) > MAX_CHANGED:
        warned.append(Warn("longterm_memory_gone", None, LONGTERM_GONE.format(most=MAX_CHANGED)))
    entries = (
        past_entry(one, old[one.id], limits) if one.id in old else current_entry(one, hits.texts[one.id], limits)
        for one in kept
    )
    return tuple(entries), warned


def as_warnings(warnings: list[str]) -> list[Warn]:
    """Warnings of retrieval as warnings of a prompt."""
    return [Warn(EMBEDDER_AWAY, None, says) for says in warnings]


def changed_since(space: Space, agent: Agent, at: datetime) -> list[LongtermEntry]:
    """Entries of that time that this agent may read and whose text or state has changed since."""
    found = LongtermEntry.objects.within(space).filter(created_at__lte=at, modified_at__gt=at)
    mine = found.filter(Q(scope=longterm.GROUP) | Q(agent_id=agent.pk))
    return list(mine.order_by("-modified_at")[: MAX_CHANGED + 1])


def candidate_count(changed: list[LongtermEntry], cold: int) -> int:
    """How many candidates to rank today: entries added or changed since may come before those of that time."""
    return min(200, cold + 40 + len(changed))


def is_unchanged_since(text: Sequence[object], moved: set[int], at: datetime) -> bool:
    _, number, created_at, *_ = text
    return number not in moved and created_at <= at  # type: ignore[operator]


def pieces_at(space: Space, changed: list[LongtermEntry], at: datetime) -> Iterator[PastPiece]:
    """The texts of that time, split into pieces."""
    entries = {entry.pk: entry for entry in changed}
    revisions = EntryRevision.objects.within(space).filter(entry_id__in=entries, created_at__lte=at)
    newest = revisions.order_by("entry_id", "-number").distinct("entry_id")
    number = 0
    for revision in newest:
        if revision.state == longterm.RETIRED:
            continue
        for piece in longterm.cut_text(space, revision.content):
            number -= 1
            yield PastPiece(number, piece.text, entries[revision.entry_id])


def past_entry(one: Candidate, piece: PastPiece, limits: Limits) -> Entry:
    entry = piece.entry
    own = entry.scope == longterm.AGENT
    return Entry(
        one.id, piece.text[: limits.max_chars], entry.created_at, rounded_score(one), own=own, number=entry.number
    )


def current_entry(one: Candidate, text: Sequence[object], limits: Limits) -> Entry:
    content, number, created_at, scope, *_ = text
    own = scope == longterm.AGENT
    return Entry(  # type: ignore[call-arg]
        one.id, str(content)[: limits.max_chars], created_at, rounded_score(one), own=own, number=number  # type: ignore[arg-type]
    )  # fmt: skip


def rounded_score(one: Candidate) -> float:
    return 0.0 if one.cosine is None else round(one.cosine, 4)
