"""What the pages of the layers draw: texts with their findings and hidden characters, time left as a bar."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from typing import Any

from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from memoryhub.detectors import titles
from memoryhub.domain import longterm, retrieval
from memoryhub.models import Proposal, Space
from memoryhub.templatetags.drawn import signs
from memoryhub.templatetags.hub import in_words

register = template.Library()
MOST_DRAWN = 200
NODE_KINDS = {"agent": "agent", "fact_check": "fact check", "memory_retrieval": "memory retrieval"}


def stretches(findings: Iterable[dict[str, Any]], end: int) -> list[tuple[int, int, str]]:
    """Where findings lie in what is shown: start, end and class; whole-text findings are said, not drawn."""
    css = {"secrets": "secret", "coherence": "found mild", "duplicate": "found mild", "feedback": "found mild"}
    return [
        (max(0, one.get("from", one["start"])), min(end, one.get("to", one["end"])), css.get(one["code"], "found"))
        for one in list(findings)[:MOST_DRAWN]
        if one["code"] != "reads_only" and not one.get("beside")
    ]


@register.simple_tag
def with_findings(text: str, findings: Iterable[dict[str, Any]] = (), limit: int = 0) -> SafeString:
    """A text with its findings at their place and its hidden characters visible; `limit` cuts it for lists."""
    shown = text[:limit] if limit else text
    found = [one for one in stretches(findings, len(shown)) if one[0] < one[1]]
    cuts = sorted({0, len(shown), *(at for start, end, _ in found for at in (start, end))})
    parts = []
    for start, end in pairwise(cuts):
        inner = signs(shown[start:end])
        css = next((kind for a, b, kind in found if a <= start and end <= b), "")
        parts.append(wrapped(inner, css))
    if len(shown) < len(text):
        parts.append("…")
    return mark_safe("".join(parts))  # noqa: S308 (each piece was escaped)


@register.simple_tag
def map_points(points: Iterable[longterm.Point], slug: str) -> SafeString:
    """The points of the map, each a link that says its text; several hundred are too many for a loop in a template."""
    place = reverse("longterm.entry", args=[slug, 0]).removesuffix("0/")
    parts = []
    for one in points:
        says = f"L-{one.number}: {escape(one.title)}"
        css = f"pt{' agent-scope' if one.is_own else ''}{' twin' if one.has_twin else ''}{' is-due' if one.is_due else ''}"
        shape = (
            f'<rect class="{css}" x="{one.left:.1f}" y="{one.top:.1f}" width="6" height="6"><title>{says}</title></rect>'
            if one.is_own
            else f'<circle class="{css}" cx="{one.x}" cy="{one.y}" r="{4.5 if one.has_twin else 3.25}"><title>{says}</title></circle>'
        )
        parts.append(f'<a href="{place}{one.number}/" aria-label="{says}">{shape}</a>')
    return mark_safe("".join(parts))  # noqa: S308 (titles are escaped, the rest are numbers and names of ours)


def wrapped(inner: str, css: str) -> str:
    if not css:
        return inner
    return f"<mark>{inner}</mark>" if css == "secret" else f'<span class="{css}">{inner}</span>'


@register.simple_tag
def snippet(hit: retrieval.Hit) -> SafeString:
    """A hit of the search with its words marked."""
    parts = [
        f"<mark>{signs(text)}</mark>" if is_mark else signs(text)
        for text, is_mark in retrieval.marked_pieces(hit.snippet, hit.marks)
    ]
    return mark_safe("".join(parts))  # noqa: S308 (each piece was escaped)


@register.filter
def code_name(code: str) -> str:
    return titles.TITLES.get(code, code)


@register.filter
def node_name(kind: str) -> str:
    return NODE_KINDS.get(kind, kind)


@register.filter
def first_line(text: str) -> str:
    return longterm.title_of_entry(text, 110)


@register.filter
def of(found: dict[int, Any], key: int) -> Any:
    """What stands under a key, or nothing."""
    return found.get(key, ())


@register.filter
def times(value: float, by: float) -> float:
    return round(float(value) * float(by), 1)


@register.filter
def cosine(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"


@register.simple_tag
def time_left(expires_at: datetime, created_at: datetime) -> dict[str, Any]:
    """How much of its time an entry has left: in words, and out of 100 for the bar."""
    now = timezone.now()
    left = max(0.0, (expires_at - now).total_seconds())
    whole = max(1.0, (expires_at - created_at).total_seconds())
    minutes = int(left // 60)
    words = f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else in_words(left)
    return {"words": words, "share": round(min(100.0, 100 * left / whole), 1), "hours": round(whole / 3600)}


@register.simple_tag
def chunk_parts(pieces: list[Any], at: int) -> list[tuple[str, bool]]:
    """A chunk's text in up to three stretches: what it shares with the one before, its own, what it shares with the next."""
    piece = pieces[at]
    tail = pieces[at + 1].shared if at + 1 < len(pieces) else 0
    cuts = [0, piece.shared, max(piece.shared, len(piece.text) - tail), len(piece.text)]
    flags = (True, False, True)
    return [(piece.text[a:b], flag) for (a, b), flag in zip(pairwise(cuts), flags, strict=True) if a < b]


@register.simple_tag
def promotion_preview(space: Space, proposal: Proposal) -> longterm.PromotionPreview:
    """What an agent's promotion would become, for the page where it is decided."""
    return longterm.preview_promotion(space, bytes(proposal.content or b"").decode("utf-8", "replace"))


@register.simple_tag
def promotion_map(space: Space, preview: longterm.PromotionPreview) -> longterm.Map | None:
    """Where on the map it would enter."""
    return longterm.draw_map(space, newcomers=preview.newcomers) if preview.newcomers else None
