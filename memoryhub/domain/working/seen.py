"""Who looked at what agents logged: a person's word that an entry was seen, which other agents may have to wait for."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from memoryhub.db.prepared import any_of, prepared
from memoryhub.domain import spaces
from memoryhub.domain.working.entries import GROUP, live
from memoryhub.models import Actor, Space, WorkingEntry

AFTER_GATE, AFTER_PERSON = "gate", "person"


def unseen(space: Space) -> QuerySet[WorkingEntry]:
    """The live entries that agents logged and no person has seen, newest first."""
    return live(space).filter(seen_by="", agent_id__isnull=False)


def mark_seen(space: Space, actor: Actor, entry_id: int) -> bool:
    """Notes that this person looked at an entry; one for the group reaches all agents from now on. False where it is gone, or
    was seen already (in the caller's transaction)."""
    entry = WorkingEntry.objects.within(space).select_for_update().filter(pk=entry_id, removed_at=None).first()
    if entry is None or entry.seen_by:
        return False
    entry.seen_by, entry.agent_key = actor.name[:150], 0 if entry.scope == GROUP else entry.agent_key
    entry.save(update_fields=["seen_by", "agent_key"])
    spaces.mark_setup(space)
    return True


def mark_unseen(space: Space, entry_id: int) -> None:
    """Takes `mark_seen` back (in the caller's transaction)."""
    entry = WorkingEntry.objects.within(space).select_for_update().filter(pk=entry_id).first()
    if entry is None:
        return
    waits = entry.scope == GROUP and entry.agent_id and waits_for_person(space)
    entry.seen_by, entry.agent_key = "", entry.agent_id if waits else entry.agent_key
    entry.save(update_fields=["seen_by", "agent_key"])
    spaces.mark_setup(space)


def waits_for_person(space: Space) -> bool:
    """Whether what one agent logs reaches other agents only after a person has seen it."""
    return bool(space.settings["logs_reach_others"] == AFTER_PERSON)


ENTRIES_UNSEEN = prepared(
    lambda entries, now: (
        WorkingEntry.objects.filter(any_of("id", entries), Q(expires_at__gt=now) | Q(is_pinned=True))
        .filter(seen_by="", removed_at=None)
        .values_list("pk", flat=True)
    )
)


def entries_unseen(entry_ids: Iterable[int]) -> set[int]:
    """Those of these entries that count and that no person has seen."""
    return set(ENTRIES_UNSEEN(list(entry_ids), timezone.now()))


def unseen_by_agent(space: Space, entry_ids: Iterable[int]) -> list[tuple[str, int]]:
    """The agents that logged entries of these which no person has seen, each with how many."""
    found = WorkingEntry.objects.within(space).filter(pk__in=list(entry_ids), seen_by="", agent_id__isnull=False)
    counted = found.values("agent_name").annotate(times=Count("pk")).order_by("-times", "agent_name")
    return [(one["agent_name"], one["times"]) for one in counted]


@spaces.on_event("logs_reach_others")
def release_unseen(space: Space) -> None:
    """After the space chose that the gate suffices: what waited for a person reaches all agents (in the caller's transaction)."""
    if not waits_for_person(space):
        unseen(space).filter(scope=GROUP).update(agent_key=0)
