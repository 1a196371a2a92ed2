"""Long-term memory: what people found worth keeping. Entries are corrected, checked and retired, never lost."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import QuerySet
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.detectors import secrets
from memoryhub.domain import activity, jobs, retrieval, spaces
from memoryhub.domain.accounts import require
from memoryhub.domain.longterm import chunks, conflicts
from memoryhub.errors import Conflict, Invalid, NotFound
from memoryhub.models import Actor, Agent, EntryPair, EntryRevision, Job, LongtermEntry, Space
from memoryhub.text import input_checks

ACTIVE, RETIRED, WAITING = "active", "retired", "waiting"
GROUP, AGENT = "group", "agent"
LIVE = (ACTIVE, WAITING)
EMBED_WAITING = "longterm.embed_waiting"

BEGINNING = 400  # characters of an entry that a list may need
WHOLE = 2000  # bytes; up to so many are sent sooner than their characters are counted
LISTED = f"""
SELECT e.review_by::text, date_part('epoch', e.created_at), date_part('epoch', e.checked_at), e.number,
    CASE WHEN octet_length(e.content) <= {WHOLE} THEN e.content ELSE left(e.content, {BEGINNING}) END,
    e.actor_kind, e.actor_name, e.session_id, e.scope,
    CASE WHEN e.agent_id IS NOT NULL THEN (SELECT name FROM memoryhub_agent WHERE id = e.agent_id) END, e.state
FROM memoryhub_longtermentry e
WHERE e.space_id = %s AND e.number < %s AND e.state <> 'retired' ORDER BY e.number DESC LIMIT %s
"""  # noqa: S608 (only a number of ours is put in)

# The lock of all that changes what finds, and the number of a new entry; where the embedder is still the one that was asked.
NUMBER = f"""
UPDATE memoryhub_space SET last_entry = last_entry + 1, {spaces.LONGTERM_MARKS},
    settings = settings || %s
