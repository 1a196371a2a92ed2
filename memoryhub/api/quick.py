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
from urllib.parse import parse_qsl

from django.core.handlers.wsgi import WSGIRequest
from django.db import DatabaseError
from ninja.responses import NinjaJSONEncoder

from memoryhub.api import files as files_api
from memoryhub.api import layers, proposals
from memoryhub.api.ground import BODY_LIMIT, likes_text
from memoryhub.api.ground import answer as refused
from memoryhub.api.lean import Answer, address_in, bearer, served
from memoryhub.db import statements
from memoryhub.domain import files, prompts, retrieval
from memoryhub.domain.files import Pending, Published
from memoryhub.domain.prompts import DiskFile
from memoryhub.errors import HubError
from memoryhub.models import Actor, Policy, Scope
from memoryhub.stores import paths

Environ = dict[str, Any]
FILE, BATCH, SEARCH, PROPOSAL = "/api/v1/files/", "/api/v1/batch", "/api/v1/search", "/api/v1/proposals/"
STANDS = """
SELECT id, state, updated_at FROM memoryhub_proposal WHERE space_id = %s AND number = %s AND agent_id = %s
  AND (state NOT IN ('pending', 'outdated') OR expires_at > now())
"""


def application(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes] | None:
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
    try:
        return served(answer, environ, start_response)
    except (_LongWay, HubError, DatabaseError, ValueError, RecursionError):
        return None


class _LongWay(Exception):
    """This call is not the plain case."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A whole answer as it was at one revision of a space, and how its files lay on disk."""

    document: files_api.Document
    disk: tuple[DiskFile, ...]

    @property
    def bytes(self) -> int:
        return len(self.document[0])


shelf: prompts.Shelf[Kept] = prompts.Shelf(most=4096)  # a fleet reads many small files; the bytes have their own limit
Build = Callable[[dict[str, Published]], files_api.Document]


def _answer(environ: Environ, wanted: tuple[str, ...], name: str, build: Build) -> Answer:
    """The answer from the shelf while space and disk are the same, else made anew, if that needs no closer look."""
    if not wanted:
        raise _LongWay
    last = prompts.seen_last(bearer(environ))
    kept = shelf.get(_key(last, name, wanted)) if last else None
    if last and not kept:  # most likely it has to be made, so what it is made of comes with the look at the door
        ask = _AskAtTheDoor(environ, Scope.FILES)
        kept = _made(files.published_rows(last.space_id, list(wanted), ask=ask), build)
        shelf.put(_key(ask.door, name, wanted), kept)
        return files_api.lean_conditional(environ, *kept.document)
    door = _enter(environ, Scope.FILES)
    if door != last:
        kept = shelf.get(_key(door, name, wanted))
    if not kept:
        kept = _made(files.published_rows(door.space_id, list(wanted)), build)
        shelf.put(_key(door, name, wanted), kept)
    return files_api.lean_conditional(environ, *kept.document)


def _key(door: prompts.AtTheDoor, name: str, wanted: tuple[str, ...]) -> tuple[Any, ...]:
    return door.space_id, door.revision, name, *wanted


def _path(environ: Environ) -> str:
    """The address as text: WSGI has its bytes one by one. What is no UTF-8 does not get here (`wsgi.is_broken`)."""
    path = environ["PATH_INFO"]
    return path if path.isascii() else path.encode("latin-1").decode()


def _enter(environ: Environ, *scopes: str) -> prompts.AtTheDoor:
    door = prompts.enter(bearer(environ), address_in(environ), hot=False, scopes=scopes)
    if door is None:
        raise _LongWay
    return door


class _AskAtTheDoor:
    """Asks a statement in the same trip as the look at the door, which has to be taken first of all in any case."""

    door: prompts.AtTheDoor

    def __init__(self, environ: Environ, *scopes: str):
        self.who = bearer(environ), address_in(environ)
        self.scopes = scopes

    def __call__(self, sql: str, asked: dict[str, Any]) -> list[tuple[Any, ...]]:
        door, rows = prompts.enter_and_ask(*self.who, sql, asked, scopes=self.scopes)
        if door is None or door.space_id != asked["space"]:
            raise _LongWay
        self.door = door
        return rows


def _waiting(environ: Environ) -> Answer:
    """An agent asks again whether its proposal was decided: usually it was not, and that is all it needs to hear."""
    number = _path(environ)[len(PROPOSAL) :]
    if not number.isascii() or not number.isdecimal() or len(number) > 18:
        raise _LongWay
    door = _enter(environ, Scope.PROPOSE)
    found = statements.rows(STANDS, [door.space_id, int(number), door.agent_id])
    tag = proposals.etag(*found[0], door.revision) if found else ""
    if not found or not proposals.is_known(environ["HTTP_IF_NONE_MATCH"], tag):
        raise _LongWay
    return Answer.of(proposals.unchanged(tag))


