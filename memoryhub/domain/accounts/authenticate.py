"""Authenticates every token: who it belongs to, or the refusal that says why it is not valid.

Prompts, files, writes, polling and the metrics all come through `authenticate`. One prepared statement reads the token, its
space and its agent or person; a rule for tokens that is added here holds everywhere.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any

from django.db import OperationalError
from django.db.models import Q
from django.utils import timezone

from memoryhub.db import fragments, statements
from memoryhub.errors import Forbidden, Unauthenticated
from memoryhub.models import Actor, Agent, Person, Settings, Space, Token
from memoryhub.refusals import go_on_without_room

NO_VALID_TOKEN = "No valid token. Send 'Authorization: Bearer mh_…' with a token of this hub."  # noqa: S105 (a sentence)
ENDED = {"revoked": "was revoked", "expired": "has expired"}
NOTE_USE_EVERY = timedelta(minutes=1)

# What calls need of each row. The models leave out the rest, such as an agent's texts: who reads one asks for it then.
TOKEN = ("id", "space_id", "agent_id", "person_id", "prefix", "digest", "scopes", "expires_at", "revoked_at", "used_at")
SPACE = ("id", "slug", "name", "revision", "longterm_mark", "setup_mark", "stored_bytes", "has_views", "settings")
AGENT = ("id", "space_id", "slug", "name", "dialect", "asked_dialect", "is_on", "reported", "retrieval", "stored_bytes")
PERSON = ("id", "username", "email", "is_active", "is_hub_owner")
# An array as text is read ten times quicker; and what JSON a column holds, its model is given as Python has it.
READ_AS = {
    "t.scopes": "array_to_string(t.scopes, ',')",
    "s.settings": "s.settings::text",
    "a.reported": "a.reported::text",
    "a.retrieval": "a.retrieval::text",
}

# By the database's clock, which all nodes share: on a node whose own is late a token would outlive its end.
HAS_EXPIRED = "coalesce(t.expires_at <= statement_timestamp(), false)"

SQL = """
SELECT {columns}, m.role, {has_expired}, {incarnation}, {beside}
  FROM memoryhub_token t
  JOIN memoryhub_space s ON s.id = t.space_id
  LEFT JOIN memoryhub_agent a ON a.id = t.agent_id
  LEFT JOIN memoryhub_person p ON p.id = t.person_id
  LEFT JOIN memoryhub_membership m ON m.space_id = t.space_id AND m.person_id = t.person_id
 WHERE t.digest = %s
"""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: an agent or a person, bound to one space by the token.

    Its models hold what the statement read; `beside` is the value of the column that was asked for with it. `incarnation` is
    another number after each start of the database server: ids may stand for other rows then, where it lost some.
    """

    token: Token
    space: Space
    agent: Agent | None = None
    person: Person | None = None
    role: str = ""  # of the person, in this space
    has_expired: bool = False  # the token, by the database's clock
    beside: Any = None
    incarnation: int = 0

    @property
    def actor(self) -> Actor:
        """Who the activity names."""
        if self.agent:
            return Actor.of_agent(self.agent)
        assert self.person is not None, "a token belongs to an agent or to a person"
        return Actor.of_person(self.person, self.role)

    def has(self, scope: str) -> bool:
        return scope in self.token.scopes

    def need(self, scope: str) -> None:
        """Refuses a token without this scope."""
        if not self.has(scope):
            raise Forbidden(
                f"This token has no scope {scope!r}; it has: {', '.join(self.token.scopes) or 'none'}. "
                "An owner can make one that has.",
                code="scope_missing",
                scope=scope,
            )


def digest_of(secret: str) -> str:
    """What the hub keeps of a token or a link: they are long and random, so a plain SHA-256 does; passwords get Argon2."""
    return hashlib.sha256(secret.encode()).hexdigest()


