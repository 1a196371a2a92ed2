"""Every refusal of a token through every call, asked of Django and of the application that the server runs.

The calls come from the OpenAPI document, so a new one is covered as soon as it stands there. All of them authenticate by
`accounts.authenticate`; this is what would notice one that does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memoryhub.domain import accounts, files, prompts, proposals, spaces
from memoryhub.models import HUB, ActivityLine, Agent, Membership, Person, Scope, Space, Token
from tests.api.calling import ServedClient
from tests.planting import fingerprint
from tests.web.test_walls import CALLS, Call, send

pytestmark = pytest.mark.django_db
CLIENTS = {"django": Client, "wsgi": ServedClient}
ELSEWHERE = "10.1.1.1"  # from this machine the metrics need no token
NOT_REFUSED = {"missing scope": {"GET /api/v1/me", "GET /metrics"}}  # a token may always ask what it is
DECISIONS = {"POST /api/v1/proposals/{number}/approve", "POST /api/v1/proposals/{number}/reject"}


@dataclass(frozen=True)
class Tokens:
    """Makes secrets for one space and ends them in each way there is."""

    space: Space
    agent: Agent
    person: Person

    def of_agent(self, **choices: Any) -> str:
        return accounts.create_token(self.space, HUB, agent=self.agent, **choices)[1]

    def of_person(self) -> str:
        return accounts.create_token(self.space, HUB, person=self.person)[1]

    def ended(self, secret: str, **values: Any) -> str:
        Token.objects.filter(digest=accounts.digest_of(secret)).update(**values)
        return secret

    def of_agent_that_is_off(self) -> str:
        prompts.change_agent(self.agent, HUB, is_on=False)
        return self.of_agent()

    def of_deactivated_person(self) -> str:
        Person.objects.filter(pk=self.person.pk).update(is_active=False)
        return self.of_person()

    def of_no_member(self) -> str:
        Membership.objects.filter(person=self.person).delete()
        return self.of_person()


LONG_AGO = {"revoked": {"revoked_at": timezone.now()}, "expired": {"expires_at": timezone.now() - timedelta(days=1)}}
# How the secret is made, and what every call then answers: status, code, and what the sentence says.
REFUSALS: dict[str, tuple[Callable[[Tokens], str], int, str, str]] = {
    "no token": (lambda make: "", 401, "unauthenticated", ""),
    "malformed": (lambda make: "mh_forge_\x00 \x7f", 401, "unauthenticated", "No valid token"),
    "unknown": (lambda make: "mh_forge_nothing", 401, "unauthenticated", "No valid token"),
    "cut short": (lambda make: make.of_agent()[:-1], 401, "unauthenticated", "No valid token"),
    "its digest": (lambda make: accounts.digest_of(make.of_agent()), 401, "unauthenticated", "No valid token"),
    "revoked, of an agent": (lambda make: make.ended(make.of_agent(), **LONG_AGO["revoked"]), 401, "unauthenticated", "was revoked"),
    "revoked, of a person": (lambda make: make.ended(make.of_person(), **LONG_AGO["revoked"]), 401, "unauthenticated", "was revoked"),
    "expired, of an agent": (lambda make: make.ended(make.of_agent(), **LONG_AGO["expired"]), 401, "unauthenticated", "has expired"),
    "expired, of a person": (lambda make: make.ended(make.of_person(), **LONG_AGO["expired"]), 401, "unauthenticated", "has expired"),
    "agent switched off": (Tokens.of_agent_that_is_off, 403, "agent_off", "is switched off"),
    "deactivated person": (Tokens.of_deactivated_person, 401, "unauthenticated", "account is deactivated"),
    "person who left": (Tokens.of_no_member, 401, "unauthenticated", "no member here any more"),
    "missing scope": (lambda make: make.of_agent(scopes=[]), 403, "scope_missing", "has no scope"),
}  # fmt: skip


def doors() -> Iterator[Call]:
    """Every call of the API, and the metrics, which take an owner's token."""
    yield from CALLS
    yield Call("get", "/metrics", {})


@pytest.fixture
def here() -> Space:
    """A space where each call would find something."""
    space = spaces.create(HUB, "here")
    files.add_mount(space, HUB, "/memories/")
    files.write(space, HUB, "/memories/notes.md", b"nightingale")
    return space


@pytest.fixture
def make(here: Space) -> Tokens:
    rk = accounts.create_person(HUB, "rk")
    spaces.add_member(here, HUB, rk, "owner")
    return Tokens(here, prompts.create_agent(here, HUB, "Forge"), rk)


def contents(space: Space) -> dict[str, Any]:
    """Everything in the space, but for the notes of when a token was used, and of who was refused."""
    lines = ActivityLine.objects.within(space).exclude(verb="access.refuse").count()
    apart = ("Token", "Agent", "ActivityLine")
    return {table: rows for table, rows in fingerprint(space).items() if table not in apart} | {"lines": lines}


