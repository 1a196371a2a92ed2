"""Moments at which an agent's prompt may be looked at: what was delivered, and what people decided."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from memoryhub.db.prepared import prepared
from memoryhub.domain import files
from memoryhub.domain.prompts.explain.compare import (
    Cause,
    revision_causes,
    settings_causes,
    source_list_causes,
)
from memoryhub.models import Agent, Delivery, Space
from memoryhub.stores import paths

DAYS = 30
MAX_OF_A_KIND = 40  # of each kind


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment: a delivery, or a change with who made it."""

    at: datetime
    kind: str  # delivery | decision | change
    says: str
    who_kind: str = ""
    who: str = ""
    path: str = ""  # of the file that changed; `says` begins with it


DELIVERIES = prepared(
    lambda space, agent, since: (
        Delivery.objects.within(space).filter(agent_id=agent, last_at__gte=since).order_by("-last_at")[:MAX_OF_A_KIND]
    )
)


def moments_of(space: Space, agent: Agent, sources: Iterable[str]) -> list[Moment]:
    """The moments of the last days that matter to a prompt with these sources, newest first."""
    since = timezone.now() - timedelta(days=DAYS)
    got = DELIVERIES(space.pk, agent.pk, since)
    delivered = [Moment(one.first_at, "delivery", one.thread_id) for one in got if one.first_at >= since]
    between = {"created_at__gt": since}
    touched = {paths.of_source(path) for path in sources} | {files.GUIDELINES_PATH}
    causes = [
        *revision_causes(space, touched, between)[:MAX_OF_A_KIND],
        *settings_causes(agent, between)[:MAX_OF_A_KIND],
        *source_list_causes(space, agent, between)[:MAX_OF_A_KIND],
    ]
    found = delivered + [_moment(one) for one in causes]
    return sorted(found, key=lambda one: one.at, reverse=True)


def _moment(cause: Cause) -> Moment:
    says = ": ".join(part for part in (cause.path, cause.says) if part)
    return Moment(cause.at, "decision" if cause.proposal else "change", says, cause.who_kind, cause.who, cause.path)
