"""Tags for the activity log."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape  # Django's asks of each whether it is lazy, which was a fifth of the page
from itertools import groupby
from typing import Any

from django import template
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from memoryhub.languages import offered, translated
from memoryhub.templatetags.agent_names import agent_title
from memoryhub.templatetags.hub import actor_glyph, actor_name, clock, day

register = template.Library()
# Whose proposal was decided: rows store the short name of an agent.
ASKED_BY = re.compile(r"(?<= by )[\w-]+(?=$|, |\))")


@register.simple_tag(takes_context=True)
def log_lines(context: dict[str, Any], lines: Iterable[Any]) -> SafeString:
    """Lines of the log, with a heading for each day."""
    drawn = []
    zone = timezone.get_current_timezone()
    for _day, of_day in groupby(lines, lambda line: line.at.astimezone(zone).date()):
        first, *others = of_day
        drawn.append(f'<li class="day">{escape(day(first.at))}</li>')
        drawn += [log_line(context, line) for line in (first, *others)]
    return mark_safe("".join(drawn))  # noqa: S308  every piece is escaped


@register.simple_tag(takes_context=True)
def log_line(context: dict[str, Any], line: Any) -> SafeString:
    """One line of the log: when, who, what was done to which thing."""
    # A function, since pages draw a hundred of them: an include each was 7 % of the processor time of the page.
    thing = f" {_thing_link(context, line)}" if line.thing else ""
    says = f"{escape(translated(line.says))}{thing}{escape(ending(line))}"
    return SafeString(
        f"<li>{clock(line.at)}{actor_glyph(line.actor_kind)}"
        f'<span class="strong clip">{escape(actor_of(line))}</span><span>{says}</span>'
        f'<span class="small dim nowrap">{escape(_aside(line))}</span></li>'
    )


def _aside(line: Any) -> str:
    # Beside a line about a proposal stands what somebody said of it.
    return offered(line.aside) if line.verb.startswith("proposals.") else translated(line.aside)


def actor_of(line: Any) -> str:
    """Who did it: a name, or what is none."""
    return actor_name(line.actor_kind, line.actor_name)


@register.filter
def ending(line: Any) -> str:
    """What follows the thing of a line, in the language of the page."""
    return translated_ending(line.ending)


def translated_ending(ending: str) -> str:
    """The `ending` of a line in the language of the page."""
    adds = ending.lstrip(" ")
    if adds.startswith("; "):
        return _("; ") + translated(adds.removeprefix("; "))
    if adds.startswith(": “") and adds.endswith("”"):  # a person's reason, often one that a page offered
        return f"{_(': ')}“{offered(adds[3:-1])}”"
    if adds.startswith(": "):
        return _(": ") + translated(adds.removeprefix(": "))
    translated_text = translated(ASKED_BY.sub(lambda found: str(agent_title(found[0])), adds))
    return translated_text if ending == adds else f" {translated_text}"


def translated_thing(thing: str, path: str = "") -> str:
    """What a line is about. A path, what an entry says, and a word alone, which is a name, are no words of the hub."""
    return thing if thing == path or thing.startswith(("“", "/")) or " " not in thing else translated(thing)


def _thing_link(context: dict[str, Any], line: Any) -> str:
    """The object of a line, with a link unless it has no page."""
    css = ' class="mono"' if line.path else ""
    thing = escape(translated_thing(line.thing, line.path))
    if line.url and (line.url != "settings/people/" or context["role"] == "owner"):
        return f'<a{css} href="/s/{context["space"].slug}/{escape(line.address)}">{thing}</a>'
    return f"<span{css}>{thing}</span>" if line.path else thing
