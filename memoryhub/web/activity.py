"""The activity log of a space: filtered, in pages, and as CSV or JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy

from memoryhub.domain import activity
from memoryhub.models import ActivityLine
from memoryhub.web.access import space_page
from memoryhub.web.helpers import clean_text, parse_number

PAGE = 100
PICTURES = [
    ("deliveries", gettext_lazy("New prompts delivered")),
    ("proposals", gettext_lazy("Proposals decided")),
    ("gate", gettext_lazy("Outputs at the gate")),
]
KIND_LABELS = {
    "decisions": gettext_lazy("decisions"), "proposals": gettext_lazy("proposals"), "edits": gettext_lazy("edits"),
    "layers": gettext_lazy("layers"), "promotions": gettext_lazy("promotions"),
    "people and tokens": gettext_lazy("people and tokens"), "settings": gettext_lazy("settings"),
}  # fmt: skip
ACTOR_FILTERS = [
    ("", gettext_lazy("Everyone"), ""),
    ("person", gettext_lazy("People"), "person"),
    ("agent", gettext_lazy("Agents"), "agent"),
    ("disk", gettext_lazy("Disk"), "disk"),
]


def parse_date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def filters_of(request: HttpRequest) -> dict[str, Any]:
    get = request.GET.get
    filters = {name: clean_text(get(given, "")) for name, given in (("words", "q"), ("who", "who"), ("kind", "kind"))}
    return {**filters, "since": parse_date(get("since", "")), "until": parse_date(get("until", ""))}


def requested_lines(request: HttpRequest) -> Iterator[ActivityLine]:
    """The lines of the log that match the filters in the query of the request."""
    return activity.each_line(request.space, **filters_of(request))


def named_actor(who: str) -> list[tuple[str, str, str]]:
    """The chip of the one agent or person whose lines are asked for."""
    return [(who, who, "")] if who and who not in {value for value, _, _ in ACTOR_FILTERS} else []


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    filters, before = filters_of(request), parse_number(request.GET.get("before", ""))
    found = activity.page_of_lines(request.space, PAGE, before=before, **filters)
    context = {
        "lines": found.lines,
        "older": found.older,
        "further": found.further,
        "back_to": found.back_to,
        "before": before,
        "filters": filters,
        "filtered": any(filters.values()),
        "who_chips": [*ACTOR_FILTERS, *named_actor(filters["who"])],
        "kinds": [(kind, KIND_LABELS.get(kind, kind)) for kind in activity.KINDS],
        "first": activity.first_at(request.space),
    }
    if not any(filters.values()) and not before:
        context |= {"daily": activity.daily(request.space), "pictures": PICTURES}
    part = request.htmx and not request.htmx.boosted
    return render(request, "activity/_log.html" if part else "activity/page.html", context)


def download_lines(lines: Iterable[str], name: str, content_type: str) -> StreamingHttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(lines, content_type=content_type, headers=headers)


@space_page("read", methods=("GET", "HEAD"))
def export_csv(request: HttpRequest) -> StreamingHttpResponse:
    found = requested_lines(request)
    name = f"activity-{request.space.slug}.csv"
    return download_lines(activity.as_csv(found), name, "text/csv; charset=utf-8")


@space_page("read", methods=("GET", "HEAD"))
def export_jsonl(request: HttpRequest) -> StreamingHttpResponse:
    found = requested_lines(request)
    name = f"activity-{request.space.slug}.jsonl"
    return download_lines(activity.as_json_lines(found), name, "application/x-ndjson")
