"""Clocks go forward and back, and people move: the daily mail once a day, days of 23 and 25 hours, what lasts for hours."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.core import mail
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.domain import accounts, activity, files, notify, prompts, proposals, quarantine, spaces, working
from memoryhub.domain.jobs import queue
from memoryhub.domain.notify import daily_mail
from memoryhub.domain.notify.mail_hour import MailHour
from memoryhub.domain.proposals import ask
from memoryhub.errors import Unauthenticated
from memoryhub.models import HUB, Actor, Job, Record, RecordState, Token
from memoryhub.sessions import SessionStore

# The days around which clocks go forward and back; in the last two at midnight.
CHANGES = [
    ("Europe/Berlin", date(2026, 3, 29)), ("Europe/Berlin", date(2026, 10, 25)),
    ("America/New_York", date(2026, 3, 8)), ("America/New_York", date(2026, 11, 1)),
    ("Atlantic/Azores", date(2026, 3, 29)), ("Atlantic/Azores", date(2026, 10, 25)),
    ("Asia/Beirut", date(2026, 3, 29)), ("Asia/Beirut", date(2026, 10, 25)),
    ("Australia/Lord_Howe", date(2026, 4, 5)), ("UTC", date(2026, 3, 29)),
]  # fmt: skip


def moments(zone: str, day: date, days: int, step: timedelta) -> list[datetime]:
    """Of the day before a day, the day itself and what follows, in UTC."""
    at = datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).astimezone(UTC) - timedelta(days=1)
    return [at + step * n for n in range(int(timedelta(days=days) / step))]


def mails(chosen: MailHour, at: list[datetime], last: datetime | None = None) -> list[datetime]:
    """When a planner sends that looks at these moments."""
    sent = [last] if last else []
    for now in at:
        if chosen.is_due(now, sent[-1] if sent else None):
            sent.append(now)
    return sent[1:] if last else sent


class TestDailyMail:
    @pytest.mark.parametrize(("zone", "day"), CHANGES)
    @pytest.mark.parametrize("hour", [0, 1, 2, 3, 7, 23])
    def test_it_is_sent_once_on_each_day(self, zone, day, hour):
        at = moments(zone, day, 4, timedelta(minutes=10))
        local = [one.astimezone(ZoneInfo(zone)) for one in mails(MailHour(hour, zone), at)]
        days = sorted({one.astimezone(ZoneInfo(zone)).date() for one in at[:-144]})
        assert [one.date() for one in local][: len(days)] == days
        assert len({one.date() for one in local}) == len(local)
        usual = [one for one in local[1:] if one.date() != day]
        assert {one.hour for one in usual} == {hour}

    def test_who_moves_gets_none_twice_on_a_day(self):
        at = moments("Europe/Berlin", date(2026, 11, 19), 2, timedelta(minutes=10))
        (first,) = mails(MailHour(7, "Europe/Berlin"), at[: 24 * 6])
        after = [one for one in at if one > first]
        for zone in ("America/New_York", "Asia/Tokyo", "Pacific/Kiritimati", "Pacific/Pago_Pago"):
            sent = [first, *mails(MailHour(7, zone), after, first)]
            days = [one.astimezone(ZoneInfo(zone)).date() for one in sent]
            assert len(set(days)) == len(days) > 1, zone

    def test_a_hub_that_was_away_at_the_hour_sends_later_that_day(self):
        chosen, at = (
            MailHour(7, "Europe/Berlin"),
            moments("Europe/Berlin", date(2026, 11, 19), 3, timedelta(minutes=10)),
        )
        local = [one.astimezone(ZoneInfo("Europe/Berlin")) for one in at]
        away = [one for one in local if not (one.day == 19 and 6 <= one.hour < 11)]
        assert [(one.day, one.hour) for one in mails(chosen, away)] == [(18, 7), (19, 11), (20, 7)]
        long_away = [one for one in local if not (one.day == 19 and 6 <= one.hour < 20)]
        assert [(one.day, one.hour) for one in mails(chosen, long_away)] == [(18, 7), (20, 7)]

    @pytest.mark.django_db
    def test_an_hour_that_is_over_counts_from_the_next_day(self):
        space = spaces.create(HUB, "team")
        at = datetime(2026, 11, 19, 12, tzinfo=UTC)
        assert notify.set_mail_hour(space, HUB, 7, "Europe/Berlin", at) == MailHour(
            7, "Europe/Berlin", date(2026, 11, 20)
        )
        space.refresh_from_db()
        assert space.settings["digest"] == "7 Europe/Berlin from 2026-11-20"
        assert notify.mail_hour(space) == MailHour(7, "Europe/Berlin", date(2026, 11, 20))
        assert notify.set_mail_hour(space, HUB, 20, "Europe/Berlin", at).first_day == date(2026, 11, 19)
        notify.set_mail_hour(space, HUB, None, "Europe/Berlin", at)
        space.refresh_from_db()
        assert notify.mail_hour(space) is None

    @pytest.mark.django_db
    @pytest.mark.parametrize(("kept", "meant"), [
        ("7", MailHour(7)), ("24", None), ("", None), ("x", None), ("7 Nowhere/At_All from 2026-01-01", "UTC"),
    ])  # fmt: skip
    def test_what_versions_before_kept_is_an_hour_of_utc(self, kept, meant):
        space = spaces.create(HUB, "team")
        space.settings["digest"] = kept
        found = notify.mail_hour(space)
        assert (found.clock if meant == "UTC" else found) == (UTC if meant == "UTC" else meant)

    @pytest.mark.django_db(transaction=True)
    def test_the_planner_looks_at_the_hour_of_the_space_and_the_mail_says_its_times(self):
        space = spaces.create(HUB, "team")
        person = accounts.create_person(HUB, "rk", email="rk@example.org")
        spaces.add_member(space, HUB, person, "reviewer")
        files.add_mount(space, HUB, "/memories/", store="database", policy="review")
        agent = prompts.create_agent(space, HUB, "forge")
        asked = proposals.propose(space, agent, kind="write", path="/memories/a.md", change={"content": "one\n"})
        asked.expires_at = statements.database_now() + timedelta(hours=30)
        asked.save()
        now = statements.database_now().astimezone(ZoneInfo("Asia/Tokyo"))
        notify.set_mail_hour(
            space, HUB, now.hour, "Asia/Tokyo", now - timedelta(hours=1, minutes=now.minute, seconds=1)
        )
        assert [daily_mail.plan_daily_mails()["asked"] for _ in range(2)] == [1, 0]
        queue.run_waiting()
        (sent,) = mail.outbox
        assert f"{timezone.localtime(asked.expires_at, ZoneInfo('Asia/Tokyo')):%H:%M}" in sent.body
        Job.objects.filter(kind=daily_mail.DAILY_MAIL_JOB).update(
            created_at=statements.database_now() - timedelta(days=1)
        )
        assert daily_mail.plan_daily_mails()["asked"] == 1


@pytest.mark.django_db
class TestDays:
    """A record of each half hour around the change belongs to its day of the reader's calendar."""

    @pytest.mark.parametrize(("zone", "day"), CHANGES)
    def test_pictures_count_by_days_of_the_reader(self, zone, day, monkeypatch):
        space = spaces.create(HUB, "team")
        at = moments(zone, day, 3, timedelta(minutes=30))
        clock = ZoneInfo(zone)
        made = quarantine.log(space, None, content="Deploys run on Tuesdays.", by=HUB, session_id="s", node_id="agent")
        row = Record.objects.get(pk=made.id)
        state = RecordState.objects.get(record_id=row.pk)
        for moment in at:
            row.pk, row.created_at = None, moment
            row.save(force_insert=True)
            state.pk, state.record_id = None, row.pk
            state.save(force_insert=True)
        last = at[-1].astimezone(clock).date()
        monkeypatch.setattr(timezone, "now", lambda: at[-1])
        with timezone.override(zone):
            counted = activity.daily(space, 4)
        wanted = {one: sum(moment.astimezone(clock).date() == one for moment in at) for one in counted.days}
        assert counted.days[-1] == last
        assert dict(zip(counted.days, counted.counts["gate"]["admitted"], strict=True)) == wanted
        assert sum(wanted.values()) == len(at)

    @pytest.mark.parametrize(("zone", "day"), CHANGES)
    def test_today_begins_at_the_first_midnight(self, zone, day, monkeypatch):
        for moment in moments(zone, day, 3, timedelta(minutes=30)):
            monkeypatch.setattr(timezone, "now", lambda moment=moment: moment)
            with timezone.override(zone):
                begins = activity.midnight().astimezone(UTC)
            clock = ZoneInfo(zone)
            assert begins.astimezone(clock).date() == moment.astimezone(clock).date()
            assert (begins - timedelta(seconds=1)).astimezone(clock).date() < moment.astimezone(clock).date()

    @pytest.mark.parametrize("zone", ["posix/Europe/Berlin", "right/Europe/Berlin", "localtime", "Factory"])
    def test_a_zone_that_the_database_does_not_know_is_counted_by_as_well(self, zone):
        space = spaces.create(HUB, "team")
        try:
            clock = ZoneInfo(zone)
        except Exception:
            pytest.skip("this machine does not know it either")
        with timezone.override(clock):
            assert len(activity.daily(space, 3).days) == 3


