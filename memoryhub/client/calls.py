"""Every call of the REST contract as plain data, so that the sync and the async client share them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import quote

from .errors import Invalid
from .records import FileText, Outcome, Prompt, Record

API = "/api/v1"
LONG_QUERY = 1500  # characters; longer ones travel in a body, because proxies cut long addresses


@dataclass(frozen=True)
class Answer:
    """What came back, or the copy kept from an earlier time (`stale`)."""

    status: int
    body: bytes
    headers: dict[str, str]
    stale: bool = False

    def json(self) -> Any:
        return self._document

    @cached_property
    def _document(self) -> Any:
        return json.loads(self.body)  # once: it is looked at before it is taken apart


@dataclass(frozen=True)
class Call:
    """One request: `repeatable` calls may be sent twice, `keep` names the copy on disk used for If-None-Match."""

    method: str
    path: str
    params: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    accept: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    repeatable: bool = False
    keep: str | None = None
    stale_ok: bool = False
    parse: Callable[[Answer], Any] = lambda answer: as_record(answer.json())


def as_record(value: Any) -> Any:
    if isinstance(value, dict):
        return Record({key: as_record(item) for key, item in value.items()})
    return [as_record(item) for item in value] if isinstance(value, list) else value


def items(answer: Answer) -> list[Record]:
    return as_record(answer.json()["items"])


def outcome(answer: Answer) -> Outcome:
    return Outcome(as_record(answer.json()))


def virtual(path: str) -> str:
    """A path as the hub names it; refused here when a dot segment would change the address on its way."""
    path = path if path.startswith("/") else f"/{path}"
    if any(part in (".", "..") for part in path.replace("\\", "/").split("/")) or "\x00" in path:
        raise Invalid(f"The path {path!r} would leave its root. Use a plain path.", code="invalid_path", status=422)
    return path


def file_address(path: str) -> str:
    return f"{API}/files{quote(virtual(path), safe='/')}"


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


# Prompt


def prompt(
    *,
    dialect: str | None = None,
    query: str | None = None,
    task: str | None = None,
    thread: str | None = None,
    at: str | None = None,
    system_prompt: str | None = None,
    details: bool = False,
) -> Call:
    fields = without_none(dialect=dialect, query=query, task=task, thread=thread, at=at)
    kept = json.dumps(["prompt", details, fields, system_prompt], sort_keys=True)
    posted = system_prompt is not None or sum(len(str(value)) for value in fields.values()) > LONG_QUERY
    return Call(
        "POST" if posted else "GET",
        f"{API}/prompt",
        params={} if posted else fields,
        body={**fields, **without_none(system_prompt=system_prompt)} if posted else None,
        accept="application/json" if details else "text/plain",
        repeatable=True,
        keep=kept,
        stale_ok=True,
        parse=prompt_details if details else prompt_text,
    )


def prompt_text(answer: Answer) -> Prompt:
    return Prompt.of(answer.body.decode("utf-8"), stale=answer.stale)


def prompt_details(answer: Answer) -> Record:
    return Record({**as_record(answer.json()), "stale": answer.stale})


def report_template(*, library: str, version: str, text: str) -> Call:
    return Call(
        "POST", f"{API}/templates", body={"library": library, "version": version, "text": text}, repeatable=True
    )


# Files


def list_files(prefix: str = "/", *, thread_id: str | None = None) -> Call:
    return Call(
        "GET",
        f"{API}/files",
        params=without_none(prefix=virtual(prefix), thread_id=thread_id),
        repeatable=True,
        parse=lambda answer: as_record(answer.json()["entries"]),
    )


def read(path: str, *, thread_id: str | None = None) -> Call:
    return Call(
        "GET",
        file_address(path),
        params=without_none(thread_id=thread_id),
        repeatable=True,
        keep=read_key(path, thread_id),
        parse=lambda answer: FileText.of(answer.json(), stale=answer.stale),
    )


def read_key(path: str, thread_id: str | None) -> str:
    return json.dumps(["read", virtual(path), thread_id])


def batch(paths: Sequence[str], *, thread_id: str | None = None) -> Call:
    return Call(
        "POST",
        f"{API}/batch",
        body={"paths": [virtual(path) for path in paths], **without_none(thread_id=thread_id)},
        repeatable=True,
        keep=json.dumps(["batch", list(paths), thread_id]),
        parse=lambda answer: as_record(answer.json()["files"]),
    )


def grep(pattern: str, *, prefix: str | None = None, glob: str | None = None, thread_id: str | None = None) -> Call:
    params = without_none(pattern=pattern, prefix=prefix, glob=glob, thread_id=thread_id)
    return Call("GET", f"{API}/grep", params=params, repeatable=True)


def glob(pattern: str, *, prefix: str | None = None, thread_id: str | None = None) -> Call:
    params = without_none(pattern=pattern, prefix=prefix, thread_id=thread_id)
    return Call("GET", f"{API}/glob", params=params, repeatable=True)


def write(path: str, content: str | bytes, *, if_match: str | None = None, **notes: str | None) -> Call:
    headers = {"If-Match": f'"{if_match.strip(chr(34))}"'} if if_match else {}
    return Call(
        "PUT",
        file_address(path),
        body={**encoded(content), **without_none(**notes)},
        headers=headers,
        repeatable=if_match is None,  # sent twice, the second would meet its own change and be refused
        parse=outcome,
    )


def edit(path: str, old: str, new: str, *, replace_all: bool = False, **notes: str | None) -> Call:
    body = {"path": virtual(path), "old_string": old, "new_string": new, "replace_all": replace_all}
    return Call("POST", f"{API}/edits", body={**body, **without_none(**notes)}, parse=outcome)


def delete(path: str, **notes: str | None) -> Call:
    return Call("DELETE", file_address(path), params=without_none(**notes), parse=outcome)


def move(source: str, target: str, **notes: str | None) -> Call:
    body = {"from": virtual(source), "to": virtual(target), **without_none(**notes)}
    return Call("POST", f"{API}/moves", body=body, parse=outcome)


def memory_tool(command: dict[str, Any]) -> Call:
    return Call("POST", f"{API}/memory-tool", body=command, repeatable=command.get("command") == "view")


# Proposals


def proposal(number: int) -> Call:
    return Call("GET", f"{API}/proposals/{int(number)}", repeatable=True, keep=f'["proposal", {int(number)}]')


def proposals(state: str | None = None, *, limit: int | None = None, cursor: str | None = None) -> Call:
    params = without_none(state=state, limit=limit, cursor=cursor)
    return Call("GET", f"{API}/proposals", params=params, repeatable=True, parse=items)


def withdraw(number: int) -> Call:
    return Call("DELETE", f"{API}/proposals/{int(number)}")


def approve(number: int, *, seen: str, note: str | None = None, content: str | None = None) -> Call:
    body = {"seen": seen, **without_none(note=note, content=content)}
    return Call("POST", f"{API}/proposals/{int(number)}/approve", body=body)


def reject(number: int, *, note: str) -> Call:
    return Call("POST", f"{API}/proposals/{int(number)}/reject", body={"note": note})


# Layers


def log(
    content: str,
    *,
    session_id: str = "default",
    node_id: str = "agent",
    node_kind: str = "agent",
    scope: str = "group",
    metadata: dict[str, Any] | None = None,
) -> Call:
    body = {"session_id": session_id, "node_id": node_id, "node_kind": node_kind, "scope": scope}
    return Call("POST", f"{API}/quarantine", body={"content": content, **body, **without_none(metadata=metadata)})


def working(limit: int = 10) -> Call:
    return Call("GET", f"{API}/working", params={"limit": limit}, repeatable=True, parse=items)


def retrieve(
    query: str,
    *,
    hot: int | None = None,
    cold: int | None = None,
    threshold: float | None = None,
    max_chars: int | None = None,
    scope: str | None = None,
    summary: bool = False,
) -> Call:
    params = without_none(query=query, hot=hot, cold=cold, threshold=threshold, max_chars=max_chars, scope=scope)
    return Call(
        "GET",
        f"{API}/retrieve",
        params=params,
        accept="text/plain" if summary else "application/json",
        repeatable=True,
        parse=(lambda answer: answer.body.decode("utf-8")) if summary else items,
    )


def promote(
    *, reason: str, quarantine_id: int | str | None = None, content: str | None = None, **notes: str | None
) -> Call:
    body = {"reason": reason, **without_none(quarantine_id=quarantine_id, content=content, **notes)}
    return Call("POST", f"{API}/promotions", body=body, parse=outcome)


def search(q: str, *, layers: str | None = None, limit: int | None = None) -> Call:
    params = without_none(q=q, layers=layers, limit=limit)
    return Call("GET", f"{API}/search", params=params, repeatable=True, parse=items)
