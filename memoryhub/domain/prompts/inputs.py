"""Collects what a prompt is made of: now (one prepared statement), or as it would be. `looking_back` does the same for
a past moment.

`prompts.assemble` is pure over what is gathered, so that a look back, a proposal's preview and an agent's call differ
only in who gathers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any

from memoryhub import dialects
from memoryhub.db import statements
from memoryhub.dialects import Dialect, Entry, Ingredients, Source
from memoryhub.domain import retrieval, working
from memoryhub.domain.files import GUIDELINES_PATH
from memoryhub.domain.prompts import framework_templates, memory_then
from memoryhub.domain.prompts.disk import MARK, OnDisk, Place, State, is_still, spots, take_in, why_unreadable
from memoryhub.models import Agent, Space
from memoryhub.stores import paths

# A space rewrites the guidelines of the hub's own dialect by writing this file: with history and gate, like any other.


@dataclass(frozen=True, slots=True)
class Gathered:
    """The ingredients, and what tells whether they still hold."""

    ingredients: Ingredients
    disk: tuple[OnDisk, ...] = ()
    per_thread: bool = False  # it shows files of one thread
    mark: int = 0  # of long-term memory, when this was gathered
    warnings: tuple[dialects.Warn, ...] = ()
    hot: str | None = None  # the ids of working memory in it, as the door tells them; none where none was asked for
    places: tuple[Place, ...] = ()  # first of the guidelines, then of the sources
    asked: tuple[str, str] = ("", "")  # their paths and threads, as a statement is asked for them
    texts: tuple[Source, ...] = ()  # what stood there
    revision: int = 0  # of the space, up to which all of this is known to hold
    waiting: tuple[int, ...] = ()  # proposals for any source, where they were asked for

    @property
    def bytes(self) -> int:
        return sum(source.size for source in self.ingredients.sources)


# One look-up for each source, and by the unique indexes alone: `published.GATHER` does the same and says why. The first
# row is the agent itself, with the guidelines where its dialect prints some.
NOW = """
WITH listed AS (
  SELECT 0 AS n, 0 AS position, 0::bigint AS id, %(guidelines)s::text AS path, '' AS printed
  UNION ALL
  SELECT 1, position, id, path, printed FROM memoryhub_source
   WHERE space_id = %(space)s AND agent_id = %(agent)s AND is_on
  UNION ALL
  SELECT 1, position, id, path, printed FROM memoryhub_source
   WHERE space_id = %(space)s AND agent_id IS NULL AND is_on
     AND NOT EXISTS (SELECT 1 FROM memoryhub_source WHERE space_id = %(space)s AND agent_id = %(agent)s)
)
SELECT l.path, l.printed, m.store, m.directory, m.prefix, m.thread,
       f.mark, f.is_deleted, r.number, r.sha256, r.content,
       {agent}
  FROM memoryhub_agent a CROSS JOIN listed l
  LEFT JOIN LATERAL (
    SELECT store, directory, prefix, CASE WHEN store = 'thread' THEN %(thread)s::text ELSE '' END AS thread
      FROM memoryhub_mount
     WHERE space_id = %(space)s AND starts_with(l.path, prefix) ORDER BY length(prefix) DESC LIMIT 1
  ) m ON true
  LEFT JOIN LATERAL (
    SELECT id, revision, {mark}, is_deleted FROM memoryhub_file
     WHERE space_id = %(space)s AND path ~>=~ l.path AND path ~<=~ l.path AND thread_id = coalesce(m.thread, '')
     ORDER BY path USING ~<~ LIMIT 1
  ) f ON true
  LEFT JOIN LATERAL (
    SELECT number, sha256, content FROM memoryhub_revision
     WHERE space_id = %(space)s AND file_id = f.id AND number BETWEEN f.revision AND f.revision ORDER BY number LIMIT 1
  ) r ON true
 WHERE a.id = %(agent)s AND a.space_id = %(space)s
 ORDER BY l.n, l.position, l.id
