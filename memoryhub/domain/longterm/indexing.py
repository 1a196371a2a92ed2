"""Makes entries findable: at once, or when the embedder that is away has come back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.db import transaction

from memoryhub.db import statements
from memoryhub.domain import jobs, retrieval, spaces
from memoryhub.domain.accounts import require
from memoryhub.domain.longterm import chunks, conflicts
from memoryhub.domain.longterm.entries import ACTIVE, WAITING, entries_of, lock_entry, lock_space
from memoryhub.embedders import EmbedderUnavailable
from memoryhub.errors import Invalid, NotFound
from memoryhub.models import Actor, Job, LongtermEntry, Space

EMBED_WAITING, RECUT = "longterm.embed_waiting", "longterm.recut"
SMALLEST_CHUNK, LARGEST_CHUNK = 100, 4000  # characters
RECUT_BATCH = 200
RECUT_SECONDS = 30.0


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


# ---- another size of chunks


@transaction.atomic
def change_chunks(space: Space, actor: Actor, size: int, overlap: int) -> Space:
    """Sets the size of chunks. Entries are cut anew in the background, each at once: until then its old chunks are found."""
    require(actor, "manage")
    if not SMALLEST_CHUNK <= size <= LARGEST_CHUNK:
        says = f"A chunk has {SMALLEST_CHUNK} to {LARGEST_CHUNK} characters."
        raise Invalid(says, code="invalid", field="size")
    if not 0 <= overlap <= size // 2:
        raise Invalid("Chunks share half their characters at most.", code="invalid", field="overlap")
    if (size, overlap) == chunks.chunk_size(space):
        return space
    space = spaces.change_settings(space, actor, {"chunks": {"size": size, "overlap": overlap}})
    jobs.enqueue(RECUT, {}, space=space, asked_by=actor.name)
    return space


@jobs.job(RECUT)
def recut_job(job: Job, progress: jobs.Progress) -> dict[str, Any]:
    return {"cut": recut(Space.objects.get(pk=job.space_id), progress)}


def recut(space: Space, progress: Callable[[int, int], None] = lambda done, total: None) -> int:
    """Cuts every entry that is cut in another size; begun again after a crash, it finds those that are left."""
    live = entries_of(space).filter(state__in=(ACTIVE, WAITING)).order_by("number")
    total, done, last, cut = live.count(), 0, 0, 0
    while numbers := list(live.filter(number__gt=last).values_list("number", flat=True)[:RECUT_BATCH]):
        for number in numbers:
            cut += recut_entry(space, number)
            done += 1
        last = numbers[-1]
        progress(min(done, total), total)
    return cut


def recut_entry(space: Space, number: int) -> bool:
    """Replaces the chunks of an entry by those of today's size, in one transaction; answers whether it had others."""
    while seen := entries_of(space).filter(number=number, state__in=(ACTIVE, WAITING)).first():
        reload_settings(space)
        wanted = [(piece.start, piece.end) for piece in chunks.cut_text(space, seen.content)]
        if [(chunk.start, chunk.end) for chunk in chunks.chunks_of(seen)] == wanted:
            return False
        made = chunks.cut_chunks(space, seen.content, seconds=RECUT_SECONDS)
        if made.waits and seen.state == ACTIVE:
            raise EmbedderUnavailable("The embedder is away: chunks are cut again when it is back.")
        with suppress(statements.NotHeld), transaction.atomic():
            entry = lock_unchanged(space, seen)
            chunks.remove_chunks(entry)
            statements.together(spaces.longterm_mark(space), *chunks.insert_changes(entry, made))
            return True
    return False
