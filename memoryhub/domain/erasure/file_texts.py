"""Words that go from files: cut out of the newest text by a new revision, marked in every earlier one.

A revision stays where it is, with its number, author and time; what was erased of it reads “[erased]”, line for line, so that
blame still names who wrote the others.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256

from django.db import transaction
from django.utils import timezone

from memoryhub.domain import files, jobs
from memoryhub.domain.erasure.words import Words, scoped
from memoryhub.errors import HubError
from memoryhub.models import Actor, Erasure, File, FileWords, Job, Mount, Proposal, Revision
from memoryhub.stores import ElsewhereStore, FilesystemStore
from memoryhub.text.needles import Needles, Span, by_lines, cut_out, joined, line_spans, replaced

REASON = "Erased, receipt {number}"


@dataclass
class FileErasure:
    """What is erased from files, for whom."""

    erasure: Erasure
    actor: Actor
    words: Words
    needles: Needles
    name: Callable[[bytes], bytes]  # the new name in the place of a copy


def affected_files(work: FileErasure) -> list[int]:
    """The ids of files of which any revision, or the path, has words that go."""
    words, needles, space_id = work.words, work.needles, work.erasure.space_id
    found = set(words.files)
    found |= set(Revision.objects.filter(pk__in=list(words.places)).values_list("file_id", flat=True))
    if needles:
        rows = scoped(Revision.objects.exclude(file_id__in=found), space_id).values_list("file_id", "content")
        found |= {file_id for file_id, content in rows.iterator(chunk_size=50) if needles.is_in(bytes(content))}
        names = scoped(File.objects.filter(revision__gt=0), space_id).values_list("pk", "path")
        found |= {pk for pk, path in names.iterator(chunk_size=2000) if needles.is_in(path.encode())}
    return sorted(found)


def path_of(file_id: int) -> str:
    return File.objects.values_list("path", flat=True).get(pk=file_id)


def revisions_with_words(work: FileErasure, file_id: int) -> int:
    """How many revisions of a file have words that go."""
    file = File.objects.select_related("space").get(pk=file_id)
    return sum(1 for _ in _marked_revisions(work, file))


def erase_file(work: FileErasure, file_id: int, tally: Callable[[Counter[str]], None]) -> str:
    """Erases from one file; answers a sentence where something had to stay. `tally` hears of the changed revisions."""
    file = File.objects.select_related("space").filter(pk=file_id).first()
    if file is None:
        return ""
    problem = ""
    mount = files.find_mount(files.mounts_of_space(file.space), file.path)
    on_disk = mount is not None and mount.store == Mount.Store.FILESYSTEM
    if on_disk and not work.erasure.on_disk:
        if _spans_now(work, file):
            problem = f"{file.path}: its text lies in a mounted directory, which was to be left alone."
    elif mount:  # a text under no mount is nobody's any more, so it is only marked
        problem = _cut_out_now(work, file, on_disk=on_disk)
    if on_disk:
        _finish_writes(file)
        file.refresh_from_db()
        if file.problem:  # it cannot be written: the disk still has the old text
            problem = f"{file.path}: {file.problem}"
        problem = problem or _problem_on_disk(work, file)
    with transaction.atomic():
        tally(Counter({"revision": _mark_earlier(work, file, keep_newest=bool(problem))}))
    return problem


def problems_of_held(work: FileErasure) -> set[str]:
    """Texts on disk that wait for a decision and have the words: their proposals lose them, the disk is a person's to decide."""
    held = scoped(File.objects.exclude(held=""), work.erasure.space_id).select_related("space")
    return {_problem_on_disk(work, file) for file in held.iterator(chunk_size=200)}


def _problem_on_disk(work: FileErasure, file: File) -> str:
    """What to say where the disk has another text than the hub, and the words in it: a change there that waits for a person."""
    try:
        place = files.resolve_path(file.space, file.path)
        if file.held and isinstance(place.store, ElsewhereStore):
            return (
                f"{file.path}: a change waits for a decision on the disk of another node, which this one cannot read."
            )
        content = place.store.read(place.relative).content if isinstance(place.store, FilesystemStore) else b""
    except HubError:
        return ""  # there is no file
    waits = "a change on disk waits for a decision and has the words" if file.held else "the file on disk has the words"
    return f"{file.path}: {waits}. Decide on it or edit it there." if work.needles.is_in(content) else ""


