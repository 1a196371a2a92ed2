"""The layers over REST: log to quarantine, read working memory, retrieve, ask for a promotion, search."""

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Router, Schema, Status
from pydantic import TypeAdapter, WithJsonSchema, model_validator

from memoryhub.api.base import ERRORS, Given, fields_of_each, json_response, needs, shown, wants_text
from memoryhub.api.paging import Cursor, Next, encode_cursor, number_in, page_limit
from memoryhub.db import replica
from memoryhub.domain import accounts, longterm, proposals, quarantine, retrieval, working
from memoryhub.domain.accounts import Caller
from memoryhub.errors import Invalid, NotFound
from memoryhub.models import Agent, Record, Scope
from memoryhub.text import input_checks

router = Router()
PLAIN = "text/plain; charset=utf-8"
# As Django's middleware would set them; a query alone is answered without (`memoryhub.wsgi`).
MEMORY_HEADERS = {
    "Cache-Control": "private, no-store",
    "Vary": "Accept, Authorization",
    "X-Content-Type-Options": "nosniff",
}


class RecordFinding(Schema):
    code: str
    severity: str
    start: int
    end: int
    message: str


def checked_later(kind: Any) -> Any:
    """A field that the document describes by this type, and that `quarantine.log` checks with all others: one answer names
    everything that is wrong."""
    return Annotated[Any, WithJsonSchema(TypeAdapter(kind).json_schema())]


class LogIn(Given):
    content: checked_later(str)  # type: ignore[valid-type]
    session_id: checked_later(str) = "default"  # type: ignore[valid-type]
    node_id: checked_later(str) = "agent"  # type: ignore[valid-type]
    node_kind: checked_later(Literal["agent", "fact_check", "memory_retrieval"]) = "agent"  # type: ignore[valid-type]
    scope: checked_later(Literal["group", "agent"]) = "group"  # type: ignore[valid-type]
    metadata: Any = None

    @model_validator(mode="before")
    @classmethod
    def content_may_be_missing(cls, given: Any) -> Any:
        given = cls.leave_out_nulls(given)
        return {"content": None, **given} if isinstance(given, dict) else given


class Logged(Schema):
    id: int
    state: Literal["held", "admitted"]
    findings: list[RecordFinding]
    working_id: int | None


@router.post(
    "/quarantine", response={201: Logged, **ERRORS}, summary="Log raw output; the gate decides on working memory"
)
@needs("ingest", "edit")
def log(request: HttpRequest, body: LogIn) -> Any:
    caller: Caller = request.auth
    logged = quarantine.log(caller.space, caller.agent, by=caller.actor, **body.dict())
    findings = [{name: one[name] for name in RecordFinding.model_fields} for one in logged.findings]
    document = {"id": logged.id, "state": logged.state, "findings": findings, "working_id": logged.working_id}
    return json_response(document, MEMORY_HEADERS, status=201)


class WorkingItem(Schema):
    id: int
    content: str
    metadata: dict[str, Any]
    created_at: datetime
    expires_at: datetime
    agent: str
    scope: str
    is_pinned: bool
    times: int


class WorkingItems(Schema):
    items: list[WorkingItem]
    next: str | None = None


@router.get("/working", response={200: WorkingItems, **ERRORS}, summary="The newest entries of working memory")
@needs("retrieve")
def newest(request: HttpRequest, limit: int = 10, cursor: Cursor = "", next: Next = "") -> Any:
    caller: Caller = request.auth
    if not 1 <= limit <= working.MAX_ENTRIES:
        raise Invalid(f"limit is a number from 1 to {working.MAX_ENTRIES}.", code="invalid", field="limit")
    before = number_in(cursor or next) if cursor or next else working.AFTER_ALL
    found = working.newest(caller.space, agent=caller.agent, limit=limit + 1, before=before)
    following = encode_cursor(found[limit - 1].id) if len(found) > limit else None
    document = {"items": fields_of_each(WorkingItem, found[:limit]), "next": following}
    return json_response(document, MEMORY_HEADERS)


class Item(Schema):
    content: str
    source: Literal["hot", "cold"]
    score: float
    id: int
    created_at: datetime
    scope: str
    number: int | None
    is_truncated: bool
    why: dict[str, Any]


class Items(Schema):
    items: list[Item]
    next: str | None = None
    threshold: float | None = None
    embedded_by: str = ""
    warnings: list[str] = []


SUMMARY = {
    "responses": {
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
    }
}


@router.get(
    "/retrieve",
    response={200: Items, **ERRORS},
    summary="What memory says to a query: hot, then cold",
    openapi_extra=SUMMARY,
)
@needs("retrieve")
def retrieve(
    request: HttpRequest,
    query: str = "",
    hot: int | None = None,
    cold: int | None = None,
    threshold: float | Literal[""] | None = None,
    max_chars: int | None = None,
    scope: str | None = None,
) -> Any:
    """Limits that are not given are those of the agent or its space: 10 hot and 5 cold items of 500 characters, unless somebody
    set others."""
    caller: Caller = request.auth
    asked = input_checks.check_text(query, "query")
    found = replica.read(lambda: retrieval.retrieve(
        caller.space, asked, agent=caller.agent, hot=hot, cold=cold, threshold=None if threshold == "" else threshold,
        max_chars=max_chars, scope=scope or None, mark=caller.space.longterm_mark,
    ))  # fmt: skip
    if wants_text(request):
        text = retrieval.as_text(found.items, by_words=bool(found.warnings))
        return HttpResponse(text, content_type=PLAIN, headers=MEMORY_HEADERS)
    document = {
        "items": fields_of_each(Item, found.items), "next": None, "threshold": found.threshold,
        "embedded_by": found.embedded_by, "warnings": found.warnings,
    }  # fmt: skip
    return json_response(document, MEMORY_HEADERS)


