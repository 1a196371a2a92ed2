"""What a promotion would do, shown before it happens: how the text is cut, and what is there already."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from hashlib import sha256
from typing import Any

from django.db import transaction

from memoryhub.domain import hot, longterm, longterm_map, meaning, pairs, proposals, quarantine, splitting, working
from memoryhub.domain.access import Actor
from memoryhub.embedders import EmbedderUnavailable
from memoryhub.errors import NotFound
from memoryhub.models import Agent, EntryPair, LongtermEntry, Proposal, Record, Space, WorkingEntry

SHOWN = 3
BEGINNING = 2000  # characters of a text by which its neighbours and its place on the map are found
ON_THE_MAP = 12  # promotions that wait, the newest of them
LOOKED_AT = 500  # of all that waits, so that a full inbox costs the page nothing


@dataclass(frozen=True)
class Neighbour:
    """An entry that is there already, how like the new text it is, and what seems right to do with it."""

    entry: LongtermEntry
    cosine: float
    advice: str
    title: str


@dataclass(frozen=True)
class Preview:
    """Everything a person should see before saying yes."""

    content: str
    sha256: str
    pieces: list[splitting.Piece]
    neighbours: list[Neighbour]
    hidden_below: int
    least: float
    warning: str = ""
    vector: hot.Half | None = None

    @property
    def newcomers(self) -> list[longterm_map.Newcomer]:
        """The text as a point of the map of what is there already."""
        if self.vector is None:
            return []
        near = {one.entry.number: one.cosine for one in self.neighbours}
        return [longterm_map.Newcomer(self.vector, "about to enter", longterm.title(self.content), near=near)]


def preview(space: Space, content: str, pair: EntryPair | None = None) -> Preview:
    """The chunks that a text would become, and its nearest neighbours in long-term memory; those it merges come first."""
    found = near(space, content) if content.strip() else ([], 0, 0.0, "", None)
    digest = sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    seen = Preview(content, digest, splitting.split(content), *found)
    return merging(seen, pair) if pair else seen


def merging(seen: Preview, pair: EntryPair) -> Preview:
    """The same, where the new text takes the place of a pair, also while no neighbours can be looked for."""
    found = {one.entry.pk: one.cosine for one in seen.neighbours}
    two = [
        Neighbour(one, found.pop(one.pk, pair.cosine), "replace", longterm.title(one.content, 90))
        for one in (pair.older, pair.newer)
    ]
    others = [one for one in seen.neighbours if one.entry.pk in found]
    added = len(two) + len(others) - len(seen.neighbours)
    return replace(seen, neighbours=[*two, *others], hidden_below=max(0, seen.hidden_below - added))


def near(space: Space, content: str) -> tuple[list[Neighbour], int, float, str, hot.Half | None]:
    try:
        embedder = meaning.serving(space)
        least = meaning.near_from(embedder)
        vector = meaning.query_vector(embedder, content[:BEGINNING])
        alike = pairs.neighbours(space, embedder, vector, least=embedder.threshold, limit=20)
    except EmbedderUnavailable as away:
        return [], 0, 0.0, f"{away.message} Neighbours cannot be shown, and the entry will wait for its vectors.", None
    entries = LongtermEntry.objects.within(space).in_bulk([pk for pk, _ in alike])
    same = meaning.same_from(embedder)
    shown = [
        Neighbour(entries[pk], cosine, advised(cosine, same), longterm.title(entries[pk].content, 90))
        for pk, cosine in alike
        if cosine >= least
    ]
    return shown[:SHOWN], len(alike) - len(shown[:SHOWN]), least, "", vector


def asked_for(space: Space) -> list[longterm_map.Newcomer]:
    """The newest promotions that agents wait for, for the map. A server is asked for no vectors while somebody opens a page."""
    try:
        embedder = meaning.serving(space)
    except EmbedderUnavailable:
        return []
    pending = Proposal.objects.within(space).filter(state=Proposal.State.PENDING).order_by("-number")
    newest = pending.filter(pk__in=pending.values("pk")[:LOOKED_AT], kind=Proposal.Kind.PROMOTION)
    found = []
    for one in newest[:ON_THE_MAP] if embedder.is_local else ():
        text = bytes(one.content or b"").decode("utf-8", "replace")
        vector = meaning.query_vector(embedder, text[:BEGINNING])
        found.append(longterm_map.Newcomer(vector, f"#{one.number}", longterm.title(text), f"proposals/{one.number}/"))
    return found


def advised(cosine: float, same_from: float) -> str:
    """Replace what says the same, or the opposite of the same; keep what is only near (pure)."""
    return "replace" if cosine >= same_from else "keep"


@dataclass(frozen=True)
class Origin:
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


def origin(
    space: Space, *, record: int | None = None, working_entry: int | None = None, pair: int | None = None
) -> Origin:
    """The record, the working entry or the pair that a promotion starts from."""
    if pair:
        two = pairs.get(space, pair)
        return Origin(f"{two.older.content}\n\n{two.newer.content}", pair=two)
    if record:
        found = quarantine.get(space, record)
        return Origin(found.content, record=found)
    if working_entry:
        kept = working.get(space, working_entry)
        return Origin(kept.content, entry=kept)
    return Origin()


@transaction.atomic
def approve(
    space: Space, actor: Actor, number: int, *, replaces: Iterable[int] = (), merges: Iterable[int] = (),
    review_by: date | None = None, **given: Any,
) -> Proposal:  # fmt: skip
    """Approves an agent's promotion, and in the same breath settles what was there already and when to check it again."""
    decided = proposals.approve(space, actor, number, **given)
    if decided.state == Proposal.State.APPROVED and decided.entry_number:
        longterm.absorb(space, actor, decided.entry_number, replaces=replaces, merges=merges)
        if review_by:
            longterm.set_review_by(space, actor, decided.entry_number, review_by)
    return decided


def promote(
    space: Space, actor: Actor, source: Origin, content: str, *, agent_slug: str = "", **choices: Any
) -> LongtermEntry:
    """A person promotes what they saw, from wherever it came; its record learns of it."""
    if agent_slug:
        agent = Agent.objects.within(space).filter(slug=agent_slug).first()
        if agent is None:
            raise NotFound(f"There is no agent {agent_slug!r} in this space.")
        choices |= {"scope": longterm.AGENT, "agent": agent}
    record_id = source.record.pk if source.record else source.entry.record_id if source.entry else None
    if record_id and Record.objects.within(space).filter(pk=record_id).exists():
        return quarantine.promote(space, actor, record_id, content=content, **choices)
    return longterm.store(space, actor, content, session_id=source.session_id, **choices)
