"""A change of embedder: new vectors are made beside the old ones, which serve until all are there; then one switch, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from memoryhub import embedders
from memoryhub.db import statements
from memoryhub.domain import activity, jobs, retrieval, spaces
from memoryhub.domain.accounts import require
from memoryhub.domain.longterm import chunks
from memoryhub.embedders import Embedder
from memoryhub.errors import Conflict, NotFound
from memoryhub.models import HUB, Actor, Chunk, Embedding, Job, Space

REEMBEDDING_JOB, DROP = "reembedding.start", "reembedding.drop"
BATCH = 200
SWITCH_SECONDS = 10.0  # what others wait at most for an embedder that falls silent just before the switch
DROP_SIZE = 2000  # vectors: so long others wait for the space
SERVES, WAY_BACK, IN_THE_MAKING = "serves", "the way back", "being made"

MISSING = """
SELECT c.id FROM memoryhub_chunk c
LEFT JOIN memoryhub_embedding e ON e.space_id = c.space_id AND e.chunk_id = c.id AND e.embedded_by = %s
WHERE c.space_id = %s AND e.id IS NULL ORDER BY c.id LIMIT %s
"""


OF_ANOTHER_MODEL = (
    "DELETE FROM memoryhub_embedding WHERE space_id = %s AND embedded_by = %s AND vector_dims(vector) <> %s"
)


# What a vector takes is asked of one of them: the others of its embedder are as long.
COUNTS = """
SELECT found.embedded_by, found.many, found.many * (one.size + 64) FROM (
    SELECT embedded_by, count(*) AS many FROM memoryhub_embedding WHERE space_id = %(space)s GROUP BY embedded_by
) found CROSS JOIN LATERAL (
    SELECT pg_column_size(e.*) AS size FROM memoryhub_embedding e
    WHERE e.space_id = %(space)s AND e.embedded_by = found.embedded_by LIMIT 1
) one ORDER BY found.embedded_by
"""
DROP_BATCH = """
DELETE FROM memoryhub_embedding WHERE id IN (
    SELECT id FROM memoryhub_embedding WHERE space_id = %s AND embedded_by = %s LIMIT %s
)
"""


@dataclass(frozen=True)
class EmbedderVectors:
    """The vectors that a space has of one embedder: how many, about how many bytes, and what for (nothing: nobody needs them)."""

    embedded_by: str
    vectors: int
    size: int
    use: str


@dataclass(frozen=True)
class ReembeddingState:
    """How a space stands: who serves, whom one could go back to, and a change under way."""

    serving: str
    configured: str
    before: str
    chunks: int
    vectors: int
    job: Job | None
    dropping: Job | None

    @property
    def is_running(self) -> bool:
        return is_under_way(self.job)

    @property
    def is_dropping(self) -> bool:
        return is_under_way(self.dropping)


def is_under_way(job: Job | None) -> bool:
    return job is not None and job.state in (Job.WAITING, Job.RUNNING)


def reembedding_state(space: Space) -> ReembeddingState:
    choice = retrieval.embedder_choice(space)
    try:
        embedded_by = retrieval.load_embedder(choice).embedded_by
    except embedders.Invalid:
        embedded_by = ""
    return ReembeddingState(
        choice,
        settings.EMBEDDER,
        space.settings.get("embedder_before", ""),
        Chunk.objects.within(space).count(),
        Embedding.objects.within(space).filter(embedded_by=embedded_by).count(),
        jobs.latest(space, REEMBEDDING_JOB),
        jobs.latest(space, DROP),
    )


@transaction.atomic
def start_reembedding(space: Space, actor: Actor, choice: str) -> Job:
    """Asks for the change to another embedder; it happens in the background, the old one serves meanwhile."""
    job = _enqueue(space, actor, choice, switches=True)
    _record_activity(space, actor, "began to change the embedder to", choice)
    return job


@transaction.atomic
def prepare_reembedding(space: Space, actor: Actor, choice: str) -> Job:
    """Asks for another embedder's vectors without the change to it, so that both can be compared first."""
    job = _enqueue(space, actor, choice, switches=False)
    _record_activity(space, actor, "asked for vectors of the embedder", choice)
    return job


