"""What a prompt is made of: read now by one prepared statement, or as it would be with changed files.

`inputs_then` reads it for a past moment. `assemble.build_prompt` is pure over these inputs, so a past moment, a proposal's
preview and an agent's call differ only in how the inputs were read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from memoryhub import dialects
from memoryhub.db import fragments, statements
from memoryhub.dialects import Dialect, Entry, Ingredients, Source
from memoryhub.domain.files import GUIDELINES_PATH, POSITIONING_PATH
from memoryhub.domain.prompts import framework_templates, inputs_sql, memory
from memoryhub.domain.prompts.disk import MARK, Place, State, disk_files, read_error, sync_sources
from memoryhub.domain.retrieval import Limits, views
from memoryhub.models import Agent, Space
from memoryhub.stores.disk_files import DiskFile
from memoryhub.stores.views import QUERY


@dataclass(frozen=True, slots=True)
class PromptInputs:
    """The ingredients of a prompt, and what a cache compares to know whether they are still current."""

    ingredients: Ingredients
    disk: tuple[DiskFile, ...] = ()
    per_thread: bool = False  # a source lies in a store of one thread
    mark: int = 0  # the space's long-term mark
    warnings: tuple[dialects.Warn, ...] = ()
    working_ids: str | None = None  # of its working entries, as a PostgreSQL array; None where none were asked for
    places: tuple[Place, ...] = ()  # of the guidelines, of the positioning if the dialect has it, then of the sources
    asked: tuple[str, str] = ("", "")  # paths and thread ids of the places, as PostgreSQL arrays
    texts: tuple[Source, ...] = ()  # the text at each place
    heads: int = 1  # how many places are none of sources
    revision: int = 0  # the space's revision at which this was current
    waiting: tuple[int, ...] = ()  # numbers of pending proposals for the sources, where asked for

    @property
    def bytes(self) -> int:
        """What its texts take, about: each set of working entries has inputs of its own, with the agent's texts read anew."""
        made = self.ingredients
        texts = (made.positioning, made.base, made.persona, made.guidelines or "", made.template or "")
        entries = (*made.working, *made.longterm)
        return sum(source.size for source in made.sources) + sum(map(len, (*texts, *(one.content for one in entries))))


@cache
def inputs_statement(templated: bool, lately: bool, waiting: bool, shown: bool) -> str:
    """The statement for a dialect: only what it shows is read."""
    once = ",\n".join(
        f"CASE WHEN l.n = 0 AND l.position = 0 THEN {value} END" for value in inputs_sql.AGENT_COLUMNS.values()
    )
    wanted = {
        "template": inputs_sql.TEMPLATE if templated else "NULL",
        "template_asked": f"({framework_templates.TEMPLATE_ASKED})" if templated else "NULL",
        "lately": inputs_sql.NEWEST_ENTRIES_JSON if lately else "NULL",
        "waiting": inputs_sql.PENDING_NUMBERS if waiting else "NULL",
        "views": views.lines_sql("%(space)s", "%(agent)s", "%(hot)s", "%(max_chars)s") if shown else "NULL",
    }
    thread = "CASE WHEN store = 'thread' THEN %(thread)s::text ELSE '' END AS thread"
    return inputs_sql.INPUTS.format(
        agent=once.format(**wanted),
        mount=fragments.mount_of(
            "l.path", "%(space)s", f"store, directory, prefix, {thread}, {fragments.SELECTION}, node"
        ),
        file=fragments.file_at("l.path", "%(space)s", "coalesce(m.thread, '')", f"id, revision, {MARK}, is_deleted"),
        text=fragments.newest_text_of("f", "%(space)s", "number, sha256, content"),
    )


Rows = list[tuple[Any, ...]]
Places = tuple[Place, ...]
PLACE_WIDTH, STATE_WIDTH = 8, 5  # columns of a row: the place of a source, then the state of its file


