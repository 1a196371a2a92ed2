"""Agents' clients report their library's template; the next preview stands in it."""

import pytest

from memoryhub.domain import accounts, prompts, spaces
from memoryhub.models import HUB, Actor, DialectTemplate

pytestmark = pytest.mark.django_db
TEXT = "<mine>\n{agent_memory}\n</mine>"


@pytest.fixture
def space():
    return spaces.create(HUB, "books")


@pytest.fixture
def forge(space):
    return prompts.create_agent(space, HUB, "forge", dialect="deepagents")


@pytest.fixture
def call(client, space, forge):
    secret = accounts.create_token(space, HUB, agent=forge)[1]

    def post(body, secret=secret):
        return client.post(
            "/api/v1/templates", body, content_type="application/json", headers={"Authorization": f"Bearer {secret}"}
        )

    return post


def test_a_report_is_kept_once_and_used(call, client, forge):
    for _ in range(2):
        answer = call({"library": "deepagents", "version": "0.7.32", "text": TEXT})
        assert answer.status_code == 200
    assert answer.json()["form"] == "deepagents/0.6.3"
    assert answer.json()["known"] is False
    assert DialectTemplate.objects.count() == 1
    forge.refresh_from_db()
    assert forge.reported == {"library": "deepagents", "version": "0.7.32"}
    secret = accounts.create_token(forge.space, HUB, agent=forge)[1]
    text = client.get("/api/v1/prompt", headers={"Authorization": f"Bearer {secret}"}).content.decode()
    assert text == "<mine>\n(No memory loaded)\n</mine>"


def test_only_agents_report(call, space):
    rk = accounts.create_person(HUB, "rk")
    spaces.add_member(space, HUB, rk, "owner")
    secret = accounts.create_token(space, Actor.of_person(rk, "owner"), person=rk)[1]
    answer = call({"library": "deepagents", "version": "0.7.32", "text": TEXT}, secret)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "agents_only")


@pytest.mark.parametrize(
    "body",
    [
        {"library": "deepagents", "version": "0.7.32", "text": "no slot"},
        {"library": "deepagents", "version": "0.7.32", "text": "{agent_memory} {other}"},
        {"library": "mem0", "version": "1", "text": TEXT},
        {"library": "deepagents", "version": "0.1.0", "text": TEXT},
    ],
)
def test_what_is_no_template_is_refused(call, body):
    assert call(body).status_code == 422
