"""Carrying an erasure out, as a job: files, own rows, entries and all other copies; then the search, and the receipt.

What goes is written down before anything is changed, and every step can be taken again: a job that ends at any moment, by
`kill -9` too, goes on from there.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from memoryhub.domain import activity, jobs, longterm, spaces
from memoryhub.domain.erasure import file_texts, places
from memoryhub.domain.erasure.copies import Copies
from memoryhub.domain.erasure.file_texts import FileErasure
from memoryhub.domain.erasure.own_rows import drop_empty_words, erase_own_rows, stop_imports
from memoryhub.domain.erasure.receipts import backups_with
from memoryhub.domain.erasure.targets import KINDS, Target, keyed_hash
from memoryhub.domain.erasure.words import Words, words_of
from memoryhub.models import Actor, Erasure, LongtermEntry, Space
from memoryhub.text.counted import counted
from memoryhub.text.lines import bytes_of, text_of
from memoryhub.text.needles import Needles, by_lines, cut_out

COUNT_JOB, ERASE_JOB = "erasure.count", "erasure.erase"
MAX_ROUNDS = 3  # what agents write meanwhile is found by the search, and goes in another round
MAX_FILES_LISTED = 200


def pack(target: Target, words: Words | None = None) -> bytes:
    """What is to be erased, as `Erasure.work` has it; nothing of it can be read in a table."""
    document = {"target": target.as_json(), "words": words.as_json() if words else None}
    return zlib.compress(json.dumps(document).encode())


def unpack(erasure: Erasure) -> tuple[Target, Words | None]:
    document: dict[str, Any] = json.loads(zlib.decompress(bytes(erasure.work or b"")))
    words = document["words"]
    return Target(**document["target"]), Words.from_json(words) if words else None


def actor_of(erasure: Erasure) -> Actor:
    return Actor(erasure.actor_kind, erasure.actor_id, erasure.actor_name, "owner")


# ---- the dry run


@jobs.job(COUNT_JOB)
def count_job(job: Any, progress: jobs.Progress) -> None:
    erasure = Erasure.objects.filter(pk=job.payload["erasure"], state=Erasure.COUNTING).first()
    if erasure is not None:
        count(erasure, progress)


def count(erasure: Erasure, progress: jobs.Progress = lambda done, total: None) -> Erasure:
    """The dry run: how many rows of which place have words that go; changes nothing else."""
    target, _ = unpack(erasure)
    words = words_of(target, erasure.space_id)
    needles = words.needles()
    found = places.search(needles, erasure.space_id, progress)
    files = _file_places(FileErasure(erasure, actor_of(erasure), words, needles, name_for))
    own = [{"place": name, "rows": count, "own": True} for name, count in words.own_rows.items()]
    copies = [{"place": place, "rows": rows} for place, rows in sorted(found.inside.items())]
    erasure.plan, erasure.first_seen, erasure.searched = [*own, *files, *copies], found.seen, found.columns
    erasure.elsewhere, erasure.state = dict(found.elsewhere), Erasure.COUNTED
    erasure.save()
    return erasure


def _file_places(work: FileErasure) -> list[dict[str, Any]]:
    ids = file_texts.affected_files(work)
    listed = [(file_texts.path_of(pk), file_texts.revisions_with_words(work, pk)) for pk in ids[:MAX_FILES_LISTED]]
    found: list[dict[str, Any]] = [
        {"place": f"file {path}", "rows": rows, "file": True} for path, rows in listed if rows
    ]
    more = len(ids) - MAX_FILES_LISTED
    return [*found, {"place": "more files", "rows": more, "file": True}] if more > 0 else found


def name_for(copy: bytes) -> bytes:
    """The name in the place of one that goes: the same for the same, and nobody can guess from which."""
    return f"erased-{keyed_hash(copy.decode('utf-8', 'replace'))[:8]}".encode()


# ---- the erasure


@jobs.job(ERASE_JOB)
def erase_job(job: Any, progress: jobs.Progress) -> None:
    erasure = Erasure.objects.filter(pk=job.payload["erasure"], state=Erasure.ERASING).first()
    if erasure is not None:
        run(erasure, progress)


def run(erasure: Erasure, progress: jobs.Progress = lambda done, total: None) -> Erasure:
    """Erases what was confirmed, searches for it, and writes the receipt."""
    target, words = unpack(erasure)
    tally = partial(add_rows, erasure)
    if words is None:  # before the first change: rows that are gone would not tell any more
        for space in spaces_of(erasure) if target.kind == Erasure.SESSION else ():
            stop_imports(space, target.what, tally)
        words = words_of(target, erasure.space_id)
        erasure.work = pack(target, words)
        erasure.save(update_fields=["work"])
    needles = words.needles()
    problems: set[str] = set()
    for turn in range(MAX_ROUNDS):
        problems = erase_once(erasure, words, needles, tally, progress)
        found = places.search(needles, erasure.space_id, progress)
        if not found.inside or turn == MAX_ROUNDS - 1:
            break
    finish(erasure, needles, found, problems)
    return erasure


def erase_once(
    erasure: Erasure, words: Words, needles: Needles, tally: Callable[[Counter[str]], None], progress: jobs.Progress
) -> set[str]:
    """One round through everything; answers in sentences where something had to stay."""
    work = FileErasure(erasure, actor_of(erasure), words, needles, name_for)
    ids = file_texts.affected_files(work)
    problems: set[str] = set()
    for done, file_id in enumerate(ids, 1):
        problems.add(file_texts.erase_file(work, file_id, tally))
        progress(done, len(ids))
    problems |= file_texts.problems_of_held(work)
    for space in spaces_of(erasure):
        erase_own_rows(space, words, tally)
        _erase_from_entries(space, actor_of(erasure), needles, tally)
        drop_empty_words(space, tally)
        _mark_changed(space)
    copies = Copies(words, needles, erasure.space_id, name_for, tally)
    copies.erase(progress)
    for space in spaces_of(erasure):
        _mark_changed(space)  # what was assembled meanwhile may have had a copy
    return (problems | copies.problems) - {""}


def spaces_of(erasure: Erasure) -> list[Space]:
    return list(Space.objects.filter(pk=erasure.space_id) if erasure.space_id else Space.objects.order_by("pk"))


@transaction.atomic
def _mark_changed(space: Space) -> None:
    """Raises the marks of the space, so that no process serves what it cached before."""
    spaces.mark_setup(space)
    spaces.mark_longterm(space)


def _erase_from_entries(space: Space, actor: Actor, needles: Needles, tally: Callable[[Counter[str]], None]) -> None:
    """Entries of others that quote the words lose them; their old texts are marked as copies."""

    def without(text: str) -> str:
        data = bytes_of(text)
        return text_of(cut_out(data, needles.spans(data))).strip("\n")

    rows = LongtermEntry.objects.within(space).values_list("number", "content").order_by("number")
    numbers = [number for number, content in rows.iterator(chunk_size=1000) if needles.is_in(bytes_of(content))]
    for number in numbers:
        with transaction.atomic():
            if longterm.erase_words(space, actor, number, without):
                tally(Counter({"longtermentry": 1}))


def add_rows(erasure: Erasure, counts: Counter[str]) -> None:
    """Adds to the rows of the receipt, in the transaction that changed them."""
    if any(counts.values()):
        erasure.rows = dict(sorted((Counter(erasure.rows) + counts).items()))
        Erasure.objects.filter(pk=erasure.pk).update(rows=erasure.rows)


@transaction.atomic
def finish(erasure: Erasure, needles: Needles, found: places.Found, problems: set[str]) -> None:
    """The receipt: what was done, what the search found, and which backups still have it; the words themselves go."""
    erasure.found, erasure.elsewhere, erasure.searched = dict(found.inside), dict(found.elsewhere), found.columns
    erasure.problems = [_without(needles, one) for one in sorted(problems)]
    erasure.backups = [
        {**one, "file": _without(needles, one["file"])} for one in backups_with(erasure.first_seen, timezone.now())
    ]
    erasure.state, erasure.ended_at, erasure.work, erasure.plan = Erasure.DONE, timezone.now(), None, []
    erasure.save()
    note(erasure)


def _without(needles: Needles, text: str) -> str:
    return needles.replace(text.encode(), by_lines).decode()


def note(erasure: Erasure) -> None:
    """Says that it was done without saying what it was: in the space, and in the hub's own log."""
    space = Space.objects.filter(pk=erasure.space_id).first()
    rows = sum(erasure.rows.values())
    details = {"erasure": erasure.pk, "kind": erasure.kind, "rows": erasure.rows}
    says, adds = f"erased {KINDS[erasure.kind]}", f"in {space.name}" if space else "in all spaces"
    for where in {space, None}:
        url = f"erasure/{erasure.pk}/" if where else ""
        activity.record(
            where, actor_of(erasure), "erasure.erase", says, f"receipt {erasure.pk}", url=url, adds=adds,
            aside=counted(rows, "row"), details=details,
        )  # fmt: skip
