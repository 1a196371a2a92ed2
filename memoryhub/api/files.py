"""Files over REST: read, list, search."""

import base64
import hashlib
import json
from datetime import UTC, datetime
from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from django.urls import register_converter
from django.urls.converters import PathConverter
from django.utils import timezone
from ninja import Field, Query, Router, Schema

from memoryhub.api.base import ERRORS, Given, conditional, fields_of_each, json_response, needs, rooted, wants_text
from memoryhub.api.paging import IF_NONE_MATCH
from memoryhub.domain import files, proposals
from memoryhub.domain.accounts import Caller
from memoryhub.domain.files import Published, Reader
from memoryhub.errors import HubError, Invalid, NotFound
from memoryhub.stores import paths
from memoryhub.text.lines import text_as_bytes

router = Router()


class VirtualPath(PathConverter):
    """Everything behind `files/`, line breaks too: what is wrong with a path is said by the rules of paths."""

    regex = "(?s:.+)"


register_converter(VirtualPath, "virtual")
MAX_PATHS = 200
MAX_BATCH_BYTES = 32 * 1024 * 1024
READ_AT_ONCE = 50  # files
JSON, TEXT, BINARY = "application/json", "text/plain; charset=utf-8", "application/octet-stream"


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
    expires_at: datetime | None = None


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
def entries(request: HttpRequest, prefix: str = "/", thread_id: str = "") -> HttpResponse:
    caller: Caller = request.auth
    found = files.list_entries(caller.space, rooted(prefix), thread_id=_thread(thread_id), reader=_reader(caller))
    return json_response({"entries": fields_of_each(Entry, found)})


@router.get("/grep", response={200: Lines, **ERRORS}, summary="Lines that hold a text, literally")
@needs("files")
def grep(request: HttpRequest, pattern: str, prefix: str = "/", glob: str = "", thread_id: str = "") -> HttpResponse:
    caller: Caller = request.auth
    found, truncated = files.grep(
        caller.space, pattern, rooted(prefix), glob=glob, thread_id=_thread(thread_id), reader=_reader(caller)
    )
    return json_response({"matches": fields_of_each(Line, found), "truncated": truncated})


@router.get("/glob", response={200: Matches, **ERRORS}, summary="Files whose path fits a pattern")
@needs("files")
def glob(
    request: HttpRequest,
    pattern: str,
    prefix: str = "/",
    thread_id: str = "",
    oldest: int | None = Query(None, ge=1, le=1000, description="So many at most, in the order they were made."),
    offset: int = Query(0, ge=0, le=10**9, description="How many of those to pass by."),
) -> HttpResponse:
    caller: Caller = request.auth
    asked = caller.space, pattern, rooted(prefix)
    who: Any = {"thread_id": _thread(thread_id), "reader": _reader(caller)}
    found, truncated = files.glob_oldest(*asked, offset, oldest, **who) if oldest else files.glob(*asked, **who)
    return json_response({"matches": fields_of_each(Entry, found), "truncated": truncated})


def _thread(thread_id: str) -> str:
    """The name of a thread, as far as it is text."""
    text_as_bytes(thread_id)
    return thread_id


def _reader(caller: Caller) -> Reader:
    return Reader(caller.agent, caller.has("retrieve"))


class BatchIn(Given):
    paths: list[str] = Field(max_length=MAX_PATHS)
    thread_id: str = ""
    waiting: bool = False


class BatchFile(Schema):
    path: str
    content: str | None
    encoding: Literal["utf-8", "base64"] | None
    error: str | None
    sha256: str | None = None
    revision: int | None = None
    proposal: int | None = None


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
    found = _read_batch(caller, body)
    for path, one in found.items():
        if isinstance(one, NotFound):
            found[path] = _folder_or(caller, path, one)
    listed = [_in_batch(path, found[path]) for path in body.paths]
    answer = _as_json({"files": _with_waiting(caller, body, listed) if body.waiting and caller.agent else listed})
    return conditional(request, f'"{hashlib.sha256(answer).hexdigest()}"', answer, JSON)


