"""Checks of content, metadata and names that come from outside, before anything is stored (pure)."""

from __future__ import annotations

import json
import math
from typing import Any

from memoryhub.errors import Invalid, TooLarge

MAX_BYTES = 1 << 20
MAX_DEPTH = 20
MAX_METADATA = 256 * 1024  # bytes as JSON
MAX_INDEXED = 200_000  # characters of a text whose words are indexed: a tsvector holds 1 MiB at most


def check_content(content: Any) -> str:
    """The content, if it is a text that is not empty, without NUL or lone surrogates, of at most 1 MiB; else refused."""
    text = check_text(content, "content")
    if not text.strip():
        raise Invalid("The content is empty; there is nothing to remember.", code="invalid_content", field="content")
    if len(text.encode()) > MAX_BYTES:
        raise TooLarge("The content is over 1 MiB; send the part worth remembering.", limit=MAX_BYTES)
    return text


def check_text(text: Any, field: str, max_length: int | None = None) -> str:
    """The text, if it is a string that PostgreSQL can hold; `field` names it in the refusal."""
    if not isinstance(text, str):
        raise Invalid(f"{field} is a text.", code="invalid_content", field=field)
    if "\x00" in text:
        raise Invalid(
            f"{field} holds a NUL character, which cannot be stored; remove it.", code="invalid_content", field=field
        )
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise Invalid(f"{field} holds half a character (a lone surrogate).", code="invalid_content", field=field)
    if max_length is not None and len(text) > max_length:
        raise Invalid(f"{field} has {len(text)} characters; {max_length} at most.", code="invalid", field=field)
    return text


def check_metadata(value: Any) -> dict[str, Any]:
    """The metadata, if it is an object of plain JSON without NUL, lone surrogates, NaN or Infinity, at most 20 deep."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Invalid("metadata is an object.", code="invalid_metadata", field="metadata")
    _check(value, 1)
    if json_size(value) > MAX_METADATA:
        raise TooLarge(
            "metadata is over 256 KiB as JSON; put what is worth remembering into the content.", limit=MAX_METADATA
        )
    return value


def json_size(value: Any) -> int:
    """The bytes that a JSON value takes."""
    return len(json.dumps(value, ensure_ascii=False).encode()) if value else 0


def _check(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise Invalid(f"metadata is nested deeper than {MAX_DEPTH}.", code="invalid_metadata", field="metadata")
    if isinstance(value, dict):
        for key, inner in value.items():
            _check(key, depth)
            _check_inner(inner, depth)
    elif isinstance(value, list):
        for inner in value:
            _check_inner(inner, depth)
    elif isinstance(value, str):
        if "\x00" in value or any("\ud800" <= char <= "\udfff" for char in value):
            raise Invalid("metadata holds a NUL or half a character.", code="invalid_metadata", field="metadata")
    elif isinstance(value, float) and not math.isfinite(value):
        raise Invalid("metadata holds NaN or Infinity.", code="invalid_metadata", field="metadata")


def _check_inner(inner: Any, depth: int) -> None:
    _check(inner, depth + 1 if isinstance(inner, dict | list) else depth)
