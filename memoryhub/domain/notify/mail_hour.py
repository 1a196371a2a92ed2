"""The hour of a space's daily mail: a setting, on the clock of a time zone, through its changes of clocks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memoryhub.domain import spaces
from memoryhub.models import Actor, Space

# The setting `digest` is empty, "7" (an hour of UTC, as versions before wrote it) or "7 Europe/Berlin from 2026-11-20".
FORM = re.compile(r"(?P<hour>\d{1,2})(?: (?P<zone>\S+) from (?P<first_day>\d{4}-\d\d-\d\d))?")
LATEST = timedelta(hours=12)  # after its hour; a hub that was away for longer sends the next day


@dataclass(frozen=True)
class MailHour:
    """An hour on the clock of a time zone. `first_day` is the first day on which a mail is sent."""

    hour: int
    zone: str = "UTC"
    first_day: date = date.min

    def __str__(self) -> str:
        return f"{self.hour} {self.zone} from {self.first_day.isoformat()}"

    @property
    def clock(self) -> tzinfo:
        return clock_of(self.zone)

    def is_due(self, now: datetime, last: datetime | None) -> bool:
        """Once on each day of the time zone: not before its hour, which a change of clocks may leave out or repeat, and not
        where the mail before, sent at `last`, was on this day."""
        today = now.astimezone(self.clock).date()
        begins = datetime.combine(today, time(self.hour), self.clock).astimezone(UTC)
        was_today = last is not None and last.astimezone(self.clock).date() == today
        return today >= self.first_day and begins <= now < begins + LATEST and not was_today


def clock_of(zone: str) -> tzinfo:
    """The time zone of this name; UTC where there is none on this machine."""
    try:
        return ZoneInfo(zone)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return UTC


def mail_hour(space: Space) -> MailHour | None:
    """When this space sends its daily mail; None: never."""
    found = FORM.fullmatch(space.settings["digest"])
    if found is None or int(found["hour"]) > 23:
        return None
    if not found["zone"]:
        return MailHour(int(found["hour"]))
    return MailHour(int(found["hour"]), found["zone"], date.fromisoformat(found["first_day"]))


def set_mail_hour(space: Space, actor: Actor, hour: int | None, zone: str, now: datetime) -> MailHour | None:
    """Sends the daily mail at this hour of a time zone from now on: today if the hour is still to come."""
    wanted = None
    if hour is not None:
        today = now.astimezone(clock_of(zone)).date()
        is_over = datetime.combine(today, time(hour), clock_of(zone)).astimezone(UTC) <= now
        wanted = MailHour(hour, zone, today + timedelta(days=1) if is_over else today)
    spaces.change_settings(space, actor, {"digest": str(wanted) if wanted else ""})
    return wanted
