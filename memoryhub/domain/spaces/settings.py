"""Changing the settings of a space, within their bounds."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from memoryhub.domain import activity
from memoryhub.domain.accounts import require
from memoryhub.domain.spaces import events, marks
from memoryhub.errors import Invalid
from memoryhub.models import SETTINGS, Actor, Settings, Space

# As lines of activity call them, which are the labels of the page.
NAMES = {
    "proposal_days": "Proposals expire after (days)", "warn_days": "Warn before they expire (days)",
    "working_limit": "Newest entries kept", "working_hours": "Entries expire after (hours)",
    "logs_reach_others": "What agents log reaches other agents", "delivery_days": "Delivered prompts are kept (days)",
    "reviewers": "Reviewers for each proposal", "who_decides": "Who decides", "second_factor": "Second factor",
    "agent_calls_a_minute": "Logs and changes of one agent a minute", "agent_megabytes": "Stored by one agent (MB)",
    "space_megabytes": "Stored in this space (MB)", "ingress": "Gate", "judge": "A model as judge", "embedder": "Embedder",
    "digest": "Daily mail", "retrieval": "Retrieval", "chunks": "Chunks",
}  # fmt: skip
CHOICES = {"logs_reach_others": ("gate", "person"), "second_factor": ("off", "required")}


@transaction.atomic
def change_settings(space: Space, actor: Actor, values: dict[str, Any]) -> Space:
    """Changes settings of the space; a value that is out of bounds or of another type is refused."""
    require(actor, "manage")
    space = Space.objects.select_for_update().get(pk=space.pk)
    before = Settings(space.settings)
    for key, value in values.items():
        space.settings[key] = checked_value(key, value)
    if space.settings == before:
        return space
    space.save(update_fields=["settings"])
    if space.settings["working_limit"] < before["working_limit"]:
        events.send_event("working_limit_lowered", space)
    if space.settings["logs_reach_others"] != before["logs_reach_others"]:
        events.send_event("logs_reach_others", space)
    marks.mark_setup(space)
    changed = [key for key in values if before[key] != space.settings[key]]
    adds = ": " + ", ".join(f"{NAMES.get(key, key)}: {shown_value(space.settings[key])}" for key in changed)
    activity.record(space, actor, "spaces.change_settings", "changed", "the settings", url="settings/", adds=adds)
    return space


def shown_value(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and value != "" else "set"


def checked_value(key: str, value: Any) -> Any:
    if key not in SETTINGS:
        raise Invalid(f"There is no setting {key!r}.", code="unknown_setting")
    default, *bounds = SETTINGS[key]
    if bounds and (not isinstance(value, int) or isinstance(value, bool) or not bounds[0] <= value <= bounds[1]):
        raise Invalid(f"{key.replace('_', ' ').capitalize()} is a number from {bounds[0]} to {bounds[1]}.", field=key)
    if key in CHOICES and value not in CHOICES[key]:
        raise Invalid(f"{key.replace('_', ' ').capitalize()} is one of: {', '.join(CHOICES[key])}.", field=key)
    if not isinstance(value, type(default)):
        raise Invalid(f"{key.replace('_', ' ').capitalize()} has another form.", field=key)
    return value
