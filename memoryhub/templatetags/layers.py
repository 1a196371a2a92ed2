"""Tags for quarantine, working and long-term memory: texts with findings, time left, map, promotion."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from django import template
from django.template.defaultfilters import date
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, gettext_lazy, ngettext

from memoryhub import detectors
from memoryhub.domain import longterm, retrieval
from memoryhub.languages import translated
from memoryhub.models import Proposal, Space
from memoryhub.templatetags.agent_names import agent_title
from memoryhub.templatetags.hidden_characters import drawn as drawn_text
from memoryhub.templatetags.hidden_characters import escape_with_labels
from memoryhub.templatetags.hub import actor_name, ago, duration_in_words, g, join_html, join_words, plural

register = template.Library()
MAX_MARKED_FINDINGS = 200
NODE_KINDS = {
    "agent": gettext_lazy("agent"), "fact_check": gettext_lazy("fact check"),
    "memory_retrieval": gettext_lazy("memory retrieval"),
}  # fmt: skip
LAYERS = {
    "files": gettext_lazy("files"), "quarantine": gettext_lazy("quarantine"), "working": gettext_lazy("working"),
    "longterm": gettext_lazy("long-term"), "proposals": gettext_lazy("proposals"), "activity": gettext_lazy("activity"),
}  # fmt: skip


def finding_ranges(findings: Iterable[dict[str, Any]], end: int) -> list[tuple[int, int, str]]:
    """Start, end and CSS class of findings in the shown text. Findings about the whole text are left out."""
    css = {"secrets": "secret", "coherence": "found mild", "duplicate": "found mild", "feedback": "found mild"}
    return [
        (max(0, one.get("from", one["start"])), min(end, one.get("to", one["end"])), css.get(one["code"], "found"))
        for one in list(findings)[:MAX_MARKED_FINDINGS]
        if one["code"] != "reads_only" and not one.get("beside")
    ]


@register.simple_tag
def with_findings(text: str, findings: Iterable[dict[str, Any]] = (), limit: int = 0) -> SafeString:
    """A text with its findings marked and labels for unseen characters; `limit` cuts it for lists."""
    shown = text[:limit] if limit else text
    found = [one for one in finding_ranges(findings, len(shown)) if one[0] < one[1]]
    cuts = sorted({0, len(shown), *(at for start, end, _ in found for at in (start, end))})
    parts = []
    for start, end in pairwise(cuts):
        inner = escape_with_labels(shown[start:end])
        css = next((kind for a, b, kind in found if a <= start and end <= b), "")
        parts.append(wrap_finding(inner, css))
    if len(shown) < len(text):
        parts.append("…")
    return mark_safe("".join(parts))  # noqa: S308 (each piece was escaped)


@register.simple_tag
def map_points(points: Iterable[longterm.Point], slug: str) -> SafeString:
    """SVG of the points of the map, each a link. Built here, since a template is slow for several hundred."""
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


def wrap_finding(inner: str, css: str) -> str:
    if not css:
        return inner
    return f"<mark>{inner}</mark>" if css == "secret" else f'<span class="{css}">{inner}</span>'


def snippet(text: str, marks: tuple[tuple[int, int], ...]) -> SafeString:
    """The snippet of a search hit with its words marked."""
    parts = [
        f"<mark>{escape_with_labels(piece)}</mark>" if is_mark else escape_with_labels(piece)
        for piece, is_mark in retrieval.marked_pieces(text, marks)
    ]
    return mark_safe("".join(parts))  # noqa: S308 (each piece was escaped)


@register.filter
def code_name(code: str) -> str:
    return translated(detectors.TITLES.get(code, code))


@register.filter
def has_grave(findings: list[dict[str, Any]]) -> bool:
    """Whether one of these findings asks for a look before somebody admits the text."""
    return any(one.get("severity") == "high" for one in findings)


@register.filter
def grave_kinds(findings: list[dict[str, Any]]) -> set[str]:
    """The kinds of the grave ones among these findings."""
    return {one["code"] for one in findings if one.get("severity") == "high"}


def line_of(finding: dict[str, Any], text: str) -> int:
    return text.count("\n", 0, finding["start"]) + 1


@register.simple_tag
def finding_place(finding: dict[str, Any], text: str) -> str:
    """Where a finding stands: its line; nothing where it is about the whole text or stands beside it."""
    if finding.get("beside") or finding["start"] >= finding["end"] or "\n" not in text:
        return ""
    return gettext("line %(number)s") % {"number": line_of(finding, text)}


@register.simple_tag
def grave_places(findings: list[dict[str, Any]], text: str) -> SafeString:
    """The grave findings that a person confirms, by kind: the first line, and how many there are."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for one in findings:
        if one.get("severity") == "high":
            kinds.setdefault(one["code"], []).append(one)
    places = []
    for code, found in sorted(kinds.items()):
        place = finding_place(found[0], text)
        more = ngettext("%(n)s place", "%(n)s places", len(found)) % {"n": len(found)} if len(found) > 1 else ""
        where = ", ".join(part for part in (place, more) if part)
        places.append(format_html('<b class="strong">{}</b>{}', code_name(code), f" ({where})" if where else ""))
    return join_html(places)


