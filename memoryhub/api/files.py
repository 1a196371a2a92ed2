"""Files over REST: read, list, search, and ask for changes. What is answered to a write, the policy of its path decides."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from django.urls import register_converter
from django.urls.converters import PathConverter
from ninja import Field, Router, Schema, Status

from memoryhub.api.ground import ERRORS, IF_MATCH, IF_NEW, IF_NONE_MATCH, Given, needs, wants_text
from memoryhub.api.lean import ALWAYS, Answer
from memoryhub.domain import files
from memoryhub.domain.accounts import Caller
from memoryhub.domain.files import Applied, ChangeRequest, Pending, Published, decode_content
from memoryhub.errors import HubError, Invalid, NotFound
from memoryhub.stores import paths

router = Router()


class VirtualPath(PathConverter):
    """Everything behind `files/`, line breaks too: what is wrong with a path is said by the rules of paths."""

    regex = "(?s:.+)"


register_converter(VirtualPath, "virtual")
MOST_PATHS = 200
Document = tuple[bytes, str, str]  # body, sha256 for the ETag, kind
MOST_BYTES = 32 * 1024 * 1024


# ---- reading


class Entry(Schema):
    path: str
    is_dir: bool
    size: int
    modified_at: datetime | None


class Entries(Schema):
    entries: list[Entry]


class FileOut(Schema):
    path: str
    content: str
    encoding: Literal["utf-8", "base64"]
    sha256: str
    revision: int
    created_at: datetime
    modified_at: datetime


class Matches(Schema):
    matches: list[Entry]
    truncated: bool


class Line(Schema):
    path: str
    line: int
    text: str


class Lines(Schema):
    matches: list[Line]
    truncated: bool


@router.get("/files", response={200: Entries, **ERRORS}, summary="What a folder holds")
@needs("files")
def entries(request: HttpRequest, prefix: str = "/", thread_id: str = "") -> Any:
    caller: Caller = request.auth
    return {"entries": files.list_entries(caller.space, _rooted(prefix), thread_id=_thread(thread_id))}


@router.get("/grep", response={200: Lines, **ERRORS}, summary="Lines that hold a text, literally")
@needs("files")
def grep(request: HttpRequest, pattern: str, prefix: str = "/", glob: str = "", thread_id: str = "") -> Any:
    caller: Caller = request.auth
    found, truncated = files.grep(caller.space, pattern, _rooted(prefix), glob=glob, thread_id=_thread(thread_id))
    return {"matches": found, "truncated": truncated}


@router.get("/glob", response={200: Matches, **ERRORS}, summary="Files whose path fits a pattern")
@needs("files")
def glob(request: HttpRequest, pattern: str, prefix: str = "/", thread_id: str = "") -> Any:
    caller: Caller = request.auth
    found, truncated = files.glob(caller.space, pattern, _rooted(prefix), thread_id=_thread(thread_id))
    return {"matches": found, "truncated": truncated}


def _thread(thread_id: str) -> str:
    """The name of a thread, as far as it is text."""
    files.text_as_bytes(thread_id)
    return thread_id


def _rooted(prefix: str) -> str:
    return prefix if prefix.startswith(("/", *paths.HEADS)) else "/" + prefix


class BatchIn(Given):
    paths: list[str] = Field(max_length=MOST_PATHS)
    thread_id: str = ""


class BatchFile(Schema):
    path: str
    content: str | None
    encoding: Literal["utf-8", "base64"] | None
    error: str | None
    sha256: str | None = None
    revision: int | None = None


class Batch(Schema):
    files: list[BatchFile]


@router.post(
    "/batch",
    response={200: Batch, 304: None, **ERRORS},
    summary="Several files at once, in the order asked for",
    openapi_extra={"parameters": [IF_NONE_MATCH]},
)
@needs("files")
def batch(request: HttpRequest, body: BatchIn) -> HttpResponse:
    caller: Caller = request.auth
    found = files.read_many(caller.space, body.paths, thread_id=_thread(body.thread_id))
    if sum(len(f.content) for f in found.values() if isinstance(f, Published)) > MOST_BYTES:
        raise Invalid("These files are larger than 32 MiB together. Ask for fewer at once.", code="too_many_bytes")
    for path, one in found.items():
        if isinstance(one, NotFound):
            found[path] = _what_is_there(caller, path, one)
    return answer_batch(request, body.paths, found)


def answer_batch(request: HttpRequest, wanted: list[str], found: Mapping[str, Published | HubError]) -> HttpResponse:
    """The files in the order they were asked for, with an ETag over them all."""
    return conditional(request, *batch_document(wanted, found))


def batch_document(wanted: Sequence[str], found: Mapping[str, Published | HubError]) -> Document:
    body = _as_json({"files": [_in_batch(path, found[path]) for path in wanted]})
    return body, hashlib.sha256(body).hexdigest(), "application/json"


def _in_batch(path: str, found: Published | HubError) -> dict[str, Any]:
    if isinstance(found, HubError):
        return {"path": path, "content": None, "encoding": None, "error": found.code, "sha256": None, "revision": None}
    return {"path": path, **_content(found), "error": None, "sha256": found.sha256, "revision": found.revision}


def _content(found: Published) -> dict[str, str]:
    if found.is_text:
        return {"content": found.content.decode(), "encoding": "utf-8"}
    return {"content": base64.b64encode(found.content).decode(), "encoding": "base64"}


TEXT: dict[str, Any] = {
    "parameters": [IF_NONE_MATCH],
    "responses": {
        200: {
            "content": {
                "text/plain": {"schema": {"type": "string"}},
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            }
        }
    },
}


@router.get(
    "/files/{virtual:path}", response={200: FileOut, 304: None, **ERRORS}, summary="One file", openapi_extra=TEXT
)
@needs("files")
def read(request: HttpRequest, path: str, thread_id: str = "") -> HttpResponse:
    caller: Caller = request.auth
    try:
        found = files.read(caller.space, paths.from_url(path), thread_id=_thread(thread_id))
    except NotFound as error:
        if path.startswith("~/"):
            files.resolve_path(caller.space, path)  # no mount of that prefix: a home directory, which is outside
        raise _what_is_there(caller, paths.from_url(path), error) from None
    return answer_file(request, found)


def answer_file(request: HttpRequest, found: Published) -> HttpResponse:
    """JSON, or the bytes for who wants text."""
    return conditional(request, *(text_document(found) if wants_text(request) else file_document(found)))


def text_document(found: Published) -> Document:
    return found.content, found.sha256, "text/plain; charset=utf-8" if found.is_text else "application/octet-stream"


def file_document(found: Published) -> Document:
    document = {
        "path": found.path, **_content(found), "sha256": found.sha256, "revision": found.revision,
        "created_at": as_text(found.created_at), "modified_at": as_text(found.modified_at),
    }  # fmt: skip
    return _as_json(document), found.sha256, "application/json"


def as_text(moment: datetime) -> str:
    """A time as the lists have it: UTC to the millisecond."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _what_is_there(caller: Caller, path: str, error: HubError) -> HubError:
    if files.is_folder(caller.space, path):
        return Invalid(
            f"“{path}” is a folder, not a file. List it with GET /api/v1/files?prefix={path.rstrip('/')}/",
            code="is_directory",
            path=path,
        )
    return error


