"""The palette by keyboard alone, without scripts, and as a machine sees it."""

import re

import pytest
from playwright.sync_api import expect

from memoryhub.domain import files, prompts
from memoryhub.models import HUB
from tests.browser.axe import AXE, EVERYTHING, NARROW, OVERFLOWS, RUN
from tests.browser.conftest import PHONE
from tests.outputs import admit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def furnished(space):
    files.add_mount(space, HUB, "/memories/", store="database")
    for path in ("gateway.md", "docs/refunds.md"):
        files.write(space, HUB, f"/memories/{path}", b"One.\n", reason="made")
    prompts.create_agent(space, HUB, "forge")
    admit(space, "The refund policy of last year holds.")
    return space


def test_by_keyboard_alone(furnished, sign_in_as):
    page = sign_in_as("owner")
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search or go to")
    expect(box).to_be_focused()
    page.keyboard.type("gatew")
    chosen = page.locator("[role=option][aria-selected=true]")
    expect(chosen).to_contain_text("gateway.md")
    expect(box).to_have_attribute("aria-activedescendant", chosen.get_attribute("id"))
    page.keyboard.press("ArrowDown")
    expect(chosen).not_to_contain_text("/memories File")
    expect(box).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(chosen).to_contain_text("gateway.md")
    page.keyboard.press("Enter")
    page.wait_for_url("**/files/memories/gateway.md")  # until it is loaded, with its scripts
    page.keyboard.press("Control+k")
    expect(page.locator("[role=option]").first).to_be_visible()
    page.keyboard.type("agents")
    page.keyboard.press("Enter")  # at once: what was typed counts, not what is shown yet
    page.wait_for_url("**/agents/")
    page.keyboard.press("/")
    expect(page.get_by_role("group", name="Recent")).to_contain_text("gateway.md")
    page.keyboard.type("gatew")
    page.keyboard.press("Escape")  # once is enough, with words in the field too
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_plain_words_are_searched_for(furnished, sign_in_as):
    page = sign_in_as("viewer")
    page.keyboard.press("/")
    page.keyboard.type("refund policy of last year")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/search/\?q=refund(%20|\+)policy"))
    expect(page.get_by_role("heading", name="1 result")).to_be_visible()


def test_the_page_behind_is_inert_and_the_rest_works_by_mouse(furnished, sign_in_as, new_page):
    page = sign_in_as("viewer", new_page(viewport=PHONE), at=f"/s/{furnished.slug}/files/")
    page.locator(".topbar [data-opens-palette]").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert page.evaluate("document.elementFromPoint(20, 20).closest('main, .topbar') === null")
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.locator(".topbar [data-opens-palette]").click()
    page.get_by_role("combobox").fill("forge")
    page.get_by_role("option", name="forge Agent").click()
    expect(page).to_have_url(re.compile("/agents/forge/"))


def test_without_scripts_it_is_a_link_to_search(furnished, sign_in_as, new_page):
    page = sign_in_as("viewer", new_page(java_script_enabled=False))
    page.get_by_role("link", name="Search or go to").first.click()
    expect(page).to_have_url(re.compile("/search/$"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_machine_finds_no_fault(furnished, sign_in_as, new_page, scheme):
    page = sign_in_as("owner", new_page(own=True, color_scheme=scheme))
    page.add_init_script(AXE)
    page.reload(wait_until="load")
    page.keyboard.press("/")
    expect(page.locator("[role=option]").first).to_be_visible()
    for typed in ("", "gate"):
        page.get_by_role("combobox").fill(typed)
        expect(page.get_by_role("option", name="Search everything for")).to_have_count(1 if typed else 0)
        for width, rules in ((1440, EVERYTHING), (390, NARROW)):
            page.set_viewport_size({"width": width, "height": 844})
            assert page.evaluate(RUN % rules) == [], (typed, width)
            assert page.evaluate(OVERFLOWS) == ""