def _spans_now(work: FileErasure, file: File) -> list[Span]:
    """What goes of the newest text of a file."""
    if not file.revision or file.is_deleted:
        return []
    content = files.content_of(file, file.revision)
    return _spans(work, content, _places_now(work, file))


def _spans(work: FileErasure, content: bytes, places: list[int]) -> list[Span]:
    return joined([*work.needles.spans(content), *line_spans(content, places)])


def _places_now(work: FileErasure, file: File) -> list[int]:
    """The lines of the newest text that are the target's own."""
    if not work.words.lines:
        return []
    newest = files.get_revision(file, file.revision).pk
    if newest in work.words.places:
        return work.words.places[newest]
    return deque(files.lines_with_keys(file, set(work.words.lines)), maxlen=1).pop()[2]


def _cut_out_now(work: FileErasure, file: File, *, on_disk: bool) -> str:
    """Makes a text without these words the newest; on disk it is written at once. Answers why that could not be done."""
    reason = REASON.format(number=work.erasure.pk)
    try:
        if on_disk and not file.is_deleted and work.needles.is_in(file.path.encode()):
            # Its row keeps the old path, which becomes the plain name; so the file gets another one.
            path = work.needles.replace(file.path.encode(), lambda copy: work.name(copy) + b"-2").decode()
            files.move(file.space, work.actor, file.path, path, reason=reason, thread_id=file.thread_id)
            file = files.file_row(file.space, path, file.thread_id)
        if file.pk in work.words.files and not file.is_deleted:
            files.delete(file.space, work.actor, file.path, reason=reason, thread_id=file.thread_id)
            return ""
        if spans := _spans_now(work, file):
            text = cut_out(files.content_of(file, file.revision), spans)
            files.write(
                file.space, work.actor, file.path, text, reason=reason, kind="erase", thread_id=file.thread_id,
                if_match=file.sha256,
            )  # fmt: skip
        return ""
    except HubError as error:
        # What a mount leaves out is served to nobody: its last text is marked in its place.
        return "" if error.code in ("left_out", "no_mount") else f"{file.path}: {error.message}"


def _finish_writes(file: File) -> None:
    """The files that writes displaced are looked at and deleted now, while the hub still knows their texts."""
    for job in Job.objects.filter(kind="files.forget", state=Job.WAITING, payload__file=file.pk):
        jobs.run(job)


@transaction.atomic
def _mark_earlier(work: FileErasure, file: File, *, keep_newest: bool) -> int:
    """Marks the words in every revision of the file, its newest text too if that still has some; counts the revisions."""
    file = File.objects.select_for_update(of=("self",)).select_related("space").get(pk=file.pk)
    count = 0
    for one in _marked_revisions(work, file):
        if keep_newest and one.number == file.revision:
            continue
        before, content = one.sha256, bytes(one.content)
        one.sha256, one.size = sha256(content).hexdigest(), len(content)
        one.erased_at, one.erased_by, one.erasure = timezone.now(), work.actor.name, work.erasure.pk
        one.save(update_fields=["content", "sha256", "size", "reason", "erased_at", "erased_by", "erasure"])
        if one.number == file.revision and not file.is_deleted:
            file.sha256, file.size = one.sha256, one.size
            file.save(update_fields=["sha256", "size"])
        asked = Proposal.objects.within(file.space_id).filter(path=one.path, base_revision=one.number)
        asked.filter(base_sha256=before).update(base_sha256=one.sha256)
        count += 1
    if count:
        FileWords.objects.filter(file_id=file.pk).delete()
    return count


def _marked_revisions(work: FileErasure, file: File) -> Iterator[Revision]:
    """The revisions of a file that have words that go, with their marked text."""
    for one in Revision.objects.within(file.space_id).filter(file=file).order_by("number").iterator(chunk_size=50):
        content = bytes(one.content)
        is_own = file.pk in work.words.files
        spans = [(0, len(content))] if is_own and content else _spans(work, content, work.words.places.get(one.pk, []))
        reason = work.needles.replace(one.reason.encode(), by_lines).decode()[:1000]
        if spans or reason != one.reason:
            one.content, one.reason = replaced(content, spans, by_lines), reason
            yield one
