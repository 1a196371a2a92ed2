"""GET and POST /api/v1/prompt: the bytes, the ETag, the ledger; through Django and without its middleware."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.domain import accounts, prompts, spaces
from memoryhub.domain.prompts import deliveries
from memoryhub.models import HUB, Actor, Delivery, Membership, Mount, PromptText, Proposal, Token
from tests.api.calling import ServedClient
from tests.prompting import AGENTS, TONE, lists, put

pytestmark = pytest.mark.django_db
HERE = "/api/v1/prompt"


@pytest.fixture
def space():
    made = spaces.create(HUB, "books")
    Mount.objects.create(space=made, prefix="/memories/")
    put(made, AGENTS, "one <!-- for people -->\n")
    lists(made, AGENTS)
    return made


@pytest.fixture
def counter(space):
    return prompts.create_agent(space, HUB, "counter", system_prompt="Base.")


@pytest.fixture
def secret(space, counter):
    return accounts.create_token(space, HUB, agent=counter)[1]


@pytest.fixture
def ask(client, secret):
    def ask(accept="text/plain", *, token=secret, etag="", **query):
        headers = {"Authorization": f"Bearer {token}", "Accept": accept, "If-None-Match": etag}
        return client.get(HERE, query, headers=headers)

    return ask


def parsed(answer):
    return json.loads(answer.content)


def test_text_is_exactly_the_bytes(ask):
    answer = ask(dialect="plain")
    assert answer.status_code == 200
    assert answer.content == b"Base.\n\none <!-- for people -->\n"
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["ETag"] == f'"sha256-{hashlib.sha256(answer.content).hexdigest()}"'
    assert answer["Cache-Control"] == "private, no-cache"
    assert {one.strip() for one in answer["Vary"].split(",")} >= {"Accept", "Authorization"}
    assert answer["X-Request-Id"]


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/json", "application/json"),
        ("application/json, text/plain, */*", "application/json"),
        ("text/html, application/json;q=0.9", "application/json"),
        ("text/plain, application/json;q=0.5", "text/plain; charset=utf-8"),
        ("application/json;q=0", "text/plain; charset=utf-8"),
        ("*/*", "text/plain; charset=utf-8"),
        ("application/json;q=x", "text/plain; charset=utf-8"),
    ],
)
def test_json_is_for_those_who_ask_for_it(ask, accept, kind):
    assert ask(accept)["Content-Type"] == kind


def test_json_says_where_every_byte_came_from(ask, space):
    Proposal.objects.create(space=space, number=3, path=AGENTS, kind="edit", same_as="x", agent_name="counter")
    answer = ask("application/json", dialect="plain")
    body = parsed(answer)
    assert set(body) >= {
        "dialect", "text", "fragment", "placement", "sha256", "bytes", "tokens_estimate", "sources", "parts", "warnings", "pending",
    }  # fmt: skip
    assert body["text"] == "Base.\n\none <!-- for people -->\n"
    assert body["fragment"] == "one <!-- for people -->\n"
    assert (body["dialect"], body["placement"], body["verified"]) == ("plain", "append", True)
    data = body["text"].encode()
    assert (body["bytes"], body["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    source = body["sources"][0]
    assert (source["path"], source["status"], source["revision"]) == (AGENTS, "included", 1)
    assert source["bytes"] == len(b"one <!-- for people -->\n")
    assert [(p["kind"], p["start"], p["end"]) for p in body["parts"]] == [("base", 0, 7), ("source", 7, len(data))]
    assert [w["code"] for w in body["warnings"]] == ["comment_reaches_model"]
    assert body["pending"] == [3]
    assert answer["ETag"] == f'"sha256-{hashlib.sha256(answer.content).hexdigest()}"'


def test_what_one_has_is_not_sent_again(ask):
    for accept in ("text/plain", "application/json"):
        first = ask(accept)
        for given in (first["ETag"], f'"other", W/{first["ETag"]}', "*"):
            again = ask(accept, etag=given)
            assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
        assert ask(accept, etag='"sha256-0"').status_code == 200


def test_a_comment_keeps_the_etag_of_the_text(ask, space):
    first = ask()
    put(space, AGENTS, "one <!-- said otherwise -->\n")
    spaces.mark_setup(space)
    assert ask(etag=first["ETag"]).status_code == 304
    assert parsed(ask("application/json"))["sources"][0]["revision"] == 2
    put(space, AGENTS, "two\n")
    spaces.mark_setup(space)
    assert ask(etag=first["ETag"]).status_code == 200


def test_a_new_proposal_shows_in_the_json_at_once(ask, space):
    assert parsed(ask("application/json"))["pending"] == []
    Proposal.objects.create(space=space, number=7, path=AGENTS, kind="edit", same_as="x", agent_name="counter")
    assert parsed(ask("application/json"))["pending"] == [7]


def test_dialects_are_chosen_by_name_and_version(ask):
    body = parsed(ask("application/json", dialect="deepagents/0.7.1"))
    assert (body["dialect"], body["verified"]) == ("deepagents/0.6.3", False)  # no template is known yet
    assert body["text"] == f"Base.\n\n{AGENTS}\n\none"
    assert parsed(ask("application/json", dialect="deepagents/9.0"))["verified"] is False
    assert ask(dialect="synaptic").content == b"Base.\n<agent_memory>\none <!-- for people -->\n</agent_memory>\n"


def test_an_unknown_dialect_is_refused_with_the_list(ask):
    answer = ask(dialect="nonsense")
    error = parsed(answer)["error"]
    assert (answer.status_code, error["code"]) == (422, "unknown_dialect")
    assert "deepagents/0.6.3" in error["dialects"]


@pytest.mark.parametrize(
    "query",
    [
        {"at": "yesterday"},
        {"at": "2999-01-01T00:00:00Z"},
        {"thread": "t" * 201},
        {"thread": "\x00"},
        {"query": "a\x00"},
    ],
)
def test_what_does_not_validate_is_422(ask, query):
    answer = ask(**query)
    assert answer.status_code == 422
    assert parsed(answer)["error"]["message"]


def test_back_then(ask, space):
    then = timezone.now()
    put(space, AGENTS, "later")
    spaces.mark_setup(space)
    for spelled in (then.isoformat(), then.isoformat().replace("+00:00", "Z"), then.isoformat().replace("+", " ")):
        assert ask(dialect="plain", at=spelled).content == b"Base.\n\none <!-- for people -->\n"
    assert ask(dialect="plain").content == b"Base.\n\nlater"


def test_post_brings_a_base_prompt(client, secret):
    def post(body, **more):
        return client.post(HERE, body, content_type="application/json", headers={"Authorization": f"Bearer {secret}"})

    assert post({"system_prompt": "Mine.", "dialect": "plain"}).content == b"Mine.\n\none <!-- for people -->\n"
    assert post({"system_prompt": "", "dialect": "plain"}).content == b"one <!-- for people -->\n"
    assert post({"system_prompt": None, "dialect": "plain", "query": None}).content.startswith(b"Base.")
    assert post({"task": "Count."}).content.endswith(b"# Task\nCount.")
    for wrong, code in (
        ("{", "invalid_json"),
        ("[]", "invalid_json"),
        ({"task": 3}, "invalid"),
        ({"task": "\ud800"}, "invalid"),
        ({"thread": "\ud800"}, "invalid"),
        ({"thread": {}}, "invalid"),
    ):
        answer = post(wrong)
        assert (answer.status_code, parsed(answer)["error"]["code"]) == (422, code)
    assert post({"system_prompt": "x" * (1024 * 1024 + 1)}).status_code == 413


def test_other_methods_are_refused(client, secret):
    answer = client.delete(HERE, headers={"Authorization": f"Bearer {secret}"})
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD, POST")


# Who may


def test_without_a_good_token_there_is_nothing(client, ask, space, counter):
    bare = client.get(HERE)
    assert (bare.status_code, parsed(bare)["error"]["code"], bare["WWW-Authenticate"]) == (
        401,
        "unauthenticated",
        "Bearer",
    )
    assert ask(token="mh_nobody_x").status_code == 401
    token, secret = accounts.create_token(space, HUB, agent=counter)
    assert ask(token=secret).status_code == 200
    accounts.revoke_token(token, HUB)
    assert ask(token=secret).status_code == 401
    token, secret = accounts.create_token(space, HUB, agent=counter)
    Token.objects.filter(pk=token.pk).update(expires_at=timezone.now() - timedelta(hours=1))
    assert ask(token=secret).status_code == 401


@pytest.mark.parametrize("asked", ["?at=yesterday", "?dialect=nothing", "?agent=\x00", "?thread=" + "t" * 300])
def test_whose_token_is_not_known_is_told_that_first(client, asked):
    for headers in ({}, {"Authorization": "Bearer mh_nobody_x"}):
        answer = client.get(HERE + asked, headers=headers)
        assert (answer.status_code, parsed(answer)["error"]["code"]) == (401, "unauthenticated")
        bad = client.post(HERE, "no json", content_type="application/json", headers=headers)
        assert (bad.status_code, parsed(bad)["error"]["code"]) == (401, "unauthenticated")
    assert through_wsgi("mh_nobody_x", query=asked[1:]).status_code == 401


def test_a_scope_that_is_missing_and_an_agent_that_is_off(ask, space, counter):
    _, files_only = accounts.create_token(space, HUB, agent=counter, scopes=["files"])
    answer = ask(token=files_only)
    assert (answer.status_code, parsed(answer)["error"]["code"]) == (403, "scope_missing")
    prompts.change_agent(counter, HUB, is_on=False)
    assert ask().status_code == 403


def test_an_agent_speaks_for_itself_alone(ask, space):
    prompts.create_agent(space, HUB, "other")
    assert ask(agent="counter").status_code == 200
    assert ask(agent="other").status_code == 404


def test_a_person_looks_at_any_agent_of_the_space_and_leaves_no_delivery(ask, space, counter):
    rk = accounts.create_person(HUB, "rk")
    Membership.objects.create(space=space, person=rk, role="viewer")
    _, mine = accounts.create_token(space, Actor.of_person(rk, "viewer"), person=rk)
    assert ask(token=mine, agent="counter", dialect="plain").content.startswith(b"Base.")
    answer = ask(token=mine)
    assert (answer.status_code, parsed(answer)["error"]["code"]) == (422, "agent_required")
    other = prompts.create_agent(spaces.create(HUB, "elsewhere"), HUB, "stranger")
    assert ask(token=mine, agent=other.slug).status_code == 404
    assert not Delivery.objects.exists()


def test_use_of_the_token_is_noted(ask, counter):
    ask()
    counter.refresh_from_db()
    assert counter.seen_at is not None
    assert Token.objects.get().used_from == "127.0.0.1"


# The ledger


def test_every_distinct_delivery_is_kept_once_per_thread(ask, space, counter):
    ask(thread="t-1", dialect="plain")
    ask(thread="t-1", dialect="plain")
    ask(thread="t-2", dialect="plain")
    assert [(d.thread_id, d.count, d.revisions) for d in Delivery.objects.order_by("pk")] == [
        ("t-1", 1, {AGENTS: 1}),
        ("t-2", 1, {AGENTS: 1}),
    ]
    assert [bytes(one.text) for one in PromptText.objects.all()] == [b"Base.\n\none <!-- for people -->\n"]
    put(space, AGENTS, "two")
    spaces.mark_setup(space)
    ask(thread="t-1", dialect="plain")
    assert Delivery.objects.filter(thread_id="t-1").count() == 2
    threads = {one.thread_id: one.behind for one in prompts.threads_of(space, counter)}
    assert threads["t-1"] is None
    assert (threads["t-2"].path, threads["t-2"].has, threads["t-2"].now) == (AGENTS, 1, 2)


def test_a_key_given_as_a_thread_is_not_kept(ask, counter):
    key = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0iL3oR6"
    assert ask(thread=f"run {key}").status_code == 200
    kept = Delivery.objects.get(agent_id=counter.pk).thread_id
    assert key not in kept
    assert kept.startswith("run ")


def test_repeats_count_once_a_minute_and_304s_as_well(ask):
    first = ask(thread="t-1")
    Delivery.objects.update(last_at=timezone.now() - timedelta(minutes=2))
    deliveries.recent_deliveries.clear()
    assert ask(thread="t-1", etag=first["ETag"]).status_code == 304
    ask(thread="t-1")
    delivery = Delivery.objects.get()
    assert delivery.count == 2
    assert timezone.now() - delivery.last_at < timedelta(minutes=1)


def test_the_ledger_forgets_after_its_days(ask, space):
    ask(thread="t-1")
    assert deliveries.expire_deliveries(space) == 0
    Delivery.objects.update(last_at=timezone.now() - timedelta(days=91))
    PromptText.objects.update(created_at=timezone.now() - timedelta(days=91))
    assert deliveries.expire_deliveries(space) == 1
    assert not PromptText.objects.exists()


# Without Django's middleware, and the document


def through_wsgi(secret, path=HERE, query="dialect=plain"):
    headers = {"Authorization": f"Bearer {secret}", "Accept": "text/plain", "X-Request-Id": "from-the-proxy"}
    return ServedClient().get(f"{path}?{query}", headers=headers)


def test_wsgi_answers_as_django_does(ask, secret):
    answer = through_wsgi(secret)
    usual = ask(dialect="plain")
    assert (answer.status_code, answer.content) == (200, usual.content)
    assert answer["ETag"] == usual["ETag"]
    assert answer["X-Request-Id"] == "from-the-proxy"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "memoryhub_session" not in str(answer.headers)


def test_wsgi_refuses_in_the_one_shape(secret):
    answer = through_wsgi("mh_wrong")
    assert (answer.status_code, parsed(answer)["error"]["code"]) == (401, "unauthenticated")
    assert answer["WWW-Authenticate"] == "Bearer"
    assert through_wsgi(secret, "/api/v1/nothing").status_code == 404


def test_the_call_stands_in_the_document(client):
    document = client.get("/api/v1/openapi.json").json()
    operation = document["paths"]["/api/v1/prompt"]["get"]
    assert {"200", "304", "401", "422"} <= set(operation["responses"])
    assert set(operation["responses"]["200"]["content"]) == {"application/json", "text/plain"}
    assert {one["name"] for one in operation["parameters"]} >= {"dialect", "query", "task", "thread", "at"}


# What clients report


def test_a_client_reports_its_template(client, ask, secret, counter):
    def report(text, version="0.7.9"):
        body = {"library": "deepagents", "version": version, "text": text}
        return client.post(
            "/api/v1/templates", body, content_type="application/json", headers={"Authorization": f"Bearer {secret}"}
        )

    answer = report("<m>{agent_memory}</m>")
    assert answer.status_code == 202  # no published text: a person decides
    assert ask(dialect="deepagents").content == f"Base.\n\n{AGENTS}\n\none".encode()
    counter.refresh_from_db()
    assert counter.reported == {"library": "deepagents", "version": "0.7.9"}
    assert parsed(report("no slot"))["error"]["code"] == "invalid_template"
    assert report("{agent_memory}", version="0.1").status_code == 422


def test_a_prompt_comes_from_the_cache_until_something_changes(ask, space, counter, statements):
    put(space, TONE, "two")
    ask(dialect="plain")
    ask(dialect="plain")
    with statements() as sent:
        assert ask(dialect="plain").content == b"Base.\n\none <!-- for people -->\n"
    assert len(sent) == 1, "who asks, and whether anything changed"
    lists(space, TONE)
    spaces.mark_setup(space)
    assert ask(dialect="plain").content == b"Base.\n\none <!-- for people -->\n\n\ntwo"
