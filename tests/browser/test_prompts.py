"""The preview, used: pick a dialect, copy the exact bytes, ask a line where it came from, compare, change the budget."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from memoryhub.domain import accounts, files, prompts, proposals
from memoryhub.domain.jobs import queue
from memoryhub.models import HUB
from tests.browser.conftest import PHONE

AGENTS = "/memories/AGENTS.md"
TEXT = "\ufeff# Team\r\n- one <!-- for people -->\n- zero\u200bwidth  \n"
HERE = "/s/ledger/prompt/counter/"


@pytest.fixture
def counter(space):
    files.add_mount(space, HUB, "/memories/")
    prompts.add_source(space, HUB, AGENTS)
    files.write(space, HUB, AGENTS, TEXT.encode(), reason="first")
    prompts.create_agent(space, HUB, "forge")
    return prompts.create_agent(space, HUB, "counter", system_prompt="Base.")


def test_a_dialect_is_picked_and_its_bytes_are_copied(space, counter, sign_in_as, page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    sign_in_as("viewer")
    page.goto(HERE)
    page.get_by_label("Dialect").select_option("plain")
    expect(page).to_have_url(re.compile("dialect=plain"))
    expect(page.locator(".inv")).to_have_text(["U+FEFF", "CR", "U+200B"])
    expect(page.locator(".blank")).to_have_count(1)
    page.get_by_role("link", name="Copy").click()
    expect(page.get_by_role("link", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == prompts.assemble(space, counter, dialect="plain").text


def test_a_click_on_a_number_says_where_the_line_came_from(counter, sign_in_as, page):
    sign_in_as("viewer")
    page.goto(HERE + "?dialect=plain")
    page.locator('span[data-n="4"]').click(position={"x": 20, "y": 8})
    expect(page.get_by_text("Written by hub in")).to_be_visible()
    expect(page).to_have_url(re.compile("line=4"))


def long(space):
    files.write(space, HUB, AGENTS, "".join(f"- line {n} of a long memory\n" for n in range(3000)).encode())


def test_a_line_of_a_long_prompt_says_where_it_came_from_and_keeps_its_place(space, counter, sign_in_as, page):
    long(space)
    sign_in_as("viewer")
    page.goto(HERE + "?dialect=plain")
    page.locator('span[data-n="2000"]').scroll_into_view_if_needed()
    at = page.evaluate("scrollY")
    page.locator('span[data-n="2000"]').click(position={"x": 20, "y": 8})
    expect(page.locator('span[data-n="2000"] + .origin')).to_contain_text(
        "Line 2000 is line 1998 of /memories/AGENTS.md"
    )
    assert at > 10_000 and page.evaluate("scrollY") == at
    page.reload()
    expect(page.locator('span[data-n="2000"] + .origin')).to_be_in_viewport()
    page.get_by_role("link", name="Close", exact=True).click()
    expect(page.locator(".origin")).to_have_count(0)
    assert "line=" not in page.url


def test_by_keyboard_a_line_is_asked_for_and_the_parts_are_walked(space, counter, sign_in_as, page):
    long(space)
    sign_in_as("viewer")
    page.goto(HERE)
    page.get_by_label("Origin of line").focus()
    page.keyboard.type("1500")
    page.keyboard.press("Enter")
    expect(page.locator('span[data-n="1500"] + .origin')).to_be_focused()
    expect(page.locator('span[data-n="1500"] + .origin')).to_be_in_viewport()
    parts = page.get_by_role("navigation", name="Parts of this prompt").get_by_role("link")
    expect(parts).to_contain_text(["Base prompt", "Guidelines", AGENTS])
    tops = []
    for key in ("k", "k", "j", "j"):
        page.keyboard.press(key)
        tops.append((page.locator(".stretch[aria-current] h3").inner_text(), page.evaluate("scrollY")))
    assert [name for name, _ in tops] == [AGENTS, "Guidelines", AGENTS, AGENTS]
    assert tops[0][1] > tops[1][1] and tops[2] == tops[3] == tops[0]
    parts.nth(1).click()
    expect(page.get_by_text("# What the team knows")).to_be_in_viewport()


def test_another_agent_is_picked(counter, sign_in_as, page):
    sign_in_as("viewer")
    page.goto(HERE + "?dialect=plain")
    page.get_by_label("Agent", exact=True).select_option(label="forge")
    expect(page.get_by_role("heading", level=1)).to_have_text("What forge gets")
    expect(page.get_by_label("Dialect")).to_have_value("plain")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("javascript", [True, False])
def test_an_owner_sets_a_budget_and_sees_what_gave_way(counter, sign_in_as, new_page, javascript):
    page = sign_in_as("owner", new_page(java_script_enabled=javascript), at=HERE)
    page.get_by_label("More actions").click()
    page.get_by_role("link", name="Settings", exact=True).last.click()
    page.get_by_role("spinbutton").fill("5")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text(f"{AGENTS} (")).to_contain_text("is left out whole to keep the budget")
    expect(page.get_by_text("of 5 tokens")).to_be_visible()


def test_on_a_phone_every_field_of_the_settings_is_whole(counter, sign_in_as, new_page):
    page = sign_in_as("owner", new_page(viewport=PHONE), at=HERE + "settings/")
    for field in page.locator("main :is(select, textarea, input:not([type=hidden]))").all():
        box = field.bounding_box()
        assert box["x"] + box["width"] <= 390 - 16, field.evaluate("e => e.outerHTML")


def test_without_javascript_everything_is_a_form_or_a_link(counter, sign_in_as, new_page):
    page = sign_in_as("viewer", new_page(java_script_enabled=False), at=HERE)
    page.get_by_label("Dialect").select_option("synaptic/0.2")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("<agent_memory>", exact=True)).to_be_visible()
    page.get_by_label("Origin of line").fill("4")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.locator('span[data-n="4"] + .origin')).to_contain_text("Written by hub in revision 1")
    page.get_by_label("Agent", exact=True).select_option(label="forge")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What forge gets")
    expect(page.get_by_label("Dialect")).to_have_value("synaptic/0.2")
    page.get_by_role("link", name="Compare two moments").click()
    expect(page.get_by_role("heading", name="Everything that happened in between")).to_be_visible()


def ask_as_agent(space, agent, dialect: str) -> None:
    secret = accounts.create_token(space, HUB, agent=agent)[1]
    prompts.prompt_for(accounts.authenticate(secret), prompts.PromptRequest(dialect))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("javascript", [False, True])
def test_a_fixed_dialect_that_differs_is_red_and_mended_by_its_button(space, counter, sign_in_as, new_page, javascript):
    prompts.change_agent(counter, HUB, dialect="hub")
    counter.refresh_from_db()
    ask_as_agent(space, counter, "deepagents/0.7.1")
    change = {"old_string": "zero", "new_string": "null"}
    number = proposals.propose(space, counter, kind="edit", path=AGENTS, change=change).number
    page = sign_in_as("owner", new_page(java_script_enabled=javascript))
    warning = page.locator("[data-dialect-warning]")
    for address in ("/s/ledger/agents/counter/", f"/s/ledger/proposals/{number}/", HERE):
        page.goto(address)
        expect(warning).to_contain_text("counter is set to hub but asks for deepagents/0.7.1.")
    page.get_by_role("button", name="Set to auto").click()
    expect(page).to_have_url(re.compile(re.escape(HERE)))
    expect(page.get_by_text("The dialect of counter is now auto")).to_be_visible()
    expect(warning).to_have_count(0)
    expect(page.get_by_label("Dialect", exact=True)).to_have_value("")
    expect(page.get_by_text("auto: deepagents/0.7.1")).to_be_attached()


def test_a_click_takes_the_template_in_and_leads_back_to_the_prompt(space, counter, sign_in_as, page):
    ask_as_agent(space, counter, "deepagents/0.7.1")
    sign_in_as("owner")
    page.goto(HERE)
    page.get_by_role("button", name="Import the template").click()
    expect(page.get_by_role("status")).to_contain_text("Downloading the wheel")
    queue.run_waiting()
    expect(page.get_by_role("status")).to_contain_text("It is the published text")
    page.get_by_role("link", name="See the prompt").click()
    expect(page.get_by_text("<agent_memory>").first).to_be_attached()
    expect(page.get_by_role("button", name="Import the template")).to_have_count(0)
