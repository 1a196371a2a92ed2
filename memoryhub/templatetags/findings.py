"""What detectors find in a text that a page shows: a banner above it, tags beside it, or boxes below its lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy, ngettext
from django.utils.translation import gettext_lazy as _

from memoryhub import detectors, languages
from memoryhub.detectors import Finding
from memoryhub.templatetags.agent_names import agent_title
from memoryhub.templatetags.hidden_characters import escape_with_labels, line_html, marked_line_html
from memoryhub.text.unseen import UNSEEN_CHARACTER, drawn_length

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
    message = found[0].message.replace(f" in line {found[0].line}", "", 1)  # the lines are listed beside it
    return FoundKind(code, detectors.worst(found), message, tuple(sorted({one.line for one in found})))


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


FINDING_NAMES = {
    "secrets": _("Secret"), "hidden": _("Hidden"), "injection": _("Injection"), "duplicate": _("Duplicate"),
    "transient": _("Transient"), "vague": _("Vague"), "coherence": _("Incoherent"), "risky_advice": _("Needs attention"),
    "cost": _("Not checked"),
}  # fmt: skip


# Messages of detectors begin with their kind, which the box says already.
KIND_AT_START = re.compile(r"\A(?:[A-Z][a-z]+|Look closely|Needs attention)(?: in line \d+)?: ")

KIND_TRANSLATED = re.compile(r"\A[^：:“]{1,40}(?:：|: )")
LOGGED_BY = re.compile(r"(?<=working memory \()[\w-]+(?=\))")  # a detector knows the short name of an agent


class FindingsByLine:
    """Findings of the new text by line, with their place in it. `whole` says that long lines are drawn to their end."""

    def __init__(self, lines: Sequence[str], findings: Iterable[Finding], *, whole: bool = False) -> None:
        self.whole = whole
        self.starts, at = [], 0
        for text in lines:
            self.starts.append(at)
            at += len(text)
        self.by_line: dict[int, list[Finding]] = {}
        for one in findings:
            self.by_line.setdefault(one.line, []).append(one)

    def on_line(self, number: int | None) -> list[Finding]:
        return self.by_line.get(number or 0, [])

    def ranges_in_line(self, number: int, length: int) -> list[tuple[int, int, str]]:
        start = self.starts[number - 1] if number <= len(self.starts) else 0
        return [
            (max(0, one.start - start), min(length, max(one.end - start, one.start - start + 1)), finding_css(one))
            for one in self.on_line(number)
        ]


def finding_css(one: Finding) -> str:
    return "found" if one.severity == "high" else "found mild"


def rest_of_line_link(text: str, end: int) -> str:
    """A link in place of the characters after `end`, which shows the whole line; "" if nothing is left out."""
    if end == len(text):
        return ""
    unseen = sum(1 for _ in UNSEEN_CHARACTER.finditer(text, end))
    rest = len(text) - end
    words = ngettext("%(n)s more character: show the whole line", "%(n)s more characters: show the whole line", rest)
    if unseen:
        words = ngettext(
            "%(n)s more character, %(hidden)s of them hidden: show the whole line",
            "%(n)s more characters, %(hidden)s of them hidden: show the whole line", rest,
        )  # fmt: skip
    return f' <a class="tag" href="?all=1">{words % {"n": f"{rest:,}", "hidden": f"{unseen:,}"}}</a>'


def line_with_marks(
    text: str, marks: Sequence[tuple[int, int]], tag: str, found: Sequence[tuple[int, int, str]] = (), *, whole: bool = False
) -> str:  # fmt: skip
    """HTML of one line with the ranges `marks` in `tag` and those of `found` underlined; only its beginning if it is long."""
    end = len(text) if whole else drawn_length(text)
    if end < len(text):
        marks = [(a, min(b, end)) for a, b in marks if a < end]
        found = [(a, min(b, end), css) for a, b, css in found if a < end]
        return line_with_marks(text[:end], marks, tag, found, whole=True) + rest_of_line_link(text, end)
    if not found:
        return marked_line_html(text, marks, tag)
    cuts = sorted({0, len(text), *(at for a, b in marks for at in (a, b)), *(at for a, b, _ in found for at in (a, b))})
    out = []
    for start, end in pairwise(cuts):
        inner = line_html(text[start:end]) if end == len(text) else escape_with_labels(text[start:end])
        if any(a <= start and end <= b for a, b in marks):
            inner = f"<{tag}>{inner}</{tag}>"
        css = next((css for a, b, css in found if a <= start and end <= b), "")
        out.append(f'<span class="{css}">{inner}</span>' if css else inner)
    return "".join(out)


def finding_rows(findings: Sequence[Finding]) -> str:
    """The boxes below a line, one for each kind of finding."""
    kinds: dict[tuple[str, str], list[Finding]] = {}
    for one in findings:
        kinds.setdefault((one.code, one.kind), []).append(one)
    return "".join(
        f'<tr class="finding add" id="f{same[0].line}-{escape(code)}"><td colspan="4">{finding_box(code, same)}</td></tr>'
        for (code, _), same in kinds.items()
    )


@register.filter
def without_kind(message: str) -> str:
    """The message of a detector without its kind, which is said beside it, in the language of the page."""
    message = LOGGED_BY.sub(lambda found: str(agent_title(found[0])), message)
    rest, whole = KIND_AT_START.sub("", message), languages.translated(message)
    # The catalogue has whole sentences; in another language the kind ends with its own colon.
    whole = KIND_TRANSLATED.sub("", whole) if whole != message and rest != message else languages.translated(rest)
    return whole[:1].upper() + whole[1:]


def finding_box(code: str, same: Sequence[Finding]) -> str:
    name = FINDING_NAMES.get(code, code.capitalize())
    found = {
        "is_high": any(one.severity == "high" for one in same),
        "can_be_cleaned": code == "hidden" and same[0].kind not in ("lookalike", "styled"),
        "name": name,
        "message": without_kind(same[0].message),
        "times": len(same),
    }
    return render_to_string("proposals/_finding.html", found)
