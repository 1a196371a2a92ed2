"""Connecting an agent in the browser: cards, lines to copy, the lights that turn on by themselves."""

import re

import httpx
from playwright.sync_api import expect

from memoryhub.domain import files, prompts
from memoryhub.models import HUB
from tests.browser.conftest import PHONE


def create(space, window, framework, name="scout"):
    window.goto(f"{space.get_absolute_url()}agents/new/")
    window.get_by_role("radio", name=framework).check(force=True)
    window.get_by_label("Name").fill(name)
    window.get_by_role("button", name="Create agent").click()
    return re.search(r"mh_[\w-]+", window.locator("#secret").inner_text()).group()


def called(live_server, secret, method, path, **json):
    return httpx.request(
        method, f"{live_server.url}/api/v1/{path}", headers={"Authorization": f"Bearer {secret}"}, json=json or None
    )


def test_from_the_card_to_the_first_proposal(space, sign_in_as, live_server):
    files.add_mount(space, HUB, "/memories/", store="database", policy="review")
    page = sign_in_as("owner")
    secret = create(space, page, "Something else")
    expect(page.get_by_text("Waiting for the first call of scout")).to_be_visible()
    expect(page.locator("#lines-other-token")).to_contain_text(secret)
    expect(page.locator("#lines-deepagents-install")).to_be_hidden()
    assert called(live_server, secret, "GET", "prompt").status_code == 200
    expect(page.get_by_text("It got this prompt")).to_be_visible()
    write = {"content": "- The bakery closes at 18:00.\n", "reason": "Asked to remember it"}
    assert called(live_server, secret, "PUT", "files/memories/bakery.md", **write).status_code == 202
    page.get_by_role("link", name="Proposal 1").click()
    expect(page.get_by_role("heading", name="Asked to remember it")).to_be_visible()


def test_another_card_shows_its_lines_with_the_same_token(space, sign_in_as):
    page = sign_in_as("owner")
    secret = create(space, page, "Claude Code")
    expect(page.locator("#lines-claude-code-claude-code")).to_contain_text(secret)
    page.get_by_role("radio", name="Claude Code").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#lines-codex-codex")).to_contain_text(secret)
    expect(page.locator("#lines-claude-code-claude-code")).to_be_hidden()


def test_a_block_is_copied_whole(space, new_page, sign_in_as):
    page = sign_in_as("owner", new_page(permissions=["clipboard-read", "clipboard-write"]))
    secret = create(space, page, "Cursor")
    page.get_by_role("button", name="Copy Settings").locator("visible=true").click()
    expect(page.get_by_role("button", name="Copied Settings")).to_be_visible()
    assert f'"MEMORYHUB_TOKEN": "{secret}"' in page.evaluate("navigator.clipboard.readText()")


def test_without_scripts_the_lines_and_a_second_look_work(space, sign_in_as, new_page, live_server):
    page = sign_in_as("owner", new_page(java_script_enabled=False))
    secret = create(space, page, "MCP client")
    expect(page.locator("#lines-mcp-mcp")).to_contain_text(secret)
    page.get_by_role("radio", name="LangGraph").check(force=True)
    expect(page.locator("#lines-langgraph-token")).to_contain_text(secret)
    called(live_server, secret, "GET", "me")
    page.goto(f"{space.get_absolute_url()}agents/scout/connect/")
    expect(page.get_by_text("has not asked for its prompt yet")).to_be_visible()
    page.get_by_role("link", name="Check again").click()
    page.get_by_role("button", name="Create token").click()
    expect(page.locator("#secret")).to_contain_text("mh_scout_")


def test_a_name_in_another_script_on_a_phone(space, sign_in_as, new_page):
    page = sign_in_as("owner", new_page(viewport=PHONE))
    secret = create(space, page, "Codex CLI", name="研究员")
    assert secret.startswith("mh_agent-1_")
    expect(page.get_by_role("heading", name="Connect 研究员")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_list_of_agents_shows_their_badges(space, sign_in_as):
    for number in range(19):
        prompts.create_agent(space, HUB, f"agent {number}")
    prompts.create_agent(space, HUB, "A name that somebody typed in because nobody told them to stop, and went on")
    page = sign_in_as("owner", at=f"{space.get_absolute_url()}agents/")
    badges = page.locator("#agents .av")
    expect(badges).to_have_count(20)
    assert len({one.get_attribute("class") for one in badges.all()}) > 4
    columns = page.locator("#agents .sheet-wrap")
    assert columns.evaluate("wrap => wrap.scrollWidth <= wrap.clientWidth"), "no column is pushed out by a long name"
