"""Small pictures of what is stored, as SVG with numbers in attributes; each says in words what it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memoryhub.dialects import tokens_of_bytes
from memoryhub.domain.activity import Daily
from memoryhub.domain.prompts import SizeOfDay
from memoryhub.models import Agent
from memoryhub.templatetags.hub import thousands

register = template.Library()
DAYS = 30
WIDTH, HEIGHT = 120, 28  # of a sparkline
BAR, TALL = 8, 48  # of a bar of a day and its picture

# For each picture its kinds in the order in which they are stacked: state, class, name.
KINDS = {
    "deliveries": [("new", "is-prompt", gettext_lazy("delivered"))],
    "proposals": [
        ("approved", "c-add", gettext_lazy("approved")), ("rejected", "c-del", gettext_lazy("rejected")),
        ("withdrawn", "c-off", gettext_lazy("withdrawn")), ("expired", "c-off", gettext_lazy("expired")),
        ("outdated", "c-off", gettext_lazy("outdated")),
    ],
    "gate": [
        ("admitted", "is-working", gettext_lazy("admitted")), ("held", "is-quarantine", gettext_lazy("held")),
    ],
}  # fmt: skip


def short(day: date) -> str:
    return date_format(day, _("j M"))


@register.simple_tag
def sparkline(sizes: Mapping[int, Sequence[SizeOfDay]], agent: Agent) -> SafeString:
    """An agent's prompt size over the last 30 days, with a mark on each day on which its text changed; nothing of a single day."""
    days = sizes.get(agent.pk, ())
    if len(days) < 2:
        return mark_safe("")
    today, most = timezone.localdate(), max(one.tokens for one in days) or 1

    def place(one: SizeOfDay) -> tuple[float, float]:
        at = DAYS - 1 - (today - one.day).days
        return round(4 + at * (WIDTH - 8) / (DAYS - 1), 1), round(HEIGHT - 4 - one.tokens / most * (HEIGHT - 8), 1)

    (x, y), *others = [place(one) for one in days]
    path = f"M{x} {y}" + "".join(f"H{right}V{up}" for right, up in others)
    last = format_html('<circle class="end" cx="{}" cy="{}" r="2"/>', *place(days[-1]))
    marks = format_html_join(
        "", '<circle cx="{}" cy="{}" r="2.5"><title>{}</title></circle>',
        ((*place(one), f"{short(one.day)}{_(': ')}{tokens_words(one.tokens)}") for one in days if one.is_change),
    )  # fmt: skip
    return format_html(
        '<svg class="spark" role="img" aria-label="{}" viewBox="0 0 {} {}"><path d="{}"/>{}{}</svg>',
        spark_words(days), WIDTH, HEIGHT, path, last, marks,
    )  # fmt: skip


def tokens_words(count: int) -> str:
    return ngettext("%(n)s token", "%(n)s tokens", count) % {"n": thousands(count)}


def spark_words(days: Sequence[SizeOfDay]) -> str:
    """The sparkline in words."""
    changes = [one for one in days if one.is_change]
    sentence = _("Prompt size: %(first)s on %(from)s, %(last)s on %(to)s") % {
        "first": tokens_words(days[0].tokens), "from": short(days[0].day), "last": tokens_words(days[-1].tokens),
        "to": short(days[-1].day),
    }  # fmt: skip
    if not changes:
        return sentence + _("; no change")
    more = ngettext("; changed on %(n)s day, last on %(day)s", "; changed on %(n)s days, last on %(day)s", len(changes))
    return sentence + more % {"n": len(changes), "day": short(changes[-1].day)}


@register.simple_tag
def day_bars(daily: Daily, picture: str) -> SafeString:
    """The last 30 days of one picture as stacked bars."""
    rows = [(css, name, daily.counts.get(picture, {}).get(kind)) for kind, css, name in KINDS[picture]]
    rows = [(css, name, row) for css, name, row in rows if row]
    sums = [sum(row[at] for _css, _name, row in rows) for at in range(len(daily.days))]
    most = max(sums, default=0) or 1
    drawn = []
    for at, day in enumerate(daily.days):
        up, parts, labels = 0.0, [], []
        for css, name, row in rows:
            if row[at]:
                tall = max(1.0, row[at] / most * (TALL - 2))
                up += tall
                box = (css, at * BAR + 1, round(TALL - up, 1), BAR - 2, round(tall, 1))
                parts.append(format_html('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>', *box))
                labels.append(f"{thousands(row[at])} {name}")
        if parts:
            drawn.append(
                format_html(
                    "<g><title>{}{}{}</title>{}</g>", short(day), _(": "), _(", ").join(labels), join_pieces(parts)
                )
            )
    words = _(", ").join(f"{thousands(sum(row))} {name}" for _css, name, row in rows) or _("none")
    wide = len(daily.days) * BAR
    return format_html(
        '<svg class="day-bars" role="img" aria-label="{}" viewBox="0 0 {} {}" preserveAspectRatio="none">'
        '<path class="base" d="M0 {}H{}"/>{}</svg>',
        _("Last 30 days: %(words)s") % {"words": words}, wide, TALL, TALL, wide, join_pieces(drawn),
    )  # fmt: skip


def join_pieces(pieces: Sequence[SafeString]) -> SafeString:
    return mark_safe("".join(pieces))  # noqa: S308 (each was escaped)


@register.simple_tag
def day_legend(daily: Daily, picture: str) -> list[dict[str, Any]]:
    """The kinds of a picture that there are: name, class and how many in all."""
    counts = daily.counts.get(picture, {})
    return [
        {"name": str(name), "css": css, "count": sum(counts[kind])}
        for kind, css, name in KINDS[picture]
        if kind in counts
    ]


@register.simple_tag
def short_day(day: date) -> str:
    return short(day)


@register.simple_tag
def day_words(day: Any) -> str:
    """A column of the timeline in words."""
    counts = [(kind, sum(one.kind == kind for one, _url in day.moments)) for kind in ("delivery", "decision", "change")]
    names = {
        "delivery": lambda n: ngettext("%(n)s delivery", "%(n)s deliveries", n),
        "decision": lambda n: ngettext("%(n)s decision", "%(n)s decisions", n),
        "change": lambda n: ngettext("%(n)s change", "%(n)s changes", n),
    }
    counted = _(", ").join(names[kind](n) % {"n": n} for kind, n in counts if n)
    return f"{short(day.day)}{_(': ')}{counted}"


@register.simple_tag
def source_size(prompt: Any, one: Mapping[str, Any]) -> dict[str, Any]:
    """How many tokens of a prompt a source takes: in words, and as a bar beside the largest source. Nothing for one without text."""
    sizes: dict[str, int] = {}
    for part in prompt.parts:
        if part.kind == "source":
            sizes[part.label] = sizes.get(part.label, 0) + part.end - part.start
    times = sum(other["path"] == one["path"] and other["status"] == "included" for other in prompt.sources)
    mine = sizes.get(one["path"], 0) // max(1, times)
    if not mine or one["status"] != "included":
        return {}
    words = tokens_words(tokens_of_bytes(mine))
    bar = format_html(
        '<svg class="bar thin" role="img" aria-label="{}" viewBox="0 0 {} 1" preserveAspectRatio="none">'
        '<rect class="rest" width="{}" height="1"/><rect class="is-source" width="{}" height="1"/></svg>',
        _("%(tokens)s of %(path)s") % {"tokens": words, "path": one["path"]}, *[max(sizes.values())] * 2, mine,
    )  # fmt: skip
    return {"words": words, "bar": bar}