def expected(name: str, call: Call, status: int, code: str) -> tuple[int, str]:
    """Two calls ask for more than a token: a decision for a person, the metrics for an owner."""
    if name == "missing scope" and str(call) in DECISIONS:
        return 403, "people_only"
    return status, code


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("name", REFUSALS)
def test_every_call_refuses(make, here, name, client):
    secret_of, status, code, says = REFUSALS[name]
    secret, before = secret_of(make), contents(here)
    for call in doors():
        if str(call) in NOT_REFUSED.get(name, ()):
            continue
        answer = send(CLIENTS[client](REMOTE_ADDR=ELSEWHERE), call, secret)
        wanted = expected(name, call, status, code)
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == wanted, f"{call}, {name}: {error}"
        if wanted[1] == code and str(call) != "GET /metrics":
            assert says in error["message"], f"{call}, {name}: {error}"
        assert answer.headers.get("WWW-Authenticate", "") == ("Bearer" if answer.status_code == 401 else ""), str(call)
        assert not secret or secret not in answer.content.decode(), f"{call} shows the token"
    assert contents(here) == before, name


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic {}", "{}", "Token {}"])
def test_every_call_takes_the_token_from_the_one_header(make, header, client):
    """A good token, given in another way."""
    given = {"HTTP_AUTHORIZATION": header.format(make.of_agent())} if header else {}
    for call in doors():
        answer = send(CLIENTS[client](REMOTE_ADDR=ELSEWHERE, **given), call)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthenticated"), f"{call}, {header!r}"


@pytest.mark.parametrize("client", CLIENTS)
def test_every_call_takes_a_token_whatever_the_case_of_bearer(make, client):
    given = CLIENTS[client](HTTP_AUTHORIZATION=f"bEARER  {make.of_agent()} ")
    for call in CALLS:
        assert send(given, call).status_code != 401, str(call)


SCOPE_OF = {
    "prompt": [("GET", "prompt")],
    "files": [("GET", "files/memories/notes.md"), ("GET", "files"), ("GET", "grep?pattern=night"), ("GET", "glob?pattern=*")],
    "propose": [("GET", "proposals/1"), ("GET", "proposals")],
    "retrieve": [("GET", "working"), ("GET", "retrieve?query=night"), ("GET", "search?q=night&layers=working")],
}  # fmt: skip


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("scope", SCOPE_OF)
def test_one_scope_opens_its_calls_and_no_other(make, here, scope, client):
    proposals.propose(here, make.agent, kind="write", path="/memories/notes.md", content=b"lark")
    secret = make.of_agent(scopes=[scope])
    for other, calls in SCOPE_OF.items():
        for method, path in calls:
            answer = CLIENTS[client]().generic(method, f"/api/v1/{path}", headers={"Authorization": f"Bearer {secret}"})
            assert answer.status_code == (200 if other == scope else 403), f"{path} with {scope}: {answer.content!r}"


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("who", ["agent", "person"])
def test_what_belongs_to_another_space_is_not_found(make, here, who, client):
    """The same paths and numbers, asked for with a token of another space."""
    proposals.propose(here, make.agent, kind="write", path="/memories/notes.md", content=b"nightingale, again")
    other = spaces.create(HUB, "other")
    files.add_mount(other, HUB, "/memories/")
    agent, person = prompts.create_agent(other, HUB, "stranger"), accounts.create_person(HUB, "stranger")
    spaces.add_member(other, HUB, person, "owner")
    by = {"agent": agent} if who == "agent" else {"person": person}
    headers = {"Authorization": f"Bearer {accounts.create_token(other, HUB, **by)[1]}", "If-None-Match": '"x"'}
    before = contents(here)
    for method, path, code in (
        ("GET", "files/memories/notes.md", "file_not_found"),
        ("DELETE", "files/memories/notes.md", "file_not_found"),
        ("GET", "proposals/1", "not_found"),
        ("DELETE", "proposals/1", "not_found"),
        ("GET", f"prompt?agent={make.agent.slug}", "agent_unknown"),
    ):
        answer = CLIENTS[client]().generic(method, f"/api/v1/{path}", headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, code), (
            f"{method} {path}: {answer.content!r}"
        )
    for call in CALLS:
        assert b"nightingale" not in send(CLIENTS[client](), call, headers["Authorization"][7:]).content, str(call)
    assert contents(here) == before


def test_a_good_token_is_taken_by_every_call(make):
    """Else the walk above would prove nothing."""
    for client in CLIENTS.values():
        for call in doors():
            answer = send(client(REMOTE_ADDR=ELSEWHERE), call, make.of_person())
            assert answer.status_code not in (401, 500), f"{call}: {answer.content!r}"


def test_every_scope_is_walked():
    assert set(SCOPE_OF) | {Scope.INGEST} == set(Scope.values)
