"""What a promotion would do, shown before it happens: how the text is cut, and what is there already."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from memoryhub.db import statements
from memoryhub.db.prepared import prepared
from memoryhub.domain import quarantine, retrieval, working
from memoryhub.domain.accounts import require
from memoryhub.domain.longterm import chunks, conflicts, entries, map
from memoryhub.domain.longterm.store import store
from memoryhub.embedders import EmbedderUnavailable
from memoryhub.errors import Conflict, NotFound
from memoryhub.models import Actor, Agent, EntryPair, LongtermEntry, Proposal, Record, Space, WorkingEntry
from memoryhub.text import split

MAX_NEIGHBOURS = 3
MAX_QUERY = 2000  # characters of a text by which its neighbours and its place on the map are found
MAX_ON_MAP = 12  # promotions that wait, the newest of them
MAX_PENDING = 500  # of all that waits, so that a full inbox costs the page nothing


@dataclass(frozen=True)
class Neighbour:
    """An entry that is there already, how like the new text it is, and what seems right to do with it."""

    entry: LongtermEntry
    cosine: float
    advice: str
    title: str


@dataclass(frozen=True)
class PromotionPreview:
    """Everything a person should see before saying yes."""

    content: str
    sha256: str
    pieces: list[split.Piece]
    chunk_size: int  # characters at most
    neighbours: list[Neighbour]
    hidden_below: int
    least: float
    warning: str = ""
    vector: statements.Half | None = None

    @property
    def newcomers(self) -> list[map.Newcomer]:
        """The text as a point of the map of what is there already."""
        if self.vector is None:
            return []
        near = {one.entry.number: one.cosine for one in self.neighbours}
        return [map.Newcomer(self.vector, "to be added", entries.title_of_entry(self.content), near=near)]


def preview_promotion(space: Space, content: str, pair: EntryPair | None = None) -> PromotionPreview:
    """The chunks that a text would become, and its nearest neighbours in long-term memory; those it merges come first."""
    found = _neighbours(space, content) if content.strip() else ([], 0, 0.0, "", None)
    digest = sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    seen = PromotionPreview(content, digest, chunks.cut_text(space, content), chunks.chunk_size(space)[0], *found)
    return _with_pair(seen, pair) if pair else seen


def _with_pair(seen: PromotionPreview, pair: EntryPair) -> PromotionPreview:
    """A preview of a text that takes the place of a pair: both come first, also while no neighbours can be looked for."""
    found = {one.entry.pk: one.cosine for one in seen.neighbours}
    two = [
        Neighbour(one, found.pop(one.pk, pair.cosine), "replace", entries.title_of_entry(one.content, 90))
        for one in (pair.older, pair.newer)
    ]
    others = [one for one in seen.neighbours if one.entry.pk in found]
    added = len(two) + len(others) - len(seen.neighbours)
    return replace(seen, neighbours=[*two, *others], hidden_below=max(0, seen.hidden_below - added))


def _neighbours(space: Space, content: str) -> tuple[list[Neighbour], int, float, str, statements.Half | None]:
    try:
        embedder = retrieval.serving_embedder(space)
        least = retrieval.related_threshold(embedder)
        vector = retrieval.query_vector(embedder, content[:MAX_QUERY])
        alike = conflicts.neighbours(space, embedder, vector, least=embedder.threshold, limit=20)
    except EmbedderUnavailable as away:
        return [], 0, 0.0, f"{away.message} Neighbours cannot be shown, and the entry will wait for its vectors.", None
    found = LongtermEntry.objects.within(space).in_bulk([pk for pk, _ in alike])
    same = retrieval.duplicate_threshold(embedder)
    shown = [
        Neighbour(found[pk], cosine, advice_for(cosine, same), entries.title_of_entry(found[pk].content, 90))
        for pk, cosine in alike
        if cosine >= least
    ]
    return shown[:MAX_NEIGHBOURS], len(alike) - len(shown[:MAX_NEIGHBOURS]), least, "", vector


def _requested(space: Any) -> QuerySet[Proposal]:
    pending = Proposal.objects.within(space).filter(state=Proposal.State.PENDING).order_by("-number")
    return pending.filter(pk__in=pending.values("pk")[:MAX_PENDING], kind=Proposal.Kind.PROMOTION)[:MAX_ON_MAP]


REQUESTED = prepared(_requested)


def requested_promotions(space: Space) -> list[map.Newcomer]:
    """The newest promotions that agents wait for, for the map. A server is asked for no vectors while somebody opens a page."""
    try:
        embedder = retrieval.serving_embedder(space)
    except EmbedderUnavailable:
        return []
    found = []
    for one in REQUESTED(space.pk) if embedder.is_local else ():
        text = bytes(one.content or b"").decode("utf-8", "replace")
        vector = retrieval.query_vector(embedder, text[:MAX_QUERY])
        found.append(map.Newcomer(vector, f"#{one.number}", entries.title_of_entry(text), f"proposals/{one.number}/"))
    return found


def advice_for(cosine: float, same_from: float) -> str:
    """Replace what says the same, or the opposite of the same; keep what is only near (pure)."""
    return "replace" if cosine >= same_from else "keep"


@dataclass(frozen=True)
class PromotionOrigin:
    """Where a text to be promoted comes from: a record, a working entry, two entries to merge, or nowhere but a person."""

    content: str = ""
    record: Record | None = None
    entry: WorkingEntry | None = None
    pair: EntryPair | None = None

    @property
    def agent_id(self) -> int | None:
        one = self.record or self.entry
        return one.agent_id if one else None

    @property
    def session_id(self) -> str:
        one = self.record or self.entry
        return one.session_id if one else ""


def promotion_origin(
    space: Space, *, record: int | None = None, working_entry: int | None = None, pair: int | None = None
) -> PromotionOrigin:
    """The record, the working entry or the pair that a promotion starts from."""
    if pair:
        two = conflicts.get_conflict(space, pair)
        return PromotionOrigin(f"{two.older.content}\n\n{two.newer.content}", pair=two)
    if record:
        found = quarantine.get(space, record)
        return PromotionOrigin(found.content, record=found)
    if working_entry:
        entry = working.get(space, working_entry)
        return PromotionOrigin(entry.content, entry=entry)
    return PromotionOrigin()


@transaction.atomic
def promote_record(
    space: Space, actor: Actor, record_id: int, *, content: str | None = None, reason: str = "", **choices: Any
) -> LongtermEntry:
    """A person makes a record long-term knowledge, perhaps as a digest of their own; nothing else can."""
    require(actor, "promote")
    record = quarantine.get(space, record_id)
    before = quarantine.locked_state(space, record)
    if before.state == quarantine.PROMOTED:
        raise Conflict("This record was promoted already.", code="already_decided")
    entry = store(
        space, actor, record.content if content is None else content, record_id=record.pk,
        session_id=record.session_id, reason=reason, **choices,
    )  # fmt: skip
    quarantine.write_state(record, actor, quarantine.PROMOTED, reason=f"L-{entry.number}", working_id=before.working_id)
    return entry


def promote(
    space: Space, actor: Actor, source: PromotionOrigin, content: str, *, agent_slug: str = "", **choices: Any
) -> LongtermEntry:
    """A person promotes what they saw, from wherever it came; its record learns of it."""
    if agent_slug:
        agent = Agent.objects.within(space).filter(slug=agent_slug).first()
        if agent is None:
            raise NotFound(f"There is no agent {agent_slug!r} in this space.")
        choices |= {"scope": entries.AGENT, "agent": agent}
    record_id = source.record.pk if source.record else source.entry.record_id if source.entry else None
    if record_id and Record.objects.within(space).filter(pk=record_id).exists():
        return promote_record(space, actor, record_id, content=content, **choices)
    return store(space, actor, content, session_id=source.session_id, **choices)
