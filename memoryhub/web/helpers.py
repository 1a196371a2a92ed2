"""Helpers that several views share: page or part, and parsing of values from forms and queries."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext as _

from memoryhub.errors import Invalid

REVIEW_AFTER = timedelta(days=182)  # long-term entries are due for review after half a year


def page_or_part(
    request: HttpRequest, page: str, part: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """Renders the part for a request by htmx, else the whole page."""
    wanted = part if request.htmx and not request.htmx.boosted else page
    return render(request, wanted, context, status=status)


def parse_number(text: str | None, default: int | None = None, digits: int = 18) -> int | None:
    """A whole number from an address or form; the default for anything else. A column of 32 bits holds any of 9 digits."""
    return int(text) if text and text.isdecimal() and len(text) <= digits else default


def parse_numbers(texts: Iterable[str], digits: int = 18) -> list[int]:
    return [value for text in texts if (value := parse_number(text, digits=digits)) is not None]


def clean_text(text: str) -> str:
    """A line of input without what PostgreSQL cannot store, cut to 1,000 characters."""
    return text.replace("\x00", "").encode("utf-8", "ignore").decode()[:1000]


def typed_text(request: HttpRequest, name: str = "content") -> str:
    """The text of a text area with LF as line end, since browsers send CRLF."""
    return request.POST.get(name, "").replace("\r\n", "\n")


def neighbour_choices(post: QueryDict) -> dict[str, list[int]]:
    """The numbers of the entries that a new one replaces, and of those that it merges in."""
    chosen = {key.removeprefix("near-"): value for key, value in post.items() if key.startswith("near-")}
    verbs = {"replaces": "replace", "merges": "merge"}
    return {name: parse_numbers(key for key, value in chosen.items() if value == verb) for name, verb in verbs.items()}


def parse_date(text: str) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Invalid(_("Enter a date such as 2027-05-18."), field="review_by") from None
