"""The timeline of the prompt page: moments to look back at, as links that keep what else was picked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy

from memoryhub.domain import prompts
from memoryhub.models import Agent

DAYS = 30
KEPT = ("dialect", "ask", "thread", "base")
PRESETS = [
    (gettext_lazy("Now"), None), (gettext_lazy("1 hour ago"), timedelta(hours=1)), (gettext_lazy("Yesterday"), timedelta(days=1)),
    (gettext_lazy("7 days ago"), timedelta(days=7)), (gettext_lazy("30 days ago"), timedelta(days=30)),
]  # fmt: skip


@dataclass
class Day:
    """A column of the timeline: its place in per cent, and the moments of that day, the newest first."""

    day: date
    left: float
    moments: list[Any] = field(default_factory=list)
    url: str = ""
    is_shown: bool = False

    @property
    def middle(self) -> float:
        return round(self.left + 50 / DAYS, 2)

    @property
    def kinds(self) -> list[str]:
        """The kinds of its moments, each once."""
        return [kind for kind in ("delivery", "change", "decision") if any(one.kind == kind for one, _ in self.moments)]


def as_typed(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def timeline_of(
    request: HttpRequest, agent: Agent, get: dict[str, str], at: datetime | None, sources: Iterable[str]
) -> dict[str, Any]:
    """Presets, days and moments, each with its address; `at` is the moment that is shown, None: now."""

    def address(moment: datetime | None) -> str:
        kept = {name: get.get(name, "") for name in KEPT} | {"at": as_typed(moment) if moment else ""}
        return f"{request.path}?{urlencode({name: value for name, value in kept.items() if value})}"

    moments = [(one, address(one.at)) for one in prompts.moments_of(request.space, agent, sources)]
    now = timezone.now().replace(microsecond=0)
    return {
        "presets": [
            (name, address(now - back if back else None), back is None and at is None) for name, back in PRESETS
        ],
        "days": days_of(moments, at),
        "moments": moments,
        "at": at,
    }


def days_of(moments: list[tuple[prompts.Moment, str]], at: datetime | None) -> list[Day]:
    today = timezone.localdate()
    days = [
        Day(today - timedelta(days=back), round((DAYS - 1 - back) * 100 / DAYS, 2)) for back in range(DAYS - 1, -1, -1)
    ]
    by_date = {one.day: one for one in days}
    for moment, url in moments:
        if day := by_date.get(timezone.localdate(moment.at)):
            day.moments.append((moment, url))
            day.url = day.url or url
    if at and (shown := by_date.get(timezone.localdate(at))):
        shown.is_shown = True
    return days
