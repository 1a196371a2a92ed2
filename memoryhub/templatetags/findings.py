"""What detectors find in a text that a page shows: a banner above it, or tags beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy, ngettext

from memoryhub import detectors
from memoryhub.detectors import Finding
from memoryhub.templatetags.lines_with_findings import without_kind

register = template.Library()

# What misleads a reader, or should not stand there; the other detectors are advice for proposals.
CODES = ("secrets", "hidden", "injection")
SHOWN = (*CODES, detectors.COST)
NAMES = {
    detectors.COST: gettext_lazy("Not checked"),
    "secrets": gettext_lazy("Text like a secret"),
    "hidden": gettext_lazy("Hidden characters"),
    "injection": gettext_lazy("Text like an injection"),
}
MAX_LINES = 8


@dataclass(frozen=True)
class FoundKind:
    """All findings of one detector in a text."""

    code: str
    severity: str
    told: str  # the message of the first of them, in English
    lines: tuple[int, ...]

    @property
    def name(self) -> str:
        return str(NAMES[self.code])

    @property
    def message(self) -> str:
        return without_kind(self.told)


@lru_cache(maxsize=256)
def found_in(text: str) -> tuple[FoundKind, ...]:
    """What stands in a text, one for each detector that found something; the newest 256 texts are cached."""
    found = sorted(detectors.find(text, only=CODES), key=lambda one: SHOWN.index(one.code))
    return tuple(_as_kind(code, list(same)) for code, same in groupby(found, lambda one: one.code))


def _as_kind(code: str, found: list[Finding]) -> FoundKind:
    told = found[0].message.replace(f" in line {found[0].line}", "", 1)  # the lines are listed beside it
    return FoundKind(code, detectors.worst(found), told, tuple(sorted({one.line for one in found})))


@register.inclusion_tag("_findings.html")
def findings_banner(text: str, lines_at: str = "") -> dict[str, Any]:
    """A banner with what was found in the text of a page; nothing without findings. `lines_at` is the page with its lines."""
    found = found_in(text or "")
    return {"found": found, "lines_at": lines_at, "is_bad": any(one.severity == "high" for one in found)}


@register.simple_tag
def lines_of_finding(one: FoundKind, lines_at: str) -> SafeString:
    """The name of a finding and the lines it stands in, each a link."""
    if not lines_at:
        return format_html('<b class="strong">{}</b>:', one.name)
    links = format_html_join(
        ", ", '<a href="{}#L{}">{}</a>', ((lines_at, line, line) for line in one.lines[:MAX_LINES])
    )
    words = ngettext(
        '<b class="strong">{name}</b> in line {lines}:',
        '<b class="strong">{name}</b> in lines {lines}:',
        len(one.lines),
    )
    more = len(one.lines) - MAX_LINES
    if more > 0:
        words = ngettext(
            '<b class="strong">{name}</b> in lines {lines} and {more} more:',
            '<b class="strong">{name}</b> in lines {lines} and {more} more:', more,
        )  # fmt: skip
    return format_html(words, name=one.name, lines=links, more=f"{more:,}")


@register.inclusion_tag("_finding_tags.html")
def finding_tags(text: str) -> dict[str, Any]:
    """A tag for each kind of finding in a text of a list."""
    return {"found": found_in(text or "")}
