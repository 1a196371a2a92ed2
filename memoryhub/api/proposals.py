"""Proposals over REST: agents look at their own and take back; people with the role decide."""

import hashlib
from datetime import datetime
from functools import partial
from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Field, Router, Schema

from memoryhub.api.base import (
    CACHE_HEADERS,
    ERRORS,
    Given,
    PersonAuth,
    has_etag,
    json_response,
    needs,
    no_secrets,
    not_modified,
    on_disk,
    people_only,
    shown,
    without_hidden_diff,
)
from memoryhub.api.paging import IF_NONE_MATCH, Cursor, Next, page_by_id
from memoryhub.db import statements
from memoryhub.domain import files, proposals
from memoryhub.domain.accounts import Caller
from memoryhub.errors import Forbidden, Invalid, NotFound, TooLarge
from memoryhub.models import Proposal
from memoryhub.stores.disk import MAX_BYTES
from memoryhub.text.lines import bytes_of

router = Router()
STILL_OPEN = (Proposal.State.PENDING, Proposal.State.OUTDATED)
# What is past its date is about to expire, which a closer look finds out.
CURRENT = """
SELECT id, state, updated_at FROM memoryhub_proposal
 WHERE space_id = %(space)s AND number = %(number)s AND (%(agent)s::bigint IS NULL OR agent_id = %(agent)s)
   AND (state NOT IN ('pending', 'outdated') OR expires_at > statement_timestamp())
"""
State = Literal["pending", "approved", "rejected", "withdrawn", "outdated", "expired"]


class Finding(Schema):
    code: str
    severity: str
    line: int
    message: str


class Comment(Schema):
    by: str
    at: datetime
    text: str


class ProposalOut(Schema):
    number: int
    state: State
    path: str
    kind: str
    diff: str | None
    reason: str
    agent: str
    base_revision: int | None
    created_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    note: str
    applied_revision: int | None
    stacked_on: int | None
    result_sha256: str | None
    findings: list[Finding]
    thread_id: str
    tool_call_id: str
    expires_at: datetime | None
    reviewers: int
    approvals: int
    with_edits: bool
    changes_requested: bool = False
    comments: list[Comment]


class Listed(Schema):
    items: list[ProposalOut]
    next: str | None


class Decided(Schema):
    proposal: ProposalOut
    revision: int | None
    on_disk: Literal["waiting"] | None = None
    why: str | None = None


class ApproveIn(Given):
    seen: str
    note: str = ""
    content: str | None = None
    no_secret: list[str] = Field(default=[], max_length=50, description="As in a write.")


class RejectIn(Given):
    note: str


def etag_of(proposal: Proposal) -> str:
    """Changes with the proposal and, while it waits, with anything in the space that its diff could show."""
    return etag(proposal.pk, proposal.state, proposal.updated_at, proposal.space.revision)


def etag(pk: int, state: str, updated_at: datetime, revision: int) -> str:
    parts = (pk, state, updated_at.timestamp(), revision if state in STILL_OPEN else 0)
    return '"' + hashlib.sha256(repr(parts).encode()).hexdigest()[:32] + '"'


def current_etag(caller: Caller, number: int) -> str:
    """The ETag of a proposal that this caller may see, by one statement; empty where only a closer look can tell."""
    if not 0 < number < 2**63:
        return ""
    found = statements.rows(CURRENT, {"space": caller.space.pk, "number": number, "agent": caller.token.agent_id})
    return etag(*found[0], caller.space.revision) if found else ""


def shown_list(caller: Caller, listed: list[Proposal]) -> list[dict[str, Any]]:
    return [without_hidden_diff(caller, one) for one in proposals.list_as_json(caller.space, listed)]


def visible(caller: Caller) -> Any:
    """An agent sees its own, people all of the space."""
    found = Proposal.objects.within(caller.space).select_related("space", "agent").prefetch_related("comments")
    return found.filter(agent=caller.agent) if caller.agent else found


