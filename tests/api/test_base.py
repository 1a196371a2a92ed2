"""What all calls share: who calls, one shape of refusal, limits, the document."""

import json
from datetime import timedelta

import pytest
from django.db import IntegrityError
from django.test import Client
from django.utils import timezone

from memoryhub.api.base import ERROR_STATUSES
from memoryhub.api.v1 import api
from memoryhub.domain import accounts, files, prompts, proposals, spaces
from memoryhub.errors import Conflict
from memoryhub.models import HUB, Actor, Agent, Membership, Token
from memoryhub.refusals import refusal_of
from tests.outputs import admit

pytestmark = pytest.mark.django_db


@pytest.fixture
def space():
    return spaces.create(HUB, "books")


@pytest.fixture
def forge(space):
    return prompts.create_agent(space, HUB, "forge")


def call(client, secret, path="/api/v1/me", **more):
    return client.get(path, headers={"Authorization": f"Bearer {secret}", **more})


def test_a_token_says_what_it_stands_for(client, space, forge):
    token, secret = accounts.create_token(space, HUB, agent=forge, scopes=["prompt"])
    answer = call(client, secret)
    assert answer.status_code == 200
    assert answer.json() == {
        "space": "books", "agent": "forge", "person": None, "role": None, "scopes": ["prompt"], "token": str(token),
        "expires_at": None,
    }  # fmt: skip
    assert secret.startswith("mh_forge_")
    assert secret not in str(token)


def test_a_person_has_the_role_of_the_space(client, space):
    rk = accounts.create_person(HUB, "rk")
    spaces.add_member(space, HUB, rk, "reviewer")
    _, secret = accounts.create_token(space, Actor.of_person(rk, "reviewer"), person=rk)
    assert call(client, secret).json()["role"] == "reviewer"
    Membership.objects.all().delete()
    assert call(client, secret).status_code == 401


def test_only_the_digest_is_kept_and_use_is_noted_once_a_minute(client, space, forge):
    token, secret = accounts.create_token(space, HUB, agent=forge)
    call(client, secret)
    token.refresh_from_db()
    assert secret not in json.dumps({k: str(v) for k, v in vars(token).items()})
    first, address = token.used_at, token.used_from
    assert first is not None and address == "127.0.0.1"
    call(client, secret)
    token.refresh_from_db()
    assert token.used_at == first


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer mh_x_1", "Basic abc", "Bearer mh_forge_\x00"])
def test_without_a_valid_token_the_answer_is_401(client, header):
    answer = client.get("/api/v1/me", headers={"Authorization": header} if header is not None else {})
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "unauthenticated"
    assert answer["WWW-Authenticate"] == "Bearer"


def test_revoked_and_expired_tokens_say_so_by_their_prefix(client, space, forge):
    token, secret = accounts.create_token(space, HUB, agent=forge)
    accounts.revoke_token(token, HUB)
    refused = call(client, secret)
    assert refused.status_code == 401
    assert "revoked" in refused.json()["error"]["message"]
    assert secret not in refused.content.decode()
    token, secret = accounts.create_token(space, HUB, agent=forge, expires_at=timezone.now() + timedelta(days=1))
    Token.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert call(client, secret).status_code == 401


def test_rotating_ends_the_old_token(client, space, forge):
    token, secret = accounts.create_token(space, HUB, agent=forge, scopes=["prompt"])
    new, new_secret = accounts.rotate_token(token, HUB)
    assert call(client, secret).status_code == 401
    assert call(client, new_secret).json()["scopes"] == ["prompt"]
    assert new.label == token.label


def test_an_agent_switched_off_is_refused(client, space, forge):
    _, secret = accounts.create_token(space, HUB, agent=forge)
    prompts.change_agent(forge, HUB, is_on=False)
    assert (call(client, secret).status_code, call(client, secret).json()["error"]["code"]) == (403, "agent_off")


def test_every_answer_carries_the_request_id(client, space, forge):
    assert client.get("/api/v1/me", headers={"X-Request-Id": "abcdef-123456"})["X-Request-Id"] == "abcdef-123456"
    made = client.get("/api/v1/me", headers={"X-Request-Id": "<script>"})["X-Request-Id"]
    assert made.isalnum() and len(made) == 16


