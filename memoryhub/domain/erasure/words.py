"""What a target wrote: the rows that are its own, and its words, copies of which are looked for everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.text import slugify

from memoryhub.domain import files, longterm, prompts
from memoryhub.domain.erasure.targets import MIN_TEXT, Target
from memoryhub.errors import NotFound
from memoryhub.models import (
    Agent,
    AgentChange,
    Chunk,
    EntryRevision,
    Erasure,
    File,
    LongtermEntry,
    Proposal,
    ProposalComment,
    Record,
    RecordState,
    Revision,
    Space,
    WorkingEntry,
    WorkingRevision,
)
from memoryhub.text.lines import bytes_of, text_of
from memoryhub.text.needles import Needles, pieces_of

# Reasons that the hub gives itself: nobody's words, and said of many revisions.
MADE_BY_THE_HUB = re.compile(
    r"(Restored|Undone|Merged|Moved|Copied|Changed|Deleted|Found|restored|Revision \d+|replaced|the promotion was)\b"
)


@dataclass
class Words:
    """Rows by their ids, and texts. Stored while the erasure runs: rows that are gone tell nothing any more."""

    texts: set[str] = field(default_factory=set)
    exact: set[str] = field(default_factory=set)  # found as they are, without looking for their lines
    names: set[str] = field(default_factory=set)  # of sessions: values that equal one go
    records: list[int] = field(default_factory=list)
    states: list[int] = field(default_factory=list)  # whose reason goes
    working: list[int] = field(default_factory=list)
    entries: list[int] = field(default_factory=list)
    entry_revisions: list[int] = field(default_factory=list)
    proposals: list[int] = field(default_factory=list)
    decided: list[int] = field(default_factory=list)  # proposals whose note goes
    comments: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)  # keys of lines: see `files.lines_with_keys`
    # Which lines (places from 0) of which revision are own, by its id: found before any of them is marked.
    places: dict[int, list[int]] = field(default_factory=dict)
    files: list[int] = field(default_factory=list)  # whole files of a thread
    imports: list[int] = field(
        default_factory=list
    )  # spaces with files on their way into long-term memory that have the session
    person: str = ""  # whose remarks go

    def needles(self) -> Needles:
        return Needles({one for text in self.texts for one in pieces_of(text)} | self.exact)

    def as_json(self) -> dict[str, Any]:
        return {name: sorted(value) if isinstance(value, set) else value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Words:
        places = {int(pk): places for pk, places in values["places"].items()}
        return cls(**values | {name: set(values[name]) for name in ("texts", "exact", "names")} | {"places": places})

    @property
    def own_rows(self) -> dict[str, int]:
        """How many rows go whatever they say, by what they are."""
        counts = {
            "quarantine records": self.records, "working entries": self.working, "long-term entries": self.entries,
            "proposals": self.proposals, "comments": self.comments, "revisions": {abs(key) for key in self.lines},
        }  # fmt: skip
        found = {name: len(set(ids)) for name, ids in counts.items() if ids}
        return found | ({"files on their way into long-term memory": len(self.imports)} if self.imports else {})


def words_of(target: Target, space_id: int) -> Words:
    """What this target wrote in a space (0: in all)."""
    words = Words()
    if target.kind == Erasure.TEXT:
        words.exact |= {target.what, *_slugs_of(target.what, space_id)}
    elif target.kind == Erasure.SESSION:
        _of_session(target.what, space_id, words)
    elif target.kind == Erasure.REVISION:
        _of_revision(target, space_id, words)
    elif target.kind == Erasure.AGENT:
        _of_agent(target.what, space_id, words)
    else:
        _of_person(target.what, space_id, words)
    return words


def _slugs_of(text: str, space_id: int) -> list[str]:
    """The slugs of agents that have the text in their name: the hub made them of it, in small letters without accents."""
    part, named = slugify(text), scoped(Agent.objects.filter(name__contains=text), space_id)
    slugs = named.values_list("slug", flat=True) if part else ()
    return [slug for slug in slugs if part in slug and len(slug) >= MIN_TEXT]


def scoped(rows: QuerySet[Any], space_id: int) -> QuerySet[Any]:
    return rows.filter(space_id=space_id) if space_id else rows


def _of_session(session: str, space_id: int, words: Words) -> None:
    words.names.add(session)
    for space in Space.objects.filter(pk=space_id) if space_id else Space.objects.all():
        words.imports += [space.pk] * len(longterm.imports_with_session(space, session))
    _add_records(scoped(Record.objects.filter(session_id=session), space_id), space_id, words)
    _add_working(scoped(WorkingEntry.objects.filter(session_id=session), space_id), space_id, words)
    older = scoped(WorkingRevision.objects.filter(session_id=session), space_id)
    words.texts |= set(older.values_list("content", flat=True))
    words.working += older.values_list("entry_id", flat=True)  # its entry may have expired
    mine = Q(session_id=session) | Q(record_id__in=words.records)
    _add_entries(scoped(LongtermEntry.objects.filter(mine), space_id), words)
    asked = Q(thread_id=session) | Q(change__session_id=session) | Q(change__record_id__in=words.records)
    _add_proposals(scoped(Proposal.objects.filter(asked), space_id), words)
    own = scoped(File.objects.filter(thread_id=session), space_id)
    words.files += own.values_list("pk", flat=True)
    for content in Revision.objects.filter(file__in=own).values_list("content", flat=True).iterator(chunk_size=50):
        words.texts.add(text_of(bytes(content)))
    _add_lines(_revisions_of_proposals(words.proposals), words, by_reviewer=False)


def _of_revision(target: Target, space_id: int, words: Words) -> None:
    file = scoped(File.objects.filter(path=target.what), space_id).order_by("thread_id").first()
    revision = Revision.objects.filter(file=file, number=target.number).first() if file else None
    if revision is None:
        raise NotFound(f"“{target.what}” has no revision {target.number}.", code="revision_not_found")
    _add_lines([revision], words, by_reviewer=True)
    if revision.proposal:
        asked = Proposal.objects.within(revision.space_id).filter(number=revision.proposal)
        _add_proposals(asked, words)


def _of_agent(name: str, space_id: int, words: Words) -> None:
    ids = list(scoped(Agent.objects.filter(slug=name), space_id).values_list("pk", flat=True))
    mine = Q(agent_name=name) | Q(agent_id__in=ids)
    _add_records(scoped(Record.objects.filter(mine), space_id), space_id, words)
    _add_working(scoped(WorkingEntry.objects.filter(mine), space_id), space_id, words)
    _add_proposals(scoped(Proposal.objects.filter(mine), space_id), words)
    entries = Q(record_id__in=words.records) | Q(agent_id__in=ids)
    promoted = Proposal.objects.filter(pk__in=words.proposals, entry_number__isnull=False)
    for space, number in promoted.values_list("space_id", "entry_number"):
        entries |= Q(space_id=space, number=number)
    _add_entries(scoped(LongtermEntry.objects.filter(entries), space_id), words)
    written = Revision.objects.filter(Q(actor_kind="agent"), Q(actor_name=name) | Q(actor_id__in=ids))
    _add_lines(scoped(written, space_id), words, by_reviewer=False)


def _of_person(name: str, space_id: int, words: Words) -> None:
    words.person = name
    by = Q(actor_kind="person", actor_name=name)
    comments = scoped(ProposalComment.objects.filter(by), space_id)
    words.comments += comments.values_list("pk", flat=True)
    words.texts |= set(comments.values_list("text", flat=True))
    decided = scoped(Proposal.objects.filter(decided_by_name=name).exclude(note=""), space_id)
    words.decided += decided.values_list("pk", flat=True)
    words.texts |= set(decided.values_list("note", flat=True))
    states = scoped(RecordState.objects.filter(by).exclude(reason=""), space_id)
    words.states += states.values_list("pk", flat=True)
    words.texts |= set(states.values_list("reason", flat=True))
    _add_working(scoped(WorkingEntry.objects.filter(metadata__added_by=name), space_id), space_id, words)
    _add_corrections(name, space_id, words)
    _add_entries(scoped(LongtermEntry.objects.filter(pk__in=_typed(space_id, name)), space_id), words)
    for values in scoped(AgentChange.objects.filter(by), space_id).values_list("values", flat=True):
        words.texts |= {values[key] for key in prompts.TEXTS_IN_PROMPT if values.get(key)}
    _add_lines(scoped(Revision.objects.filter(by), space_id), words, by_reviewer=False)
    reviewed = Revision.objects.filter(reviewer_lines__kind="person", reviewer_lines__name=name)
    _add_keys([-pk for pk in scoped(reviewed, space_id).values_list("pk", flat=True)], words)


def _typed(space_id: int, name: str) -> list[int]:
    """Entries of long-term memory that a person wrote, not promoted."""
    own = Q(actor_kind="person", actor_name=name, record_id=None, proposal=None)
    return list(scoped(LongtermEntry.objects.filter(own), space_id).values_list("pk", flat=True))


def _add_corrections(name: str, space_id: int, words: Words) -> None:
    """What a person made of entries of working and long-term memory that others wrote, and the reasons they gave."""
    by = Q(actor_kind="person", actor_name=name)
    mine = scoped(EntryRevision.objects.filter(by), space_id)
    words.texts |= {reason for reason in mine.values_list("reason", flat=True) if not MADE_BY_THE_HUB.match(reason)}
    before: dict[int, str] = {}
    among = EntryRevision.objects.filter(entry_id__in=list(mine.values_list("entry_id", flat=True).distinct()))
    for one in among.order_by("entry_id", "number"):
        changed = before.get(one.entry_id, one.content) != one.content  # a first text is that of a record, or typed
        if changed and (one.actor_kind, one.actor_name) == ("person", name):
            words.entry_revisions.append(one.pk)
            words.texts.add(one.content)
        before[one.entry_id] = one.content
    corrected = scoped(WorkingRevision.objects.filter(by), space_id)
    for one in corrected:
        later = WorkingRevision.objects.filter(entry_id=one.entry_id, pk__gt=one.pk).order_by("pk")
        now = later.values_list("content", flat=True).first()
        now = now or WorkingEntry.objects.filter(pk=one.entry_id).values_list("content", flat=True).first()
        words.texts.add(now or "")


def _add_records(rows: QuerySet[Any], space_id: int, words: Words) -> None:
    for pk, content in rows.values_list("pk", "content").iterator(chunk_size=2000):
        words.records.append(pk)
        words.texts.add(content)
    entries = scoped(WorkingEntry.objects.filter(record_id__in=words.records), space_id)
    _add_working(entries, space_id, words)


def _add_working(rows: QuerySet[Any], space_id: int, words: Words) -> None:
    for pk, content in rows.values_list("pk", "content"):
        words.working.append(pk)
        words.texts.add(content)
    older = scoped(WorkingRevision.objects.filter(entry_id__in=words.working), space_id)
    words.texts |= set(older.values_list("content", flat=True))


def _add_entries(rows: QuerySet[Any], words: Words) -> None:
    words.entries += [pk for pk in rows.values_list("pk", flat=True) if pk not in set(words.entries)]
    words.texts |= set(rows.values_list("content", flat=True))
    older = EntryRevision.objects.filter(entry_id__in=words.entries)
    words.texts |= set(older.values_list("content", flat=True))
    words.texts |= set(Chunk.objects.filter(entry_id__in=words.entries).values_list("text", flat=True))


def _add_proposals(rows: QuerySet[Any], words: Words) -> None:
    for one in rows.iterator(chunk_size=200):
        words.proposals.append(one.pk)
        change = one.change
        if one.kind == Proposal.Kind.EDIT:
            words.texts |= _new_lines(bytes_of(change["old_string"]), bytes_of(change["new_string"]))
        words.texts.add(str(change.get("text", "")))
        words.texts.add(one.reason)
        if one.kind == Proposal.Kind.PROMOTION:
            words.texts.add(text_of(bytes(one.content or b"")))
    written = Proposal.objects.filter(pk__in=words.proposals, kind=Proposal.Kind.WRITE).exclude(content=None)
    for one in written.iterator(chunk_size=50):
        words.texts |= _new_lines(files.base_content(one), bytes(one.content))


def _new_lines(before: bytes, after: bytes) -> set[str]:
    old = set(before.split(b"\n"))
    return {text_of(line) for line in after.split(b"\n") if line not in old}


def _revisions_of_proposals(proposals: Iterable[int]) -> Iterator[Revision]:
    for space, number in Proposal.objects.filter(pk__in=list(proposals)).values_list("space_id", "number"):
        yield from Revision.objects.within(space).filter(proposal=number).defer("content")


def _add_lines(rows: Iterable[Revision], words: Words, *, by_reviewer: bool) -> None:
    """The lines that these revisions brought, and their reasons."""
    keys = []
    for revision in rows:
        keys += [revision.pk, -revision.pk] if by_reviewer else [revision.pk]
        if not MADE_BY_THE_HUB.match(revision.reason):
            words.texts.add(revision.reason)
    _add_keys(keys, words)


def _add_keys(keys: list[int], words: Words) -> None:
    words.lines += keys
    wanted = set(keys)
    for file in File.objects.filter(pk__in=_files_with(wanted)):
        seen: set[bytes] = set()
        for pk, content, places in files.lines_with_keys(file, wanted):
            rows = content.split(b"\n") if places else []
            seen |= {rows[at] for at in places}
            if places:
                words.places[pk] = sorted({*words.places.get(pk, []), *places})
        words.texts |= {text_of(line) for line in seen}


def _files_with(keys: set[int]) -> set[int]:
    """The files that have these revisions in their history: their own, and those that they became by moving."""
    found = set(Revision.objects.filter(pk__in={abs(key) for key in keys}).values_list("file_id", flat=True))
    edge = found
    while edge:
        paths = list(File.objects.filter(pk__in=edge).values_list("space_id", "path"))
        edge = set()
        for space, path in paths:
            edge |= set(Revision.objects.within(space).filter(moved_from=path).values_list("file_id", flat=True))
        edge -= found
        found |= edge
    return found
