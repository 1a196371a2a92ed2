"""Collects what a prompt was made of at a past moment: from the revisions, as `gathering` does from what stands now."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from memoryhub import dialects
from memoryhub.db import statements
from memoryhub.dialects import Dialect, Source, Warn
from memoryhub.domain import files, retrieval
from memoryhub.domain.files import GUIDELINES_PATH, POSITIONING_PATH, PROMPT_FILES
from memoryhub.domain.prompts import framework_templates, memory
from memoryhub.domain.prompts.inputs import PromptInputs, ingredients_of, source_of
from memoryhub.errors import NotFound
from memoryhub.models import Agent, AgentChange, SourceChange, Space
from memoryhub.models import Source as SourceRow
from memoryhub.stores import paths, views

TEXTS_AT = """
SELECT DISTINCT ON (r.file_id) r.path, r.is_deleted, r.number, r.sha256, r.content
  FROM memoryhub_revision r JOIN memoryhub_file f ON f.space_id = r.space_id AND f.id = r.file_id
 WHERE r.space_id = %(space)s AND r.created_at <= %(at)s AND f.thread_id IN ('', %(thread)s)
   AND r.file_id IN (SELECT file_id FROM memoryhub_revision WHERE space_id = %(space)s AND path = ANY(%(paths)s))
 ORDER BY r.file_id, r.number DESC
"""


def inputs_at(space_id: int, agent: Agent, dialect: Dialect, at: datetime, *, thread: str = "") -> PromptInputs:
    """The inputs of this agent's prompt at a past moment, from revisions; refused for one before the agent was made."""
    check_existed(agent, at)
    listed = source_paths_at(space_id, agent.pk, at)
    heads = list(PROMPT_FILES.values()) if dialect.family == "hub" else []
    texts = texts_at(space_id, [*map(paths.of_source, listed), *heads], at, thread)
    there = ((path, texts.get(paths.of_source(path))) for path in listed)
    sources = tuple(replace(one, path=path) if one else Source(path, None, dialects.MISSING) for path, one in there)
    values = agent_values_at(space_id, agent, at)
    if not values.get("template"):
        kept = framework_templates.chosen_template(space_id, dialect.name, agent_id=agent.pk, at=at)
        values["template"] = kept.text if kept else None
    head = {path: texts[path].text for path in heads if path in texts}
    return PromptInputs(ingredients_of(values, sources, head.get(GUIDELINES_PATH), head.get(POSITIONING_PATH)))


def check_existed(agent: Agent, at: datetime) -> None:
    """Refuses a moment before the agent was made."""
    if at < agent.created_at:
        made = f"{agent.created_at:%Y-%m-%d at %H:%M:%S} UTC"
        raise NotFound(f"{agent.name} got no prompt then: it was made on {made}.", code="before_agent", field="at")


def texts_at(space_id: int, paths: list[str], at: datetime, thread: str) -> dict[str, Source]:
    """The text of each path at that moment, without deleted and moved files."""
    rows = statements.rows(TEXTS_AT, {"space": space_id, "at": at, "paths": paths, "thread": thread})
    return {
        path: source_of(path, content, number, sha256)
        for path, is_deleted, number, sha256, content in rows
        if path in paths and not is_deleted
    }


def source_paths_at(space_id: int, agent_id: int, at: datetime) -> list[str]:
    """The ordered source list as of that moment: the agent's own where it had one, else the space's."""
    changes = SourceChange.objects.within(space_id)
    for key in (agent_id, 0):
        change = changes.filter(agent_key=key, created_at__lte=at).order_by("-created_at", "-pk").first()
        if change and (change.sources or not key):
            return [one["path"] for one in change.sources if one.get("is_on", True)]
    if changes.exists():
        return []
    rows = SourceRow.objects.within(space_id).filter(is_on=True, created_at__lte=at).order_by("position", "pk")
    own = [row.shown for row in rows if row.agent_id == agent_id]
    return own or [row.shown for row in rows if row.agent_id is None]


def agent_values_at(space_id: int, agent: Agent, at: datetime) -> dict[str, Any]:
    """The agent's own settings at that moment, its first ones where they are of the moment itself."""
    changes = AgentChange.objects.within(space_id).filter(agent_id=agent.pk).order_by("-created_at", "-pk")
    change = changes.filter(created_at__lte=at).first() or changes.last()
    return dict(change.values) if change else {}


PINNED_THEN = "Which entries were pinned then is not known: those that are pinned today are shown."


def with_views_at(
    found: PromptInputs, space: Space, agent: Agent, query: str, at: datetime, asked: dict[str, Any]
) -> PromptInputs:
    """The inputs with the sources that show memory as it was at a past moment."""
    listed = found.ingredients.sources
    shown = {source.path: name for source in listed if (name := files.view_at(space, paths.of_source(source.path)))}
    if not shown:
        return found
    limits = limits_at(space, agent, at, asked)
    lines, more_warnings = memory.view_lines_at(
        space, agent, query if views.QUERY in shown.values() else "", at, limits
    )
    sources = tuple(
        memory.view_text(source.path, lines.get(shown[source.path], ())) if source.path in shown else source
        for source in listed
    )
    warned = [*more_warnings, *([Warn("views_then", None, PINNED_THEN)] if views.PINNED in shown.values() else [])]
    ingredients = replace(found.ingredients, sources=sources)
    return replace(found, ingredients=ingredients, warnings=(*found.warnings, *warned))


def limits_at(space: Space, agent: Agent, at: datetime, asked: dict[str, Any]) -> retrieval.Limits:
    """The limits of retrieval that held for a call at that moment."""
    own = agent_values_at(space.pk, agent, at).get("retrieval", {})
    return retrieval.limits_then(space, own, at).with_values(asked)


def with_memory_at(
    found: PromptInputs, space: Space, agent: Agent, query: str, at: datetime, asked: dict[str, Any]
) -> PromptInputs:
    """The inputs with working and long-term memory as they were at a past moment."""
    limits = limits_at(space, agent, at, asked)
    lived, gone = memory.working_at(space, agent, at, limits)
    cold, more_warnings = memory.longterm_at(space, agent, query, at, limits)
    ingredients = replace(found.ingredients, working=lived, longterm=cold)
    return replace(found, ingredients=ingredients, warnings=(*found.warnings, *gone, *more_warnings))