@register.simple_tag
def without_words(lines: list[int]) -> str:
    """The label of the button that admits a record without some lines."""
    if len(lines) > 3:
        return ngettext("Admit without %(n)s line", "Admit without %(n)s lines", len(lines)) % {"n": len(lines)}
    named = join_words(map(str, lines))
    return ngettext("Admit without line %(lines)s", "Admit without lines %(lines)s", len(lines)) % {"lines": named}


@register.simple_tag
def bulk_url(slug: str, verb: str, records: Iterable[Any], query: str) -> str:
    """The address of the summary of one decision on these records; it leads back to the list with this query."""
    back = reverse("quarantine.page", args=[slug]) + (f"?{query}" if query else "")
    asked = urlencode({"verb": verb, "pick": [one.pk for one in records], "next": back}, True)
    return f"{reverse('quarantine.bulk', args=[slug])}?{asked}"


@register.filter
def node_name(kind: str) -> str:
    return str(NODE_KINDS.get(kind, kind))


@register.filter
def first_line(text: str) -> str:
    return longterm.title_of_entry(text, 110)


@register.filter("of")
def values_for(found: dict[int, Any], key: int) -> Any:
    """The values of a key; empty without it."""
    return found.get(key, ())


@register.filter
def times(value: float, by: float) -> float:
    return round(float(value) * float(by), 1)


@register.filter
def cosine(value: float | None) -> str:
    return gettext("none") if value is None else f"{value:.2f}"


