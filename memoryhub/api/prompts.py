"""`/api/v1/prompt`: the exact bytes an agent gets. A plain view, because agents call it more than anything else.

`memoryhub.wsgi` calls it without Django's middleware; the operations below it are there for the OpenAPI document.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.views.decorators.csrf import csrf_exempt
from ninja import Router, Schema

from memoryhub.api.base import NO_JSON, Error, authenticate, conditional, refusals_as_json, weighed
from memoryhub.domain import accounts, prompts
from memoryhub.domain.accounts import Caller
from memoryhub.domain.prompts import NO_LIMITS, AskedLimits, Prompt, PromptRequest
from memoryhub.errors import Invalid, NotAllowed, NotFound, Unavailable
from memoryhub.requests import KNOWN, bearer_token

FIELDS = ("dialect", "query", "task", "thread", "at", "agent")
LIMITS: dict[str, Callable[[Any], Any]] = {"hot": int, "cold": int, "threshold": float, "max_chars": int}
ALL_DEFAULTS = PromptRequest()
JSON, TEXT = "application/json", "text/plain; charset=utf-8"
ALLOWED = ("GET", "HEAD", "POST")


@csrf_exempt
@refusals_as_json
def prompt(request: HttpRequest) -> HttpResponse:
    """The prompt as text or JSON, with an ETag that changes only with its bytes."""
    if request.method not in ALLOWED:
        raise NotAllowed("Ask with GET, or with POST and JSON.", allow=", ".join(ALLOWED))
    try:
        asked, agent_slug = parse(body_fields(request) if request.method == "POST" else query_fields(request))
    except Exception:
        authenticate(request)  # who has no valid token is told that, whatever else is wrong
        raise
    try:
        return current_prompt(request, asked, agent_slug)
    except (OperationalError, InterfaceError, Unavailable):
        if stale := prompts.stale_prompt(bearer_token(request.META), agent_slug, asked):
            return stale_response(request, *stale)
        raise


def current_prompt(request: HttpRequest, asked: PromptRequest, agent_slug: str) -> HttpResponse:
    caller = request.auth = authenticate(request, beside=prompts.working_column(asked))
    caller.need("prompt")
    found = prompt_of_agent(caller, asked, agent_slug) if caller.agent else prompt_for_person(caller, asked, agent_slug)
    answer = prompt_response(request, caller, found, looks_back=asked.at is not None)
    if settings.STALE_PROMPT_SECONDS and caller.agent:
        prompts.note_served(bearer_token(request.META), agent_slug, asked, found)
    return answer


def stale_response(request: HttpRequest, found: Prompt, age: float) -> HttpResponse:
    """The prompt as it was handed out before the database went away, marked as RFC 9111 has it."""
    request.META[KNOWN] = True
    if wants_json(request.META.get("HTTP_ACCEPT", "")):
        body = json.dumps(prompts.as_json(found), ensure_ascii=False).encode()
        response = conditional(request, f'"sha256-{hashlib.sha256(body).hexdigest()}"', body, JSON)
    else:
        response = conditional(request, f'"sha256-{found.sha256}"', found.data, TEXT)
    response.headers["Warning"] = '110 - "Response is Stale"'
    response.headers["Age"] = str(int(age))
    return response


prompt.needs = "token"  # type: ignore[attr-defined]


def prompt_of_agent(caller: Caller, asked: PromptRequest, agent_slug: str) -> Prompt:
    """The calling agent's own prompt; it may name itself, and nobody else."""
    if agent_slug and caller.agent and agent_slug != caller.agent.slug:
        raise agent_unknown(agent_slug)
    return prompts.prompt_for(caller, asked)


def prompt_for_person(caller: Caller, asked: PromptRequest, agent_slug: str) -> Prompt:
    """The prompt of the agent that a member names; looking at it is no delivery."""
    accounts.require(caller.actor, "read")
    everyone = list(prompts.agents_of_space(caller.space))
    agent = next((one for one in everyone if one.slug == agent_slug), None)
    if agent is None:
        if agent_slug:
            raise agent_unknown(agent_slug)
        named = ", ".join(one.slug for one in everyone) or "none yet"
        raise Invalid(f"A person's token names the agent: ?agent=… (there is: {named}).", code="agent_required")
    return prompts.assemble(
        caller.space, agent, dialect=asked.dialect, query=asked.query, task=asked.task, thread=asked.thread,
        at=asked.at, system_prompt=asked.system_prompt, limits=asked.limits,
    )  # fmt: skip


def agent_unknown(slug: str) -> NotFound:
    return NotFound(f"This token does not speak for an agent {slug[:80]!r}.", code="agent_unknown")


# What was asked


def parse(given: Mapping[str, Any]) -> tuple[PromptRequest, str]:
    """What the call asks for, and the agent a person names."""
    if not given:
        return ALL_DEFAULTS, ""
    for name in (*FIELDS, "system_prompt"):
        if not isinstance(given.get(name), str | None):
            raise Invalid(f"{name} is text.", field=name)
    words = {name: given.get(name) or "" for name in ("dialect", "query", "task", "thread")}
    at = prompts.parse_time(given.get("at") or "")
    asked = PromptRequest(**words, at=at, system_prompt=given.get("system_prompt"), limits=limits_in(given))
    return asked.check(), given.get("agent") or ""