WHERE id = %s AND coalesce(settings ->> 'embedder', '') = %s RETURNING last_entry
"""  # noqa: S608 (a word of ours is put in)
ITS_NUMBER = "jsonb_build_object('number', held.last_entry)"
ITS_KEY = "jsonb_build_object('entry_id', entry.id)"
ITS_LINE = (
    "jsonb_build_object('url', 'longterm/' || held.last_entry || '/', 'aside', 'L-' || held.last_entry, "
    "'details', %s || jsonb_build_object('number', held.last_entry))"
)
STORED = "SELECT held.last_entry, entry.id FROM held, entry"
COLUMNS = [field.attname for field in LongtermEntry._meta.concrete_fields]
CHANGES_TOO_FAST = "What this was worked out from changed again and again meanwhile. Try once more."
TRIES = 5  # what was worked out from what is another meanwhile is worked out again, but not for ever


def store(
    space: Space,
    actor: Actor,
    content: str,
    *,
    scope: str = GROUP,
    agent: Agent | None = None,
    record_id: int | None = None,
    session_id: str = "",
    proposal: int | None = None,
    reason: str = "",
    review_by: date | None = None,
    replaces: Iterable[int] = (),
    merges: Iterable[int] = (),
    metadata: dict[str, Any] | None = None,
) -> LongtermEntry:
    """Keeps a text for good: cut, listed by its words, embedded; entries that it replaces or takes in are retired."""
    require(actor, "promote")
    content, reason = spaces.check_secrets(space, content), secrets.redact(reason)[0]
    agent = checked_scope(space, scope, agent)
    its = {
        "scope": scope, "agent_id": agent.pk if agent else None, "record_id": record_id, "session_id": session_id,
        "proposal": proposal, "reason": reason[:2000], "review_by": review_by, "metadata": metadata or {},
    }  # fmt: skip
    merges = list(dict.fromkeys(merges))
    gone = list(dict.fromkeys([*merges, *replaces]))
    for _ in range(TRIES):
        text = input_checks.checked(joined(content, space, merges))
        cut = chunks.cut_chunks(space, text)  # the embedder may be far away: nobody waits for it behind a lock
        with suppress(statements.NotHeld), transaction.atomic() if gone else nullcontext():
            if gone:
                lock_space(space)
            if merges and text != joined(content, space, merges):
                continue
            taken = [get(space, number) for number in gone]
            entry = stored(space, actor, text, cut, its)
            retire_all(space, actor, entry, taken)
            return entry
        refresh_choices(space)
    raise Conflict(CHANGES_TOO_FAST)


def joined(content: str, space: Space, merges: list[int]) -> str:
    """A text with those of the entries that it takes in below it."""
    return "\n\n".join([content, *(get(space, number).content for number in merges)])


def stored(space: Space, actor: Actor, text: str, cut: chunks.Cut, its: dict[str, Any]) -> LongtermEntry:
    """A new entry with all that finds it, in one statement; not where another embedder serves than the one that was asked."""
    now, by = timezone.now(), actor.as_fields()
    row = {
        "space_id": space.pk, "content": text, "revision": 1, "state": found_as(cut), "checked_by": "", **its, **by,
        "created_at": now, "modified_at": now,
    }  # fmt: skip
    entry = LongtermEntry.from_db(DEFAULT_DB_ALIAS, COLUMNS, [row.get(name) for name in COLUMNS])
    entry.space = space
    came_from = {"proposal": its["proposal"], "record": its["record_id"]}
    entry.number, entry.pk = statements.together(
        statements.inserting_rows(
            LongtermEntry,
            {**row, "number": 0, "created_at": now.isoformat(), "modified_at": now.isoformat()},
            name="entry",
            of="held",
            over=ITS_NUMBER,
        ),
        statements.inserting_rows(EntryRevision, revision_of(entry, actor, its["reason"]), of="entry", over=ITS_KEY),
        *finding(space, entry, cut),
        activity.adding(
            line_of(space, actor, "longterm.store", "promoted", entry),
            of="held",
            over=ITS_LINE,
            params=[statements.Json(came_from)],
        ),
        held=numbering(space),
        answer=STORED,
    )
    return entry


def numbering(space: Space) -> statements.Change:
    """Locks and raises a space for a new entry, which with the first one writes down the embedder that it began with: a new
    setting switches nothing."""
    chosen = space.settings.get("embedder") or ""
    writes = {} if chosen else {"embedder": retrieval.embedder_choice(space)}
    space.settings |= writes
    return statements.Change(NUMBER, [statements.Json(writes), space.pk, chosen])


def refresh_choices(space: Space) -> None:
    """What the space has chosen by now."""
    try:
        space.refresh_from_db(fields=["settings"])
    except Space.DoesNotExist:
        raise NotFound("There is no such space any more.") from None


def retire_all(space: Space, actor: Actor, entry: LongtermEntry, gone: Iterable[LongtermEntry]) -> None:
    """Retires what an entry took the place of (in the caller's transaction)."""
    for one in gone:
        if one.state != RETIRED and one.pk != entry.pk:
            retire(space, actor, one.number, reason=replaced_by(entry))


@transaction.atomic
def absorb(
    space: Space, actor: Actor, number: int, *, replaces: Iterable[int] = (), merges: Iterable[int] = ()
) -> LongtermEntry:
    """Lets an entry take the place of others: their texts come below its own where they are merged; all of them are retired."""
    require(actor, "promote")
    lock_space(space)
    taken_in = [get(space, one) for one in dict.fromkeys(merges)]
    entry = get(space, number)
    if taken_in:
        text = "\n\n".join([entry.content, *(one.content for one in taken_in)])
        entry = edit(
            space, actor, number, text, reason="merged with " + ", ".join(f"L-{one.number}" for one in taken_in)
        )
    retire_all(space, actor, entry, [*taken_in, *(get(space, one) for one in dict.fromkeys(replaces))])
    return entry


def replaced_by(entry: LongtermEntry) -> str:
    return f"replaced by L-{entry.number}"


def checked_scope(space: Space, scope: str, agent: Agent | None) -> Agent | None:
    if scope not in (GROUP, AGENT):
        raise Invalid("The scope is group or agent.", code="unknown_scope", field="scope")
    if scope == AGENT and (agent is None or agent.space_id != space.pk):
        raise Invalid("Say whose own memory this is: an agent of this space.", code="invalid", field="agent")
    return agent


def index(space: Space, entry: LongtermEntry, cut: chunks.Cut | None = None) -> None:
    """Makes an entry findable; while the embedder is away it is found by words alone and waits for its vectors. It may be cut
    already."""
    cut = cut or chunks.cut_chunks(space, entry.content)
    if entry.state != found_as(cut):
        set_state(entry, found_as(cut))
    statements.together(spaces.longterm_mark(space), *finding(space, entry, cut))


def lock_as_cut(space: Space, seen: LongtermEntry) -> LongtermEntry:
    """The entry under its lock and the space's, where both are as they were when the embedder was asked; else `NotHeld`."""
    chosen = retrieval.embedder_choice(space)
    lock_space(space)
    refresh_choices(space)
    entry = locked(space, seen.number)
    if (entry.revision, entry.state, retrieval.embedder_choice(space)) != (seen.revision, seen.state, chosen):
        raise statements.NotHeld
    return entry


def found_as(cut: chunks.Cut) -> str:
    return WAITING if cut.waits else ACTIVE


def finding(space: Space, entry: LongtermEntry, cut: chunks.Cut) -> list[statements.Change]:
    """The changes that let an entry be found, and what is done about it in the background."""
    later = jobs.asking(EMBED_WAITING, space=space) if cut.waits else conflicts.looking_later(space, entry)
    return [*chunks.adding(entry, cut), later]


def embed_later(space: Space) -> None:
    jobs.enqueue(EMBED_WAITING, space=space)


@jobs.job(EMBED_WAITING)
def embed_job(job: Job, progress: jobs.Progress) -> dict[str, Any]:
    return {"embedded": embed_waiting(Space.objects.get(pk=job.space_id))}


def embed_waiting(space: Space, seconds: float = 30.0) -> int:
    """Gives the entries that wait their vectors; raises while the embedder is still away."""
    waiting = list(entries_of(space).filter(state=WAITING).values_list("number", flat=True))
    return sum(embed_one(space, number, seconds) for number in waiting)


def embed_one(space: Space, number: int, seconds: float) -> bool:
    """Makes the vectors of an entry that waits, then locks the space to store them: while an embedder is silent, nobody waits
    for that lock."""
    while entry := entries_of(space).filter(number=number, state=WAITING).first():
        space.refresh_from_db(fields=["settings"])
        embedder, found = retrieval.serving_embedder(space), chunks.chunks(entry)
        vectors = chunks.made_of(found, embedder, seconds=seconds)
        with transaction.atomic():
            lock_space(space)
            space.refresh_from_db(fields=["settings"])
            entry = locked(space, number)
            still = retrieval.serving_embedder(space).embedded_by == embedder.embedded_by
            if entry.state == WAITING and still and chunks.chunks(entry) == found:
                chunks.place(embedder, vectors)
                set_state(entry, ACTIVE)
                conflicts.look_for(space, entry)
                spaces.mark_longterm(space)
                return True
    return False


def set_state(entry: LongtermEntry, state: str) -> None:
    entry.state = state
    entry.save(update_fields=["state"])


def entries_of(space: Space) -> QuerySet[LongtermEntry]:
    return LongtermEntry.objects.within(space)


def get(space: Space, number: int) -> LongtermEntry:
    entry = entries_of(space).select_related("agent").filter(number=number).first()
    if entry is None:
        raise NotFound(f"There is no long-term entry L-{number} in this space.")
    return entry


def by_label(space: Space, label: str) -> LongtermEntry:
    """The entry that `L-312` names."""
    number = label.removeprefix("L-")
    if not number.isdecimal():
        raise NotFound(f"There is no long-term entry {label} in this space.")
    return get(space, int(number))


def lock_space(space: Space) -> None:
    """First of all locks, always: whoever changes what finds changes the space's counts too, and must not wait crosswise."""
    Space.objects.select_for_update().only("pk").get(pk=space.pk)


def locked(space: Space, number: int) -> LongtermEntry:
    entry = entries_of(space).select_for_update().filter(number=number).first()
    return entry or get(space, number)


def history(entry: LongtermEntry) -> QuerySet[EntryRevision]:
    """What the entry said and was, newest first."""
    return EntryRevision.objects.within(entry.space_id).filter(entry_id=entry.pk).order_by("-number")


def write_revision(entry: LongtermEntry, actor: Actor, reason: str) -> None:
    statements.together(statements.inserting_rows(EntryRevision, revision_of(entry, actor, reason)))


def revision_of(entry: LongtermEntry, actor: Actor, reason: str) -> dict[str, Any]:
    """An entry as it is now, as a row of its history."""
    return {
        "space_id": entry.space_id, "entry_id": entry.pk, "number": entry.revision, "content": entry.content,
        "state": entry.state, "reason": secrets.redact(reason)[0][:500], "created_at": timezone.now().isoformat(),
        **actor.as_fields(),
    }  # fmt: skip


def edit(
    space: Space, actor: Actor, number: int, content: str, *, reason: str = "", seen_revision: int | None = None
) -> LongtermEntry:
    """Corrects an entry: cut and embedded anew in the same breath, what it said before stays in its history."""
    require(actor, "promote")
    for _ in range(TRIES):
        seen = get(space, number)
        if seen_revision is not None and seen_revision != seen.revision:
            raise Conflict(f"L-{number} was changed while you wrote. Look at it again.", code="changed_since_seen")
        text = spaces.check_secrets(space, input_checks.checked(content), before=seen.content)
        if text == seen.content:
            return seen
        cut = chunks.cut_chunks(space, text) if seen.state in LIVE else None
        with suppress(statements.NotHeld), transaction.atomic():
            return corrected(space, actor, lock_as_cut(space, seen), text, cut, reason)
    raise Conflict(CHANGES_TOO_FAST)


def corrected(
    space: Space, actor: Actor, entry: LongtermEntry, text: str, cut: chunks.Cut | None, reason: str
) -> LongtermEntry:
    """The entry with another text, which is cut if it is to be found (in the caller's transaction)."""
    entry.content = text
    if cut:
        chunks.remove_chunks(entry)
        conflicts.forget_conflicts(entry)
    advance(entry, actor, reason)
    if cut:
        index(space, entry, cut)
    note(space, actor, "longterm.edit", "corrected", entry, aside=f"revision {entry.revision}")
    return entry


def advance(entry: LongtermEntry, actor: Actor, reason: str) -> None:
    """One revision further: the entry as it is now goes into its history."""
    entry.revision += 1
    entry.modified_at = timezone.now()
    entry.save()
    write_revision(entry, actor, reason)


@transaction.atomic
def verify(space: Space, actor: Actor, number: int, review_by: date | None = None) -> LongtermEntry:
    """Says that a person checked an entry today and found it true; a new date for the next check may come with it."""
    require(actor, "promote")
    entry = locked(space, number)
    entry.checked_at, entry.checked_by = timezone.now(), actor.name
    if review_by or (entry.review_by and entry.review_by <= timezone.localdate()):
        entry.review_by = review_by
    entry.save(update_fields=["checked_at", "checked_by", "review_by"])
    spaces.mark_longterm(space)  # answers say when
    note(space, actor, "longterm.verify", "checked", entry)
    return entry


@transaction.atomic
def set_review_by(space: Space, actor: Actor, number: int, review_by: date | None) -> LongtermEntry:
    """Sets the day by which somebody should check the entry again, or none."""
    require(actor, "promote")
    entry = locked(space, number)
    entry.review_by = review_by
    entry.save(update_fields=["review_by"])
    adds = f"to be checked by {review_by.isoformat()}" if review_by else "without a date to be checked by"
    note(space, actor, "longterm.set_review_by", "marked", entry, adds=adds)
    return entry


@transaction.atomic
def retire(space: Space, actor: Actor, number: int, reason: str = "") -> LongtermEntry:
    """Takes an entry out of all answers; its text and history stay, and it can come back."""
    require(actor, "promote")
    lock_space(space)
    entry, reason = locked(space, number), secrets.redact(reason)[0]
    if entry.state == RETIRED:
        raise Conflict(f"L-{number} is retired already.", code="already_decided")
    chunks.remove_chunks(entry)
    conflicts.forget_conflicts(entry)
    entry.state, entry.retired_at = RETIRED, timezone.now()
    advance(entry, actor, reason)
    spaces.mark_longterm(space)
    note(space, actor, "longterm.retire", "retired", entry, adds=f": “{reason[:200]}”" if reason else "")
    return entry


@transaction.atomic
def take_back(space: Space, actor: Actor, number: int, reason: str = "the promotion was undone") -> LongtermEntry:
    """Undoes a promotion: the entry is retired, and what it replaced or took in is found again."""
    require(actor, "promote")
    lock_space(space)
    entry = locked(space, number)
    if entry.state != RETIRED:
        entry = retire(space, actor, number, reason)
    told = EntryRevision.objects.within(space).filter(reason=replaced_by(entry), state=RETIRED)
    for one in entries_of(space).filter(state=RETIRED, pk__in=told.values("entry_id")).order_by("number"):
        if told.filter(entry_id=one.pk, number=one.revision).exists():  # nobody decided about it since
            restore(space, actor, one.number)
    return entry


def restore(space: Space, actor: Actor, number: int) -> LongtermEntry:
    """Brings a retired entry back into answers."""
    require(actor, "promote")
    for _ in range(TRIES):
        seen = get(space, number)
        if seen.state != RETIRED:
            raise Conflict(f"L-{number} is not retired.", code="already_decided")
        cut = chunks.cut_chunks(space, seen.content)
        with suppress(statements.NotHeld), transaction.atomic():
            return brought_back(space, actor, lock_as_cut(space, seen), cut)
    raise Conflict(CHANGES_TOO_FAST)


def brought_back(space: Space, actor: Actor, entry: LongtermEntry, cut: chunks.Cut) -> LongtermEntry:
    """The entry, found again as it was cut (in the caller's transaction)."""
    entry.state, entry.retired_at = ACTIVE, None
    advance(entry, actor, "restored")
    index(space, entry, cut)
    note(space, actor, "longterm.restore", "restored", entry)
    return entry


def due(space: Space, today: date | None = None) -> QuerySet[LongtermEntry]:
    """Entries whose day to be checked has come, the longest due first."""
    return (
        entries_of(space)
        .filter(state__in=LIVE, review_by__lte=today or timezone.localdate())
        .order_by("review_by", "number")
    )


def note(space: Space, actor: Actor, verb: str, says: str, entry: LongtermEntry, **more: Any) -> None:
    activity.put(line_of(space, actor, verb, says, entry, **more))


def line_of(
    space: Space, actor: Actor, verb: str, says: str, entry: LongtermEntry, *, adds: str = "", aside: str = "",
    details: dict[str, Any] | None = None,
) -> activity.Line:  # fmt: skip
    """A line about an entry, not written yet."""
    return activity.line(
        space, actor, verb, says, f"“{title_of_entry(entry.content, 80)}”", url=f"longterm/{entry.number}/", adds=adds,
        aside=aside or f"L-{entry.number}", details={"number": entry.number, **(details or {})},
    )  # fmt: skip


@dataclass(slots=True)
class Listed:
    """An entry as lists show it: of a long one its beginning alone."""

    number: int
    content: str
    actor_kind: str
    actor_name: str
    session_id: str
    scope: str
    agent_name: str | None
    state: str
    review_by: date | None
    created_at: datetime
    checked_at: datetime | None


def newest(space: Space, limit: int, *, before: int | None = None) -> list[Listed]:
    """The entries that agents may find, newest first."""
    return [as_listed(found) for found in statements.rows(LISTED, [space.pk, before or 2**62, limit])]


def as_listed(found: tuple[Any, ...]) -> Listed:
    review_by, created_at, checked_at, *rest = found
    moments: list[Any] = [
        date.fromisoformat(review_by) if review_by else None,
        datetime.fromtimestamp(created_at, UTC),
        datetime.fromtimestamp(checked_at, UTC) if checked_at else None,
    ]
    return Listed(*(rest + moments))


def title_of_entry(content: str, length: int = 100) -> str:
    """An entry's first line, for lists."""
    first = next((line.strip("#*- \t") for line in content.splitlines() if line.strip("#*- \t")), content.strip())
    return activity.shorten(" ".join(first.split()), length)


def settle(space: Space, actor: Actor, pair_id: int, verdict: str) -> EntryPair:
    """A person says what of two entries that are alike or at odds stands."""
    return conflicts.settle_conflict(space, actor, pair_id, verdict)


def unsettle(space: Space, actor: Actor, pair_id: int) -> None:
    """Takes back that both stand."""
    conflicts.unsettle_conflict(space, actor, pair_id)


@spaces.on_event("promotion_undone")
def take_back_promoted(space: Space, actor: Actor, label: str) -> None:
    """The entry that a record was promoted to goes, because a person undid the promotion."""
    take_back(space, actor, by_label(space, label).number)


@spaces.on_event("promotion_redone")
def restore_promoted(space: Space, actor: Actor, label: str) -> None:
    """The entry that a record was promoted to comes back, because a person undid what followed on the promotion."""
    restore(space, actor, by_label(space, label).number)
