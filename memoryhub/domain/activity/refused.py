"""Noting in the activity that somebody was refused for lack of a role or a scope, so that an owner sees who tries what."""

from __future__ import annotations

import re
import time

from django.db import transaction

from memoryhub.domain.activity import log
from memoryhub.errors import Forbidden
from memoryhub.models import Actor, Space

ROLE_AND_SCOPE = frozenset(["forbidden", "people_only", "agents_only", "scope_missing", "own_proposal"])
EVERY = 600.0  # seconds: one line for who tries the same again and again; each process counts by itself
MAX_KNOWN = 10_000
_PLACEHOLDER = re.compile(r"<(?:\w+:)?(\w+)>")
noted: dict[tuple[int, str, int | None, str, str], float] = {}


def note_refusal(space: Space, actor: Actor, refusal: Forbidden, method: str, route: str) -> None:
    """Writes a line of activity about a call or page that this actor may not use, at most one in ten minutes for each.

    `route` is the pattern of the address: what was typed in its place may be anything. Outside of the refused change, which
    was taken back.
    """
    route = _PLACEHOLDER.sub(r"{\1}", route.removeprefix("s/<slug:space>/"))
    key = (space.pk, actor.kind, actor.id, f"{method} {route}", refusal.code)
    now = time.monotonic()
    if refusal.code not in ROLE_AND_SCOPE or now - noted.get(key, -EVERY) < EVERY:
        return
    if len(noted) >= MAX_KNOWN:
        noted.clear()
    noted[key] = now
    with transaction.atomic():
        log.record(
            space, actor, "access.refuse", "was refused", f"{method} /{route}", adds=f": {refusal.message}",
            details={"code": refusal.code},
        )  # fmt: skip
