"""Who did something and why, as pages say it: the names and badges of agents, where rows store their slug, and reasons."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

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


BADGE_COLOURS = 8
# Title, initials and tint of each coding agent, by its name: the same on every page, and no two alike.
CODING_BADGES = {
    "claude-code": ("Claude Code", "Cc", 1), "codex": ("Codex", "Cx", 2), "gemini-cli": ("Gemini CLI", "Ge", 3),
    "opencode": ("OpenCode", "Oc", 4), "copilot-cli": ("Copilot CLI", "Cp", 5), "cursor": ("Cursor", "Cu", 6),
    "hermes": ("Hermes", "He", 7), "windsurf": ("Windsurf", "Wi", 8), "zed": ("Zed", "Ze", 4), "amp": ("Amp", "Am", 1),
    "aider": ("Aider", "Ai", 2), "cline": ("Cline", "Cl", 3), "deepagents-code": ("deepagents-code", "Da", 5),
    "openclaw": ("OpenClaw", "Ow", 6),
}  # fmt: skip
BY_TITLE = {title: (letters, tint) for title, letters, tint in CODING_BADGES.values()}
WORDS_OF_NAME = re.compile(r"[^\W_]+")


def initials(name: str) -> str:
    """Two letters that stand for a name: of its first two words, of its only one, or its last digit. Any script."""
    words = WORDS_OF_NAME.findall(name) or ["?" if name.isascii() else name.strip()[:1]]
    second = words[-1][-1] if words[-1].isdigit() else words[1 % len(words)][0].lower()
    two = words[0][0] + second if len(words) > 1 else words[0][:2]
    return two[0].upper() + two[1:]


@register.simple_tag
def agent_badge(name: str, label: bool | str = False, colour: int | None = None) -> SafeString:
    """The square badge of an agent: initials on one of eight tints, always the same for a name. It stands beside the name;
    alone it has the name as its `label`, or these words. Without a name it is grey."""
    return _badge(name, label, colour)


@lru_cache(maxsize=1024, typed=True)
def _badge(name: str, label: bool | str, colour: int | None) -> SafeString:
    any_tint = 1 + zlib.crc32(name.encode()) % BADGE_COLOURS if name else 0
    letters, tint = BY_TITLE.get(name) or (initials(name), any_tint)
    css, text = f"a{tint if colour is None else colour}", label if isinstance(label, str) else name if label else ""
    reading = format_html('role="img" aria-label="{}"', text) if text else mark_safe('aria-hidden="true"')
    return format_html('<span class="av {}" {}>{}</span>', css, reading, letters)
