"""A scope opens what it names and nothing beside it. Walks every API call, and every command that a call takes, as a token
that only reads and as one that only writes; a new call is covered without a new test, or the walk says what it lacks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.db import transaction
from django.test import Client

from memoryhub.domain import accounts, files, prompts, proposals, quarantine, spaces
from memoryhub.models import HUB, Actor, Space
from tests.planting import fingerprint
from tests.web.test_walls import CALLS, Call, resolved, value_for

pytestmark = pytest.mark.django_db
READING, WRITING = ["files", "retrieve"], ["propose", "ingest"]
HIDDEN = "nachtigall"  # stands in every file, and in nothing that is sent
TEXT = f"one\nold words\n{HIDDEN}\n"
OLD, NEW = "/memories/notes.md", "/memories/new.md"
# What makes each call succeed, by the name of its argument; a call with other names may need a line here.
FILLED = {
    "path": OLD, "from": OLD, "old_path": OLD, "to": NEW, "new_path": NEW, "paths": [OLD], "prefix": "/memories/",
    "old_string": "old", "old_str": "old", "new_string": "new", "new_str": "new", "insert_line": 1, "number": 1,
    "view_range": [1, -1], "seen": hashlib.sha256(TEXT.replace("one", "two").encode()).hexdigest(), "content": "said",
    "q": "old", "query": "old", "pattern": "old", "note": "no", "replace_all": False, "next": "", "no_secret": [],
}  # fmt: skip
FOR = {"create": {"path": NEW}, "promotions": {"quarantine_id": None}, "approve": {"content": None}}
LOOKS = {"POST /api/v1/batch", "POST /api/v1/prompt", "POST /api/v1/memory-tool view"}  # reads with a body
ELSEWHERE = {"POST /api/v1/templates"}  # with the scope of prompts, which neither token has
NOTED = {"Token", "Agent", "FileWords"}  # kept about every call, and words listed for the search


def variants() -> Iterator[tuple[str, Call, str]]:
    """Each call, and each command of those that take one."""
    for call in CALLS:
        for command in commands(call) or [""]:
            yield f"{call} {command}".strip(), call, command


def commands(call: Call) -> list[str]:
    return body_of(call).get("command", {}).get("enum", [])


def body_of(call: Call) -> dict[str, Any]:
    content = call.document.get("requestBody", {}).get("content", {})
    return resolved(content["application/json"]["schema"])["properties"] if content else {}


def send(call: Call, command: str, secret: str) -> Any:
    special = FOR.get(command or call.path.rpartition("/")[2], {})
    values = {**FILLED, **special}
    path, query = call.path, {}
    for one in call.document.get("parameters", []):
        value = values.get(one["name"], value_for(one["name"], one["schema"]))
        if one["in"] == "path":
            path = path.replace("{" + one["name"] + "}", quote(str(value).lstrip("/")))
        elif one["in"] == "query" and value != "":
            query[one["name"]] = value
    data = {name: values.get(name, value_for(name, schema)) for name, schema in body_of(call).items()}
    data |= {"command": command} if command else {}
    headers = {"Authorization": f"Bearer {secret}", "Accept": "application/json"}
    sent = {"data": data, "content_type": "application/json"} if data else {}
    return getattr(Client(), call.method)(path + (f"?{urlencode(query)}" if query else ""), headers=headers, **sent)


@pytest.fixture
def here() -> Space:
    space = spaces.create(HUB, "here")
    files.add_mount(space, HUB, "/memories/", policy="trusted")
    files.write(space, HUB, OLD, TEXT.encode())
    return space


@pytest.fixture
def ask(here: Space) -> Any:
    """Makes a call as an agent or an owner with these scopes, says what it changed, and takes that back."""
    agent, owner = prompts.create_agent(here, HUB, "Forge"), accounts.create_person(HUB, "rk")
    spaces.add_member(here, HUB, owner, "owner")
    said = {"session_id": "s", "node_id": "n", "node_kind": "agent", "scope": "group", "metadata": {}}
    quarantine.log(here, agent, content="Something was seen here today.", **said)
    files.change_mount(here, HUB, files.mounts_of_space(here)[0], policy="review")
    proposals.submit(here, Actor.of_agent(agent), files.ChangeRequest("edit", OLD, old="one", new="two"))

    def make(who: str, call: Call, command: str, scopes: list[str] | None) -> tuple[Any, set[str]]:
        by = {"agent": agent} if who == "agent" else {"person": owner}
        secret = accounts.create_token(here, HUB, scopes=scopes, **by)[1]
        before, point = fingerprint(here), transaction.savepoint()
        answer = send(call, command, secret)
        after = fingerprint(here)
        transaction.savepoint_rollback(point)
        noted = NOTED | ({"ActivityLine"} if answer.status_code == 403 else set())  # who was refused stands there
        return answer, {table for table in after if after[table] != before[table]} - noted

    return make


@pytest.mark.parametrize("who", ["agent", "owner"])
def test_a_token_that_only_reads_changes_nothing(ask, who):
    for name, call, command in variants():
        answer, changed = ask(who, call, command, READING)
        assert not changed, f"{name} with the scopes {READING} changed {changed}: {answer.status_code}"


@pytest.mark.parametrize("policy", ["review", "trusted"])
@pytest.mark.parametrize("who", ["agent", "owner"])
def test_a_token_that_only_writes_is_shown_no_file(ask, here, who, policy):
    files.change_mount(here, HUB, files.mounts_of_space(here)[0], policy=policy)
    for scopes in (WRITING, [*WRITING, "retrieve"]):
        for name, call, command in variants():
            answer, _ = ask(who, call, command, scopes)
            assert HIDDEN not in answer.content.decode(), f"{name} with the scopes {scopes} shows the file"


def test_the_walk_reaches_what_every_call_does(ask):
    """Else the two tests above would prove nothing of a new call: it needs a line in FILLED, FOR or LOOKS."""
    for name, call, command in variants():
        if call.method == "get" or name in LOOKS | ELSEWHERE:
            continue
        tried = [ask(who, call, command, None) for who in ("agent", "owner")]
        assert any(changed for _, changed in tried), f"{name}: {[answer.content[:200] for answer, _ in tried]}"


def test_what_a_scope_opens_stays_open(ask):
    """The same walk with all scopes does show the file, and to write takes no scope to read."""
    shown = {
        name for name, call, command in variants() if HIDDEN in ask("agent", call, command, None)[0].content.decode()
    }
    assert {"GET /api/v1/files/{path}", "POST /api/v1/batch", "GET /api/v1/search", "PUT /api/v1/files/{path}"} <= shown
    assert {"GET /api/v1/proposals", "POST /api/v1/memory-tool view"} <= shown
    for name, call, command in variants():
        if name.startswith("POST /api/v1/memory-tool ") and command != "view":
            answer, changed = ask("agent", call, command, WRITING)
            assert answer.status_code == 200 and changed, f"{name}: {answer.content[:200]}"
