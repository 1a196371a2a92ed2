"""Entries that may say the same or the opposite, shown in pairs for a person to settle; nothing settles itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from memoryhub.db import statements
from memoryhub.domain import jobs, retrieval
from memoryhub.domain.longterm.entries import lock_space
from memoryhub.embedders import Embedder
from memoryhub.errors import NotFound
from memoryhub.models import EntryPair, Job, LongtermEntry, Space

KINDS = DUPLICATE, CONTRADICTION = "duplicate", "contradiction"
MAX_SENTENCES = 30
MIN_SHARED = 0.6  # of the shorter sentence's words, from which two sentences are about one thing
MAX_CONTRADICTIONS = 100  # contradictions that a list tells beside its entries
MAX_CHUNKS = 20  # of a very long entry only so many chunks look for neighbours
DETECT = "pairs.look_for"
ITS_KEY = "jsonb_build_object('payload', jsonb_build_object('entry', entry.id))"
KEEP_BOTH = "keep_both"

VECTORS = """
SELECT e.vector FROM memoryhub_chunk c
JOIN memoryhub_embedding e ON e.space_id = c.space_id AND e.chunk_id = c.id
WHERE c.space_id = %s AND c.entry_id = %s AND e.embedded_by = %s ORDER BY c.position LIMIT %s
"""
NEIGHBOURS = """
SELECT c.entry_id, max(1 - d.distance) AS cosine
FROM (
    SELECT chunk_id, vector::halfvec({d}) <=> %(vector)s::halfvec({d}) AS distance
    FROM memoryhub_embedding WHERE space_id = %(space)s AND embedded_by = '{by}' OFFSET 0
) d JOIN memoryhub_chunk c ON c.id = d.chunk_id AND c.space_id = %(space)s
WHERE d.distance <= 1 - %(least)s AND c.entry_id <> %(entry)s
GROUP BY c.entry_id ORDER BY cosine DESC LIMIT %(limit)s
"""
# By the vector index: the nearest chunks of the space, of which those that are near enough count.
NEAREST = """
SELECT entry_id, max(cosine) AS cosine FROM (
    SELECT c.entry_id, n.cosine FROM ({nearest}) n
    CROSS JOIN LATERAL (SELECT entry_id FROM memoryhub_chunk WHERE id = n.chunk_id AND space_id = %(space)s LIMIT 1) c
) found WHERE cosine >= %(least)s AND entry_id <> %(entry)s
GROUP BY entry_id ORDER BY cosine DESC LIMIT %(limit)s
"""
_NOT = re.compile(
    r"\b(?:not|never|no|none|without|cannot|can't|don't|doesn't|isn't|aren't|won't|wasn't|nicht|nie|kein\w*|jamais|pas|nunca|не|нет|ليس|لا|لم|لن)\b"
    r"|不|没|無|ない|않",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?;。！？；])\s*|\n+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def neighbours(
    space: Space, embedder: Embedder, vector: statements.Half, *, least: float, limit: int = 5, but: int = 0
) -> list[tuple[int, float]]:
    """The ids of the entries most alike to what has this vector, with their cosine."""
    if by_index := retrieval.nearest_by_index(space, embedder, 4 * limit):
        sql = NEAREST.format(nearest=by_index)
    else:
        sql = NEIGHBOURS.format(d=int(embedder.dimensions), by=embedder.embedded_by)
    values = {"vector": vector, "space": space.pk, "least": least, "entry": but, "limit": limit}
    return [(entry_id, float(cosine)) for entry_id, cosine in statements.rows(sql, values)]


def detect_later(space: Space, entry: LongtermEntry) -> statements.Change:
    """Lets the background process look whom an entry resembles; asked for in the transaction that lets it be found, and for a
    new one in the statement that stores it as `entry`."""
    if entry.pk is None:
        return jobs.enqueue_as_change(DETECT, space=space, of="entry", over=ITS_KEY)
    return jobs.enqueue_as_change(DETECT, {"entry": entry.pk}, space=space)


@jobs.job(DETECT)
def detect_job(job: Job, progress: jobs.Progress) -> dict[str, Any]:
    space = Space.objects.get(pk=job.space_id)
    with transaction.atomic():
        lock_space(space)
        entry = LongtermEntry.objects.within(space).filter(pk=job.payload["entry"]).first()
        return {"pairs": detect(space, entry) if entry else 0}


def detect(space: Space, entry: LongtermEntry) -> int:
    """Stores which entries an entry resembles, under the space's lock; pairs that are stored already, decided or not, stay."""
    embedder = retrieval.serving_embedder(space)
    found: dict[int, float] = {}
    for (vector,) in statements.rows(VECTORS, [space.pk, entry.pk, embedder.embedded_by, MAX_CHUNKS], binary=True):
        for other, cosine in neighbours(
            space, embedder, statements.Half(vector), least=retrieval.related_threshold(embedder), but=entry.pk
        ):
            found[other] = max(cosine, found.get(other, 0.0))
    others = LongtermEntry.objects.within(space).in_bulk(list(found))
    same_from, pairs = retrieval.duplicate_threshold(embedder), []
    for other_id, cosine in found.items():
        if kind := _kind(entry, others[other_id], cosine, same_from):
            low, high = sorted((entry.pk, other_id))
            pairs.append(EntryPair(space_id=space.pk, older_id=low, newer_id=high, kind=kind, cosine=cosine))
    EntryPair.objects.bulk_create(pairs, ignore_conflicts=True)
    return len(pairs)


