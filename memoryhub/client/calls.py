"""A call of the REST contract as plain data, what comes back, and how paths and contents travel."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import quote

from .errors import Invalid
from .records import Outcome, Record

API = "/api/v1"
NESTED = (dict, list)  # nearly all values are neither
MAX_QUERY = 1500  # characters; longer ones travel in a body, because proxies cut long addresses


@dataclass(frozen=True)
class Answer:
    """What came back, or the copy kept from an earlier time (`stale`)."""

    status: int
    body: bytes
    headers: dict[str, str]
    stale: bool = False

    @cached_property
    def json(self) -> Any:
        """The parsed body; `ValueError` where it is no JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Call:
    """One request: `repeatable` ones may be sent twice, `cache_key` names the copy on disk used for If-None-Match."""

    method: str
    path: str
    params: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    accept: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    repeatable: bool = False
    cache_key: str | None = None
    stale_ok: bool = False
    parse: Callable[[Answer], Any] = lambda answer: as_record(answer.json)


def as_record(value: Any) -> Any:
    if isinstance(value, dict):
        return Record({key: as_record(item) if item.__class__ in NESTED else item for key, item in value.items()})
    return [as_record(item) for item in value] if isinstance(value, list) else value


def items(answer: Answer) -> list[Record]:
    return as_record(answer.json["items"])


def outcome(answer: Answer) -> Outcome:
    return Outcome(as_record(answer.json))


def virtual(path: str) -> str:
    """A path as the hub names it; refused here when a dot segment would change the address on its way."""
    path = path if path.startswith("/") else f"/{path}"
    if any(part in (".", "..") for part in path.replace("\\", "/").split("/")) or "\x00" in path:
        raise Invalid(f"The path {path!r} would leave its root. Use a plain path.", code="invalid_path", status=422)
    return path


def file_address(path: str) -> str:
    if virtual(path).endswith("/"):
        raise Invalid(f"“{path}” is a folder. Name a file in it.", code="is_directory")
    return f"{API}/files{quote(virtual(path), safe='/')}"


def read_key(path: str, thread_id: str | None) -> str:
    """The name of the copy of a file that was read by itself."""
    return json.dumps(["read", virtual(path), thread_id])


def without_none(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def encoded(content: str | bytes) -> dict[str, str]:
    """Text as it is; what JSON or the hub's text rules cannot carry (NUL, broken UTF-8) as base64."""
    if isinstance(content, str):
        try:
            content.encode("utf-8")
        except UnicodeEncodeError:
            raise Invalid(
                "The text holds a lone surrogate, which no file can keep.", code="invalid_content", status=422
            ) from None
        return {"content": content}
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = "\x00"
    if "\x00" in text:
        return {"content": base64.b64encode(content).decode("ascii"), "encoding": "base64"}
    return {"content": text}