@pytest.mark.django_db
@pytest.mark.parametrize(("zone", "day"), CHANGES[:2])
def test_hours_are_hours_whatever_clocks_show(zone, day, monkeypatch):
    """Working memory, deadlines of proposals and the age after which rows go count what passed."""
    space = spaces.create(HUB, "team")
    before = datetime(day.year, day.month, day.day, 0, 30, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    with timezone.override(zone):
        logged = quarantine.log(
            space, None, content="Deploys run on Tuesdays.", by=HUB, session_id="s", node_id="agent"
        )
        entry = working.get(space, logged.working_id)
        assert entry.expires_at - entry.created_at == timedelta(hours=24)
        monkeypatch.setattr(timezone, "now", lambda: before)
        extended = working.extend(space, HUB, entry.pk)
        assert extended.expires_at - before == timedelta(hours=24)
        assert abs(statements.database_now() + timedelta(days=30) - ask.deadline(space)) < timedelta(minutes=1)


@pytest.mark.django_db
class TestWrongClock:
    """A node whose clock is 31 days ahead ends nothing that others still count with."""

    @pytest.fixture
    def space(self):
        made = spaces.create(HUB, "team")
        files.add_mount(made, HUB, "/memories/", store="database", policy="review")
        return made

    @pytest.fixture
    def month_ahead(self, monkeypatch):
        right = timezone.now
        return lambda: monkeypatch.setattr(timezone, "now", lambda: right() + timedelta(days=31))

    def test_proposals_go_on_waiting(self, space, month_ahead):
        agent = prompts.create_agent(space, HUB, "forge")
        person = accounts.create_person(HUB, "rk")
        spaces.add_member(space, HUB, person, "reviewer")
        ask = {"kind": "write", "path": "/memories/a.md", "change": {"content": "one\n"}}
        asked = proposals.propose(space, agent, **ask)
        month_ahead()
        assert proposals.expire_late(space) == 0
        assert proposals.refresh_state(proposals.get(space, asked.number))[0].state == "pending"
        assert proposals.propose(space, agent, **ask).number == asked.number
        seen = proposals.review(proposals.get(space, asked.number)).found.sha256
        done = proposals.approve(space, Actor.of_person(person, "reviewer"), asked.number, seen=seen)
        assert done.state == "approved"
        assert done.decided_at >= done.created_at

    def test_a_proposal_made_where_the_clock_is_late_waits_as_long_as_others(self, space, monkeypatch):
        agent, right = prompts.create_agent(space, HUB, "forge"), timezone.now
        with monkeypatch.context() as patched:
            patched.setattr(timezone, "now", lambda: right() - timedelta(days=31))
            asked = proposals.propose(space, agent, kind="write", path="/memories/a.md", change={"content": "one\n"})
        assert proposals.expire_late(space) == 0
        assert proposals.get(space, asked.number).expires_at > right() + timedelta(days=29)

    def test_nobody_is_signed_out(self, month_ahead):
        person = accounts.create_person(HUB, "rk")
        store = SessionStore()
        store["x"] = 1
        store.create()
        accounts.note_sign_in(person, store.stored_key, "127.0.0.1", "a browser")
        month_ahead()
        assert SessionStore(store.session_key).load() == {"x": 1}
        accounts.forget_ended_sign_ins()
        assert len(accounts.live_sessions(person)) == 1

    def test_a_token_ends_neither_before_nor_after_its_time(self, space, monkeypatch):
        agent = prompts.create_agent(space, HUB, "forge")
        right = timezone.now
        tokens = [
            accounts.create_token(space, HUB, agent=agent, expires_at=right() + timedelta(days=days)) for days in (7, 7)
        ]
        Token.objects.filter(pk=tokens[1][0].pk).update(expires_at=right() - timedelta(minutes=1))
        for days in (31, -31):
            monkeypatch.setattr(timezone, "now", lambda days=days: right() + timedelta(days=days))
            assert accounts.authenticate(tokens[0][1]).agent == agent
            with pytest.raises(Unauthenticated, match="has expired"):
                accounts.authenticate(tokens[1][1])
