"""What working and long-term memory gave to a question at a past moment, as far as what is kept tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from memoryhub.dialects import Entry, Warn
from memoryhub.domain import longterm, retrieval, spaces, working
from memoryhub.domain.retrieval import Candidate, readers_for
from memoryhub.models import Agent, EntryRevision, LongtermEntry, Space, WorkingEntry
from memoryhub.text import split

HOT, COLD, MAX_CHARS = 10, 5, 500  # as an agent's own call has them
EMBEDDER_AWAY = "embedder_away"
MOST_CHANGED = 200  # entries whose text of that time is weighed anew
SWEPT_AFTER = timedelta(hours=1)
WORKING_GONE = "Working memory lasts a day at most and holds the newest 50: what has left it since then is not shown."
LONGTERM_GONE = (
    "Too many long-term entries have changed since then; the texts of the newest {most} are weighed as they were."
)


@dataclass(frozen=True, slots=True)
class Then:
    """A piece of an entry's text as it was."""

    id: int  # below zero: it is no chunk of today
    text: str
    entry: LongtermEntry


def working_then(space: Space, agent: Agent, at: datetime) -> tuple[tuple[Entry, ...], list[Warn]]:
    """The newest entries that lived at that moment and are still kept; a warning where some may be gone."""
    found = WorkingEntry.objects.within(space).filter(
        Q(expires_at__gt=at) | Q(is_pinned=True), Q(removed_at=None) | Q(removed_at__gt=at),
        agent_key__in=[0, agent.pk], created_at__lte=at,
    )  # fmt: skip
    entries = tuple(
        Entry(one.pk, one.content[:MAX_CHARS], one.created_at, own=one.scope == working.AGENT)
        for one in found.order_by("-id")[:HOT]
    )
    is_whole = at > timezone.now() - SWEPT_AFTER and not pushed_out_since(space, agent, at)
    return entries, [] if is_whole else [Warn("working_memory_gone", None, WORKING_GONE)]


def pushed_out_since(space: Space, agent: Agent, at: datetime) -> bool:
    """Whether newer entries may have pushed older ones out: where a place is full and something came."""
    full = spaces.get_setting(space, "working_limit")
    for key in (0, agent.pk):
        held = WorkingEntry.objects.within(space).filter(agent_key=key, is_pinned=False, removed_at=None)
        if held.count() >= full and held.filter(created_at__gt=at).exists():
            return True
    return False


def longterm_then(space: Space, agent: Agent, query: str, at: datetime) -> tuple[tuple[Entry, ...], list[Warn]]:
    """The pieces that fit the query best among what long-term memory held at that moment, in the words of that time."""
    changed = changed_since(space, agent, at)
    wanted = retrieval.Wanted(candidates_for(changed), candidates=True)
    mine = readers_for(agent, None, False)
    hits = retrieval.rank(space, query, mine, wanted)
    old = {piece.id: piece for piece in pieces_then(space, changed[:MOST_CHANGED], at)}
    moved = {entry.number for entry in changed}
    today = [one for one in hits.candidates if is_of_then(hits.texts[one.id], moved, at)]
    then = retrieval.rank_texts(space, query, mine, {number: piece.text for number, piece in old.items()})
    kept, _ = retrieval.split_at_threshold([*today, *then], hits.threshold, COLD)
    told = away(hits.warnings)
    if len(changed) > MOST_CHANGED:
        told.append(Warn("longterm_memory_gone", None, LONGTERM_GONE.format(most=MOST_CHANGED)))
    entries = (as_entry(one, old[one.id]) if one.id in old else as_today(one, hits.texts[one.id]) for one in kept)
    return tuple(entries), told


def away(warnings: list[str]) -> list[Warn]:
    """What retrieval says while the embedder is away, as a prompt says it."""
    return [Warn(EMBEDDER_AWAY, None, says) for says in warnings]


def changed_since(space: Space, agent: Agent, at: datetime) -> list[LongtermEntry]:
    """Entries of that time whose text or state has changed since; what this agent may read."""
    found = LongtermEntry.objects.within(space).filter(created_at__lte=at, modified_at__gt=at)
    mine = found.filter(Q(scope=longterm.GROUP) | Q(agent_id=agent.pk))
    return list(mine.order_by("-modified_at")[: MOST_CHANGED + 1])


def candidates_for(changed: list[LongtermEntry]) -> int:
    """What has come or changed since may stand before what was there: so many more are looked at."""
    return min(200, COLD + 40 + len(changed))


def is_of_then(text: Sequence[object], moved: set[int], at: datetime) -> bool:
    _, number, created_at, *_ = text
    return number not in moved and created_at <= at  # type: ignore[operator]


def pieces_then(space: Space, changed: list[LongtermEntry], at: datetime) -> Iterator[Then]:
    """The texts of that time, cut as they were."""
    entries = {entry.pk: entry for entry in changed}
    revisions = EntryRevision.objects.within(space).filter(entry_id__in=entries, created_at__lte=at)
    newest = revisions.order_by("entry_id", "-number").distinct("entry_id")
    number = 0
    for revision in newest:
        if revision.state == longterm.RETIRED:
            continue
        for piece in split.split(revision.content):
            number -= 1
            yield Then(number, piece.text, entries[revision.entry_id])


def as_entry(one: Candidate, piece: Then) -> Entry:
    entry = piece.entry
    own = entry.scope == longterm.AGENT
    return Entry(one.id, piece.text[:MAX_CHARS], entry.created_at, score_of(one), own=own)


def as_today(one: Candidate, text: Sequence[object]) -> Entry:
    content, _, created_at, scope, *_ = text
    own = scope == longterm.AGENT
    return Entry(one.id, str(content)[:MAX_CHARS], created_at, score_of(one), own=own)  # type: ignore[arg-type]


def score_of(one: Candidate) -> float:
    return 0.0 if one.cosine is None else round(one.cosine, 4)
