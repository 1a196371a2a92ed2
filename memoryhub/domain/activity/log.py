"""The append-only record of who did what. `record` alone writes it, in the transaction of what it records."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.models import ActivityLine, Actor, Space
from memoryhub.requests import current_request_id

# What a person filters by: a name, and the verbs that belong to it.
KINDS = {
    "decisions": ("proposals.approve", "proposals.reject", "proposals.undo", "proposals.reopen"),
    "proposals": ("proposals.",),
    "edits": ("files.", "revisions."),
    "layers": ("quarantine.", "working."),
    "promotions": ("longterm.", "promotions."),
    "people and tokens": ("people.", "agents.", "tokens."),
    "settings": ("spaces.", "mounts.", "sources.", "policies.", "webhooks.", "templates.", "retrieval."),
}


Line = dict[str, Any]  # what is not written yet, by column; no model, because every decision and write makes one or two
LOOKED_THROUGH = 150_000  # lines that one look reads for words and names
OUT_OF_ORDER = 10_000  # so many lines may have been numbered after one that says a later time


class Echo:
    """A file that hands back what is written to it, so that csv can stream."""

    def write(self, value: str) -> str:
        return value


def record(space: Space | None, actor: Actor, verb: str, says: str, thing: str = "", **more: Any) -> None:
    """Writes one line in the transaction of what it records."""
    put(line(space, actor, verb, says, thing, **more))


def put(one: Line) -> None:
    """The same for a line that is made already; without a transaction it could outlive what it records: that is refused."""
    if not connection.in_atomic_block:
        raise RuntimeError(f"activity line {one['verb']!r} outside a transaction")
    statements.run(adding(one))


def line(
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
    """A line that is not written yet."""
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
        "request_id": current_request_id(),
        **actor.as_fields(),
    }


# What a line is about may come into being in the same statement: its id ends the address, and stands in the details.
ABOUT = "jsonb_build_object('url', %s::text || {name}.id || '/', 'details', jsonb_build_object('id', {name}.id))"


def adding(one: Line, *more: Line, **made: Any) -> statements.Change:
    """Lines as a change that travels with what they record; how they are made of another change's row as `hot.inserting_rows`
    has it."""
    return statements.inserting_rows(ActivityLine, one, *more, **made)


def adding_about(name: str, one: Line) -> statements.Change:
    """The same for a line about the row of the change of this name."""
    return adding(one, of=name, over=ABOUT.format(name=name), params=[one["url"]])


def shorten(text: str, limit: int) -> str:
    text = text.replace("\x00", "")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def lines(
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
    """The lines of a space that fit the filters, newest first; `newest` looks among so many of these days alone."""
    found = ActivityLine.objects.within(space.pk if space else 0).order_by("-id")
    if since:
        found = found.filter(at__gte=midnight(since))
    if until and until < date.max:  # no day follows the last one
        found = found.filter(at__lt=midnight(until + timedelta(days=1)))
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
        fits = Q()
        for verb in KINDS[kind]:
            fits |= Q(verb__startswith=verb)
        found = found.filter(fits)
    for word in words.split()[:8]:
        found = found.filter(
            Q(thing__icontains=word) | Q(path__icontains=word) | Q(adds__icontains=word) | Q(says__icontains=word)
            | Q(actor_name__icontains=word) | Q(aside__icontains=word)
        )  # fmt: skip
    return found


def midnight(day: date) -> datetime:
    """When a day begins where the person is who asks."""
    return timezone.make_aware(datetime.combine(day, time.min))


@dataclass(frozen=True)
class Stretch:
    """A page of lines; `further` is where to go on where the look ended before it was full, and `back_to` the day it came to."""

    lines: list[ActivityLine]
    older: int | None = None
    further: int | None = None
    back_to: datetime | None = None


def stretch(space: Space, page: int, *, before: int | None = None, **filters: Any) -> Stretch:
    """The next page of lines that fit. No index holds their words, so one look goes through a bounded number of them."""
    before = begun(space, before, filters.get("until"))
    rows = list(lines(space, before=before, newest=LOOKED_THROUGH, **filters)[: page + 1])
    if len(rows) > page:
        return Stretch(rows[:page], older=rows[page - 1].pk)
    passed = lines(space, before=before, since=filters.get("since"), until=filters.get("until"))
    ends = passed.values_list("pk", "at")[LOOKED_THROUGH - 1 : LOOKED_THROUGH + 1]
    if len(ends) < 2:  # nothing lies behind
        return Stretch(rows)
    last, at = ends[0]
    return Stretch(rows, further=last, back_to=at)


def begun(space: Space, before: int | None, until: date | None) -> int | None:
    """Where a look begins that ends on a day: beside its last line, so that nobody reads all that came later."""
    if until is None:
        return before
    last = lines(space, until=until).order_by("-at").values_list("pk", flat=True).first() or 0
    return min(before or last + OUT_OF_ORDER, last + OUT_OF_ORDER)


def as_dict(line: ActivityLine) -> dict[str, Any]:
    return {
        "id": line.pk,
        "at": line.at.isoformat(),
        "actor_kind": line.actor_kind,
        "actor": line.actor_name,
        "verb": line.verb,
        "text": " ".join(part for part in (line.says, line.thing, line.adds) if part),
        "aside": line.aside,
        "path": line.path,
        "details": line.details,
        "request_id": line.request_id,
    }


def as_json_lines(found: Iterable[ActivityLine]) -> Iterator[str]:
    for line in found:
        yield json.dumps(as_dict(line), ensure_ascii=False) + "\n"


def as_csv(found: Iterable[ActivityLine]) -> Iterator[str]:
    """Rows for a spreadsheet; a cell that a spreadsheet would run as a formula is made plain text."""
    columns = ["id", "at", "actor_kind", "actor", "verb", "text", "aside", "path", "request_id"]
    writer = csv.writer(Echo())
    yield writer.writerow(columns)
    for line in found:
        row = as_dict(line)
        yield writer.writerow([harmless(row[column]) for column in columns])


def harmless(cell: Any) -> Any:
    return "'" + cell if isinstance(cell, str) and cell.startswith(tuple("=+-@\t\r")) else cell


def latest(space: Space, since: datetime, limit: int = 8) -> QuerySet[ActivityLine]:
    return ActivityLine.objects.within(space).filter(at__gte=since).order_by("-id")[:limit]