"""
OF_AGENT = {
    "system_prompt": "a.system_prompt",
    "persona": "a.persona",
    "memory_is_on": "a.memory_is_on",
    "budget": "a.budget",
    "gives_way": "a.gives_way",
    "mark": "(SELECT longterm_mark FROM memoryhub_space WHERE id = %(space)s)",
    "template": "{template}",
    "lately": "{lately}",
    "waiting": "{waiting}",
}
TEMPLATE = f"coalesce(nullif(a.template, ''), ({framework_templates.CHOSEN.format(columns='t.text')}))"
LATELY = working.newest_of_both(
    f"id, left(content, {memory_then.MAX_CHARS}) AS content, date_part('epoch', created_at) AS at, scope = 'agent' AS own",
    "%(space)s", "%(agent)s", str(memory_then.HOT),
)  # fmt: skip
ENTRIES = f"(SELECT coalesce(json_agg(json_build_array(id, content, at, own)), '[]')::text FROM ({LATELY}) w)"  # noqa: S608
PENDING = """
SELECT number FROM memoryhub_proposal
 WHERE space_id = %(space)s AND state = 'pending' AND path = ANY({paths}) ORDER BY number
"""
WAITING = f"ARRAY({PENDING.format(paths='ARRAY(SELECT path FROM listed WHERE n = 1)')})"  # noqa: S608


@cache
def statement(templated: bool, lately: bool, waiting: bool) -> str:
    """`NOW` with what a dialect has a place for; what it has none for is not looked up."""
    once = ",\n".join(f"CASE WHEN l.n = 0 THEN {value} END" for value in OF_AGENT.values())
    wanted = {
        "template": TEMPLATE if templated else "NULL",
        "lately": ENTRIES if lately else "NULL",
        "waiting": WAITING if waiting else "NULL",
    }
    return NOW.format(agent=once.format(**wanted), mark=MARK)


# The same places again, when nothing but texts can have changed; of those that are known by their sha256, nothing is sent.
TEXTS = f"""
SELECT p.n, f.mark, f.is_deleted, nullif(f.revision, 0), coalesce(r.sha256, nullif(f.sha256, '')), r.content,
       (SELECT longterm_mark FROM memoryhub_space WHERE id = %(space)s)
  FROM unnest(%(paths)s::text::text[], %(threads)s::text::text[], %(known)s::text::text[])
       WITH ORDINALITY AS p(path, thread, known, n)
  LEFT JOIN LATERAL (
    SELECT id, revision, {MARK}, is_deleted, sha256 FROM memoryhub_file
     WHERE space_id = %(space)s AND path ~>=~ p.path AND path ~<=~ p.path AND thread_id = p.thread
     ORDER BY path USING ~<~ LIMIT 1
  ) f ON true
  LEFT JOIN LATERAL (
    SELECT sha256, content FROM memoryhub_revision
     WHERE space_id = %(space)s AND file_id = f.id AND number BETWEEN f.revision AND f.revision
       AND (f.is_deleted OR f.sha256 <> p.known) ORDER BY number LIMIT 1
  ) r ON true
 ORDER BY p.n