class PromotionIn(Given):
    quarantine_id: int | None = None
    content: str | None = None
    reason: str = ""
    scope: Literal["group", "agent"] | None = None
    thread_id: str = ""
    tool_call_id: str = ""


class LongtermOut(Schema):
    number: int
    content: str
    state: str
    scope: str
    created_at: datetime


class Promoted(Schema):
    status: Literal["applied"]
    entry: LongtermOut


class Pending(Schema):
    status: Literal["pending"]
    proposal: dict[str, Any]


@router.post(
    "/promotions", response={200: Promoted, 202: Pending, **ERRORS}, summary="Ask people to keep something permanently"
)
@needs("propose", "promote")
def promote(request: HttpRequest, body: PromotionIn) -> Any:
    caller: Caller = request.auth
    record, reason = record_of(caller, body), input_checks.check_text(body.reason, "reason", 2000)
    # What was one agent's own stays its own, unless the caller says that it is for the group.
    scope = body.scope or (record.scope if record else longterm.GROUP)
    if caller.agent is None:
        choices = {"reason": reason, **choice_of_scope(caller, record, scope)}
        return Status(200, {"status": "applied", "entry": promote_now(caller, body, record, choices)})
    content = record.content if record and body.content is None else input_checks.check_content(body.content)
    proposal = proposals.propose_promotion(
        caller.space, caller.agent, content=content, scope=scope, record=record, reason=reason,
        thread_id=body.thread_id, tool_call_id=body.tool_call_id,
    )  # fmt: skip
    return Status(202, {"status": "pending", "proposal": shown(caller, proposal)})


def record_of(caller: Caller, body: PromotionIn) -> Record | None:
    """The record that is meant. An agent names its own alone: it must not read others' through this door."""
    if body.quarantine_id is None and body.content is None:
        raise Invalid("Give quarantine_id or content.", code="invalid", field="content")
    if body.quarantine_id is None:
        return None
    if not 0 < body.quarantine_id < 2**63:
        raise NotFound("There is no such record in this space.")
    record = quarantine.get(caller.space, body.quarantine_id)
    if caller.agent and record.agent_id != caller.agent.pk:
        raise NotFound("There is no such record in this space.")
    return record


def promote_now(caller: Caller, body: PromotionIn, record: Record | None, choices: dict[str, Any]) -> Any:
    """A person's token is the person: what it promotes is promoted."""
    if record:
        return longterm.promote_record(caller.space, caller.actor, record.pk, content=body.content, **choices)
    return longterm.store(caller.space, caller.actor, input_checks.check_content(body.content), **choices)


def choice_of_scope(caller: Caller, record: Record | None, scope: str) -> dict[str, Any]:
    """Who may find what a person promotes: the group, or the agent whose record it is."""
    accounts.require(caller.actor, "promote")
    if scope == longterm.GROUP:
        return {"scope": scope}
    agent = Agent.objects.within(caller.space).filter(pk=record.agent_id).first() if record else None
    if agent is None:
        raise Invalid(
            "Whose own it would be is not known: name the record of an agent that is here, or give it to the group.",
            code="invalid", field="scope",
        )  # fmt: skip
    return {"scope": scope, "agent": agent}


SCOPES = {"files": Scope.FILES, "proposals": Scope.PROPOSE}  # what a layer takes besides `retrieve`


class Hit(Schema):
    layer: str
    id: str
    title: str
    url: str
    snippet: str
    score: float
    by: str
    author: str
    created_at: datetime | None


class Hits(Schema):
    items: list[Hit]
    next: str | None = None


@router.get("/search", response={200: Hits, **ERRORS}, summary="One ranked list over all layers the token may see")
@needs("retrieve")
def find(
    request: HttpRequest, q: str = "", layers: str = "", limit: int = 50, cursor: Cursor = "", next: Next = ""
) -> Any:
    caller: Caller = request.auth
    wanted = layer_names(layers)
    for layer, scope in SCOPES.items():
        if layer in wanted:
            caller.need(scope)
    closed = [layer for layer, scope in SCOPES.items() if not caller.has(scope)]
    wanted = wanted or [one for one in retrieval.LAYERS if one not in closed]
    start = number_in(cursor or next, retrieval.MAX_HITS, 1) if cursor or next else 0
    return page_of_hits(caller, input_checks.check_text(q, "q"), wanted, start, start + page_limit(limit))


def layer_names(layers: str) -> list[str]:
    """The layers that a list names, however it spells them."""
    return [one.strip().replace("-", "").replace("long_term", "longterm") for one in layers.split(",") if one.strip()]


def page_of_hits(caller: Caller, q: str, layers: list[str], start: int, end: int) -> HttpResponse:
    """A page of the one ranked list, which ends after `MAX_HITS`; the cursor counts places in it."""
    hits = replica.read(lambda: retrieval.search(
        caller.space, q, layers=layers or None, agent=caller.agent, limit=min(end + 1, retrieval.MAX_HITS),
        per_layer=retrieval.MAX_HITS,
    ))  # fmt: skip
    place = f"/s/{caller.space.slug}/"
    items = [{**fields, "url": place + fields["url"]} for fields in fields_of_each(Hit, hits[start:end])]
    return json_response({"items": items, "next": encode_cursor(end) if len(hits) > end else None}, MEMORY_HEADERS)
