"""The settings of a space, with their defaults and bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.db import transaction

from memoryhub.domain import activity
from memoryhub.domain.accounts import require
from memoryhub.domain.spaces import events, marks
from memoryhub.errors import Invalid
from memoryhub.models import Actor, Space

T = TypeVar("T")
# All settings: (default, minimum, maximum) for numbers, (default,) for others.
SETTINGS: dict[str, tuple[Any, ...]] = {
    "proposal_days": (30, 1, 365),
    "warn_days": (3, 0, 60),
    "working_limit": (50, 1, 50),
    "working_hours": (24, 1, 24 * 30),
    "logs_reach_others": ("gate",),  # "person": what an agent logs reaches other agents when a person has seen it
    "delivery_days": (90, 1, 3650),
    "reviewers": (1, 1, 2),
    "who_decides": ("any",),  # "others": who made a token of an agent does not decide on its proposals
    "second_factor": ("off",),  # "required": members open the space with a second factor alone
    # For each agent, but the last; counted as `domain/quotas` says.
    "agent_calls_a_minute": (60_000, 1, 1_000_000),
    "agent_megabytes": (2_048, 1, 1_000_000),
    "space_megabytes": (20_480, 1, 10_000_000),
    "ingress": ({},),
    "detectors": ({},),
    "judge": ({},),
    "embedder": ("",),
    "embedder_before": ("",),
    "digest": ("",),
    "home": ("",),  # whose coding agents on this machine the space shows; set by `contexts.set_home` alone
    "retrieval": ({},),  # as `domain/retrieval` checks it
    "chunks": ({},),  # size and overlap, as `domain/longterm` checks it
}


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


def get_setting(space: Space, key: str) -> Any:
    """A setting of the space, or its default."""
    return space.settings.get(key, SETTINGS[key][0])


def read_once(space: Space, what: str, read: Callable[[], T]) -> T:
    """What is read of a space, for a page that shows it once more without asking again: `space.kept` is there while somebody
    looks at a page of it, and nothing changes meanwhile."""
    kept: dict[str, Any] | None = space.__dict__.get("kept")
    if kept is None:
        return read()
    if what not in kept:
        kept[what] = read()
    found: T = kept[what]
    return found


@transaction.atomic
def change_settings(space: Space, actor: Actor, values: dict[str, Any]) -> Space:
    """Changes settings of the space; a value that is out of bounds or of another type is refused."""
    require(actor, "manage")
    space = Space.objects.select_for_update().get(pk=space.pk)
    before = dict(space.settings)
    for key, value in values.items():
        space.settings[key] = checked_value(key, value)
    if space.settings == before:
        return space
    space.save(update_fields=["settings"])
    if get_setting(space, "working_limit") < before.get("working_limit", SETTINGS["working_limit"][0]):
        events.send_event("working_limit_lowered", space)
    if get_setting(space, "logs_reach_others") != before.get("logs_reach_others", SETTINGS["logs_reach_others"][0]):
        events.send_event("logs_reach_others", space)
    marks.mark_setup(space)
    changed = [key for key in values if before.get(key, SETTINGS[key][0]) != space.settings[key]]
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
