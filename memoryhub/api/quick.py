"""The quick way for what agents ask all the time: few statements, and without the middleware of pages.

Only the plain case is answered here: a good token of an agent; to read, text that is known and unchanged on disk, or a
proposal that has not changed; to write, a path where agents are trusted. For everything else (a person, a refusal, a
change to take in) the call goes on to the operations in `files.py`, `layers.py` and `proposals.py`, which answer the
same. Nothing is changed before that is decided.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.core.handlers.wsgi import WSGIRequest
from django.db import DatabaseError
from django.http import HttpResponse
from ninja.responses import NinjaJSONEncoder

from memoryhub.api import files, layers, proposals
from memoryhub.api.ground import BODY_LIMIT
from memoryhub.api.ground import answer as refused
from memoryhub.domain import gate, handing, hot, mounts, published
from memoryhub.domain.access import Actor
from memoryhub.domain.files import Pending
from memoryhub.domain.gathering import OnDisk
from memoryhub.domain.published import Published
from memoryhub.errors import HubError
from memoryhub.middleware import address_of, request_ids
from memoryhub.models import Policy, Scope
from memoryhub.stores import paths

FILE, BATCH, SEARCH, PROPOSAL = "/api/v1/files/", "/api/v1/batch", "/api/v1/search", "/api/v1/proposals/"
STANDS = "SELECT id, state, updated_at FROM memoryhub_proposal WHERE space_id = %s AND number = %s AND agent_id = %s"


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes] | None:
    """The answer, or nothing when the call needs the long way."""
    method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "")
    plain = not environ.get("QUERY_STRING")
    if method == "GET" and path.startswith(FILE) and plain:
        answer = _file
    elif method == "POST" and path == BATCH:
        answer = _batch
    elif method == "GET" and path.startswith(PROPOSAL) and environ.get("HTTP_IF_NONE_MATCH"):
        answer = _waiting
    elif method == "PUT" and path.startswith(FILE) and plain:
        answer = _write
    elif method == "GET" and path == SEARCH:
        answer = _search
    else:
        return None
    if not environ.get("HTTP_AUTHORIZATION"):
        return None
    raw = {name: environ[name] for name in ("PATH_INFO", "SCRIPT_NAME") if name in environ}
    try:
        response = request_ids(answer)(WSGIRequest(environ))
    except (_LongWay, HubError, DatabaseError, UnicodeError, ValueError):
        environ.update(raw)  # a request decodes them in their place, which must not happen twice
        return None
    start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
    return [response.content]


class _LongWay(Exception):
    """This call is not the plain case."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A whole answer as it was at one revision of a space, and how its files lay on disk."""

    document: files.Document
    disk: tuple[OnDisk, ...]

    @property
    def bytes(self) -> int:
        return len(self.document[0])


shelf: handing.Shelf[Kept] = handing.Shelf(most=4096)  # a fleet reads many small files; the bytes have their own limit
Build = Callable[[dict[str, Published]], files.Document]


def _answer(request: WSGIRequest, wanted: tuple[str, ...], name: str, build: Build) -> HttpResponse:
    """The answer from the shelf while space and disk are the same, else made anew, if that needs no closer look."""
    if not wanted:
        raise _LongWay
    door = _enter(request, Scope.FILES)
    key = (door.space_id, door.revision, name, *wanted)
    kept = shelf.get(key)
    if kept is None:
        kept = _made(door.space_id, wanted, build)
        shelf.put(key, kept)
    return files.conditional(request, *kept.document)


def _enter(request: WSGIRequest, *scopes: str) -> handing.AtTheDoor:
    kind, _, secret = request.META["HTTP_AUTHORIZATION"].partition(" ")
    door = (
        handing.enter(secret.strip(), address_of(request), hot=False, scopes=scopes)
        if kind.lower() == "bearer"
        else None
    )
    if door is None:
        raise _LongWay
    return door


