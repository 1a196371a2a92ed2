"""The append-only record of who did what. `record` alone writes it, in the transaction of what it records."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.db.prepared import prepared
from memoryhub.models import ActivityLine, Actor, Person, Space
from memoryhub.requests import request_id

# The kinds that a person can filter by, with the beginnings of the verbs that belong to each.
KINDS = {
    "decisions": ("proposals.approve", "proposals.reject", "proposals.undo", "proposals.reopen"),
    "proposals": ("proposals.",),
    "edits": ("files.", "revisions."),
    "layers": ("quarantine.", "working."),
    "promotions": ("longterm.", "promotions."),
    "people and tokens": ("people.", "agents.", "tokens.", "access."),
    "settings": ("spaces.", "mounts.", "sources.", "policies.", "webhooks.", "templates.", "retrieval."),
}


Line = dict[str, Any]  # a line that is not written yet, by column; no model, because every write makes one or two
MAX_SEARCHED = 60_000  # lines that one search reads: half a tenth of a second
READ_AT_ONCE = 1000  # lines
MAX_OUT_OF_ORDER = 10_000  # lines: how far the order of ids may differ from the order of times


class Echo:
    """A file whose `write` returns its argument, so that rows of csv can be streamed."""

    def write(self, value: str) -> str:
        return value


def record(space: Space | None, actor: Actor, verb: str, says: str, thing: str = "", **more: Any) -> None:
    """Writes one line, in the transaction of what it records; the arguments are those of `make_line`."""
    record_line(make_line(space, actor, verb, says, thing, **more))


def record_line(line: Line) -> None:
    """Writes a line that `make_line` made. Refused without a transaction, where the line could outlive what it records."""
    if not connection.in_atomic_block:
        raise RuntimeError(f"activity line {line['verb']!r} outside a transaction")
    statements.send_change(lines_as_change(line))


def make_line(
    space: Space | None,
    actor: Actor,
    verb: str,
    says: str,
    thing: str = "",
    *,
    url: str = "",
    adds: str = "",
    aside: str = "",
    path: str = "",
    details: dict[str, Any] | None = None,
) -> Line:
    """A line that is not written yet. It reads as a sentence: actor, `says`, `thing`, `adds`; `aside` is shown beside it."""
    return {
        "space_id": space.pk if space else 0,
        "at": timezone.now().isoformat(),
        "verb": verb,
        "says": shorten(says, 200),
        "thing": shorten(thing, 300),
        "url": url if len(url) <= 1200 else "",
        "adds": shorten(adds, 600),
        "aside": shorten(aside, 100),
        "path": path[:1100],
        "details": details or {},
        "request_id": request_id.get(),
        **actor.as_fields(),
    }


# The row that a line is about may be made by the same statement: its id is added to the address and to the details.
ABOUT_ROW = "jsonb_build_object('url', %s::text || {name}.id || '/', 'details', jsonb_build_object('id', {name}.id))"


def lines_as_change(line: Line, *more: Line, **options: Any) -> statements.Change:
    """Lines as a change, for the statement that also writes what they record; options as in `statements.insert_rows`."""
    return statements.insert_rows(ActivityLine, line, *more, **options)


def line_about_as_change(name: str, line: Line) -> statements.Change:
    """A line about the row that the change of this name inserts in the same statement."""
    return lines_as_change(line, of=name, over=ABOUT_ROW.format(name=name), params=[line["url"]])


def shorten(text: str, limit: int) -> str:
    """The text without NUL, cut to `limit` characters."""
    text = text.replace("\x00", "")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def find_lines(
    space: Space | None,
    *,
    words: str = "",
    who: str = "",
    kind: str = "",
    since: date | None = None,
    until: date | None = None,
    before: int | None = None,
    newest: int = 0,
) -> QuerySet[ActivityLine]:
    """The lines of a space that fit the filters, newest first. `newest` limits the search to so many of the lines in the time
    that `since`, `until` and `before` leave."""
    found = ActivityLine.objects.within(space.pk if space else 0).order_by("-id")
    if since:
        found = found.filter(at__gte=start_of_day(since))
    if until and until < date.max:  # no day follows the last one
        found = found.filter(at__lt=start_of_day(until + timedelta(days=1)))
    if before:
        found = found.filter(pk__lt=before)
    if newest:
        oldest = found.values("pk")[newest - 1 : newest]
        found = found.filter(pk__gte=Coalesce(Subquery(oldest), 0))
    if who in ("person", "agent", "disk"):
        found = found.filter(actor_kind=who)
    elif who:
        found = found.filter(actor_name__iexact=who)
    if kind in KINDS:
        by_verb = Q()
        for verb in KINDS[kind]:
            by_verb |= Q(verb__startswith=verb)
        found = found.filter(by_verb)
    for word in words.split()[:8]:
        found = found.filter(
            Q(thing__icontains=word) | Q(path__icontains=word) | Q(adds__icontains=word) | Q(says__icontains=word)
            | Q(actor_name__icontains=word) | Q(aside__icontains=word)
        )  # fmt: skip
    return found


def start_of_day(day: date) -> datetime:
    """When a day begins in the time zone of the person who asks."""
    return timezone.make_aware(datetime.combine(day, time.min))


@dataclass(frozen=True)
class LinePage:
    """A page of lines. `older` is where the next page begins. Where the search ended before the page was full, `further` is
    where to go on, and `back_to` the time that it reached."""

    lines: list[ActivityLine]
    older: int | None = None
    further: int | None = None
    back_to: datetime | None = None


@lru_cache(maxsize=16)
def _newest(most: int) -> prepared:
    return prepared(
        lambda space, before: ActivityLine.objects.within(space).filter(pk__lt=before).order_by("-id")[:most]
    )


FIRST_AT = prepared(lambda space: ActivityLine.objects.within(space).order_by("at").values_list("at", flat=True)[:1])
NO_LINE = 1 << 62


def first_at(space: Space) -> datetime | None:
    """When the first line of a space was written."""
    found: datetime | None = FIRST_AT.first(space.pk)
    return found


def page_of_lines(space: Space, page: int, *, before: int | None = None, **filters: Any) -> LinePage:
    """The next page of lines that fit. No index has their words, so one search reads at most MAX_SEARCHED of them."""
    before = search_start(space, before, filters.get("until"))
    if any(filters.values()):
        ends, found = _search_ends(space, before, filters), find_lines(space, before=before, **filters)
        rows = list((found.filter(pk__gte=ends[0]) if ends else found)[: page + 1])
    else:
        ends, rows = [], _newest(page + 1)(space.pk, before or NO_LINE)
    if len(rows) > page:
        return LinePage(rows[:page], older=rows[page - 1].pk)
    if len(ends) < 2:  # there are no older lines
        return LinePage(rows)
    at = ActivityLine.objects.within(space).filter(pk=ends[0]).values_list("at", flat=True).first()
    return LinePage(rows, further=ends[0], back_to=at)


def _search_ends(space: Space, before: int | None, filters: dict[str, Any]) -> list[int]:
    """The last line that one search reads, and the one after it; of ids alone, which an index has."""
    searched = find_lines(space, before=before, since=filters.get("since"), until=filters.get("until"))
    return list(searched.values_list("pk", flat=True)[MAX_SEARCHED - 1 : MAX_SEARCHED + 1])


def each_line(space: Space, **filters: Any) -> Iterator[ActivityLine]:
    """All lines that fit, newest first, read a few at a time: a cursor over all would first make the database find them all, and
    whoever sends them would wait for that."""
    found = find_lines(space, **filters)  # now: days begin in the time zone of this moment
    return _each_of(found, find_lines(space, since=filters.get("since"), until=filters.get("until")))


def _each_of(found: QuerySet[ActivityLine], searched: QuerySet[ActivityLine]) -> Iterator[ActivityLine]:
    before: dict[str, int] = {}
    while True:
        last = searched.filter(**before).values_list("pk", flat=True)[READ_AT_ONCE - 1 : READ_AT_ONCE].first()
        yield from found.filter(**before, pk__gte=last or 0)
        if last is None:
            return
        before = {"pk__lt": last}


def search_start(space: Space, before: int | None, until: date | None) -> int | None:
    """The id before which to search: with `until`, just behind the last line of that day, so that later lines are not read."""
    if until is None:
        return before
    last = find_lines(space, until=until).order_by("-at").values_list("pk", flat=True).first() or 0
    return min(before or last + MAX_OUT_OF_ORDER, last + MAX_OUT_OF_ORDER)


def as_dict(line: ActivityLine) -> dict[str, Any]:
    return {
        "id": line.pk,
        "at": line.at.isoformat(),
        "actor_kind": line.actor_kind,
        "actor": line.actor_name,
        "verb": line.verb,
        "text": " ".join(part for part in (line.says, line.thing) if part) + line.ending,
        "aside": line.aside,
        "path": line.path,
        "details": line.details,
        "request_id": line.request_id,
    }


def as_json_lines(lines: Iterable[ActivityLine]) -> Iterator[str]:
    """The lines as JSON lines, one after the other."""
    for line in lines:
        yield json.dumps(as_dict(line), ensure_ascii=False) + "\n"


def as_csv(lines: Iterable[ActivityLine]) -> Iterator[str]:
    """The lines as rows of CSV; cells that a spreadsheet would run as a formula become plain text."""
    columns = ["id", "at", "actor_kind", "actor", "verb", "text", "aside", "path", "request_id"]
    writer = csv.writer(Echo())
    yield writer.writerow(columns)
    for line in lines:
        row = as_dict(line)
        yield writer.writerow([without_formula(row[column]) for column in columns])


def without_formula(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula."""
    return "'" + cell if isinstance(cell, str) and cell.startswith(tuple("=+-@\t\r")) else cell


def latest(space: Space, since: datetime) -> QuerySet[ActivityLine]:
    """The newest eight changes of a space since a moment, among its newest READ_AT_ONCE lines. What agents log is left out: it
    would push all else out, and the overview counts it."""
    changes = find_lines(space, newest=READ_AT_ONCE).exclude(verb="quarantine.log")
    return changes.filter(at__gte=since)[:8]


def account_lines(person: Person | None) -> list[ActivityLine]:
    """The newest hundred lines of 90 days that belong to no space: sign-ins, links, factors, accounts. Of one person, or of everybody."""
    lines = ActivityLine.objects.filter(space_id=0, at__gte=timezone.now() - timedelta(days=90))
    if person is not None:
        lines = lines.filter(Q(actor_kind="person", actor_id=person.pk) | Q(thing=person.username))
    return list(lines.order_by("-id")[:100])
