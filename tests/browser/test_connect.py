"""Connecting an agent in the browser: the token in every framework's lines, the light that turns green by itself."""

import re

import httpx
from playwright.sync_api import expect

from memoryhub.domain import prompts
from memoryhub.models import HUB


def connect(space, window):
    prompts.create_agent(space, HUB, "scout")
    window.goto(f"{space.get_absolute_url()}agents/scout/connect/")
    window.get_by_role("button", name="Make a token").click()
    return re.search(r"mh_scout_\w+", window.locator("#secret").inner_text()).group()


def test_the_light_turns_green_by_itself(space, sign_in_as, live_server):
    page = sign_in_as("owner")
    secret = connect(space, page)
    expect(page.get_by_text("Waiting for the first call of scout")).to_be_visible()
    page.get_by_text("curl", exact=True).click()
    expect(page.locator("#lines-curl")).to_be_visible()
    expect(page.locator("#lines-curl")).to_contain_text(secret)
    expect(page.locator("#lines-python")).to_be_hidden()
    answer = httpx.get(f"{live_server.url}/api/v1/prompt", headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 200
    expect(page.get_by_text("It got this prompt")).to_be_visible()


def test_without_scripts_the_lines_and_a_second_look_work(space, sign_in_as, new_page, live_server):
    page = sign_in_as("owner", new_page(java_script_enabled=False))
    secret = connect(space, page)
    page.get_by_text("MCP", exact=True).click()
    expect(page.locator("#lines-mcp")).to_contain_text(secret)
    httpx.get(f"{live_server.url}/api/v1/me", headers={"Authorization": f"Bearer {secret}"})
    page.goto(f"{space.get_absolute_url()}agents/scout/connect/")
    expect(page.get_by_text("has not asked for its prompt yet")).to_be_visible()


def test_frameworks_are_chosen_by_keyboard(space, sign_in_as):
    page = sign_in_as("owner")
    prompts.create_agent(space, HUB, "scout")
    page.goto(f"{space.get_absolute_url()}agents/scout/connect/")
    page.locator("#for-python").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#lines-deepagents")).to_be_visible()
