"""The agents of a space, and whether each of them runs on what it would get now."""

# No postponed annotations here: ninja reads them in the module of the scope check, where these schemas are not known.
from datetime import datetime

from django.http import HttpRequest
from ninja import Router, Schema

from memoryhub.api.base import ERRORS, needs
from memoryhub.api.paging import page_limit
from memoryhub.domain import prompts
from memoryhub.domain.accounts import Caller

router = Router()


class AgentOut(Schema):
    agent: str
    name: str
    dialect: str  # as set; auto: what its calls ask for
    asks_for: str | None  # what its last call named
    shown_as: str
    verified: bool | None  # null before its first call
    last_call_at: datetime | None
    last_sha256: str | None
    up_to_date: bool | None  # its last call would get the same bytes now; null where that is not known
    threads_behind: int


class AgentsOut(Schema):
    items: list[AgentOut]
    next: str | None


@router.get("/agents", response={200: AgentsOut, **ERRORS}, summary="Agents, and whether they are up to date")
@needs("prompt")
def agents(request: HttpRequest, limit: int = 50, cursor: str = "") -> AgentsOut:
    """Agents, sorted by slug. An agent's token is shown that agent alone."""
    caller: Caller = request.auth
    limit = page_limit(limit)
    if caller.agent:
        one = prompts.agent_by_slug(caller.space, caller.agent.slug)
        return AgentsOut(items=[as_item(prompts.agent_row(caller.space, one))], next=None)
    rows, following = prompts.agent_rows(caller.space, after=cursor.replace("\x00", ""), limit=limit)
    return AgentsOut(items=[as_item(row) for row in rows], next=following or None)


def as_item(row: prompts.AgentRow) -> AgentOut:
    agent, delivery = row.agent, row.delivery
    return AgentOut(
        agent=agent.slug,
        name=agent.name,
        dialect=agent.dialect,
        asks_for=agent.asked_dialect or None,
        shown_as=agent.fetched_dialect.label,
        verified=row.now.verified if row.now else None,
        last_call_at=delivery.last_at if delivery else None,
        last_sha256=delivery.sha256 if delivery else None,
        up_to_date=row.up_to_date,
        threads_behind=row.behind,
    )
