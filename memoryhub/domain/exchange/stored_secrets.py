"""Secrets that earlier versions stored, or that a backup made then brings back: they become marks, in the history as well."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from typing import Any

from django.db import transaction

from memoryhub.domain import activity, jobs, quarantine, spaces
from memoryhub.errors import TooLarge
from memoryhub.models import HUB, File, FileWords, Made, Proposal, Revision, Space
from memoryhub.text.counted import counted

BATCH = 100
UNKNOWN = "k"  # the digest of no file: the next look at the disk takes its bytes in again


@jobs.job("exchange.mark_stored")
def mark_stored_job(job: Any, progress: jobs.Progress) -> dict[str, int]:
    return {"revisions": mark_stored_secrets()}


def mark_stored_secrets() -> int:
    """Replaces every secret in revisions and proposals by its mark; answers how many revisions had one."""
    return sum(_mark_space(space) for space in Space.objects.order_by("pk"))


def _mark_space(space: Space) -> int:
    count = sum(_mark_revision(space, pk) for pk in _suspects(space))
    count_proposals = sum(
        _mark_proposal(space, one) for one in Proposal.objects.within(space).iterator(chunk_size=BATCH)
    )
    if count or count_proposals:
        _forget_copies(space)
        with transaction.atomic():
            spaces.mark_setup(space)
            adds = f"in {counted(count, 'revision')} and {counted(count_proposals, 'proposal')}"
            activity.record(space, HUB, "files.mark_secrets", "replaced secrets by marks", adds, url="files/")
    return count


def _suspects(space: Space) -> Iterator[int]:
    """The revisions with a secret. Nothing is locked while texts are looked at."""
    last = 0
    while rows := list(
        Revision.objects.within(space).filter(pk__gt=last).order_by("pk").values_list("pk", "content")[:BATCH]
    ):
        for pk, content in rows:
            with suppress(TooLarge):  # too costly to check; its like is not taken in any more
                if spaces.mark_secrets(space, bytes(content)).secrets:
                    yield pk
        last = rows[-1][0]


@transaction.atomic
def _mark_revision(space: Space, pk: int) -> int:
    revision = Revision.objects.within(space).get(pk=pk)
    file = File.objects.select_for_update().get(pk=revision.file_id)
    before, marked = revision.sha256, spaces.mark_secrets(space, bytes(revision.content)).content
    after = sha256(marked).hexdigest()
    Revision.objects.filter(pk=pk).update(content=marked, size=len(marked), sha256=after)
    if revision.number == file.revision and not file.is_deleted:
        file.sha256, file.size = after, len(marked)
    if file.written_sha256 == before:
        file.written_sha256, file.stat = UNKNOWN, None
    file.save(update_fields=["sha256", "size", "written_sha256", "stat"])
    Proposal.objects.within(space).filter(path=file.path, base_sha256=before).update(base_sha256=after)
    return 1


def _mark_proposal(space: Space, proposal: Proposal) -> int:
    """What agents sent is checked when it comes; but the words that an edit replaces may have been a file's secret."""
    content = None if proposal.content is None else spaces.mark_secrets(space, bytes(proposal.content)).content
    change, reason = quarantine.without_secrets(proposal.change), quarantine.without_secrets(proposal.reason)
    before = None if proposal.content is None else bytes(proposal.content)
    if (content, change, reason) == (before, proposal.change, proposal.reason):
        return 0
    Proposal.objects.filter(pk=proposal.pk).update(content=content, change=change, reason=reason)
    return 1


def _forget_copies(space: Space) -> None:
    """What was made of the texts is made again when somebody asks: word lists, blames, zips."""
    FileWords.objects.within(space).delete()
    Made.objects.within(space).filter(kind__startswith="files.").delete()