def _as_json(document: dict[str, Any]) -> bytes:
    try:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # a path of the caller's with half a character, which goes back as it came
        return json.dumps(document, separators=(",", ":")).encode()


def conditional(request: HttpRequest, body: bytes, sha: str, kind: str) -> HttpResponse:
    """The answer with its ETag, or 304 without a body when the caller has it."""
    return lean_conditional(request.META, body, sha, kind).response()


def lean_conditional(meta: dict[str, Any], body: bytes, sha: str, kind: str) -> Answer:
    known = [tag.strip().removeprefix("W/").strip('"') for tag in meta.get("HTTP_IF_NONE_MATCH", "").split(",")]
    status, body = (304, b"") if sha in known or "*" in known else (200, body)
    headers = {"Content-Type": kind, "ETag": f'"{sha}"', **ALWAYS, "Content-Length": str(len(body))}
    return Answer(status, headers, body)


# ---- writing


class WriteIn(Given):
    content: str
    encoding: str = "utf-8"
    reason: str = ""
    thread_id: str = ""
    tool_call_id: str = ""


class EditIn(Given):
    path: str
    old_string: str
    new_string: str
    replace_all: bool = False
    reason: str = ""
    thread_id: str = ""
    tool_call_id: str = ""


class MoveIn(Given):
    from_: str = Field(alias="from")
    to: str
    reason: str = ""
    thread_id: str = ""
    tool_call_id: str = ""