def current_inputs(
    space_id: int, agent_id: int, slug: str, dialect: Dialect, *, thread: str = "",
    lately: Limits | None = None, views_within: Limits | None = None, waiting: bool = False, revision: int = 0,
) -> PromptInputs:  # fmt: skip
    """The inputs of this agent's prompt as of now. Sources that changed on disk are synced first.

    `lately` adds the newest working entries within its limits, `views_within` what files of a `views` mount show, `waiting` the
    numbers of pending proposals for the sources.
    """
    read = partial(read_rows, space_id, agent_id, slug, dialect, thread, lately, waiting, views_within)
    rows, places, states, disk, in_step = rows_in_step(read, space_id, thread)
    if not rows:  # the agent is gone
        return PromptInputs(Ingredients())
    texts = tuple(
        source_from_state(place, state, is_still=in_step) for place, state in zip(places, states, strict=True)
    )
    values = dict(zip(inputs_sql.AGENT_COLUMNS, rows[0][PLACE_WIDTH + STATE_WIDTH :], strict=True))
    entries, ids = memory.parse_entries(values["lately"]) if values["lately"] and values["memory_is_on"] else ((), None)
    if values["views"]:
        remembered = views.parse(values["views"])
        texts = memory.with_views(places, texts, remembered)
        ids = remembered.working_ids
    heads = heads_of(dialect)
    ingredients = ingredients_of(values, texts[heads:], texts[0].text, texts[1].text if heads > 1 else None, entries)
    per_thread = any(place.store == "thread" for place in places)
    asked = (
        statements.as_array(place.path for place in places),
        statements.as_array(place.thread or "" for place in places),
    )
    other_template = values["template_asked"]
    warned = (framework_templates.template_warning(other_template),) if other_template else ()
    return PromptInputs(
        ingredients, disk, per_thread, values["mark"], warned, ids, places, asked, texts, heads, revision,
        tuple(values["waiting"] or ()),
    )  # fmt: skip


def rows_in_step(
    read: Callable[[], Rows], space_id: int, thread: str
) -> tuple[Rows, Places, list[State], tuple[DiskFile, ...], bool]:
    """The rows of `INPUTS`, split, and whether they agree with the disk, which is taken in once where they do not."""
    rows = read()
    places, states, disk = split_rows(rows)
    if all(file.is_unchanged() for file in disk):
        return rows, places, states, disk, True
    sync_sources(space_id, [place.path for place in places if place.path and place.is_on_disk], thread)
    rows = read()
    places, states, disk = split_rows(rows)
    return rows, places, states, disk, all(file.is_unchanged() for file in disk)


def text_params(space_id: int, kept: PromptInputs) -> dict[str, Any]:
    """The parameters of `TEXTS` for these inputs."""
    known = ",".join([source.sha256 or "" if source.has_bytes else '""' for source in kept.texts])
    return {"space": space_id, "paths": kept.asked[0], "threads": kept.asked[1], "known": f"{{{known}}}"}


def with_current_texts(kept: PromptInputs, space_id: int, revision: int) -> PromptInputs | None:
    """The inputs with the current texts of their files. None where a file on disk changed and has to be synced first.

    The caller knows that nothing else changed.
    """
    rows = statements.rows(inputs_sql.TEXTS, text_params(space_id, kept), binary=True)
    states = [row[1 : STATE_WIDTH + 1] for row in rows]
    disk = disk_files(kept.places, states)
    if not all(file.is_unchanged() for file in disk):
        return None
    texts = tuple(
        source_from_state(place, state, is_still=True, before=before)
        for place, state, before in zip(kept.places, states, kept.texts, strict=True)
    )
    positioning = texts[1].text or "" if kept.heads > 1 else ""
    sources = texts[kept.heads :]
    ingredients = replace(kept.ingredients, guidelines=texts[0].text, positioning=positioning, sources=sources)
    return replace(
        kept, ingredients=ingredients, disk=disk, mark=rows[0][STATE_WIDTH + 1], texts=texts, revision=revision
    )


