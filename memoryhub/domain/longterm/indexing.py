"""Makes entries findable: at once, or when the embedder that is away has come back."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from memoryhub.db import statements
from memoryhub.domain import jobs, retrieval, spaces
from memoryhub.domain.longterm import chunks, conflicts
from memoryhub.domain.longterm.entries import ACTIVE, WAITING, entries_of, lock_entry, lock_space
from memoryhub.errors import NotFound
from memoryhub.models import Job, LongtermEntry, Space

EMBED_WAITING = "longterm.embed_waiting"


def index(space: Space, entry: LongtermEntry, cut: chunks.Cut | None = None) -> None:
    """Makes an entry findable; while the embedder is away it is found by words alone and waits for its vectors. It may be cut
    already."""
    cut = cut or chunks.cut_chunks(space, entry.content)
    if entry.state != state_of_cut(cut):
        set_state(entry, state_of_cut(cut))
    statements.together(spaces.longterm_mark(space), *index_changes(space, entry, cut))


def index_changes(space: Space, entry: LongtermEntry, cut: chunks.Cut) -> list[statements.Change]:
    """The changes that let an entry be found, and what is done about it in the background."""
    later = jobs.enqueue_as_change(EMBED_WAITING, space=space) if cut.waits else conflicts.detect_later(space, entry)
    return [*chunks.insert_changes(entry, cut), later]


def state_of_cut(cut: chunks.Cut) -> str:
    return WAITING if cut.waits else ACTIVE


def set_state(entry: LongtermEntry, state: str) -> None:
    entry.state = state
    entry.save(update_fields=["state"])


def lock_unchanged(space: Space, seen: LongtermEntry) -> LongtermEntry:
    """The entry under its lock and the space's, where both are as they were when the embedder was asked; else `NotHeld`."""
    chosen = retrieval.embedder_choice(space)
    lock_space(space)
    reload_settings(space)
    entry = lock_entry(space, seen.number)
    if (entry.revision, entry.state, retrieval.embedder_choice(space)) != (seen.revision, seen.state, chosen):
        raise statements.NotHeld
    return entry


def reload_settings(space: Space) -> None:
    """What the space has chosen by now."""
    try:
        space.refresh_from_db(fields=["settings"])
    except Space.DoesNotExist:
        raise NotFound("There is no such space any more.") from None


@jobs.job(EMBED_WAITING)
def embed_job(job: Job, progress: jobs.Progress) -> dict[str, Any]:
    return {"embedded": embed_waiting(Space.objects.get(pk=job.space_id))}


def embed_waiting(space: Space, seconds: float = 30.0) -> int:
    """Gives the entries that wait their vectors; raises while the embedder is still away."""
    waiting = list(entries_of(space).filter(state=WAITING).values_list("number", flat=True))
    return sum(_embed_entry(space, number, seconds) for number in waiting)


def _embed_entry(space: Space, number: int, seconds: float) -> bool:
    """Makes the vectors of an entry that waits, then locks the space to store them: while an embedder is silent, nobody waits
    for that lock."""
    while entry := entries_of(space).filter(number=number, state=WAITING).first():
        space.refresh_from_db(fields=["settings"])
        embedder, found = retrieval.serving_embedder(space), chunks.chunks_of(entry)
        vectors = chunks.vectors_of(found, embedder, seconds=seconds)
        with transaction.atomic():
            lock_space(space)
            space.refresh_from_db(fields=["settings"])
            entry = lock_entry(space, number)
            still = retrieval.serving_embedder(space).embedded_by == embedder.embedded_by
            if entry.state == WAITING and still and chunks.chunks_of(entry) == found:
                chunks.store_vectors(embedder, vectors)
                set_state(entry, ACTIVE)
                conflicts.detect(space, entry)
                spaces.mark_longterm(space)
                return True
    return False