def authenticate(secret: str, address: str | None = None, *, beside: str = "NULL") -> Caller:
    """The caller that a token stands for, and a note that it was used.

    `beside` is an SQL expression over the space `s` and the agent `a` whose value must be of the same moment.
    """
    digest = digest_of(secret)
    # In binary: moments in text would cost as much as all other columns.
    rows = statements.rows(statement(beside), [digest], binary=True) if secret else []
    if not rows:
        raise Unauthenticated(NO_VALID_TOKEN)
    caller = caller_of(rows[0])
    if not hmac.compare_digest(caller.token.digest, digest):
        raise Unauthenticated(NO_VALID_TOKEN)
    check_token(caller)
    note_use(caller.token, address)
    check_owner(caller)
    return caller


@lru_cache(maxsize=8)
def statement(beside: str) -> str:
    tables = {"t": TOKEN, "s": SPACE, "a": AGENT, "p": PERSON}
    names = [f"{table}.{column}" for table, columns in tables.items() for column in columns]
    columns = ", ".join(READ_AS.get(name, name) for name in names)
    return SQL.format(columns=columns, has_expired=HAS_EXPIRED, incarnation=fragments.INCARNATION, beside=beside)


def caller_of(row: tuple[Any, ...]) -> Caller:
    """The caller as the statement read it; made without the models' `__init__`, which would cost as much as the statement."""
    values = iter(row)
    token, space, agent, person = (dict(zip(names, values, strict=False)) for names in (TOKEN, SPACE, AGENT, PERSON))
    role, has_expired, incarnation, beside = values
    others = {"beside": beside, "incarnation": incarnation, "has_expired": has_expired}
    token["scopes"] = token["scopes"].split(",") if token["scopes"] else []
    space["settings"] = Settings(json.loads(space["settings"]))
    its_space = statements.instance(Space, space.items())
    if agent["id"] is not None:
        agent["reported"] = json.loads(agent["reported"])
        agent["retrieval"] = json.loads(agent["retrieval"])
        one = statements.instance(Agent, agent.items(), space=its_space)
        its_token = statements.instance(Token, token.items(), space=its_space, agent=one)
        return Caller(its_token, its_space, agent=one, **others)
    somebody = statements.instance(Person, person.items())
    its_token = statements.instance(Token, token.items(), space=its_space, person=somebody)
    return Caller(its_token, its_space, person=somebody, role=role or "", **others)


def why_ended(token: Token, *, has_expired: bool | None = None) -> str:
    """Why a token works no longer, a key of `ENDED`; empty while it does. Pages leave it to this machine's clock whether it expired,
    calls to the database's."""
    if token.revoked_at:
        return "revoked"
    if has_expired is None:
        has_expired = token.expires_at is not None and token.expires_at <= timezone.now()
    return "expired" if has_expired else ""


def check_token(caller: Caller) -> None:
    """Refuses a token that was revoked or has expired."""
    if why := why_ended(caller.token, has_expired=caller.has_expired):
        raise Unauthenticated(f"The token {caller.token} {ENDED[why]}. Ask an owner of the space for a new one.")


def check_owner(caller: Caller) -> None:
    """Refuses an agent that is switched off, and a person who is no active member of the space."""
    if caller.agent:
        if not caller.agent.is_on:
            raise Forbidden(f"The agent {caller.agent.name} is switched off.", code="agent_off")
    elif caller.person and not caller.person.is_active:
        raise Unauthenticated(f"The token {caller.token} belongs to somebody whose account is deactivated.")
    elif not caller.role:
        raise Unauthenticated(f"The token {caller.token} belongs to somebody who is no member here any more.")


def note_use(token: Token, address: str | None) -> None:
    """Writes when and from where a token was used last, at most once a minute."""
    now = timezone.now()
    if token.used_at and token.used_at > now - NOTE_USE_EVERY:
        return
    not_noted = Q(used_at=None) | Q(used_at__lte=now - NOTE_USE_EVERY)
    try:
        Token.objects.filter(not_noted, pk=token.pk).update(used_at=now, used_from=address)
        if token.agent_id:
            Agent.objects.filter(pk=token.agent_id).update(seen_at=now)
    except OperationalError as error:
        go_on_without_room(error, "the use of a token")