def read_rows(
    space_id: int,
    agent_id: int,
    slug: str,
    dialect: Dialect,
    thread: str,
    lately: Limits | None,
    waiting: bool,
    views_within: Limits | None,
) -> list[tuple[Any, ...]]:
    family = dialects.families()[dialect.family]
    given = {
        "space": space_id,
        "agent": agent_id,
        "thread": thread,
        "guidelines": GUIDELINES_PATH if dialect.family == "hub" else None,
        "positioning": POSITIONING_PATH if dialect.family == "hub" else None,
    }
    if limits := lately or views_within:
        given |= {"hot": limits.hot, "max_chars": limits.max_chars}
    if family.templated:
        given |= framework_templates.template_params(space_id, dialect.name, agent_id=agent_id, agent_slug=slug)
    return statements.rows(
        inputs_statement(family.templated, lately is not None, waiting, views_within is not None),
        given,
        binary=True,
    )


def heads_of(dialect: Dialect) -> int:
    """How many rows of `INPUTS` come before those of the sources."""
    return 2 if dialect.family == "hub" else 1


def split_rows(rows: Sequence[tuple[Any, ...]]) -> tuple[tuple[Place, ...], list[State], tuple[DiskFile, ...]]:
    """The places in rows of `INPUTS`, the state of the file at each, and those that lie on disk."""
    places = tuple(Place(*row[:PLACE_WIDTH]) for row in rows)
    states = [row[PLACE_WIDTH : PLACE_WIDTH + STATE_WIDTH] for row in rows]
    return places, states, disk_files(places, states)


def source_from_state(place: Place, state: State, *, is_still: bool, before: Source | None = None) -> Source:
    """The source at a place; `before` is used again where its sha256 is the same."""
    mark, is_deleted, number, sha256, content = state
    problem = ""
    if place.is_on_disk and not (is_still and mark and not is_deleted):
        problem = read_error(place.directory, place.prefix, place.path or "")
    path = place.printed or place.path or ""
    if before is not None and before.has_bytes and before.sha256 == sha256 and not problem and not is_deleted:
        return before if before.revision == number else replace(before, revision=number)
    is_there = (
        place.store and not is_deleted and not place.is_left_out
    )  # without a mount it cannot be read, so no prompt shows it
    return source_of(path, content if is_there else None, number, sha256, problem)


def ingredients_of(
    values: Mapping[str, Any], sources: tuple[Source, ...], guidelines: str | None, positioning: str | None,
    working: tuple[Entry, ...] = (),
) -> Ingredients:  # fmt: skip
    """The ingredients from an agent's own columns, its sources and the files of its dialect."""
    return Ingredients(
        positioning=positioning or "",
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


def source_of(path: str, content: bytes | None, number: int | None, sha256: str | None, problem: str = "") -> Source:
    """A source with its text, or with the reason why there is none."""
    if problem:
        return Source(path, None, problem, number, sha256)
    if content is None:
        return Source(path, None, dialects.MISSING)
    data = bytes(content)
    try:
        return Source(path, data.decode(), "", number, sha256, len(data))
    except UnicodeDecodeError:
        return Source(path, None, "invalid_utf8", number, sha256, len(data))


def shows_query(gathered: PromptInputs) -> bool:
    """Whether one of the sources is what long-term memory gives to the query of the call."""
    return any(place.view == QUERY for place in gathered.places)


def with_memory(
    gathered: PromptInputs, space: Space, agent: Agent, query: str, limits: Limits, *, retrieves: bool = True
) -> PromptInputs:
    """The inputs with what long-term memory gives to the query: in its own place where the dialect has one, and in the sources
    that show it."""
    cold, more_warnings = memory.longterm_entries(space, agent, query, gathered.mark, limits)
    if shows_query(gathered):
        gathered = with_query_shown(gathered, memory.lines_of_entries(cold))
    if not retrieves:
        return replace(gathered, warnings=(*gathered.warnings, *more_warnings))
    ingredients = replace(gathered.ingredients, longterm=cold)
    return replace(gathered, ingredients=ingredients, warnings=(*gathered.warnings, *more_warnings))


def with_query_shown(gathered: PromptInputs, lines: Sequence[views.Line]) -> PromptInputs:
    sources = tuple(
        memory.view_text(source.path, lines) if place.view == QUERY else source
        for place, source in zip(gathered.places[gathered.heads :], gathered.ingredients.sources, strict=True)
    )
    return replace(gathered, ingredients=replace(gathered.ingredients, sources=sources))
