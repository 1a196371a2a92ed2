"""Sources that show working and long-term memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime

from memoryhub.dialects import Entry, Source, Warn
from memoryhub.domain.prompts.disk import Place
from memoryhub.domain.prompts.memory.then import longterm_at, working_at
from memoryhub.domain.retrieval import Limits, views
from memoryhub.models import Agent, Space
from memoryhub.stores.views import NAMES, OWN, PINNED, QUERY, WORKING


def with_views(places: Iterable[Place], texts: Iterable[Source], remembered: views.Remembered) -> tuple[Source, ...]:
    """The texts at these places; those of files that show memory are made now."""
    return tuple(
        view_text(text.path, remembered.lines.get(place.view, ())) if place.view in NAMES else text
        for place, text in zip(places, texts, strict=True)
    )


def view_text(path: str, lines: Iterable[views.Line]) -> Source:
    content = views.text_of(lines)
    return Source(
        path, content, sha256=hashlib.sha256(content.encode()).hexdigest(), size=len(content.encode()), is_view=True
    )


def view_lines_at(
    space: Space, agent: Agent, query: str, at: datetime, limits: Limits
) -> tuple[dict[str, list[views.Line]], list[Warn]]:
    """The lines of each file that shows memory at a past moment, as far as stored rows still tell; pinned are those of today."""
    entries, warned = working_at(space, agent, at, limits)
    group, own = (
        [views.Line(views.WORKING, one.id, one.content, one.created_at) for one in entries if one.own is is_own]
        for is_own in (False, True)
    )
    cold: tuple[Entry, ...] = ()
    if query:
        cold, more = longterm_at(space, agent, query, at, limits)
        warned += more
    now = views.remembered(space, agent, limits).lines
    own += [line for line in now[OWN] if line.layer == views.LONGTERM and line.at <= at]
    pinned = [line for line in now[PINNED] if line.at <= at]
    return {WORKING: group, OWN: own, PINNED: pinned, QUERY: lines_of_entries(cold)}, warned


def lines_of_entries(found: Iterable[Entry]) -> list[views.Line]:
    """What retrieval found in long-term memory, as lines."""
    return [views.Line(views.LONGTERM, one.number, one.content, one.created_at) for one in found]