@register.simple_tag
def time_left(expires_at: datetime, created_at: datetime) -> dict[str, Any]:
    """The time that an entry has left: in words, as a percentage for the bar, and its whole time in hours."""
    now = timezone.now()
    left = max(0.0, (expires_at - now).total_seconds())
    whole = max(1.0, (expires_at - created_at).total_seconds())
    minutes = int(left // 60)
    words = duration_in_words(left)
    if minutes >= 60:
        words = gettext("%(hours)s h %(minutes)s min") % {"hours": minutes // 60, "minutes": f"{minutes % 60:02}"}
    return {"words": words, "share": round(min(100.0, 100 * left / whole), 1), "hours": round(whole / 3600)}


@register.simple_tag
def chunk_text(pieces: list[Any], at: int) -> SafeString:
    """The text of a chunk, with what it shares with its neighbours marked."""
    piece = pieces[at]
    tail = pieces[at + 1].shared if at + 1 < len(pieces) else 0
    cuts = [0, piece.shared, max(piece.shared, len(piece.text) - tail), len(piece.text)]
    drawn = ((drawn_text(piece.text[a:b]), shared) for (a, b), shared in zip(pairwise(cuts), (1, 0, 1), strict=True))
    return mark_safe("".join(f'<span class="lap">{text}</span>' if shared else text for text, shared in drawn if text))  # noqa: S308


@register.simple_tag
def promotion_preview(space: Space, proposal: Proposal) -> longterm.PromotionPreview:
    """The preview of a promotion that an agent proposed."""
    return longterm.preview_promotion(space, bytes(proposal.content or b"").decode("utf-8", "replace"))


@register.simple_tag
def promotion_map(space: Space, preview: longterm.PromotionPreview) -> longterm.Map | None:
    """The map with the chunks of a previewed promotion; None if they have no place on it."""
    return longterm.draw_map(space, newcomers=preview.newcomers) if preview.newcomers else None


@register.simple_tag
def map_scope(chart: longterm.Map, only_due: bool, due: int) -> str:
    """Which entries the map shows; `due` is the number of all due entries of the space."""
    if only_due and chart.due:
        return gettext("%(n)s of %(all)s due") % {"n": len(chart.due), "all": due}
    if only_due:
        return gettext("nothing here is due") if chart.part else gettext("nothing is due")
    if chart.part:
        words = ngettext("%(n)s of %(all)s entry", "%(n)s of %(all)s entries", chart.whole)
        return words % {"n": len(chart.points), "all": chart.whole}
    if chart.is_partial:
        return gettext("similar entries are close together; the newest %(n)s") % {"n": len(chart.points)}
    return gettext("similar entries are close together")


@register.filter
def map_label(chart: longterm.Map) -> str:
    """The label of the map for screen readers."""
    points, twins, entering = len(chart.points), len(chart.twins), len(chart.entering)
    parts = [ngettext("Map of %(n)s long-term entry", "Map of %(n)s long-term entries", points) % {"n": f"{points:,}"}]
    if twins:
        words = ngettext("%(n)s group of near duplicates", "%(n)s groups of near duplicates", twins)
        parts.append(words % {"n": twins})
    if entering:
        parts.append(ngettext("%(n)s would be added", "%(n)s would be added", entering) % {"n": entering})
    return "; ".join(parts)


@register.simple_tag
def promotion_words(origin: longterm.PromotionOrigin, slug: str) -> dict[str, str]:
    """Heading, question, button and back link of the promotion page, depending on what it starts from."""
    entries = reverse("longterm.page", args=[slug])
    if origin.pair:
        pair = {"first": f"L-{origin.pair.older.number}", "second": f"L-{origin.pair.newer.number}"}
        return {
            "heading": gettext("Merge %(first)s and %(second)s") % pair, "question": gettext("Merge them?"),
            "button": gettext("Merge"), "started_from": gettext("pairs"), "back": f"{entries}?show=pairs",
        }  # fmt: skip
    promote = {"heading": gettext("Promote"), "question": gettext("Promote?"), "button": gettext("Promote")}
    if origin.record:
        back = reverse("quarantine.record", args=[slug, origin.record.pk])
        return {**promote, "started_from": gettext("record %(number)s") % {"number": origin.record.pk}, "back": back}
    if origin.entry:
        return {**promote, "started_from": gettext("working memory"), "back": reverse("working.page", args=[slug])}
    return {
        "heading": gettext("Add to long-term memory"), "question": gettext("Add it?"), "button": gettext("Add"),
        "started_from": "", "back": entries,
    }  # fmt: skip


@register.filter
def neighbour_words(one: Any) -> str:
    """Number, author and date of a similar entry, and when it was checked."""
    entry = one.entry
    parts = [f"L-{entry.number}", entry.actor_name, date(timezone.localtime(entry.created_at), gettext("j F"))]
    if entry.scope == longterm.AGENT:
        parts.append(gettext("private to one agent"))
    if entry.checked_at:
        day = date(timezone.localtime(entry.checked_at), gettext("j F"))
        parts.append(gettext("verified %(date)s") % {"date": day})
    return gettext(", ").join(parts)


@register.simple_tag
def promotion_lead(origin: longterm.PromotionOrigin) -> SafeString | str:
    """Who logged the record that is promoted, or what a merge does; "" for a new text."""
    if origin.record:
        record = origin.record
        words = gettext("Logged by {agent} {when} in {session}.")
        return format_html(
            words, agent=agent_title(record.agent_name), when=ago(record.created_at), session=record.session_id
        )
    return gettext("Write what both should say; the new entry replaces them.") if origin.pair else ""


@register.simple_tag
def layer_tag(layer: str) -> SafeString:
    """The tag of a search hit: colour, glyph and name of its layer."""
    glyph = {"files": "source", "proposals": "proposal"}.get(layer, layer)
    hue = {"files": "source", "proposals": "plain", "activity": "plain"}.get(layer, layer)
    return format_html('<span class="tag is-{}">{}{}</span>', hue, g(glyph), LAYERS.get(layer, layer))


@register.simple_tag
def promoted_words(entry: Any) -> SafeString:
    """Who promoted an entry and when, and when it was checked."""
    line = format_html("{}, {}", entry.actor_name, ago(entry.created_at))
    if not entry.checked_at:
        return line
    day = date(timezone.localtime(entry.checked_at), gettext("j M Y"))
    return format_html("{}, {}", line, gettext("verified %(date)s") % {"date": day})


@register.filter
def entering_words(one: Any) -> str:
    """The label of a point that a promotion would add to the map."""
    words = gettext("Would be added, %(name)s: %(title)s") if one.url else gettext("Would be added: %(title)s")
    return words % {"name": one.name, "title": one.title}


@register.simple_tag
def chunk_words(piece: Any, before: int) -> str:
    """The length of a chunk, and how much of it is shared with the chunk `before`."""
    length = plural(len(piece.text), "character")
    if not piece.shared:
        return length
    words = gettext("%(characters)s, the first %(n)s shared with %(before)s")
    return words % {"characters": length, "n": piece.shared, "before": before}


@register.filter
def record_state_words(state: Any) -> str:
    """Who set the state of a record, and why."""
    by_hub = state.actor_kind == "hub"
    # Of a person often one of the reasons that the page offers; why a record is held is said with its state.
    reason = "" if state.state == "held" else code_name(state.reason)
    words = (
        gettext("by the gate")
        if by_hub
        else gettext("by %(name)s") % {"name": actor_name(state.actor_kind, state.actor_name)}
    )
    return f"{words}{gettext(': ')}{reason}" if reason else words


@register.filter
def held_words(state: Any) -> str:
    """The state of a record; for a held one also the finding that holds it."""
    name = translated(state.state)
    return f"{name}{gettext(': ')}{code_name(state.reason)}" if state.state == "held" and state.reason else name
