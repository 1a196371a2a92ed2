"""How much agents may send and store: refused above the limits, without a query, and shown."""

from __future__ import annotations

import pytest

from memoryhub.db import statements
from memoryhub.domain import accounts, files, longterm, prompts, proposals, quarantine, quotas, spaces
from memoryhub.domain.quotas import limits
from memoryhub.errors import Invalid, TooLarge, TooMany
from memoryhub.models import HUB, Actor, Agent, Proposal, Record, Space
from tests.api.calling import Caller, code

pytestmark = pytest.mark.django_db
LOG = {"session_id": "s", "node_id": "n", "node_kind": "agent"}
FACT = "The refund of invoice 20931 left on the 13th by card."


@pytest.fixture(autouse=True)
def counted_anew():
    limits.counters.clear()
    yield
    limits.counters.clear()


@pytest.fixture
def space():
    space = spaces.create(HUB, "ledger")
    files.add_mount(space, HUB, "/memories/")
    files.add_mount(space, HUB, "/own/", policy="trusted")
    return space


@pytest.fixture
def scout(space):
    return prompts.create_agent(space, HUB, "scout")


@pytest.fixture
def agent(client, space, scout):
    return Caller(client, accounts.create_token(space, HUB, agent=scout)[1])


def limit(space: Space, **values: int) -> None:
    spaces.change_settings(space, HUB, values)


def test_logs_and_changes_above_the_limit_of_a_minute_are_429(space, agent, monkeypatch):
    limit(space, agent_calls_a_minute=2)
    assert agent("POST", "quarantine", {**LOG, "content": FACT}).status_code == 201
    assert agent("PUT", "files/own/a.md", {"content": "one"}).status_code == 201
    for method, path, body in (
        ("POST", "quarantine", {**LOG, "content": FACT}),
        ("PUT", "files/memories/a.md", {"content": "one"}),
        ("POST", "promotions", {"content": FACT, "reason": "It lasts."}),
    ):
        answer = agent(method, path, body)
        assert code(answer) == (429, "too_many_requests"), path
        assert 1 <= int(answer["Retry-After"]) <= 60
        assert "Settings, Usage" in answer.json()["error"]["message"]
    assert agent("GET", "prompt").status_code == 200
    now = limits.time.monotonic()
    monkeypatch.setattr(limits.time, "monotonic", lambda: now + 61)
    assert agent("POST", "quarantine", {**LOG, "content": FACT}).status_code == 201


def test_another_agent_and_people_are_not_held_up(space, scout, client, agent):
    limit(space, agent_calls_a_minute=1)
    agent("POST", "quarantine", {**LOG, "content": FACT})
    other = prompts.create_agent(space, HUB, "forge")
    quarantine.log(space, other, content=FACT, session_id="s", node_id="n")
    person = accounts.create_person(HUB, "rk")
    spaces.add_member(space, HUB, person, "editor")
    secret = accounts.create_token(space, Actor.of_person(person, "editor"), person=person)[1]
    for name in ("a", "b", "c"):
        assert Caller(client, secret)("PUT", f"files/memories/{name}.md", {"content": "x"}).status_code == 201


@pytest.mark.parametrize("key", ["agent_megabytes", "space_megabytes"])
def test_what_does_not_fit_any_more_is_413_and_stored_nowhere(space, agent, key):
    limit(space, **{key: 1})
    large = ("A line of a large file with its own words.\n" * 20_000)[:700_000]
    assert agent("PUT", "files/own/a.md", {"content": large}).status_code == 201
    for method, path, body in (
        ("PUT", "files/own/b.md", {"content": large}),
        ("PUT", "files/memories/b.md", {"content": large}),
        ("POST", "quarantine", {**LOG, "content": large[:400_000]}),
    ):
        answer = agent(method, path, body)
        assert code(answer) == (413, "storage_full"), path
        assert answer.json()["error"]["limit_bytes"] == 1 << 20
    assert not Record.objects.exists() and not Proposal.objects.exists()
    assert agent("POST", "quarantine", {**LOG, "content": FACT}).status_code == 201