def _enqueue(space: Space, actor: Actor, choice: str, *, switches: bool) -> Job:
    require(actor, "manage")
    retrieval.load_embedder(choice)  # refuses what is no embedder
    last = jobs.latest(space, REEMBEDDING_JOB)
    if is_under_way(last):
        raise Conflict("A change of embedder is under way already; let it finish first.", code="already_running")
    return jobs.enqueue(REEMBEDDING_JOB, {"choice": choice, "switches": switches}, space=space, asked_by=actor.name)


def _record_activity(space: Space, actor: Actor, says: str, choice: str) -> None:
    activity.record(space, actor, "retrieval.reembed", says, choice, url="retrieval/embedder/")


@jobs.job(REEMBEDDING_JOB)
def reembedding_job(job: Job, progress: jobs.Progress) -> dict[str, Any]:
    space = Space.objects.get(pk=job.space_id)
    return run_reembedding(space, job.payload["choice"], progress, switches=job.payload.get("switches", True))


def run_reembedding(
    space: Space,
    choice: str,
    progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    switches: bool = True,
) -> dict[str, Any]:
    """Makes what vectors are missing, then switches; begun again after a crash, it goes on where it stopped."""
    drop_of_another_model(space, retrieval.load_embedder(choice))
    embedder = retrieval.embedder_of(space, choice)
    made = fill_vectors(space, embedder, progress)
    retrieval.add_to_vector_index((space, embedder))
    if not switches:
        return {"made": made, "choice": choice, "switches": False}
    made += switch_embedder(space, choice, embedder)
    return {"made": made, "choice": choice, **_run_checks(space)}


@transaction.atomic
def drop_of_another_model(space: Space, embedder: Embedder) -> None:
    """Drops what a server made with another model under the same name; nothing can be compared with it any more."""
    if embedder.is_local:
        return
    length = embedder.embed(["dimensions"], seconds=120).shape[1]
    with connection.cursor() as cursor:
        cursor.execute(OF_ANOTHER_MODEL, [space.pk, embedder.embedded_by, length])
        if cursor.rowcount:
            spaces.mark_longterm(space)


def _run_checks(space: Space) -> dict[str, Any]:
    """What the saved queries find under the embedder that serves now."""
    return retrieval.run_checks(Space.objects.get(pk=space.pk))


def fill_vectors(space: Space, embedder: Embedder, progress: Callable[[int, int], None], seconds: float = 120.0) -> int:
    total, made = Chunk.objects.within(space).count(), 0
    done = Embedding.objects.within(space).filter(embedded_by=embedder.embedded_by).count()
    while batch := chunks_without_vectors(space, embedder):
        chunks.embed_chunks(batch, embedder, seconds=seconds)
        made += len(batch)
        progress(min(done + made, total), total)
    return made


def vector_counts(space: Space, embedder: Embedder) -> tuple[int, int]:
    """How many vectors an embedder has of a space, and how many chunks lack one."""
    made = Embedding.objects.within(space).filter(embedded_by=embedder.embedded_by).count()
    return made, max(0, Chunk.objects.within(space).count() - made)


def chunks_without_vectors(space: Space, embedder: Embedder) -> list[Chunk]:
    """The next chunks that this embedder has no vectors of."""
    with connection.cursor() as cursor:
        cursor.execute(MISSING, [embedder.embedded_by, space.pk, BATCH])
        ids = [row[0] for row in cursor.fetchall()]
    return list(Chunk.objects.within(space).filter(pk__in=ids).defer("words"))


@transaction.atomic
def switch_embedder(space: Space, choice: str, embedder: Embedder, by: Actor = HUB) -> int:
    """Makes the last missing vectors while nothing can be stored, and lets the new embedder serve from this commit on."""
    locked = Space.objects.select_for_update().get(pk=space.pk)
    made = fill_vectors(locked, embedder, lambda done, total: None, SWITCH_SECONDS)
    before = retrieval.embedder_choice(locked)
    if before != choice:
        goes_back = locked.settings.get("embedder_before") == choice
        locked.settings |= {"embedder": choice, "embedder_before": before}
        locked.save(update_fields=["settings"])
        _record_activity(locked, by, "went back to the embedder" if goes_back else "changed the embedder to", choice)
    spaces.mark_longterm(locked)
    return made


