"""People: their accounts, names, passwords and preferences."""

from __future__ import annotations

import unicodedata

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from memoryhub.domain import activity
from memoryhub.domain.accounts.sessions import end_session
from memoryhub.domain.accounts.tokens import revoke_token
from memoryhub.errors import Conflict, Invalid, NotFound
from memoryhub.models import Actor, Person
from memoryhub.text.counted import counted


@transaction.atomic
def create_person(actor: Actor, username: str, *, email: str = "", password: str = "") -> Person:
    """Makes a person, with or without a password."""
    if not username.strip():
        raise Invalid("A person needs a name.", field="username")
    username = unicodedata.normalize("NFKC", username).strip()
    if find_person(username):  # also where only the letters differ: `uedıtor` would find `ueditor`
        raise Conflict(f"There is a person {username!r} already.", field="username")
    email = email.strip()
    person = Person(username=username, email=email, email_is_given=bool(email) and runs_hub(actor))
    if password:
        set_checked_password(person, password)
    else:
        person.set_unusable_password()
    try:
        person.clean_fields(exclude=["password"])
        with transaction.atomic():
            person.save()
    except ValidationError as error:
        raise Invalid(" ".join(error.messages), field=next(iter(error.message_dict))) from None
    except IntegrityError:
        raise Conflict(f"There is a person {username!r} already.", field="username") from None
    activity.record(None, actor, "people.create", "created an account for", person.username)
    return person


def runs_hub(actor: Actor) -> bool:
    """Whether what they note of others counts in every space: the owner of one could else catch the sign-in of anybody."""
    return actor.kind == "hub" or bool(actor.person and actor.person.is_hub_owner)


def find_person(username: str) -> Person | None:
    """The person with this name, in whatever case and width it is typed."""
    name = unicodedata.normalize("NFKC", username).strip()
    if "\x00" in name:  # which PostgreSQL takes in no text
        return None
    found = Person.objects.filter(username__iexact=name)[:10]
    return min(
        found, key=lambda one: (one.username != name, one.username.lower() != name.lower(), one.pk), default=None
    )


def person_by_name(username: str) -> Person:
    person = find_person(username)
    if person is None:
        raise NotFound(f"There is no person {username!r}.")
    return person


def hub_owner() -> Person:
    """The owner of the hub, whom the link of each start signs in; made at the first start."""
    owner = Person.objects.filter(is_hub_owner=True, is_active=True).order_by("pk").first()
    if owner is None:
        owner = Person(username="owner", is_hub_owner=True)
        owner.set_unusable_password()
        owner.save()
    return owner


def set_checked_password(person: Person, password: str) -> None:
    try:
        validate_password(password, person)
    except ValidationError as error:
        raise Invalid(" ".join(error.messages), field="password") from None
    person.set_password(password)


@transaction.atomic
def change_password(person: Person, password: str, *, keep_session: str = "", keep_tokens: bool = False) -> None:
    """Sets a new password and ends every other session, unused one-time links and, unless they are kept, the person's API tokens."""
    set_checked_password(person, password)
    person.save(update_fields=["password"])
    for sign_in in person.sign_ins.exclude(session_key=keep_session):
        end_session(person, sign_in.pk)
    person.links.filter(used_at=None).delete()
    ended = 0 if keep_tokens else revoke_tokens(person)
    adds = f"and ended {counted(ended, 'API token')}" if ended else ""
    activity.record(None, Actor.of_person(person), "people.change_password", "changed their password", adds=adds)


def revoke_tokens(person: Person) -> int:
    """Ends every API token of a person; returns how many there were."""
    mine = list(person.tokens.filter(revoked_at=None).select_related("space", "person", "agent"))
    for token in mine:
        revoke_token(token, Actor.of_person(person))
    return len(mine)


@transaction.atomic
def change_email(person: Person, email: str) -> None:
    """Sets where mail to this person goes; empty: nowhere."""
    person.email_is_given = person.email_is_given and person.email == email.strip()
    person.email = email.strip()
    person.save(update_fields=["email", "email_is_given"])
    activity.record(None, Actor.of_person(person), "people.change_email", "changed their e-mail address")


@transaction.atomic
def set_preference(person: Person, key: str, value: str) -> None:
    """Keeps one choice of the person: the theme, the last space."""
    person = Person.objects.select_for_update().get(pk=person.pk)
    person.preferences[key] = value
    person.save(update_fields=["preferences"])


def set_language(person: Person, language: str) -> None:
    """What the person reads on pages and in mails; empty: as the browser asks."""
    if language and language not in dict(settings.LANGUAGES):
        raise Invalid("There is no such language. Choose one of the list.", field="language")
    person.language = language
    person.save(update_fields=["language"])