def one(caller: Caller, number: int) -> Proposal:
    found = visible(caller).filter(number=number).first() if 0 < number < 2**63 else None
    if found is None:
        raise NotFound(f"There is no proposal {number} here.")
    return found


@router.get("/proposals", response={200: Listed, **ERRORS}, summary="Proposals, the newest first")
@needs("propose")
def listed(
    request: HttpRequest, state: Literal[State, ""] = "", limit: int = 50, cursor: Cursor = "", next: Next = ""
) -> Any:
    proposals.expire_late(request.auth.space)
    found = visible(request.auth)
    return page_by_id(
        found.filter(state=state) if state else found, cursor or next, limit, partial(shown_list, request.auth)
    )


@router.get(
    "/proposals/{int:number}",
    response={200: ProposalOut, 304: None, **ERRORS},
    summary="One proposal; with If-None-Match, waiting for the decision is cheap",
    openapi_extra={"parameters": [IF_NONE_MATCH]},
)
@needs("propose")
def read(request: HttpRequest, number: int) -> HttpResponse:
    caller: Caller = request.auth
    known = current_etag(caller, number) if request.META.get("HTTP_IF_NONE_MATCH") else ""
    if known and has_etag(request, known):
        return not_modified(known)
    proposal, found = proposals.refresh_state(one(caller, number))
    document = ProposalOut.model_validate(shown(caller, proposal, found)).model_dump()
    return json_response(document, {"ETag": etag_of(proposal), **CACHE_HEADERS})


@router.delete("/proposals/{int:number}", response={200: Decided, **ERRORS}, summary="Take back one's own proposal")
@needs("propose")
def withdraw(request: HttpRequest, number: int) -> Any:
    caller: Caller = request.auth
    proposal = one(caller, number)
    if caller.agent is None:
        raise Forbidden("Only the agent that asked takes a proposal back. You can reject it.")
    return decided(caller, proposals.withdraw(caller.space, caller.agent, proposal.number))


@router.post(
    "/proposals/{int:number}/approve",
    response={200: Decided, **ERRORS},
    summary="Approve what you saw (people only)",
    auth=PersonAuth(),
)
@people_only("decide")
def approve(request: HttpRequest, number: int, body: ApproveIn) -> Any:
    caller: Caller = request.auth
    proposal = one(caller, number)
    content = as_bytes(body.content)

    def made() -> list[bytes]:
        return [content if content is not None else proposals.result(proposal).after or b""]

    with no_secrets(caller, proposal.path, made, body.no_secret):
        done = proposals.approve(
            caller.space, caller.actor, proposal.number, seen=body.seen, note=body.note, content=content
        )
    return decided(caller, done)


@router.post(
    "/proposals/{int:number}/reject", response={200: Decided, **ERRORS}, summary="Reject with a reason (people only)",
    auth=PersonAuth(),
)  # fmt: skip
@people_only("decide")
def reject(request: HttpRequest, number: int, body: RejectIn) -> Any:
    caller: Caller = request.auth
    proposal = one(caller, number)
    return decided(caller, proposals.reject(caller.space, caller.actor, proposal.number, note=body.note))


def decided(caller: Caller, proposal: Proposal) -> dict[str, Any]:
    why = files.why_unwritten(caller.space, proposal.path) if proposal.applied_revision else ""
    return {"proposal": shown(caller, proposal), "revision": proposal.applied_revision, **on_disk(why)}


def as_bytes(content: str | None) -> bytes | None:
    if content is None:
        return None
    if "\x00" in content or any("\ud800" <= char <= "\udfff" for char in content):
        raise Invalid("content holds a NUL or half a character.", code="invalid_content", field="content")
    data = bytes_of(content)
    if len(data) > MAX_BYTES:
        raise TooLarge("content is larger than 1 MiB.", field="content")
    return data