def limits_in(given: Mapping[str, Any]) -> AskedLimits:
    """The limits of retrieval among the fields, where any is there."""
    found = {}
    for name, kind in LIMITS.items():
        value = given.get(name)
        if value is None or value == "":
            continue
        try:
            found[name] = kind(value) if isinstance(value, str) else value
        except ValueError:
            raise Invalid(f"{name} is a number.", field=name) from None
    return AskedLimits(**found) if found else NO_LIMITS


def query_fields(request: HttpRequest) -> Mapping[str, Any]:
    """What stands behind the question mark; a base prompt has no place there."""
    query = request.META.get("QUERY_STRING")
    given = QueryDict(query.encode("latin-1")) if query else {}
    return {name: given.get(name) for name in (*FIELDS, *LIMITS)} if given else {}


def body_fields(request: HttpRequest) -> dict[str, Any]:
    try:
        given = json.loads(request.body or b"{}")
    except (ValueError, RecursionError):
        raise Invalid(NO_JSON, code="invalid_json") from None
    if not isinstance(given, dict):
        raise Invalid("The body is a JSON object.", code="invalid_json")
    return given


@lru_cache(maxsize=256)
def wants_json(accept: str) -> bool:
    """Whether JSON is asked for by name and nothing else by name is preferred; everybody else gets the bytes."""
    weights = dict(map(weighed, accept.split(",")))
    wanted = weights.get(JSON, 0.0)
    return wanted > 0 and wanted >= max(weights.get("text/plain", 0.0), weights.get("text/*", 0.0))


# What is answered


def prompt_response(request: HttpRequest, caller: Caller, found: Prompt, *, looks_back: bool) -> HttpResponse:
    """The bytes, or JSON about them, or 304 when the caller has them already."""
    if wants_json(request.META.get("HTTP_ACCEPT", "")):
        body = as_json(found, caller.space.pk, looks_back=looks_back)
        return conditional(request, f'"sha256-{hashlib.sha256(body).hexdigest()}"', body, JSON)
    response = conditional(request, f'"sha256-{found.sha256}"', found.data, TEXT)
    if found.warnings_header:  # with a 304 too: warnings can change where the bytes do not
        response.headers["Memoryhub-Warnings"] = found.warnings_header
    return response


def as_json(found: Prompt, space_id: int, *, looks_back: bool) -> bytes:
    """The JSON answer; what waits for a decision is asked anew each time, no revision of the space counts it."""
    waiting = () if looks_back else prompts.pending_numbers(space_id, [one["path"] for one in found.sources])
    return json.dumps(prompts.as_json(prompts.with_pending(found, waiting)), ensure_ascii=False).encode()


# For the document


class PromptIn(Schema):
    dialect: str | None = None
    query: str | None = None
    task: str | None = None
    thread: str | None = None
    at: datetime | None = None
    agent: str | None = None
    system_prompt: str | None = None
    hot: int | None = None
    cold: int | None = None
    threshold: float | None = None
    max_chars: int | None = None


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


WARNINGS = {
    "description": 'Of the text form: code;path="…", …; the path percent-encoded, 2 kB at most, absent without any.',
    "schema": {"type": "string"},
}
router = Router()
EXTRA = {
    "responses": {
        200: {
            "content": {"text/plain": {"schema": {"type": "string"}, "example": "You answer the support desk."}},
            "headers": {"Memoryhub-Warnings": WARNINGS},
        },
        304: {"description": "The bytes are those of If-None-Match."},
    }
}
ANSWERS: dict[int, Any] = {200: PromptOut, **dict.fromkeys((401, 403, 404, 408, 413, 422, 503), Error)}


@router.get("/prompt", response=ANSWERS, openapi_extra=EXTRA, summary="The exact prompt of the agent")
def get_prompt(
    request: HttpRequest,
    dialect: str = "",
    query: str = "",
    task: str = "",
    thread: str = "",
    at: str = "",
    agent: str = "",
    hot: int | None = None,
    cold: int | None = None,
    threshold: float | None = None,
    max_chars: int | None = None,
) -> HttpResponse:
    """Text unless `Accept: application/json`. `query` adds what retrieval finds where the dialect has a place for it, within
    the limits `hot`, `cold`, `threshold` and `max_chars` where they are given;
    `at` looks back; a person's token names the `agent`."""
    return prompt(request)


@router.post(
    "/prompt",
    response=ANSWERS,
    openapi_extra=EXTRA,
    summary="The exact prompt of the agent, with a base prompt of this call",
)
def post_prompt(request: HttpRequest, body: PromptIn) -> HttpResponse:
    """The fields of GET as JSON, and `system_prompt` in place of the agent's own."""
    return prompt(request)