class AppliedOut(Schema):
    status: Literal["applied"]
    revision: int
    path: str
    sha256: str | None
    occurrences: int | None = None


class PendingOut(Schema):
    status: Literal["pending"]
    proposal: dict[str, Any]


CONDITION = {"parameters": [IF_MATCH]}
WRITES: dict[int, Any] = {200: AppliedOut, 202: PendingOut, **ERRORS}


@router.put(
    "/files/{virtual:path}",
    response={**WRITES, 201: AppliedOut},
    summary="Write a whole file",
    openapi_extra={"parameters": [IF_MATCH, IF_NEW]},
)
@needs("propose", "edit")
def write(request: HttpRequest, path: str, body: WriteIn) -> Status:
    return _answer(request, wish_to_write(request, paths.from_url(path), body))


def wish_to_write(request: HttpRequest, path: str, body: WriteIn) -> ChangeRequest:
    only_new = request.headers.get("If-None-Match", "").strip() == "*"
    content = decode_content(body.content, body.encoding)
    return _wish(request, "write", path, body, content=content, must_be_new=only_new)


@router.post("/edits", response=WRITES, summary="Replace one string in a file by another", openapi_extra=CONDITION)
@needs("propose", "edit")
def edit(request: HttpRequest, body: EditIn) -> Status:
    wish = _wish(
        request,
        "edit",
        _rooted(body.path),
        body,
        old=body.old_string,
        new=body.new_string,
        replace_all=body.replace_all,
    )
    return _answer(request, wish)


@router.delete(
    "/files/{virtual:path}", response=WRITES, summary="Take a file away; its history stays", openapi_extra=CONDITION
)
@needs("propose", "edit")
def delete(request: HttpRequest, path: str, reason: str = "", thread_id: str = "", tool_call_id: str = "") -> Status:
    notes = {"reason": reason, "thread_id": thread_id, "tool_call_id": tool_call_id}
    for text in notes.values():
        files.text_as_bytes(text)
    return _answer(
        request, ChangeRequest("delete", paths.from_url(path), if_match=request.headers.get("If-Match"), **notes)
    )


@router.post("/moves", response=WRITES, summary="Give a file another path", openapi_extra=CONDITION)
@needs("propose", "edit")
def move(request: HttpRequest, body: MoveIn) -> Status:
    return _answer(request, _wish(request, "move", _rooted(body.from_), body, to=_rooted(body.to)))


def _wish(request: HttpRequest, kind: str, path: str, body: Any, **more: Any) -> ChangeRequest:
    notes = {"reason": body.reason, "thread_id": body.thread_id, "tool_call_id": body.tool_call_id}
    for text in notes.values():
        files.text_as_bytes(text)
    return ChangeRequest(kind, path, if_match=request.headers.get("If-Match"), **notes, **more)


def _answer(request: HttpRequest, wish: ChangeRequest) -> Status:
    caller: Caller = request.auth
    done = files.submit(caller.space, caller.actor, wish)
    if isinstance(done, Pending):
        from memoryhub.api.proposals import shown

        return Status(202, {"status": "pending", "proposal": shown(caller, done.proposal)})
    return Status(*applied(wish, done))


def applied(wish: ChangeRequest, done: Applied) -> tuple[int, dict[str, Any]]:
    return 201 if wish.kind == "write" and done.created else 200, _applied(done)


def _applied(done: Applied) -> dict[str, Any]:
    revision = done.revision
    sha = None if revision.is_deleted else revision.sha256
    return {
        "status": "applied", "revision": revision.number, "path": revision.path, "sha256": sha,
        "occurrences": done.occurrences,
    }  # fmt: skip