"""  # noqa: S608 (an expression of ours)
PLACE, STATE = 6, 5  # columns that tell the place of a source, and how it stands there


def now(
    space_id: int, agent_id: int, slug: str, dialect: Dialect, *, thread: str = "", lately: bool = False,
    waiting: bool = False, revision: int = 0,
) -> Gathered:  # fmt: skip
    """What stands in this agent's prompt at this moment, on request with the newest of working memory, and with the
    numbers of the proposals that wait for any of its sources.

    Sources that changed on disk are taken in first.
    """
    rows = read_now(space_id, agent_id, slug, dialect, thread, lately, waiting)
    places, states, disk = apart(rows)
    in_step = is_still(disk)
    if not in_step:
        take_in(space_id, [place.path for place in places if place.path and place.is_on_disk], thread)
        rows = read_now(space_id, agent_id, slug, dialect, thread, lately, waiting)
        places, states, disk = apart(rows)
        in_step = is_still(disk)
    if not rows:  # the agent is gone
        return Gathered(Ingredients())
    texts = tuple(as_found(place, state, is_still=in_step) for place, state in zip(places, states, strict=True))
    values = dict(zip(OF_AGENT, rows[0][PLACE + STATE :], strict=True))
    entries, ids = as_entries(values["lately"]) if values["lately"] and values["memory_is_on"] else ((), None)
    ingredients = of_agent(values, texts[1:], texts[0].text, entries)
    per_thread = any(place.store == "thread" for place in places)
    asked = as_array(place.path for place in places), as_array(place.thread or "" for place in places)
    return Gathered(
        ingredients,
        disk,
        per_thread,
        values["mark"],
        (),
        ids,
        places,
        asked,
        texts,
        revision,
        tuple(values["waiting"] or ()),
    )


def about_texts(space_id: int, kept: Gathered) -> dict[str, Any]:
    """What `TEXTS` is asked about this."""
    known = ",".join([source.sha256 or "" if source.has_bytes else '""' for source in kept.texts])
    return {"space": space_id, "paths": kept.asked[0], "threads": kept.asked[1], "known": f"{{{known}}}"}


def again(kept: Gathered, space_id: int, revision: int, rows: list[tuple[Any, ...]] | None = None) -> Gathered | None:
    """The same with the texts as they stand now, if nothing but texts changed; None where the disk has more to tell.

    `rows` of `TEXTS` may be there already.
    """
    if rows is None:
        rows = statements.rows(TEXTS, about_texts(space_id, kept), binary=True)
    states = [row[1 : STATE + 1] for row in sorted(rows, key=itemgetter(0))]
    disk = spots(kept.places, states)
    if not is_still(disk):
        return None
    texts = tuple(
        as_found(place, state, is_still=True, before=before)
        for place, state, before in zip(kept.places, states, kept.texts, strict=True)
    )
    ingredients = replace(kept.ingredients, guidelines=texts[0].text, sources=texts[1:])
    return replace(kept, ingredients=ingredients, disk=disk, mark=rows[0][STATE + 1], texts=texts, revision=revision)


def as_array(values: Iterable[str | None]) -> str:
    """Texts as PostgreSQL writes an array of them; a list would cost as much as the rest of the question."""
    return "{" + ",".join(map(quoted, values)) + "}"


@lru_cache(maxsize=4096)
def quoted(value: str | None) -> str:
    return "NULL" if value is None else '"' + re.sub(r'["\\]', r"\\\g<0>", value) + '"'


def read_now(
    space_id: int, agent_id: int, slug: str, dialect: Dialect, thread: str, lately: bool, waiting: bool
) -> list[tuple[Any, ...]]:
    family = dialects.families()[dialect.family]
    given = {
        "space": space_id,
        "agent": agent_id,
        "thread": thread,
        "guidelines": GUIDELINES_PATH if dialect.family == "hub" else None,
    }
    if family.templated:
        given |= framework_templates.wanted(space_id, dialect.name, agent_slug=slug)
    return statements.rows(statement(family.templated, lately, waiting), given, binary=True)


def apart(rows: Sequence[tuple[Any, ...]]) -> tuple[tuple[Place, ...], list[State], tuple[OnDisk, ...]]:
    """The places in rows of `NOW`, how things stand there, and where they lie on disk."""
    places = tuple(Place(*row[:PLACE]) for row in rows)
    states = [row[PLACE : PLACE + STATE] for row in rows]
    return places, states, spots(places, states)


def as_found(place: Place, state: State, *, is_still: bool, before: Source | None = None) -> Source:
    """What stands at a place; the bytes of one that is known `before` need not be sent again."""
    mark, is_deleted, number, sha256, content = state
    problem = ""
    if place.is_on_disk and not (is_still and mark and not is_deleted):
        problem = why_unreadable(place.directory, place.prefix, place.path or "")
    path = place.printed or place.path or ""
    if before is not None and before.has_bytes and before.sha256 == sha256 and not problem and not is_deleted:
        return before if before.revision == number else replace(before, revision=number)
    is_there = place.store and not is_deleted  # what no mount leads to any more cannot be read, so no prompt shows it
    return as_source(path, content if is_there else None, number, sha256, problem)


@lru_cache(maxsize=256)
def as_entries(told: str) -> tuple[tuple[Entry, ...], str]:
    """Working memory as the database tells it, and its ids; a moment as a number is read ten times quicker."""
    found = json.loads(told)
    entries = (Entry(pk, text, datetime.fromtimestamp(at, UTC), own=own) for pk, text, at, own in found)
    return tuple(entries), "{" + ",".join(str(pk) for pk, *_ in found) + "}"


def of_agent(
    values: Mapping[str, Any], sources: tuple[Source, ...], guidelines: str | None, working: tuple[Entry, ...] = ()
) -> Ingredients:
    """The ingredients that an agent's own settings bring, around these sources."""
    return Ingredients(
        base=values.get("system_prompt") or "",
        persona=values.get("persona") or "",
        guidelines=guidelines,
        template=values.get("template") or None,
        sources=sources,
        working=working,
        off=not values.get("memory_is_on", True),
        budget=values.get("budget"),
        cut_order=tuple(values.get("gives_way") or dialects.CUT_ORDER),
    )


