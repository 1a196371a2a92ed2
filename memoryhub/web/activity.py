"""The log of a space: filter it, walk back through it, take it along."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render

from memoryhub.domain import activity
from memoryhub.models import ActivityLine
from memoryhub.web.access import space_page

PAGE = 100
WHO = [("", "Everyone", ""), ("person", "People", "person"), ("agent", "Agents", "agent"), ("disk", "Disk", "disk")]


def a_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def a_number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 19 else None


def filters_of(request: HttpRequest) -> dict[str, Any]:
    get = request.GET.get
    filters = {"words": get("q", "").replace("\x00", ""), "who": get("who", ""), "kind": get("kind", "")}
    return {**filters, "since": a_day(get("since", "")), "until": a_day(get("until", ""))}


def asked(request: HttpRequest) -> QuerySet[ActivityLine]:
    """The lines that the filters of this address ask for."""
    return activity.find_lines(request.space, **filters_of(request))


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    filters, before = filters_of(request), a_number(request.GET.get("before", ""))
    found = activity.page_of_lines(request.space, PAGE, before=before, **filters)
    context = {
        "lines": found.lines,
        "older": found.older,
        "further": found.further,
        "back_to": found.back_to,
        "before": before,
        "filters": filters,
        "filtered": any(filters.values()),
        "who_chips": WHO,
        "kinds": list(activity.KINDS),
        "first": ActivityLine.objects.within(request.space).order_by("id").values_list("at", flat=True).first(),
    }
    part = request.htmx and not request.htmx.boosted
    return render(request, "activity/_log.html" if part else "activity/page.html", context)


def as_file(lines: Iterable[str], name: str, content_type: str) -> StreamingHttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(lines, content_type=content_type, headers=headers)


@space_page("read", methods=("GET", "HEAD"))
def export_csv(request: HttpRequest) -> StreamingHttpResponse:
    found = asked(request)
    name = f"activity-{request.space.slug}.csv"
    return as_file(activity.as_csv(found.iterator(chunk_size=2000)), name, "text/csv; charset=utf-8")


@space_page("read", methods=("GET", "HEAD"))
def export_jsonl(request: HttpRequest) -> StreamingHttpResponse:
    found = asked(request)
    name = f"activity-{request.space.slug}.jsonl"
    return as_file(activity.as_json_lines(found.iterator(chunk_size=2000)), name, "application/x-ndjson")
