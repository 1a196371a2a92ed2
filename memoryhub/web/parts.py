"""Page first, part second: htmx gets the part that changes, everything else the page around it."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render

from memoryhub.errors import Invalid

REVIEW_AFTER = timedelta(days=182)  # what is kept for good is looked at again after half a year


def page_or_part(
    request: HttpRequest, page: str, part: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    wanted = part if request.htmx and not request.htmx.boosted else page
    return render(request, wanted, context, status=status)


def number(text: str | None, default: int | None = None) -> int | None:
    """A number from an address; anything else counts as not given."""
    return int(text) if text and text.isdecimal() and len(text) < 19 else default


def numbers(texts: list[str]) -> list[int]:
    return [value for text in texts if (value := number(text)) is not None]


def plain(text: str) -> str:
    """What a person typed into a filter, without what PostgreSQL cannot hold."""
    return text.replace("\x00", "").encode("utf-8", "ignore").decode()[:1000]


def typed(request: HttpRequest, name: str = "content") -> str:
    """A text area's text: browsers send CRLF for every line end."""
    return request.POST.get(name, "").replace("\r\n", "\n")


def near_entries(post: QueryDict) -> dict[str, list[int]]:
    """Which of the entries that are there already a new one replaces, and which it takes in."""
    chosen = {key.removeprefix("near-"): value for key, value in post.items() if key.startswith("near-")}
    verbs = {"replaces": "replace", "merges": "merge"}
    return {
        name: [int(key) for key, value in chosen.items() if value == verb and key.isdecimal() and len(key) < 19]
        for name, verb in verbs.items()
    }


def a_day(text: str) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Invalid("That is no date. Choose one like 2027-05-18.", field="review_by") from None
