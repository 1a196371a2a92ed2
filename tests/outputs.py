"""Working memory, filled without the gate."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone

from memoryhub.domain import working
from memoryhub.models import Agent, Space


def admit(
    space: Space, content: str, *, agent: Agent | None = None, scope: str = working.GROUP,
    metadata: dict[str, Any] | None = None, session_id: str = "", at: datetime | None = None,
) -> int:  # fmt: skip
    """Puts an output into working memory, and gives the entry's id."""
    one = working.Output(content, scope, metadata or {}, [], session_id, at or timezone.now())
    return working.enter(space, agent, one)
