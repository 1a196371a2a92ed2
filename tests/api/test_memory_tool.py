"""`POST /api/v1/memory-tool`: for people without the SDK."""

import pytest

from memoryhub.domain import agents, mounts, spaces, tokens
from memoryhub.domain.access import HUB

pytestmark = pytest.mark.django_db
VIEW = {"command": "view", "path": "/memories/a.md"}
CREATE = {"command": "create", "path": "/memories/a.md", "file_text": "text\n"}


@pytest.fixture
def space():
    made = spaces.create(HUB, "books")
    mounts.add(made, HUB, "/memories/", store="database", policy="trusted")
    return made


@pytest.fixture
def call(client, space):
    agent = agents.create(space, HUB, "forge")

    def post(body, scopes=None, accept="*/*"):
        secret = tokens.create(space, HUB, agent=agent, scopes=scopes)[1]
        headers = {"Authorization": f"Bearer {secret}", "Accept": accept}
        return client.post("/api/v1/memory-tool", body, content_type="application/json", headers=headers)

    return post


def test_the_answer_is_the_result_text(call):
    made = call(CREATE)
    assert made.status_code == 200
    assert made["Content-Type"] == "text/plain; charset=utf-8"
    assert made.content.decode() == "File created successfully at: /memories/a.md"
    assert call(VIEW).content.decode().endswith("     1\ttext\n     2\t")


def test_json_tells_errors_and_proposals_apart(call, space):
    missing = call(VIEW, accept="application/json").json()
    assert missing == {
        "content": "The path /memories/a.md does not exist. Please provide a valid path.",
        "is_error": True,
        "proposal": None,
    }
    mounts.change(space, HUB, mounts.of_space(space)[0], policy="review")
    waits = call(CREATE, accept="application/json").json()
    assert (waits["is_error"], waits["proposal"]) == (False, 1)
    assert "proposal 1" in waits["content"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"command": "explode", "path": "/memories"}, "unknown_command"),
        ({"path": "/memories"}, "invalid"),
        ({"command": "view", "path": 7}, "invalid"),
    ],
)
def test_what_is_no_command_is_refused(call, body, code):
    answer = call(body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, code)


def test_a_token_without_files_may_not(call):
    assert call(VIEW, scopes=["prompt"]).status_code == 403


@pytest.mark.parametrize("missing", [{"command": "view"}, {"command": "create", "path": "/memories/a.md"}])
def test_a_missing_argument_is_told_to_the_model(call, missing):
    assert "needs `" in call(missing).content.decode()