def _read_batch(caller: Caller, body: BatchIn) -> dict[str, Published | HubError]:
    """The files by path, refused as soon as the answer is too large; a path that is asked for twice is answered twice."""
    found: dict[str, Published | HubError] = {}
    thread, size = _thread(body.thread_id), 0
    for start in range(0, len(body.paths), READ_AT_ONCE):
        part = body.paths[start : start + READ_AT_ONCE]
        wanted = [path for path in part if path not in found]
        found |= files.published_now(caller.space, wanted, thread_id=thread, reader=_reader(caller))
        size += sum(len(one.content) for path in part if isinstance(one := found[path], Published))
        _check_size(size)
    return found


def _check_size(size: int) -> None:
    if size > MAX_BATCH_BYTES:
        raise Invalid("These files are larger than 32 MiB together. Ask for fewer at once.", code="too_many_bytes")


def _with_waiting(caller: Caller, body: BatchIn, listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The files, with what the agent itself has waiting for a person in their place, marked by the number of its proposal."""
    texts = _waiting(caller, body)
    changed = []
    for one in listed:
        number, content = texts.get(one["path"], (None, b""))
        if number is not None:
            now = timezone.now()
            sha256 = hashlib.sha256(content).hexdigest()
            one = {
                **one,
                **_content(Published(one["path"], content, 0, sha256, now, now)),
                "error": None,
                "sha256": sha256,
            }
        changed.append({**one, "proposal": number})
    return changed


def _waiting(caller: Caller, body: BatchIn) -> dict[str, tuple[int, bytes]]:
    """What waits, by path, refused as soon as the answer is too large."""
    assert caller.agent is not None
    found: dict[str, tuple[int, bytes]] = {}
    thread, size = _thread(body.thread_id), 0
    for start in range(0, len(body.paths), READ_AT_ONCE):
        part = body.paths[start : start + READ_AT_ONCE]
        found |= proposals.waiting_texts(
            caller.space, caller.agent, [path for path in part if path not in found], thread
        )
        size += sum(len(found[path][1]) for path in part if path in found)
        _check_size(size)
    return found


def _in_batch(path: str, found: Published | HubError) -> dict[str, Any]:
    if isinstance(found, HubError):
        return {"path": path, "content": None, "encoding": None, "error": found.code, "sha256": None, "revision": None}
    return {"path": path, **_content(found), "error": None, "sha256": found.sha256, "revision": found.revision}


def _content(found: Published) -> dict[str, str]:
    if found.is_text:
        return {"content": found.content.decode(), "encoding": "utf-8"}
    return {"content": base64.b64encode(found.content).decode(), "encoding": "base64"}


FILE_EXTRA: dict[str, Any] = {
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
    "/files/{virtual:path}", response={200: FileOut, 304: None, **ERRORS}, summary="One file", openapi_extra=FILE_EXTRA
)
@needs("files")
def read(request: HttpRequest, path: str, thread_id: str = "") -> HttpResponse:
    """JSON, or the bytes for who wants text."""
    caller: Caller = request.auth
    where = paths.clean(paths.from_url(path))
    found = files.published_now(caller.space, [where], thread_id=_thread(thread_id), reader=_reader(caller))[where]
    if isinstance(found, NotFound):
        if path.startswith("~/"):
            files.resolve_path(caller.space, path)  # no mount of that prefix: a home directory, which is outside
        raise _folder_or(caller, paths.from_url(path), found)
    if isinstance(found, HubError):
        raise found
    etag = f'"{found.sha256}"'
    if wants_text(request):
        return conditional(request, etag, found.content, TEXT if found.is_text else BINARY)
    return conditional(request, etag, _file_document(found), JSON)


def _file_document(found: Published) -> bytes:
    return _as_json({
        "path": found.path, **_content(found), "sha256": found.sha256, "revision": found.revision,
        "created_at": as_text(found.created_at), "modified_at": as_text(found.modified_at),
        **({"expires_at": as_text(found.expires_at)} if found.expires_at else {}),
    })  # fmt: skip


def as_text(moment: datetime) -> str:
    """A time as the lists have it: UTC to the millisecond."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _folder_or(caller: Caller, path: str, error: HubError) -> HubError:
    """The refusal of a path without a file: the one given, or that a folder stands there."""
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
    except UnicodeEncodeError:  # the caller's path holds half a character, and goes back as it came
        return json.dumps(document, separators=(",", ":")).encode()
