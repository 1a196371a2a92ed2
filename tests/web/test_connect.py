"""Connecting an agent: the lines with the token in them, and the light that turns green at the first call."""

import re
from html import unescape

import pytest

from memoryhub.domain import accounts, prompts
from memoryhub.models import HUB

PAGE = "/s/books/agents/forge/connect/"


@pytest.fixture
def forge(house):
    return prompts.create_agent(house.space, HUB, "forge", system_prompt="You write <code>.")


def html(answer):
    assert answer.status_code == 200
    return answer.content.decode()


def test_every_framework_has_its_lines_with_the_address(as_role, forge):
    page = html(as_role("viewer").get(PAGE))
    for label in ("Python", "deepagents", "LangGraph", "Anthropic", "MCP", "AGENTS.md on disk", "curl", "TypeScript"):
        assert f">{label}</label>" in page
    assert page.count("http://testserver") >= 8
    assert "mh_…" in page
    assert "Waiting for the first call" in page


def test_a_new_token_stands_in_the_lines_once(as_role, forge):
    owner = as_role("owner")
    page = html(owner.post("/s/books/tokens/new/", {"agent": "forge"}))
    secret = re.search(r"mh_forge_\w+", page).group()
    assert page.count(secret) >= 9
    assert secret not in html(owner.get(PAGE))


def test_the_light_waits_for_a_call_with_the_new_token(as_role, forge, client):
    owner = as_role("owner")
    old = accounts.create_token(forge.space, HUB, agent=forge)[1]
    client.get("/api/v1/prompt", headers={"Authorization": f"Bearer {old}"})
    token, secret = accounts.create_token(forge.space, HUB, agent=forge)
    light = f"{PAGE}light/?token={token.pk}"
    waiting = html(owner.get(light))
    assert "Waiting for" in waiting
    assert 'data-renew="2"' in waiting
    client.get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"})
    assert "has not asked for its prompt yet" in html(owner.get(light))
    client.get("/api/v1/prompt?thread=t-1", headers={"Authorization": f"Bearer {secret}"})
    green = html(owner.get(light))
    assert "on thread t-1" in green
    assert "You write &lt;code&gt;." in green
    assert "data-renew" not in green


def test_without_a_token_the_light_tells_of_any_call(as_role, forge, client):
    secret = accounts.create_token(forge.space, HUB, agent=forge)[1]
    client.get("/api/v1/prompt", headers={"Authorization": f"Bearer {secret}"})
    assert "It got this prompt" in html(as_role("viewer").get(PAGE))


def test_only_owners_are_offered_a_token(as_role, forge):
    assert "Make a token" in html(as_role("owner").get(PAGE))
    assert "Ask an owner" in html(as_role("reviewer").get(PAGE))


@pytest.mark.parametrize("path", [PAGE, f"{PAGE}light/"])
def test_strangers_and_others_see_nothing(client, as_role, forge, path):
    assert client.get(path)["Location"].startswith("/login/?next=")
    assert as_role("viewer").get(path.replace("forge", "nobody")).status_code == 404
    assert as_role("viewer").post(path).status_code == 405


def test_the_token_of_another_agent_is_not_told_about(as_role, house, forge):
    other = prompts.create_agent(house.space, HUB, "other")
    token, _ = accounts.create_token(house.space, HUB, agent=other)
    assert as_role("owner").get(f"{PAGE}light/?token={token.pk}").status_code == 404
    assert as_role("owner").get(f"{PAGE}light/?token=x").status_code == 200


def test_the_lines_in_python_are_python(as_role, forge):
    """Everything but the installation line compiles; the names they import are there."""
    page = html(as_role("owner").post("/s/books/tokens/new/", {"agent": "forge"}))
    for key in ("python", "deepagents", "langgraph", "anthropic"):
        lines = unescape(re.search(rf'id="lines-{key}">(.*?)</pre>', page, re.DOTALL)[1])
        install, _, code = lines.partition("\n")
        assert install.startswith("pip install ")
        compile(code, key, "exec")
        exec("\n".join(line for line in code.splitlines() if line.startswith(("from ", "import "))), {})