def _kind(one: LongtermEntry, other: LongtermEntry, cosine: float, same_from: float) -> str:
    if one.scope != other.scope or one.agent_id != other.agent_id:
        return ""
    if contradict(one.content, other.content):
        return CONTRADICTION
    return DUPLICATE if cosine >= same_from else ""


def contradict(one: str, other: str) -> bool:
    """Whether two texts about one thing name different numbers for it, or one of them denies what the other says (pure)."""
    pairs = ((mine, theirs) for mine in _sentences(one) for theirs in _sentences(other))
    return any(_on_one_thing(mine, theirs) and _differ(mine, theirs) for mine, theirs in pairs)


def _sentences(text: str) -> list[str]:
    return [part for part in _SENTENCE.split(text) if part.strip()][:MAX_SENTENCES]


def _on_one_thing(one: str, other: str) -> bool:
    mine, theirs = (set(retrieval.split_words(_NUMBER.sub(" ", text))) for text in (one, other))
    shared = len(mine & theirs)
    return shared >= 3 and shared >= MIN_SHARED * min(len(mine), len(theirs))


def _differ(one: str, other: str) -> bool:
    mine, theirs = set(_NUMBER.findall(one)), set(_NUMBER.findall(other))
    return bool(mine and theirs and mine.isdisjoint(theirs)) or bool(_NOT.search(one)) != bool(_NOT.search(other))


def forget_conflicts(entry: LongtermEntry) -> None:
    """Drops an entry's pairs: it changed or went, so old verdicts say nothing any more."""
    EntryPair.objects.within(entry.space_id).filter(_with(entry)).delete()


def _with(entry: LongtermEntry) -> Q:
    return Q(older_id=entry.pk) | Q(newer_id=entry.pk)


def open_conflicts(space: Space, kind: str = "", of: LongtermEntry | None = None) -> QuerySet[EntryPair]:
    """What nobody settled yet, the most alike first; all of it, or that of one entry."""
    found = EntryPair.objects.within(space).filter(settled_at=None).order_by("-cosine", "id")
    found = found.filter(_with(of)) if of else found
    return found.filter(kind=kind) if kind else found


def contradictions_of(space: Space, numbers: Iterable[int]) -> dict[int, list[int]]:
    """Which of these entries may say the opposite of others, and of which: open contradictions, by number."""
    pks = LongtermEntry.objects.within(space).filter(number__in=list(numbers)).values_list("pk", flat=True)
    found = open_conflicts(space, CONTRADICTION).filter(Q(older_id__in=list(pks)) | Q(newer_id__in=list(pks)))
    odds: dict[int, list[int]] = {}
    for pair in conflicts_with_entries(space, found[:MAX_CONTRADICTIONS]):
        odds.setdefault(pair.older.number, []).append(pair.newer.number)
        odds.setdefault(pair.newer.number, []).append(pair.older.number)
    return odds


def conflicts_with_entries(space: Space, found: QuerySet[EntryPair]) -> list[EntryPair]:
    """The pairs, each with `.older` and `.newer`."""
    pairs = list(found)
    entries = LongtermEntry.objects.within(space).in_bulk([pk for one in pairs for pk in (one.older_id, one.newer_id)])
    for one in pairs:
        one.older, one.newer = entries[one.older_id], entries[one.newer_id]
    return pairs


def settled_pairs(space: Space) -> dict[int, list[EntryPair]]:
    """The verdicts that hold: pairs of which both stand, by the number of the later entry, which here is `.newer`."""
    found: dict[int, list[EntryPair]] = {}
    settled = EntryPair.objects.within(space).filter(verdict=KEEP_BOTH).order_by("id")
    for one in conflicts_with_entries(space, settled):
        one.older, one.newer = sorted((one.older, one.newer), key=lambda entry: entry.number)
        found.setdefault(one.newer.number, []).append(one)
    return {number: sorted(those, key=lambda one: one.older.number) for number, those in found.items()}


def import_pair(pair: EntryPair, entry: LongtermEntry, other: LongtermEntry | None) -> None:
    """Stores the verdict of an import, so that nobody is asked again; nothing without its other entry."""
    if other is not None:
        pair.older_id, pair.newer_id = sorted((entry.pk, other.pk))
        EntryPair.objects.bulk_create([pair], ignore_conflicts=True)


def get_conflict(space: Space, pair_id: int) -> EntryPair:
    """An open pair with its entries."""
    found = conflicts_with_entries(space, open_conflicts(space).filter(pk=pair_id))
    if not found:
        raise NotFound("This pair is settled, or one of its entries was changed or retired.")
    return found[0]
