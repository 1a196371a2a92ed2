"""Connecting an agent: the lines with the token in them, and the light that turns green at the first call."""

import re
from html import unescape

import pytest
from django.core.management import call_command

from memoryhub.domain import accounts, files, prompts
from memoryhub.models import HUB
from memoryhub.web.frameworks import FRAMEWORKS

PAGE = "/s/books/agents/forge/connect/"


@pytest.fixture
def forge(house):
    return prompts.create_agent(house.space, HUB, "forge", system_prompt="You write <code>.")


def html(answer):
    assert answer.status_code == 200
    return answer.content.decode()


def blocks(page):
    """The lines to copy, by the id of their block."""
    found = re.findall(r'<pre[^>]*\sid="lines-([\w-]+)"[^>]*>(.*?)</pre>', page, re.DOTALL)
    return {key: unescape(text) for key, text in found}


def test_every_framework_has_its_lines_with_the_address(as_role, forge):
    page = html(as_role("viewer").get(PAGE))
    for label in (
        "deepagents",
        "LangGraph",
        "Anthropic SDK",
        "Claude Code",
        "Codex CLI",
        "Cursor",
        "MCP client",
        "Something else",
    ):
        assert f'<b class="strong">{label}</b>' in page
    lines = blocks(page)
    for one in FRAMEWORKS:
        assert lines[f"{one.key}-install"].startswith('pip install "')
        assert "http://testserver/client/memoryhub_client-" in lines[f"{one.key}-install"]
        assert (f"[{one.extra}] @ " in lines[f"{one.key}-install"]) == bool(one.extra)
        said = "\n".join(text for key, text in lines.items() if key.startswith(f"{one.key}-"))
        assert "http://testserver\n" in said or "http://testserver " in said or '"http://testserver"' in said
        assert "mh_…" in said
    assert "Waiting for the first call" in page
    forge.dialect = "deepagents"
    forge.save()
    assert "<dd>deepagents/0.6.3 and newer</dd>" in html(as_role("viewer").get(PAGE)), "the lines are for 0.7"


def test_a_new_token_stands_in_the_lines_once(as_role, forge):
    owner = as_role("owner")
    page = html(owner.post("/s/books/tokens/new/", {"agent": "forge", "framework": "cursor"}))
    secret = re.search(r"mh_forge_\w+", page).group()
    lines = blocks(page)
    assert all(
        secret in lines[key] for key in ("deepagents-token", "claude-code-claude-code", "cursor-mcp", "other-token")
    )
    assert "mh_…" not in "".join(lines.values())
    assert 'value="cursor" checked' in " ".join(page.split())
    assert secret not in html(owner.get(PAGE))


def test_a_rotated_token_stands_there_too(as_role, forge):
    token, old = accounts.create_token(forge.space, HUB, agent=forge)
    page = html(as_role("owner").post(f"/s/books/tokens/{token.pk}/rotate/"))
    assert old not in page
    assert f"The old one, {token}, is revoked." in page


@pytest.mark.parametrize(
    ("mounts", "prefix"),
    [
        ((), ""),
        (("/memories/",), "/memories/"),
        (("/记忆/",), "/记忆/"),
        (('/a"b/', "/notes/"), "/notes/"),
        (("/held/", "/memories/"), "/memories/"),
        (("~/.x/",), ""),
    ],
)
def test_the_examples_write_where_a_mount_is(as_role, forge, mounts, prefix):
    for one in mounts:
        files.add_mount(forge.space, HUB, one, store="database", policy="review")
    lines = blocks(html(as_role("owner").get(PAGE)))
    assert ("hub.write(" in lines["other-python"]) == bool(prefix)
    assert f'hub.write("{prefix}bakery.md"' in lines["other-python"] or not prefix
    routed = f'{{"{prefix or "/memories/"}": MemoryHubBackend(hub'
    assert routed in lines["deepagents-deepagents"]
    assert f"/api/v1/files{prefix}bakery.md" in lines["other-curl"] or not prefix
    assert (f"--prefix {prefix} " in lines["other-sync"]) == (prefix not in ("", "/memories/"))
    assert ("mount=" in lines["deepagents-deepagents"]) == (prefix not in ("", "/memories/"))
    for key in ("other-python", "deepagents-deepagents"):
        compile(lines[key], key, "exec")


def test_the_store_of_langgraph_has_a_place(as_role, forge, tmp_path):
    """A project's directory leaves out JSON; the line that is printed then gives the store a place, once."""
    (tmp_path / ".git").mkdir()  # a repository
    (tmp_path / "AGENTS.md").write_text("- One.\n")
    owner = as_role("owner")
    assert blocks(html(owner.get(PAGE)))["langgraph-store"].endswith("mount add /memories/ --database --space books")
    files.add_mount(forge.space, HUB, "/memories/", store="filesystem", directory=str(tmp_path), policy="review")
    lines = blocks(html(owner.get(PAGE)))
    assert "MemoryHubStore(hub))" in lines["langgraph-langgraph"]
    assert 'hub.write("/memories/bakery.md"' in lines["langgraph-langgraph"]
    program, *line = lines["langgraph-store"].split()
    assert program == "memoryhub" and line[:3] == ["mount", "add", "/memories/store/"]
    call_command(*line)
    assert "langgraph-store" not in blocks(html(owner.get(PAGE)))


def test_the_store_of_langgraph_goes_below_another_mount(as_role, forge):
    files.add_mount(forge.space, HUB, "/notes/", store="database", policy="review")
    code = blocks(html(as_role("owner").get(PAGE)))["langgraph-langgraph"]
    assert 'MemoryHubStore(hub, root="/notes/store/")' in code and 'hub.write("/notes/bakery.md"' in code


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
    assert 'data-renew="5"' in green  # the first proposal is still to come
    files.add_mount(forge.space, HUB, "/memories/", store="database", policy="review")
    wanted = {"content": "- One.\n", "reason": "Asked to remember it"}
    answer = client.put(
        "/api/v1/files/memories/a.md",
        wanted,
        content_type="application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )
    assert answer.status_code == 202
    done = html(owner.get(light))
    assert "Asked to remember it" in done and "/s/books/proposals/1/" in done
    assert "data-renew" not in done


def test_without_a_token_the_light_tells_of_any_call(as_role, forge, client):
    secret = accounts.create_token(forge.space, HUB, agent=forge)[1]
    client.get("/api/v1/prompt", headers={"Authorization": f"Bearer {secret}"})
    assert "It got this prompt" in html(as_role("viewer").get(PAGE))


def test_only_owners_are_offered_a_token(as_role, forge):
    assert "Create token" in html(as_role("owner").get(PAGE))
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
