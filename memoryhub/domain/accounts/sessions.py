"""Signed-in browsers of a person: noted, shown, ended."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from memoryhub.db import statements
from memoryhub.db.prepared import prepared
from memoryhub.domain import activity
from memoryhub.errors import NotFound
from memoryhub.models import Actor, FailedTry, Person, SignIn, SignInLink


@transaction.atomic
def note_sign_in(person: Person, session_key: str, address: str | None, browser: str, *, by: str = "") -> SignIn:
    """Remembers a signed-in browser, so that its owner can see and end it; the hub's activity says how they came."""
    adds = f"by {by.replace('_', ' ')}" if by else ""
    activity.record(None, Actor.of_person(person), "people.sign_in", "signed in", adds=adds, aside=address or "")
    values = {"person": person, "address": address, "browser": browser[:300], "seen_at": Now()}
    sign_in, _ = SignIn.objects.update_or_create(session_key=session_key, defaults=values)
    return sign_in


# A sign-in ends when it was not used within the idle limit, or began too long ago. By the clock of the database: a node whose
# own is wrong signs nobody out. Without an idle limit `idle` is NULL.
ENDED = """(i.created_at < statement_timestamp() - %(lasts)s::interval
    OR i.seen_at < statement_timestamp() - %(idle)s::interval)"""
# Asked by every page.
LIVE_SESSION = f"""
SELECT s.session_data, s.expire_date, (i.seen_at < statement_timestamp() - interval '1 minute') IS NOT TRUE
  FROM django_session s LEFT JOIN memoryhub_signin i ON i.session_key = s.session_key
 WHERE s.session_key = %(key)s AND s.expire_date > statement_timestamp()
   AND {ENDED} IS NOT TRUE
"""  # noqa: S608 (a condition of ours)
DELETE_ENDED = f"""
DELETE FROM django_session s USING memoryhub_signin i
 WHERE i.session_key = s.session_key AND {ENDED} AND (i.person_id = %(person)s OR %(person)s::bigint IS NULL)
"""  # noqa: S608 (a condition of ours)


PERSON = prepared(lambda pk: Person.objects.filter(pk=pk))


def person_of_session(pk: int) -> Person | None:
    """The person who signed in, also one who was deactivated since."""
    return PERSON.first(pk)


def live_session(session_key: str) -> tuple[str, datetime, bool] | None:
    """The data of a session whose sign-in has not ended, when it expires, and whether its browser was noted as seen within the
    last minute; that is true too of a session without a sign-in, where there is nothing to note."""
    found = statements.rows(LIVE_SESSION, {"key": session_key, **limits()})
    return found[0] if found else None


def note_seen(session_key: str, address: str | None) -> None:
    """Written at most once a minute."""
    lately = SignIn.objects.filter(session_key=session_key, seen_at__lt=Now() - timedelta(minutes=1))
    lately.update(seen_at=Now(), address=address or F("address"))


def limits() -> dict[str, timedelta | None]:
    return {"lasts": settings.SESSION_LASTS, "idle": settings.SESSION_IDLE or None}


def delete_ended_sessions(person: Person | None = None) -> None:
    """Deletes the sessions of sign-ins that have ended, of this person or of all."""
    statements.changed(DELETE_ENDED, {"person": person.pk if person else None, **limits()})


@transaction.atomic
def forget_ended_sign_ins() -> None:
    """Deletes sessions that have ended, failed tries of yesterday, and one-time links a month after their time."""
    now = Now()
    delete_ended_sessions()
    Session.objects.filter(expire_date__lt=now).delete()
    SignIn.objects.exclude(session_key__in=Session.objects.values("session_key")).delete()
    FailedTry.objects.filter(last_at__lt=now - timedelta(days=1)).delete()
    SignInLink.objects.filter(expires_at__lt=now - timedelta(days=30)).delete()


def end_session(person: Person, pk: int) -> None:
    """Signs one browser out."""
    sign_in = SignIn.objects.filter(person=person, pk=pk).first()
    if sign_in is None:
        raise NotFound("That session has ended already.")
    Session.objects.filter(session_key=sign_in.session_key).delete()
    sign_in.delete()


@transaction.atomic
def end_sessions(actor: Actor, person: Person, *, keep: str = "") -> int:
    """Signs a person out everywhere, but for the session with the key `keep`; returns how many browsers there were."""
    mine = list(person.sign_ins.exclude(session_key=keep))
    for sign_in in mine:
        end_session(person, sign_in.pk)
    if mine:
        activity.record(None, actor, "people.end_sessions", "ended the sessions of", person.username)
    return len(mine)


def live_sessions(person: Person) -> list[SignIn]:
    """The person's sessions that still live; the rest is forgotten on the way."""
    delete_ended_sessions(person)
    mine = person.sign_ins.order_by("-seen_at")
    keys = Session.objects.filter(expire_date__gt=Now()).values("session_key")
    mine.exclude(session_key__in=keys).delete()
    return list(mine)
