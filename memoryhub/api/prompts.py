"""`/api/v1/prompt`: the exact bytes an agent gets. A plain view, because this call is the hot path of the hub.

`wsgi.py` reaches it through `handler`, which carries only the request id and the refusals; the operations below it are
there for the OpenAPI document and answer the same.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import lru_cache, wraps
from typing import Any

from django.core.handlers.wsgi import WSGIRequest
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse, QueryDict
from django.views.decorators.csrf import csrf_exempt
from ninja import Router, Schema

from memoryhub.api.ground import ERRORS, NO_JSON, answer, refusal_of, weighed
from memoryhub.api.lean import ALWAYS, Answer, address_in, bearer, served
from memoryhub.domain import accounts, prompts
from memoryhub.domain.prompts import Prompt, PromptRequest
from memoryhub.errors import HubError, Invalid, NotAllowed, NotFound, Unauthenticated
from memoryhub.middleware import request_ids

View = Callable[[HttpRequest], HttpResponse]
log = logging.getLogger("memoryhub")
FIELDS = ("dialect", "query", "task", "thread", "at", "agent")
NOTHING = PromptRequest()
JSON, TEXT = "application/json", "text/plain; charset=utf-8"


def refusals_as_json(view: View) -> View:
    """Every refusal in the one shape, whichever handler leads here."""

    @wraps(view)
    def guarded(request: HttpRequest) -> HttpResponse:
        try:
            return view(request)
        except Exception as exception:
            error = refusal_of(exception)
            if error is None:
                raise
            response = answer(error)
            if error.status == 405:
                response["Allow"] = "GET, HEAD, POST"
            return response

    return guarded


@csrf_exempt
@refusals_as_json
def prompt(request: HttpRequest) -> HttpResponse:
    """The prompt as text or JSON, with an ETag that changes only with its bytes."""
    if request.method not in ("GET", "HEAD", "POST"):
        raise NotAllowed("Ask with GET, or with POST and JSON.")
    found = answered(request.META, lambda: posted(request) if request.method == "POST" else in_query(request.META))
    return found.response()


prompt.needs = "token"  # type: ignore[attr-defined]


def answered(meta: dict[str, Any], given: Callable[[], Mapping[str, Any]]) -> Answer:
    """The answer to what was `given`; whose token is not known is told that, whatever else is wrong."""
    secret, address = bearer(meta), address_in(meta)
    try:
        asked, slug = read(given())
    except Exception:
        accounts.authenticate(secret, address)
        raise
    door, told = (None, None) if slug else prompts.enter_for_prompt(secret, address, asked)
    if door:
        return respond(meta, prompts.prompt_for(door, asked, told), door.space_id, looks_back=asked.at is not None)
    found, space_id = for_caller(secret, address, asked, slug)
    return respond(meta, found, space_id, looks_back=asked.at is not None)


def for_caller(secret: str, address: str | None, asked: PromptRequest, slug: str) -> tuple[Prompt, int]:
    """The same for whoever the quick door does not know: a refusal that says why, or a person who looks."""
    caller = accounts.authenticate(secret, address)
    caller.need("prompt")
    if caller.agent:
        if slug and slug != caller.agent.slug:
            raise agent_unknown(slug)
        door = prompts.enter(secret, None, hot=prompts.shows_working_memory(asked))
        if door is None:
            raise Unauthenticated(accounts.NO_VALID_TOKEN)
        return prompts.prompt_for(door, asked), door.space_id
    accounts.require(caller.actor, "read")
    everyone = list(prompts.agents_of_space(caller.space))
    agent = next((one for one in everyone if one.slug == slug), None)
    if agent is None:
        if slug:
            raise agent_unknown(slug)
        named = ", ".join(one.slug for one in everyone) or "none yet"
        raise Invalid(f"A person's token names the agent: ?agent=… (there is: {named}).", code="agent_required")
    found = prompts.assemble(
        caller.space, agent, dialect=asked.dialect, query=asked.query, task=asked.task, thread=asked.thread,
        at=asked.at, system_prompt=asked.system_prompt,
    )  # fmt: skip
    return found, caller.space.pk


def agent_unknown(slug: str) -> NotFound:
    return NotFound(f"This token does not speak for an agent {slug[:80]!r}.", code="agent_unknown")


# What was asked


def read(given: Mapping[str, Any]) -> tuple[PromptRequest, str]:
    """What the call asks for, and the agent a person names."""
    if not given:
        return NOTHING, ""
    for name in (*FIELDS, "system_prompt"):
        if not isinstance(given.get(name), str | None):
            raise Invalid(f"{name} is text.", field=name)
    words = {name: given.get(name) or "" for name in ("dialect", "query", "task", "thread")}
    at = prompts.parse_time(given.get("at") or "")
    return PromptRequest(**words, at=at, system_prompt=given.get("system_prompt")).check(), given.get("agent") or ""


def in_query(environ: dict[str, Any]) -> Mapping[str, Any]:
    """What stands behind the question mark; a base prompt has no place there."""
    words = environ.get("QUERY_STRING")
    given = QueryDict(words.encode("latin-1")) if words else {}
    return {name: given.get(name) for name in FIELDS} if given else {}


def posted(request: HttpRequest) -> dict[str, Any]:
    try:
        given = json.loads(request.body or b"{}")
    except (ValueError, RecursionError):
        raise Invalid(NO_JSON, code="invalid_json") from None
    if not isinstance(given, dict):
        raise Invalid("The body is a JSON object.", code="invalid_json")
    return given


@lru_cache(maxsize=256)
def wants_json(accept: str) -> bool:
    """Whether JSON is asked for by name and nothing else by name is liked better; everybody else gets the bytes."""
    likes = dict(map(weighed, accept.split(",")))
    wanted = likes.get(JSON, 0.0)
    return wanted > 0 and wanted >= max(likes.get("text/plain", 0.0), likes.get("text/*", 0.0))


# What is answered


def respond(meta: dict[str, Any], found: Prompt, space_id: int, *, looks_back: bool) -> Answer:
    """The body, or 304 when the caller has it already."""
    if wants_json(meta.get("HTTP_ACCEPT", "")):
        body, kind = as_json(found, space_id, looks_back=looks_back), JSON
        etag = f'"sha256-{hashlib.sha256(body).hexdigest()}"'
    else:
        body, kind, etag = found.data, TEXT, found.etag
    headers = {"ETag": etag, **ALWAYS}
    if same(meta.get("HTTP_IF_NONE_MATCH"), etag):
        return Answer(304, headers)
    return Answer(200, {"Content-Type": kind, "Content-Length": str(len(body)), **headers}, body)


def as_json(found: Prompt, space_id: int, *, looks_back: bool) -> bytes:
    """The JSON answer; what waits for a decision is asked anew each time, no revision of the space counts it."""
    waiting = () if looks_back else prompts.pending_numbers(space_id, [one["path"] for one in found.sources])
    return json.dumps(
        prompts.as_json(prompts.with_pending(prompts.with_findings(found), waiting)), ensure_ascii=False
    ).encode()


def same(given: str | None, etag: str) -> bool:
    if not given:
        return False
    return any(one.strip().removeprefix("W/") in (etag, "*") for one in given.split(","))


# The way in without the middleware that only pages need


class Handler:
    """WSGI for this call alone. What is answered with a prompt needs nothing of Django's request and response.

    A refusal goes the whole way again: the request id and the refusals, no other middleware, no signals. Django's signals
    look after lost connections; the statements of this path do that themselves (`domain.hot`).
    """

    def __init__(self) -> None:
        self.answer = request_ids(prompt)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] in ("GET", "HEAD"):
            with suppress(Exception):
                return served(lambda meta: answered(meta, lambda: in_query(meta)), environ, start_response)
        return self.whole(environ, start_response)

    def whole(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        try:
            response = self.answer(WSGIRequest(environ))
        except Exception:
            close_old_connections()
            log.exception("%s /api/v1/prompt", environ["REQUEST_METHOD"])
            response = answer(HubError("The hub made a mistake here. Its log says more.", code="internal"))
        start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [response.content]


# For the document


class ChangeRequest(Schema):
    dialect: str | None = None
    query: str | None = None
    task: str | None = None
    thread: str | None = None
    at: datetime | None = None
    agent: str | None = None
    system_prompt: str | None = None


class SourceOut(Schema):
    path: str
    status: str
    revision: int | None
    sha256: str | None
    bytes: int


class PartOut(Schema):
    kind: str
    label: str
    start: int
    end: int


class WarningOut(Schema):
    code: str
    path: str | None
    message: str


class PromptOut(Schema):
    dialect: str
    verified: bool
    text: str
    fragment: str
    placement: str
    sha256: str
    bytes: int
    tokens_estimate: int
    sources: list[SourceOut]
    parts: list[PartOut]
    warnings: list[WarningOut]
    pending: list[int]


router = Router()
ALSO = {
    "responses": {
        200: {"content": {"text/plain": {"schema": {"type": "string"}, "example": "You answer the support desk."}}},
        304: {"description": "The bytes are those of If-None-Match."},
    }
}
ANSWERS: dict[int, Any] = {200: PromptOut, **{status: ERRORS[status] for status in (401, 403, 404, 413, 422, 503)}}


@router.get("/prompt", response=ANSWERS, openapi_extra=ALSO, summary="The exact prompt of the agent")
def get_prompt(
    request: HttpRequest,
    dialect: str = "",
    query: str = "",
    task: str = "",
    thread: str = "",
    at: str = "",
    agent: str = "",
) -> HttpResponse:
    """Text unless `Accept: application/json`. `query` adds what retrieval finds where the dialect has a place for it;
    `at` looks back; a person's token names the `agent`."""
    return prompt(request)


@router.post("/prompt", response=ANSWERS, openapi_extra=ALSO, summary="The same with a base prompt of this call")
def post_prompt(request: HttpRequest, wish: ChangeRequest) -> HttpResponse:
    """The same fields as JSON, and `system_prompt` in place of the agent's own."""
    return prompt(request)