def _waiting(request: WSGIRequest) -> HttpResponse:
    """An agent asks again whether its proposal was decided: usually it was not, and that is all it needs to hear."""
    number = request.path_info[len(PROPOSAL) :]
    if not number.isascii() or not number.isdecimal() or len(number) > 18:
        raise _LongWay
    door = _enter(request, Scope.PROPOSE)
    found = hot.rows(STANDS, [door.space_id, int(number), door.agent_id])
    tag = proposals.etag(*found[0], door.revision) if found else ""
    if not found or not proposals.is_known(request.META["HTTP_IF_NONE_MATCH"], tag):
        raise _LongWay
    return proposals.unchanged(tag)


def _made(space_id: int, wanted: tuple[str, ...], build: Build) -> Kept:
    rows = published.gather(space_id, list(wanted))
    found = {row.path: row.answer() for row in rows}
    plain = {path: one for path, one in found.items() if isinstance(one, Published)}
    if sum(len(one.content) for one in plain.values()) > files.MOST_BYTES:
        raise _LongWay
    if len(plain) < len(found) or any(row.store == "thread" for row in rows) or not published.are_fresh(rows):
        raise _LongWay
    disk = tuple(
        OnDisk(row.directory, row.relative, tuple(json.loads(row.stat or "[]")))
        for row in rows if row.store == "filesystem"
    )  # fmt: skip
    return Kept(build(plain), disk)


def _file(request: WSGIRequest) -> HttpResponse:
    path = paths.from_url(request.path_info[len(FILE) :])
    if files.wants_text(request):
        return _answer(request, (path,), "text", lambda found: files.text_document(found[path]))
    return _answer(request, (path,), "file", lambda found: files.file_document(found[path]))


def _batch(request: WSGIRequest) -> HttpResponse:
    given = json.loads(_body(request))
    if not isinstance(given, dict) or set(given) != {"paths"} or not isinstance(given["paths"], list):
        raise _LongWay
    wanted = given["paths"]
    if len(wanted) > files.MOST_PATHS or not all(isinstance(path, str) for path in wanted):
        raise _LongWay
    return _answer(request, tuple(wanted), "batch", lambda found: files.batch_document(wanted, found))


def _body(request: WSGIRequest) -> bytes:
    """The body, put back for whoever answers in the end."""
    size = int(request.META.get("CONTENT_LENGTH") or 0)
    if not 0 < size <= BODY_LIMIT // 8:
        raise _LongWay
    body = request.environ["wsgi.input"].read(size)
    request.environ["wsgi.input"] = io.BytesIO(body)
    return body


def _write(request: WSGIRequest) -> HttpResponse:
    path = paths.from_url(request.path_info[len(FILE) :])
    body = files.WriteIn.model_validate(json.loads(_body(request)))
    agent = _enter(request, Scope.PROPOSE).agent()
    place = mounts.resolve(agent.space, path, agent=agent)
    if place.policy != Policy.TRUSTED or place.rule:  # a rule may have conditions, and then a person is asked
        raise _LongWay
    wish = files.wish_to_write(request, path, body)
    try:
        done = gate.submit(agent.space, Actor.of_agent(agent), wish, place)
    except HubError as refusal:  # it may stand in the activity by now, and shall not twice
        return refused(refusal)
    if isinstance(done, Pending):
        raise _LongWay  # the same wish again is the same proposal
    status, document = files.applied(wish, done)
    return _json(document, status)


def _search(request: WSGIRequest) -> HttpResponse:
    given = request.GET.dict()
    if set(given) - {"q", "layers", "limit"} or len(given) < sum(len(values) for _, values in request.GET.lists()):
        raise _LongWay
    limit = int(given.get("limit", 50))
    agent = _enter(request, Scope.RETRIEVE, *layers.SCOPES.values()).agent()
    hits = layers.found(agent.space, agent, given.get("q", ""), layers.named(given.get("layers", "")), limit)
    return _json(hits)


def _json(document: dict[str, Any], status: int = 200) -> HttpResponse:
    body = json.dumps(document, cls=NinjaJSONEncoder)
    response = HttpResponse(body, status=status, content_type="application/json; charset=utf-8")
    response["Cache-Control"] = "private, no-store"
    response["Content-Length"] = str(len(response.content))
    response["X-Content-Type-Options"] = "nosniff"
    return response
