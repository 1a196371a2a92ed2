"""Who did something and why, as pages say it: the names of agents, where rows store their slug, and reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from django import template

from memoryhub import languages
from memoryhub.domain import prompts
from memoryhub.models import Space

register = template.Library()
register.filter("shown_reason", languages.shown_reason)
_names: ContextVar[Callable[[], Mapping[str, str]]] = ContextVar("agent_names", default=dict)


@contextmanager
def named_as_in(space: Space) -> Iterator[None]:
    """While a page of this space is made, its agents have their names; they are read when the first one is shown."""
    before = _names.set(cache(lambda: prompts.names_of_agents(space)))
    try:
        yield
    finally:
        _names.reset(before)


@register.filter
def agent_title(slug: Any) -> Any:
    """The name of the agent with this slug; the slug where there is none any more, and outside any space."""
    return _names.get()().get(slug, slug) if slug else slug
