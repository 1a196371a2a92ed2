"""A change of embedder: new vectors are made beside the old ones, which serve until all are there; then one switch, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from memoryhub import embedders
from memoryhub.domain import activity, indexing, jobs, meaning, spaces, vector_index
from memoryhub.domain.access import HUB, Actor, require
from memoryhub.embedders import Embedder
from memoryhub.errors import Conflict
from memoryhub.models import Chunk, Embedding, Job, Space

JOB = "reembedding.start"
BATCH = 200

MISSING = """
SELECT c.id FROM memoryhub_chunk c
LEFT JOIN memoryhub_embedding e ON e.space_id = c.space_id AND e.chunk_id = c.id AND e.embedded_by = %s
WHERE c.space_id = %s AND e.id IS NULL ORDER BY c.id LIMIT %s
"""


OF_ANOTHER_MODEL = (
    "DELETE FROM memoryhub_embedding WHERE space_id = %s AND embedded_by = %s AND vector_dims(vector) <> %s"
)


@dataclass(frozen=True)
class State:
    """How a space stands: who serves, whom one could go back to, and a change under way."""

    serving: str
    configured: str
    before: str
    chunks: int
    vectors: int
    job: Job | None

    @property
    def is_running(self) -> bool:
        return self.job is not None and self.job.state in (Job.WAITING, Job.RUNNING)


def state(space: Space) -> State:
    choice = meaning.choice(space)
    try:
        embedded_by = meaning.load(choice).embedded_by
    except embedders.Invalid:
        embedded_by = ""
    return State(
        choice,
        settings.EMBEDDER,
        space.settings.get("embedder_before", ""),
        Chunk.objects.within(space).count(),
        Embedding.objects.within(space).filter(embedded_by=embedded_by).count(),
        jobs.latest(space, JOB),
    )


@transaction.atomic
def start(space: Space, actor: Actor, choice: str) -> Job:
    """Asks for the change to another embedder; it happens in the background, the old one serves meanwhile."""
    job = begin(space, actor, choice, switches=True)
    note(space, actor, "began to change the embedder to", choice)
    return job


@transaction.atomic
def prepare(space: Space, actor: Actor, choice: str) -> Job:
    """Asks for another embedder's vectors without the change to it, so that both can be compared first."""
    job = begin(space, actor, choice, switches=False)
    note(space, actor, "asked for vectors of the embedder", choice)
    return job


def begin(space: Space, actor: Actor, choice: str, *, switches: bool) -> Job:
    require(actor, "manage")
    meaning.load(choice)  # refuses what is no embedder
    last = jobs.latest(space, JOB)
    if last and last.state in (Job.WAITING, Job.RUNNING):
        raise Conflict("A change of embedder is under way already; let it finish first.", code="already_running")
    return jobs.enqueue(JOB, {"choice": choice, "switches": switches}, space=space, asked_by=actor.name)


def note(space: Space, actor: Actor, says: str, choice: str) -> None:
    activity.record(space, actor, "retrieval.reembed", says, choice, url="retrieval/embedder/")


@jobs.job(JOB)
def run_job(job: Job, progress: jobs.Progress) -> dict[str, Any]:
    space = Space.objects.get(pk=job.space_id)
    return run(space, job.payload["choice"], progress, switches=job.payload.get("switches", True))


def run(
    space: Space,
    choice: str,
    progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    switches: bool = True,
) -> dict[str, Any]:
    """Makes what vectors are missing, then switches; begun again after a crash, it goes on where it stopped."""
    drop_of_another_model(space, meaning.load(choice))
    embedder = meaning.of_space(space, choice)
    made = fill(space, embedder, progress)
    vector_index.let_in((space, embedder))
    if not switches:
        return {"made": made, "choice": choice, "switches": False}
    made += switch(space, choice, embedder)
    return {"made": made, "choice": choice, **checked(space)}


@transaction.atomic
def drop_of_another_model(space: Space, embedder: Embedder) -> None:
    """Drops what a server made with another model under the same name; nothing can be compared with it any more."""
    if embedder.is_local:
        return
    length = embedder.embed(["dimensions"], seconds=120).shape[1]
    with connection.cursor() as cursor:
        cursor.execute(OF_ANOTHER_MODEL, [space.pk, embedder.embedded_by, length])
        if cursor.rowcount:
            spaces.touch_longterm(space)


def checked(space: Space) -> dict[str, Any]:
    """What the saved queries find under the embedder that serves now."""
    from memoryhub.domain import retrieval_checks

    return retrieval_checks.run(Space.objects.get(pk=space.pk))


def fill(space: Space, embedder: Embedder, progress: Callable[[int, int], None]) -> int:
    total, made = Chunk.objects.within(space).count(), 0
    done = Embedding.objects.within(space).filter(embedded_by=embedder.embedded_by).count()
    while batch := missing(space, embedder):
        indexing.embed(batch, embedder, seconds=120)
        made += len(batch)
        progress(min(done + made, total), total)
    return made


def vectors(space: Space, embedder: Embedder) -> tuple[int, int]:
    """How many vectors an embedder has of a space, and how many chunks lack one."""
    made = Embedding.objects.within(space).filter(embedded_by=embedder.embedded_by).count()
    return made, max(0, Chunk.objects.within(space).count() - made)


def missing(space: Space, embedder: Embedder) -> list[Chunk]:
    """The next chunks that this embedder has no vectors of."""
    with connection.cursor() as cursor:
        cursor.execute(MISSING, [embedder.embedded_by, space.pk, BATCH])
        ids = [row[0] for row in cursor.fetchall()]
    return list(Chunk.objects.within(space).filter(pk__in=ids).defer("words"))


@transaction.atomic
def switch(space: Space, choice: str, embedder: Embedder, by: Actor = HUB) -> int:
    """Makes the last missing vectors while nothing can be stored, and lets the new embedder serve from this commit on."""
    locked = Space.objects.select_for_update().get(pk=space.pk)
    made = fill(locked, embedder, lambda done, total: None)
    before = meaning.choice(locked)
    if before != choice:
        goes_back = locked.settings.get("embedder_before") == choice
        locked.settings |= {"embedder": choice, "embedder_before": before}
        locked.save(update_fields=["settings"])
        note(locked, by, "went back to the embedder" if goes_back else "changed the embedder to", choice)
    spaces.touch_longterm(locked)
    return made


def switch_back(space: Space, actor: Actor) -> Space:
    """Lets the embedder before serve again: at once, or as a change in the background where many vectors are missing."""
    require(actor, "manage")
    choice = before(space)
    embedder = meaning.of_space(space, choice)
    lacks = len(missing(space, embedder))
    if lacks == BATCH or (lacks and not embedder.is_local):
        start(space, actor, choice)
    else:
        switch(space, choice, embedder, actor)
        checked(space)
    space.refresh_from_db()
    return space


def before(space: Space) -> str:
    """The embedder that served before the one that does."""
    if choice := space.settings.get("embedder_before"):
        return str(choice)
    raise Conflict("There is no embedder to go back to.", code="nothing_to_undo")