def _made(rows: list[files.PublishedRow], build: Build) -> Kept:
    found = {row.path: row.answer() for row in rows}
    plain = {path: one for path, one in found.items() if isinstance(one, Published)}
    if sum(len(one.content) for one in plain.values()) > files_api.MOST_BYTES:
        raise _LongWay
    if len(plain) < len(found) or any(row.store == "thread" for row in rows) or not files.unchanged_on_disk(rows):
        raise _LongWay
    disk = tuple(
        DiskFile(row.directory, row.relative, tuple(json.loads(row.stat or "[]")))
        for row in rows if row.store == "filesystem"
    )  # fmt: skip
    return Kept(build(plain), disk)


def _file(environ: Environ) -> Answer:
    path = paths.from_url(_path(environ)[len(FILE) :])
    if likes_text(environ.get("HTTP_ACCEPT", "")):
        return _answer(environ, (path,), "text", lambda found: files_api.text_document(found[path]))
    return _answer(environ, (path,), "file", lambda found: files_api.file_document(found[path]))


def _batch(environ: Environ) -> Answer:
    given = json.loads(_body(environ))
    if not isinstance(given, dict) or set(given) != {"paths"} or not isinstance(given["paths"], list):
        raise _LongWay
    wanted = given["paths"]
    if len(wanted) > files_api.MOST_PATHS or not all(isinstance(path, str) for path in wanted):
        raise _LongWay
    return _answer(environ, tuple(wanted), "batch", lambda found: files_api.batch_document(wanted, found))


def _body(environ: Environ) -> bytes:
    """The body, put back for whoever answers in the end."""
    size = int(environ.get("CONTENT_LENGTH") or 0)
    if not 0 < size <= BODY_LIMIT // 8:
        raise _LongWay
    body = environ["wsgi.input"].read(size)
    environ["wsgi.input"] = io.BytesIO(body)
    return body


def _write(environ: Environ) -> Answer:
    path = paths.from_url(_path(environ)[len(FILE) :])
    body = files_api.WriteIn.model_validate(json.loads(_body(environ)))
    agent = _enter(environ, Scope.PROPOSE).agent()
    place = files.resolve_path(agent.space, path, agent=agent)
    if place.policy != Policy.TRUSTED or place.rule:  # a rule may have conditions, and then a person is asked
        raise _LongWay
    wish = files_api.wish_to_write(WSGIRequest(environ.copy()), path, body)
    try:
        done = files.submit(agent.space, Actor.of_agent(agent), wish, place)
    except HubError as refusal:  # it may stand in the activity by now, and shall not twice
        return Answer.of(refused(refusal))
    if isinstance(done, Pending):
        raise _LongWay  # the same wish again is the same proposal
    status, document = files_api.applied(wish, done)
    return _json(document, status)


def _search(environ: Environ) -> Answer:
    query = environ.get("QUERY_STRING", "")
    asked = parse_qsl(query, keep_blank_values=True)
    given = dict(asked)
    if not query.isascii() or set(given) - {"q", "layers", "limit"} or len(given) < len(asked):
        raise _LongWay
    q, wanted, limit = given.get("q", ""), layers.named(given.get("layers", "")), int(given.get("limit", 50))
    scopes = (Scope.RETRIEVE, *layers.SCOPES.values())
    last = prompts.seen_last(bearer(environ))
    known = None
    if last and wanted == ["files"] and retrieval.is_file_search_listed(last.space_id, last.revision):
        ask = _AskAtTheDoor(environ, *scopes)
        rows = ask(
            retrieval.IN_FILES,
            retrieval.file_search_params(last.space_id, retrieval.typed_query(q), retrieval.MAX_HITS),
        )
        door = ask.door
        if door.revision == last.revision:  # else there may be files whose words are not listed yet
            known = {"files": retrieval.file_hits(rows)}
    else:
        door = _enter(environ, *scopes)
    agent = door.searcher()
    return _json(layers.found(agent.space, agent, q, wanted, limit, known=known))


def _json(document: dict[str, Any], status: int = 200) -> Answer:
    body = json.dumps(document, cls=NinjaJSONEncoder).encode()
    headers = {
        "Content-Type": "application/json; charset=utf-8", "Cache-Control": "private, no-store",
        "Content-Length": str(len(body)), "X-Content-Type-Options": "nosniff",
    }  # fmt: skip
    return Answer(status, headers, body)
