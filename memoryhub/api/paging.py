"""Pages of lists: cursors, limits, and headers of conditions for the document."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Annotated, Any

from django.db.models import QuerySet
from ninja import Query

from memoryhub.errors import Invalid

NO_CURSOR = "The cursor is not one of ours. Leave it out to start from the beginning."
Cursor = Annotated[str, Query(description="The `next` of the page before; left out, the list starts at its beginning.")]
Next = Annotated[str, Query(description="Another name for `cursor`, as answers call it.")]


def encode_cursor(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> Any:
    try:
        return json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True))
    except ValueError:
        raise Invalid(NO_CURSOR, code="invalid_cursor") from None


def number_in(cursor: str, most: int = 2**63 - 1, least: int = -(2**63)) -> int:
    """The place in a list that a cursor of ours stands for."""
    after = decode_cursor(cursor)
    if type(after) is not int or not least <= after <= most:
        raise Invalid(NO_CURSOR, code="invalid_cursor")
    return after


def header(name: str, description: str) -> dict[str, Any]:
    """A header that a call heeds, for the document."""
    return {"name": name, "in": "header", "required": False, "schema": {"type": "string"}, "description": description}


IF_MATCH = header("If-Match", "The sha256 of the file as you know it, in quotes, or *. When it is another by now: 412.")
IF_NONE_MATCH = header("If-None-Match", "The ETag of the answer you have, in quotes. When it is still the same: 304.")
IF_NEW = header(
    "If-None-Match", "With * a file is only made, never changed: 412 when it exists, or when it has the ETag named."
)


def page_limit(limit: int) -> int:
    if not 1 <= limit <= 200:
        raise Invalid("limit is a number from 1 to 200.", code="invalid", field="limit")
    return limit


def page_by_id(
    found: QuerySet[Any], cursor: str, limit: int, as_items: Callable[[list[Any]], list[Any]]
) -> dict[str, Any]:
    """A page of a newest-first list: `next` is null on the last one. Rows that are added meanwhile do not shift it.

    `as_items` may answer fewer than it was given, the first ones: then the page is shorter, and `next` goes on behind them.
    """
    limit = page_limit(limit)
    if cursor:
        found = found.filter(pk__lt=number_in(cursor))
    rows = list(found.order_by("-pk")[: limit + 1])
    items = as_items(rows[:limit])
    return {"items": items, "next": encode_cursor(rows[len(items) - 1].pk) if len(rows) > len(items) else None}