def as_source(path: str, content: bytes | None, number: int | None, sha256: str | None, problem: str = "") -> Source:
    """A source with its text, or with the reason why an agent would not get one."""
    if problem:
        return Source(path, None, problem, number, sha256)
    if content is None:
        return Source(path, None, dialects.MISSING)
    data = bytes(content)
    try:
        return Source(path, data.decode(), "", number, sha256, len(data))
    except UnicodeDecodeError:
        return Source(path, None, "invalid_utf8", number, sha256, len(data))


# Working and long-term memory


def known(space: Space, agent: Agent, query: str, mark: int) -> tuple[tuple[Entry, ...], list[dialects.Warn]]:
    """What long-term memory knows about this query; the same as last time while nothing there has changed."""
    key = (space.pk, mark, retrieval.embedder_choice(space), agent.pk, query)
    if (found := _known.get(key)) is not None:
        return found, []
    sought = retrieval.retrieve(space, query, agent=agent, hot=0)
    found = tuple(as_entry(item) for item in sought.cold)
    if not sought.warnings:  # by words alone, while the embedder is away
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[key] = found
    return found, memory_then.away(sought.warnings)


MOST_KNOWN = 2000
_known: dict[tuple[Any, ...], tuple[Entry, ...]] = {}


def as_entry(item: retrieval.Item) -> Entry:
    return Entry(item.id, item.content, item.created_at, item.score, own=item.scope == "agent")


def with_memory(gathered: Gathered, space: Space, agent: Agent, query: str) -> Gathered:
    """The same with what long-term memory knows about the query."""
    cold, told = known(space, agent, query, gathered.mark)
    ingredients = replace(gathered.ingredients, longterm=cold)
    return replace(gathered, ingredients=ingredients, warnings=(*gathered.warnings, *told))


def asked_for(ingredients: Ingredients, system_prompt: str | None, task: str) -> Ingredients:
    """The ingredients of one call: its own base prompt in place of the agent's, and its task."""
    base = ingredients.base if system_prompt is None else system_prompt
    return replace(ingredients, base=base, task=task)


# As it would be


def supposed(gathered: Gathered, changes: Mapping[str, bytes | None]) -> Gathered:
    """The same with these texts in place of what stands there; None: the file would be gone."""
    kept = gathered.ingredients
    sources = tuple(
        as_source(source.path, changes[where], None, None)
        if (where := paths.of_source(source.path)) in changes
        else source
        for source in kept.sources
    )
    guidelines = kept.guidelines
    if GUIDELINES_PATH in changes:
        guidelines = as_source(GUIDELINES_PATH, changes[GUIDELINES_PATH], None, None).text
    return replace(gathered, ingredients=replace(kept, sources=sources, guidelines=guidelines))