@pytest.mark.parametrize("path", ["/api/", "/api/v1/nothing", "/api/v2/me", "/api/v1/me/"])
def test_an_unknown_call_has_the_one_error_shape(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


def test_the_document_and_its_page_are_served_from_here(client):
    document = client.get("/api/v1/openapi.json").json()
    assert document["paths"]["/api/v1/me"]["get"]["responses"].keys() >= {"200", "401", "403", "422"}
    page = client.get("/api/v1/docs")
    assert page.status_code == 200
    assert (
        "http://" not in page.content.decode().replace("http://www.w3.org", "")
        and "https://" not in page.content.decode()
    )


def test_cursors_that_are_not_ours_are_refused():
    from memoryhub.api.paging import decode_cursor, encode_cursor
    from memoryhub.errors import Invalid

    assert decode_cursor(encode_cursor(42)) == 42
    with pytest.raises(Invalid):
        decode_cursor("%%%")


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_health_is_only_read(db, path, method):
    answer = getattr(Client(enforce_csrf_checks=True), method)(path)
    assert (answer.status_code, answer["Allow"], answer.content) == (405, "GET, HEAD", b"")


@pytest.mark.parametrize(("path", "status"), [("/healthz", 200), ("/readyz", 200), ("/metrics", 200)])
def test_health(client, path, status):
    assert client.get(path).status_code == status


def test_metrics_are_for_this_machine_or_an_owner(client, space, forge):
    assert client.get("/metrics", REMOTE_ADDR="10.1.1.1").status_code == 401
    for proxied in ("X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "Via", "X-Real-IP", "CF-Connecting-IP"):
        assert client.get("/metrics", headers={proxied: "1.2.3.4"}).status_code == 401, proxied
    unknown = {"Authorization": "Bearer mh_nobody"}
    assert client.get("/metrics", REMOTE_ADDR="10.1.1.1", headers=unknown).json()["error"]["code"] == "unauthenticated"
    _, secret = accounts.create_token(space, HUB, agent=forge)
    assert (
        client.get("/metrics", REMOTE_ADDR="10.1.1.1", headers={"Authorization": f"Bearer {secret}"}).status_code == 403
    )
    rk = accounts.create_person(HUB, "rk")
    spaces.add_member(space, HUB, rk, "owner")
    _, secret = accounts.create_token(space, HUB, person=rk)
    answer = client.get("/metrics", REMOTE_ADDR="10.1.1.1", headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 200
    assert b"memoryhub_jobs" in answer.content


def test_an_owner_counts_their_own_space_alone(client, space, forge):
    rk = accounts.create_person(HUB, "rk")
    spaces.add_member(space, HUB, rk, "owner")
    _, secret = accounts.create_token(space, HUB, person=rk)
    for one in (space, spaces.create(HUB, "elsewhere")):
        admit(one, "The train leaves at nine.")
    answer = client.get("/metrics", REMOTE_ADDR="10.1.1.1", headers={"Authorization": f"Bearer {secret}"})
    assert f'memoryhub_working_entries{{space="{space.slug}"}} 1.0' in answer.content.decode()
    assert b"elsewhere" not in answer.content
    assert b"elsewhere" in client.get("/metrics").content


def post(client, secret, path, body):
    headers = {"Authorization": f"Bearer {secret}"}
    return client.post(f"/api/v1{path}", json.dumps(body), content_type="application/json", headers=headers)


def test_a_fault_is_named_as_the_caller_wrote_it(client, space, forge):
    _, secret = accounts.create_token(space, HUB, agent=forge)
    faults = post(client, secret, "/edits", {}).json()["error"]["fields"]
    assert [one["field"] for one in faults] == ["path", "old_string", "new_string"]
    assert post(client, secret, "/memory-tool", {}).json()["error"]["message"] == "command: Field required."
    for query, field in (
        ("proposals?state=bogus", "state"),
        ("retrieve?threshold=abc", "threshold"),
        ("retrieve?hot=x", "hot"),
    ):
        refused = call(client, secret, f"/api/v1/{query}")
        assert refused.status_code == 422
        assert refused.json()["error"]["message"].startswith(f"{field}: Input should be"), refused.json()


def test_an_optional_field_sent_as_null_counts_as_left_out(client, space, forge):
    _, secret = accounts.create_token(space, HUB, agent=forge)
    files.add_mount(space, HUB, "/memories/", policy="trusted")
    nulls = {"encoding": None, "reason": None, "thread_id": None, "tool_call_id": None}
    headers = {"Authorization": f"Bearer {secret}"}
    made = client.put(
        "/api/v1/files/memories/a.md",
        json.dumps({"content": "a", **nulls}),
        content_type="application/json",
        headers=headers,
    )
    assert made.status_code == 201, made.json()
    assert post(client, secret, "/edits", {"path": None, "old_string": "a", "new_string": "b"}).status_code == 422


def test_an_ended_token_cannot_be_rotated_into_a_new_life(space, forge):
    token, _ = accounts.create_token(space, HUB, agent=forge)
    accounts.revoke_token(token, HUB)
    with pytest.raises(Conflict, match="was revoked; make a new one"):
        accounts.rotate_token(token, HUB)
    assert Token.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_an_agent_that_is_deleted_during_its_call_is_no_fault_of_the_hub():
    space = spaces.create(HUB, "books")
    files.add_mount(space, HUB, "/memories/")
    agent = prompts.create_agent(space, HUB, "forge")
    Agent.objects.filter(pk=agent.pk).delete()
    with pytest.raises(IntegrityError) as caught:
        proposals.submit(space, Actor.of_agent(agent), files.ChangeRequest("write", "/memories/a.md", content=b"a"))
    refusal = refusal_of(caught.value)
    assert refusal and (refusal.status, refusal.code) == (503, "deleted_meanwhile")


def test_a_call_makes_one_model_of_its_errors_and_its_document_names_all():
    """A hub makes the models at each start; the prompt's two calls, which do not answer all of them, make seven each."""
    paths = [path for _, router in api._routers for path in router.path_operations.values()]
    made = [status for path in paths for one in path.operations for status in one.response_models]
    document = api.get_openapi_schema()
    calls = [call for path in document["paths"].values() for call in path.values()]
    assert len([status for status in made if status in ERROR_STATUSES]) == len(calls) + 2 * 6
    assert [len(set(call["responses"]) & set(ERROR_STATUSES)) for call in calls].count(len(ERROR_STATUSES)) == len(
        calls
    ) - 2
    assert all({400, 431} <= set(call["responses"]) for call in calls)
    assert document["paths"]["/api/v1/me"]["get"]["responses"][429] == {
        "description": "Too Many Requests",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