def switch_embedder_back(space: Space, actor: Actor) -> Space:
    """Lets the embedder before serve again: at once, or as a change in the background where many vectors are missing."""
    require(actor, "manage")
    choice = embedder_before(space)
    embedder = retrieval.embedder_of(space, choice)
    lacks = len(chunks_without_vectors(space, embedder))
    if lacks == BATCH or (lacks and not embedder.is_local):
        start_reembedding(space, actor, choice)
    else:
        switch_embedder(space, choice, embedder, actor)
        _run_checks(space)
    space.refresh_from_db()
    return space


def embedder_before(space: Space) -> str:
    """The embedder that served before the one that does."""
    if choice := space.settings.get("embedder_before"):
        return str(choice)
    raise Conflict("There is no embedder to go back to.", code="nothing_to_undo")


# ---- what nobody needs any more


def embedders_with_vectors(space: Space) -> list[EmbedderVectors]:
    """Whose vectors a space has, what they take, and what each is kept for."""
    used = _uses(space)
    return [
        EmbedderVectors(by, many, int(size), _use_of(used, by))
        for by, many, size in statements.rows(COUNTS, {"space": space.pk})
    ]


def _uses(space: Space) -> dict[str, str]:
    """What for each embedder's vectors are needed: it serves, it is the one to go back to, or its vectors are being made."""
    job = jobs.latest(space, REEMBEDDING_JOB)
    making = job.payload["choice"] if job and is_under_way(job) else ""
    choices = {
        making: IN_THE_MAKING,
        space.settings.get("embedder_before"): WAY_BACK,
        retrieval.embedder_choice(space): SERVES,
    }
    return {_embedded_by(choice): use for choice, use in choices.items() if choice}


def _embedded_by(choice: str) -> str:
    """The name under which a choice's vectors stand; of an embedder that is not configured any more all that begins so."""
    try:
        return retrieval.load_embedder(choice).embedded_by
    except embedders.Invalid:
        return choice.partition(":")[0] + "/"


def _use_of(used: dict[str, str], embedded_by: str) -> str:
    return used.get(embedded_by) or used.get(embedded_by.partition("/")[0] + "/", "")


@transaction.atomic
def drop_vectors(space: Space, actor: Actor, embedded_by: str) -> Job:
    """Asks for the vectors of an embedder that nobody needs to be deleted; never of those that serve, or lead back."""
    drop_vectors_of(space, actor, embedded_by)
    return jobs.enqueue(DROP, {"embedded_by": embedded_by}, space=space, asked_by=actor.name)


@transaction.atomic
def drop_vectors_of(space: Space, actor: Actor, embedded_by: str) -> None:
    """Says that these vectors may go, or refuses."""
    require(actor, "manage")
    if not Embedding.objects.within(space).filter(embedded_by=embedded_by).exists():
        raise NotFound(f"This space has no vectors of {embedded_by[:100]!r}.")
    _refuse_used(space, embedded_by)
    _record_activity(space, actor, "deleted the vectors of", embedded_by)


def _refuse_used(space: Space, embedded_by: str) -> None:
    if use := _use_of(_uses(space), embedded_by):
        why = {SERVES: "They serve", WAY_BACK: "They are the way back", IN_THE_MAKING: "They are being made"}[use]
        raise Conflict(f"{why}: the vectors of {embedded_by} stay.", code="still_used")


@jobs.job(DROP)
def drop_job(job: Job, progress: jobs.Progress) -> dict[str, Any]:
    return {"dropped": drop_all_vectors(Space.objects.get(pk=job.space_id), job.payload["embedded_by"], progress)}


def drop_all_vectors(
    space: Space, embedded_by: str, progress: Callable[[int, int], None] = lambda done, total: None
) -> int:  # fmt: skip
    """Deletes them a few at a time; begun again after a crash, it goes on with what is left."""
    total, gone = Embedding.objects.within(space).filter(embedded_by=embedded_by).count(), 0
    while some := _drop_batch(space, embedded_by):
        gone += some
        progress(min(gone, total), total)
    retrieval.drop_vector_index(space, embedded_by)
    return gone


@transaction.atomic
def _drop_batch(space: Space, embedded_by: str) -> int:
    """Under the lock that a switch takes too, so that nothing begins to serve while it goes; what processes keep is stale."""
    locked = Space.objects.select_for_update().get(pk=space.pk)
    _refuse_used(locked, embedded_by)
    with connection.cursor() as cursor:
        cursor.execute(DROP_BATCH, [locked.pk, embedded_by, DROP_SIZE])
        if cursor.rowcount:
            spaces.mark_longterm(locked)
        return cursor.rowcount
