"""Who is refused for lack of a role or a scope stands in the activity, once for the same thing again and again."""

from __future__ import annotations

import pytest

from memoryhub.domain import accounts, activity, files, prompts, spaces
from memoryhub.domain.activity import refused
from memoryhub.models import HUB, ActivityLine
from tests.api.calling import Caller, as_person
from tests.fixtures.secret_texts import made


@pytest.fixture
def space(db):
    refused.noted.clear()
    space = spaces.create(HUB, "books")
    files.add_mount(space, HUB, "/memories/", store="database")
    return space


def lines(space):
    return list(ActivityLine.objects.within(space).filter(verb="access.refuse").order_by("id"))


@pytest.fixture
def narrow(way_in, space):
    agent = prompts.create_agent(space, HUB, "narrow")
    return Caller(way_in, accounts.create_token(space, HUB, agent=agent, scopes=["ingest"])[1])


def test_an_agent_that_tries_more_than_it_may_is_noted(space, narrow):
    key = "gh" + "p_" + made(36)
    for _ in range(3):
        for method, path, body in (
            ("GET", "prompt", None), ("GET", f"files/memories/{key}.md", None), ("POST", "proposals/1/approve", {"seen": "x"}),
            ("PUT", f"files/memories/{key}.md", {"content": "a"}), ("GET", "search?q=a", None), ("POST", "batch", {"paths": [key]}),
        ):  # fmt: skip
            assert narrow(method, path, body).status_code == 403
    found = lines(space)
    assert len(found) == 6
    assert {one.actor_name for one in found} == {"narrow"}
    assert "people_only" in {one.details["code"] for one in found}
    assert "POST /api/v1/proposals/{number}/approve" in {one.thing for one in found}
    assert not any(key in f"{one.thing} {one.adds} {one.url} {one.path}" for one in found)
    assert activity.find_lines(space, kind="people and tokens").filter(verb="access.refuse").count() == 6


def test_a_person_without_the_role_is_noted_by_calls_and_pages(space, client):
    viewer = as_person(client, space, "vic", "viewer")
    assert viewer("PUT", "files/memories/a.md", {"content": "a"}).status_code == 403
    client.force_login(spaces.members(space)[0].person)
    assert client.post("/s/books/mounts/add/", {}).status_code == 403
    assert [(one.actor_name, one.says) for one in lines(space)] == [("vic", "was refused")] * 2
    assert lines(space)[1].thing == "POST /mounts/add/"


def test_a_refusal_by_a_policy_is_no_attempt_at_more(space, forge):
    files.add_mount(space, HUB, "/fixed/", store="database", policy="read_only")
    assert forge("PUT", "files/fixed/a.md", {"content": "a"}).status_code == 403
    assert lines(space) == []