def test_what_the_job_counted_holds_in_every_process_and_is_not_counted_twice(space, scout, agent):
    limit(space, agent_megabytes=1)
    text = ("A line of a large file with its own words.\n" * 20_000)[:600_000]
    assert agent("PUT", "files/own/a.md", {"content": text}).status_code == 201
    limits.counters.clear()  # as another process, which has not seen it
    quotas.count_stored_bytes()
    assert Agent.objects.get(pk=scout.pk).stored_bytes == 600_000
    assert agent("PUT", "files/own/b.md", {"content": text}).status_code == 413
    assert agent("PUT", "files/own/b.md", {"content": text[:300_000]}).status_code == 201
    quotas.count_stored_bytes()
    assert agent("PUT", "files/own/c.md", {"content": text[:100_000]}).status_code == 201
    assert agent("PUT", "files/own/d.md", {"content": text[:100_000]}).status_code == 413


def test_the_limits_ask_the_database_nothing(space, scout, django_assert_num_queries):
    caller = accounts.authenticate(accounts.create_token(space, HUB, agent=scout)[1])
    asked, rows = [], statements.rows
    with pytest.MonkeyPatch.context() as patch, django_assert_num_queries(0):
        patch.setattr(statements, "rows", lambda *given, **more: (asked.append("rows"), rows(*given, **more))[1])
        limits.count_call(caller.space, caller.agent)
        limits.count_bytes(caller.space, caller.agent, 10)
    assert asked == []


def test_every_place_where_words_are_kept_is_counted(space, scout):
    quarantine.log(space, scout, content=FACT, session_id="s", node_id="n")
    proposals.propose(space, scout, kind="write", path="/memories/a.md", content=b"x" * 100, reason="r")
    files.write(space, Actor.of_agent(scout), "/own/a.md", b"y" * 50)
    longterm.store(space, HUB, FACT)
    quotas.count_stored_bytes()
    usage = quotas.usage_of_space(space)
    rows = {one["label"]: (one["rows"], one["bytes"]) for one in usage.kinds}
    assert [count for count, _ in rows.values()] == [1, 1, 1, 1]
    assert rows["Revisions of files"] == (1, 50) and rows["Long-term memory"] == (1, len(FACT))
    assert rows["Quarantine"][1] >= len(FACT) and rows["Proposals"][1] >= 100
    assert usage.space.used == sum(size for _, size in rows.values())
    assert 0 < usage.agents[0].used < usage.space.used
    other = spaces.create(HUB, "other")
    assert quotas.usage_of_space(other).space.used == 0


def test_the_page_shows_use_and_owners_change_limits(client, space, scout):
    quarantine.log(space, scout, content=FACT, session_id="s", node_id="n")
    owner, viewer = accounts.create_person(HUB, "jw"), accounts.create_person(HUB, "vi")
    spaces.add_member(space, HUB, owner, "owner")
    spaces.add_member(space, HUB, viewer, "viewer")
    page = "/s/ledger/settings/usage/"
    client.force_login(viewer)
    assert "Not counted yet" in client.get(page).content.decode()
    quotas.count_stored_bytes()
    shown = client.get(page).content.decode()
    assert "of 20.0 GB" in shown and "scout" in shown and "Owners change these" in shown
    values = {"agent_calls_a_minute": 100, "agent_megabytes": 10, "space_megabytes": 50}
    assert client.post(f"{page}change/", values).status_code == 403
    client.force_login(owner)
    assert client.post(f"{page}change/", values).status_code == 303
    assert "of 50.0 MB" in client.get(page).content.decode()
    assert client.post(f"{page}change/", values | {"agent_megabytes": 0}).status_code == 422
    with pytest.raises(Invalid):
        spaces.change_settings(space, HUB, {"space_megabytes": -1})


def test_counting_does_not_renew_prompts(space):
    before = Space.objects.get(pk=space.pk)
    quotas.count_stored_bytes()
    after = Space.objects.get(pk=space.pk)
    assert (before.revision, before.setup_mark) == (after.revision, after.setup_mark)


def test_many_agents_take_no_more_memory_than_a_bound(space, scout, monkeypatch):
    monkeypatch.setattr(limits, "MAX_COUNTERS", 3)
    for number in range(10):
        limits.count_call(space, Agent(pk=number, name=str(number)))
        limits.count_bytes(space, Agent(pk=number, name=str(number)), 1)
    assert len(limits.counters.calls) <= 3 and len(limits.counters.stored) <= 4
    with pytest.raises((TooMany, TooLarge)):
        limits.count_bytes(space, scout, 1 << 50)
