"""The files of a `views` mount: lines of working and long-term memory, made at the moment of reading.

A prompt reads `LINES` in the statement of its inputs, so that its text and the ids by which it is cached are of one moment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from memoryhub.db import statements
from memoryhub.domain import spaces, working
from memoryhub.domain.retrieval.limits import Limits, limits_of
from memoryhub.domain.retrieval.retrieve import retrieve
from memoryhub.errors import HubError
from memoryhub.models import Agent, Space
from memoryhub.stores import views

WORKING, LONGTERM = "working", "longterm"
MAX_PINNED = 100
EPOCH = datetime.fromtimestamp(0, UTC)  # when an empty file was changed last


@dataclass(frozen=True, slots=True)
class Line:
    """One remembered thing: an entry of working memory by its id, or of long-term memory by its number."""

    layer: str
    id: int
    content: str
    at: datetime

    @property
    def text(self) -> str:
        """The line as it stands in the file; further lines of the entry are indented so that it stays one item."""
        item = self.content.strip().replace("\n", "\n  ")
        return f"- {self.at:%H:%M} {item}" if self.layer == WORKING else f"- {item} [L-{self.id}]"


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the files show, but for the query."""

    lines: dict[str, tuple[Line, ...]]
    working_ids: str  # as a PostgreSQL array, newest first: by them a cache knows whether this is out of date


NOTHING = Remembered({}, "{}")


def _of_working(key: str, space: str, limit: str, max_chars: str) -> str:
    columns = f"id, left(content, {max_chars}::int) AS content, date_part('epoch', created_at) AS at"
    return working.newest_of(columns, space, key, limit)


def _as_json(rows: str, columns: str) -> str:
    return f"(SELECT coalesce(json_agg(json_build_array({columns})), '[]') FROM ({rows}) f)"  # noqa: S608 (pieces of ours)


def lines_sql(space: str, agent: str, limit: str, max_chars: str) -> str:
    """The SQL for what the files show this agent, as a JSON text: group, own, pinned, own knowledge."""
    entries = (
        "SELECT number, left(content, {max}::int) AS content, date_part('epoch', created_at) AS at "
        "FROM memoryhub_longtermentry WHERE space_id = {space} AND state <> 'retired' AND {which}"
    )
    pinned = entries.format(max=max_chars, space=space, which=(
        f"pin IS NOT NULL AND (scope = 'group' OR agent_id = {agent}) ORDER BY pin, number LIMIT {MAX_PINNED}"
    ))  # fmt: skip
    known = entries.format(
        max=max_chars, space=space, which=f"scope = 'agent' AND agent_id = {agent} ORDER BY number DESC LIMIT {limit}"
    )
    parts = [
        _as_json(_of_working("0", space, limit, max_chars), "id, content, at"),
        _as_json(_of_working(agent, space, limit, max_chars), "id, content, at"),
        _as_json(pinned, "number, content, at"),
        _as_json(known, "number, content, at"),
    ]
    return f"json_build_array({', '.join(parts)})::text"


def ids_sql(space: str, agent: str, limit: str) -> str:
    """The SQL for the ids of the working entries that the files show this agent, as `Remembered.working_ids` has them."""
    group, own = (working.newest_of("id", space, key, limit) for key in ("0", agent))
    return f"ARRAY(({group}) UNION ALL ({own}) ORDER BY id DESC)::text"


LINES = f"SELECT {lines_sql('%(space)s', '%(agent)s', '%(hot)s', '%(max_chars)s')}"


@lru_cache(maxsize=256)
def parse(text: str) -> Remembered:
    """What `lines_sql` gave."""
    group, own, pinned, known = (
        tuple(Line(layer, pk, content, datetime.fromtimestamp(at, UTC)) for pk, content, at in rows)
        for layer, rows in zip((WORKING, WORKING, LONGTERM, LONGTERM), json.loads(text), strict=True)
    )
    ids = sorted((line.id for line in (*group, *own)), reverse=True)
    return Remembered(
        {views.WORKING: group, views.OWN: own + known, views.PINNED: pinned}, "{" + ",".join(map(str, ids)) + "}"
    )


def remembered(space: Space, agent: Agent | None, limits: Limits) -> Remembered:
    """What the files show this agent now; without one, what they show of the group."""
    values = {"space": space.pk, "agent": agent.pk if agent else -1, "hot": limits.hot, "max_chars": limits.max_chars}
    return parse(statements.rows(LINES, values)[0][0])


def text_of(lines: Iterable[Line]) -> str:
    found = [line.text for line in lines]
    return "\n".join(found) + "\n" if found else ""


def lines_of_query(space: Space, agent: Agent | None, query: str) -> tuple[Line, ...]:
    """What long-term memory gives to a query, as lines."""
    found = retrieve(space, query, agent=agent, hot=0) if query.strip() else None
    return tuple(Line(LONGTERM, one.number or 0, one.content, one.created_at) for one in (found.cold if found else ()))


def lines_of(space: Space, agent: Agent | None, relative: str, query: str = "") -> tuple[Line, ...] | None:
    """The lines of one file, given by its path in the mount; None where there is no such file."""
    if relative not in views.NAMES:
        return None
    if relative == views.QUERY:
        return lines_of_query(space, agent, query)
    return remembered(space, agent, limits_of(space, agent)).lines[relative]


@spaces.on_event("read_view")
def read_view(space: Space, agent: Agent | None, relative: str) -> tuple[bytes, datetime] | None:
    """The text of one file and when its newest entry was made; None where there is no such file."""
    lines = lines_of(space, agent, relative)
    if lines is None:
        return None
    return text_of(lines).encode(), max((line.at for line in lines), default=EPOCH)


def line_at(space: Space, agent: Agent | None, relative: str, text: str, query: str = "") -> Line | None:
    """The entry behind a line of one of the files, for pages that say where it comes from."""
    try:
        found = lines_of(space, agent, relative, query) or ()
    except HubError:
        return None
    wanted = text.strip()
    return next((line for line in found if wanted and wanted in map(str.strip, line.text.split("\n"))), None)
