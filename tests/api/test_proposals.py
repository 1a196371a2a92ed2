"""Proposals over REST: the shapes of the contract, who may, what is refused."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.domain import accounts, files, prompts, proposals, spaces
from memoryhub.models import HUB, Actor, Proposal

pytestmark = pytest.mark.django_db
PATH = "/memories/AGENTS.md"
TEXT = "# Rules\n\n- Run the tests with `pytest -q`.\n"
AFTER = TEXT.replace("pytest -q", "make test-fast")
FIELDS = {"number", "state", "path", "kind", "diff", "reason", "agent", "base_revision", "created_at", "decided_at",
          "decided_by", "note", "applied_revision", "stacked_on", "result_sha256"}  # fmt: skip


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def space():
    space = spaces.create(HUB, "ledgerline")
    files.add_mount(space, HUB, "/memories/", store="database", policy="review")
    files.write(space, HUB, PATH, TEXT.encode())
    return space


@pytest.fixture
def forge(space):
    return prompts.create_agent(space, HUB, "forge")


def token(space, agent=None, role=None, name="rk"):
    if agent:
        return accounts.create_token(space, HUB, agent=agent)[1]
    person = accounts.create_person(HUB, name)
    spaces.add_member(space, HUB, person, role)
    return accounts.create_token(space, Actor.of_person(person, role), person=person)[1]


@pytest.fixture
def mine(space, forge):
    return token(space, forge)


@pytest.fixture
def rk(space):
    return token(space, role="reviewer")


@pytest.fixture
def pending(space, forge):
    change = {"old_string": "pytest -q", "new_string": "make test-fast", "replace_all": False}
    return proposals.propose(space, forge, kind="edit", path=PATH, change=change, reason="rk asked", thread_id="t-1")


@pytest.fixture
def call(client):
    def send(method, path, secret, body=None, **headers):
        kwargs = {"headers": {"Authorization": f"Bearer {secret}", **headers}}
        if body is not None:
            kwargs |= {"data": json.dumps(body), "content_type": "application/json"}
        return getattr(client, method)(f"/api/v1/proposals{path}", **kwargs)

    return send


def test_the_agent_sees_its_own_proposal_with_diff_and_result(call, mine, pending) -> None:
    found = call("get", "/1", mine).json()
    assert set(found) >= FIELDS
    assert (found["number"], found["state"], found["kind"], found["agent"], found["base_revision"]) == (
        1,
        "pending",
        "edit",
        "forge",
        1,
    )
    assert found["result_sha256"] == sha(AFTER)
    assert "+- Run the tests with `make test-fast`." in found["diff"]
    (listed,) = call("get", "?state=pending", mine).json()["items"]
    assert listed["number"] == 1
    assert call("get", "?state=approved", mine).json() == {"items": [], "next": None}


def test_an_unknown_state_is_refused(call, mine) -> None:
    unknown = call("get", "?state=open", mine)
    assert unknown.status_code == 422 and "'pending', 'approved'" in unknown.json()["error"]["message"]


def test_another_agent_and_another_space_find_nothing(call, space, pending) -> None:
    other = token(space, prompts.create_agent(space, HUB, "counter"))
    assert call("get", "/1", other).status_code == 404
    assert call("get", "", other).json()["items"] == []
    assert call("delete", "/1", other).status_code == 404
    elsewhere = spaces.create(HUB, "elsewhere")
    stranger = token(elsewhere, role="owner", name="zz")
    assert call("get", "/1", stranger).status_code == 404
    assert call("post", "/1/approve", stranger, {"seen": sha(AFTER)}).status_code == 404


def test_waiting_is_polling_with_an_etag(call, mine, rk, pending) -> None:
    first = call("get", "/1", mine)
    again = call("get", "/1", mine, **{"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    call("post", "/1/approve", rk, {"seen": sha(AFTER)})
    decided = call("get", "/1", mine, **{"If-None-Match": first["ETag"]})
    assert (decided.status_code, decided.json()["state"]) == (200, "approved")
    assert call("get", "/1", mine, **{"If-None-Match": decided["ETag"]}).status_code == 304


def test_past_its_date_it_is_expired_for_whoever_waits_lists_or_decides(call, mine, rk, pending) -> None:
    first = call("get", "/1", mine)
    seen = first.json()["result_sha256"]
    Proposal.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    again = call("get", "/1", mine, **{"If-None-Match": first["ETag"]})
    assert (again.status_code, again.json()["state"]) == (200, "expired")
    Proposal.objects.update(state="pending")
    answer = call("post", "/1/approve", rk, {"seen": seen})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "already_decided")
    Proposal.objects.update(state="pending")
    assert call("get", "?state=pending", rk).json()["items"] == []
    assert [one["state"] for one in call("get", "?state=expired", rk).json()["items"]] == ["expired"]


def test_a_reviewer_approves_what_was_seen(call, rk, space, pending) -> None:
    answer = call("post", "/1/approve", rk, {"seen": sha(AFTER), "note": "good"})
    assert answer.status_code == 200
    body = answer.json()
    assert body["revision"] == 2
    assert (
        body["proposal"]["state"],
        body["proposal"]["decided_by"],
        body["proposal"]["note"],
        body["proposal"]["applied_revision"],
    ) == ("approved", "rk", "good", 2)
    assert "+- Run the tests with `make test-fast`." in body["proposal"]["diff"]
    assert files.read(space, PATH).content.decode() == AFTER


def test_approving_with_other_words(call, rk, space, pending) -> None:
    answer = call("post", "/1/approve", rk, {"seen": sha(AFTER), "content": "- mine\n"})
    assert answer.json()["proposal"]["with_edits"] is True
    assert files.read(space, PATH).content == b"- mine\n"


@pytest.mark.parametrize("content", ["a\x00b", "\ud800", "x" * (1024 * 1024 + 1)])
def test_content_that_cannot_be_is_refused(call, rk, pending, content) -> None:
    assert call("post", "/1/approve", rk, {"seen": sha(AFTER), "content": content}).status_code in (413, 422)
    assert proposals.get(pending.space, 1).state == "pending"


def test_without_seen_nothing_is_approved(call, rk, pending) -> None:
    for body in ({}, {"seen": ""}, {"seen": None}, {"note": "x"}):
        assert call("post", "/1/approve", rk, body).status_code == 422


def test_a_person_does_not_take_back_what_an_agent_asked(call, rk, pending) -> None:
    assert call("delete", "/1", rk).status_code == 403


def test_approving_what_no_longer_applies(call, mine, rk, space, pending) -> None:
    files.write(space, HUB, PATH, b"- all new\n")
    for _ in range(2):
        answer = call("post", "/1/approve", rk, {"seen": sha(AFTER)})
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["result_sha256"]) == (409, "changed_since_seen", None)
        assert call("get", "/1", mine).json()["state"] == "outdated"


def test_a_stale_seen_gets_the_new_diff(call, rk, space, pending) -> None:
    files.write(space, HUB, PATH, (TEXT + "- More.\n").encode())
    answer = call("post", "/1/approve", rk, {"seen": sha(AFTER)})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["result_sha256"]) == (
        409,
        "changed_since_seen",
        sha(AFTER + "- More.\n"),
    )
    assert "make test-fast" in error["diff"]


def test_deciding_twice_is_refused(call, rk, pending) -> None:
    call("post", "/1/reject", rk, {"note": "wrong"})
    for path, body in (("/1/approve", {"seen": sha(AFTER)}), ("/1/reject", {"note": "again"})):
        answer = call("post", path, rk, body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "already_decided")


def test_a_rejection_carries_the_reviewers_words(call, rk, mine, pending) -> None:
    answer = call("post", "/1/reject", rk, {"note": "too vague"})
    assert answer.json()["revision"] is None
    found = call("get", "/1", mine).json()
    assert (found["state"], found["note"], found["decided_by"]) == ("rejected", "too vague", "rk")
    assert call("post", "/1/reject", rk, {"note": ""}).status_code in (409, 422)


def test_only_people_decide(call, mine, space, pending) -> None:
    for path, body in (("/1/approve", {"seen": sha(AFTER)}), ("/1/reject", {"note": "no"})):
        answer = call("post", path, mine, body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "people_only")
    editor = token(space, role="editor", name="jt")
    assert call("post", "/1/approve", editor, {"seen": sha(AFTER)}).status_code == 403


def test_taking_back(call, mine, pending) -> None:
    answer = call("delete", "/1", mine)
    assert (answer.status_code, answer.json()["proposal"]["state"]) == (200, "withdrawn")
    assert call("delete", "/1", mine).status_code == 409
    assert call("delete", "/99", mine).status_code == 404


def test_what_no_longer_applies_has_no_result(call, mine, space, pending) -> None:
    files.write(space, HUB, PATH, b"- all new\n")
    found = call("get", "/1", mine).json()
    assert (found["result_sha256"], found["state"]) == (None, "outdated")


def test_comments_of_people_are_told(call, mine, space, pending) -> None:
    proposals.comment(space, Actor("person", 1, "rk", "editor"), 1, "Leave the last line out.")
    (said,) = call("get", "/1", mine).json()["comments"]
    assert (said["by"], said["text"]) == ("rk", "Leave the last line out.")


def test_a_list_reads_its_files_at_once(call, mine, space, forge, statements):
    def ask(number):
        files.write(space, HUB, f"/memories/{number}.md", b"one\n")
        proposals.propose(space, forge, kind="write", path=f"/memories/{number}.md", content=b"two\n")

    for number in range(3):
        ask(number)
    call("get", "", mine)
    with statements() as few:
        call("get", "", mine)
    for number in range(3, 9):
        ask(number)
    with statements() as more:
        answer = call("get", "", mine)
    assert len(answer.json()["items"]) == 9 and len(more) == len(few)


def test_a_list_asks_once_for_the_texts_of_what_was_approved(call, mine, pending, space, statements):
    reviewer = accounts.create_person(HUB, "mk")
    spaces.add_member(space, HUB, reviewer, "reviewer")
    seen = proposals.review(pending).found.sha256
    proposals.approve(space, Actor.of_person(reviewer, "reviewer"), 1, seen=seen)
    call("get", "", mine)
    with statements() as sent:
        (found,) = call("get", "", mine).json()["items"]
    assert found["state"] == "approved" and found["result_sha256"] == sha(AFTER)
    assert sum('FROM "memoryhub_revision"' in sql for sql in sent) == 1
