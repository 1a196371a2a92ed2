"""Reviewing as a person does it: with the mouse, by keyboard, without JavaScript, on a phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from memoryhub.domain import accounts, files, prompts, proposals, spaces
from memoryhub.models import HUB
from tests.browser.conftest import PHONE

PATH = "/memories/AGENTS.md"
TEXT = """# Rules

## Testing

- Run the tests with `pytest -q`.

## Deploying

- Staging deploys from main.

## Webhooks

- Verify the signature.
"""
NEW = TEXT.replace("pytest -q", "make test-fast").replace("from main", "from a tag").replace("Verify the", "Check the")


@pytest.fixture
def forge(space):
    files.add_mount(space, HUB, "/memories/", store="database", policy="review")
    files.write(space, HUB, PATH, TEXT.encode())
    prompts.add_source(space, HUB, PATH)
    return prompts.create_agent(space, HUB, "forge")


@pytest.fixture
def inbox(space):
    return f"{space.get_absolute_url()}proposals/"


def ask(space, forge, new=NEW, reason="rk asked for it"):
    return proposals.propose(space, forge, kind="write", path=PATH, content=new.encode(), reason=reason)


def edit(space, forge, old, new):
    return proposals.propose(
        space, forge, kind="edit", path=PATH, change={"old_string": old, "new_string": new}, reason=f"Say {new}"
    )


def text(space):
    return files.read(space, PATH).content.decode()


def press(page: Page, *keys: str) -> None:
    page.wait_for_load_state()  # a field has the focus, and takes letters, before the scripts are there that know keys
    for key in keys:
        page.keyboard.press(key)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("javascript", [True, False])
def test_look_and_approve(new_page, sign_in_as, space, forge, inbox, javascript):
    ask(space, forge)
    page = sign_in_as("reviewer", new_page(java_script_enabled=javascript), at=inbox)
    page.get_by_role("link", name="rk asked for it").click()
    expect(page.get_by_text("Change 1 of 3")).to_be_visible()
    expect(page.get_by_text("Prompt cache breaks here")).to_be_visible()
    expect(page.get_by_role("complementary", name="Your decision")).to_contain_text("next thread")
    page.get_by_label("Note for forge").fill("fine")
    page.get_by_role("button", name="Approve all 3 changes").click()
    expect(page.get_by_text("Approved by reviewer, revision 2")).to_be_visible()
    assert text(space) == NEW


def test_approve_with_edits(sign_in_as, space, forge, inbox):
    ask(space, forge)
    page = sign_in_as("reviewer", at=f"{inbox}1/")
    page.get_by_role("link", name="Edit before approving").click()
    page.get_by_label("The text").fill("# Mine\n")
    page.get_by_role("button", name="Approve with my edits").click()
    expect(page.get_by_text("with edits").first).to_be_visible()
    assert text(space) == "# Mine\n"


def test_two_changes_of_three(sign_in_as, space, forge, inbox):
    ask(space, forge)
    page = sign_in_as("reviewer", at=f"{inbox}1/")
    page.get_by_label("Note for forge").fill("two will do")
    page.get_by_label("Change 2 of 3").uncheck()
    page.get_by_role("button", name="Approve 2 of 3 changes").click()
    expect(page.get_by_text("Approved by reviewer")).to_be_visible()
    assert text(space) == NEW.replace("from a tag", "from main")


def test_finding_and_prompt_follow_the_ticks(sign_in_as, space, forge, inbox):
    ask(space, forge, NEW.replace("Check the", "Che\u200bck the"))
    page = sign_in_as("reviewer", at=f"{inbox}1/")
    prompt = page.locator("#prompts-effect")
    expect(page.get_by_label("I looked at")).to_be_visible()
    expect(prompt).to_contain_text("make test-fast")
    page.get_by_label("Change 1 of 3").uncheck()
    expect(prompt).not_to_contain_text("make test-fast")
    page.get_by_label("Change 3 of 3").uncheck()
    expect(page.get_by_label("I looked at")).to_have_count(0)
    page.get_by_role("button", name="Approve 1 of 3 changes").click()
    expect(page.get_by_text("Approved by reviewer")).to_be_visible()
    assert text(space) == TEXT.replace("from main", "from a tag")


def test_no_change_is_ticked(sign_in_as, space, forge, inbox):
    ask(space, forge)
    page = sign_in_as("reviewer", at=f"{inbox}1/")
    for number in (1, 2, 3):
        page.get_by_label(f"Change {number} of 3").uncheck()
    expect(page.get_by_role("button", name="Tick at least one change")).to_be_disabled()


def test_stale_then_rebased_then_approved(sign_in_as, space, forge, inbox):
    ask(space, forge)
    page = sign_in_as("reviewer", at=f"{inbox}1/")
    files.write(space, HUB, PATH, TEXT.replace("# Rules\n", "# Rules of the house\n").encode())
    page.get_by_role("button", name="Approve all 3 changes").click()
    expect(page.get_by_text("Nothing was applied")).to_be_visible()
    expect(page.get_by_text("Rebased.")).to_be_visible()
    assert "pytest" in text(space)
    page.get_by_role("button", name="Approve all 3 changes").click()
    expect(page.get_by_text("Approved by reviewer")).to_be_visible()
    assert text(space) == NEW.replace("# Rules\n", "# Rules of the house\n")


def test_a_conflict_is_resolved_by_hand(sign_in_as, space, forge, inbox):
    ask(space, forge)
    files.write(space, HUB, PATH, TEXT.replace("pytest -q", "tox").encode())
    page = sign_in_as("reviewer", at=f"{inbox}1/")
    expect(page.get_by_text("It no longer applies.")).to_be_visible()
    expect(page.get_by_role("heading", name="Both texts")).to_be_visible()
    page.get_by_role("link", name="Resolve by hand").last.click()
    page.get_by_label("The text").fill("- settled\n")
    page.get_by_role("button", name="Approve with my edits").click()
    expect(page.get_by_text("Approved by reviewer")).to_be_visible()
    assert text(space) == "- settled\n"


def test_a_rejection_is_read_by_the_agent(sign_in_as, space, forge, inbox, client):
    ask(space, forge)
    _, secret = accounts.create_token(space, HUB, agent=forge)
    page = sign_in_as("reviewer", at=f"{inbox}1/")
    page.get_by_role("radio", name="too vague").check()
    page.get_by_label("Reason in your own words").fill("name the command")
    page.get_by_role("button", name="Reject").click()
    expect(page.get_by_text("Rejected by reviewer").first).to_be_visible()
    told = client.get("/api/v1/proposals/1", headers={"Authorization": f"Bearer {secret}"}).json()
    assert (told["state"], told["note"]) == ("rejected", "too vague: name the command")
    when = page.locator("#talk time").first
    height = when.bounding_box()["height"]
    when.evaluate("time => time.textContent = '29 December 2025, 23:59'")
    assert when.bounding_box()["height"] == height, "a date keeps to one line"


def test_undo(sign_in_as, space, forge, inbox):
    ask(space, forge)
    page = sign_in_as("reviewer", at=f"{inbox}1/")
    page.get_by_role("button", name="Approve all 3 changes").click()
    page.get_by_role("button", name="Undo the approval").click()
    expect(page.get_by_text("Pending").first).to_be_visible()
    assert text(space) == TEXT


def test_grave_findings_hold_a_hurried_click(sign_in_as, space, forge, inbox):
    ask(space, forge, TEXT.replace("Verify the", "Ver\u200bify the"))
    page = sign_in_as("reviewer", at=f"{inbox}1/")
    expect(page.get_by_text("U+200B").first).to_be_visible()
    page.get_by_role("button", name="Approve").first.click()
    assert text(space) == TEXT
    page.get_by_label("I looked at").check()
    page.get_by_role("button", name="Approve").first.click()
    expect(page.get_by_text("Approved by reviewer")).to_be_visible()


def test_many_at_once(sign_in_as, space, forge, inbox):
    edit(space, forge, "pytest -q", "make test-fast")
    edit(space, forge, "from main", "from a tag")
    page = sign_in_as("reviewer", at=inbox)
    page.get_by_label("Select 1").check()
    page.get_by_label("Select 2").check()
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.get_by_role("button", name="Approve 2").click()
    expect(page.get_by_role("heading", name="Approve 2 proposals?")).to_be_visible()
    expect(page.get_by_text("Changes 1 file")).to_be_visible()
    page.get_by_role("button", name="Approve these 2").click()
    expect(page.get_by_text("Approved 2 proposals: 1, 2.")).to_be_visible()
    assert "make test-fast" in text(space) and "from a tag" in text(space)


def test_the_inbox_by_keyboard(sign_in_as, space, forge, inbox):
    edit(space, forge, "pytest -q", "make test-fast")
    edit(space, forge, "from main", "from a tag")
    edit(space, forge, "Verify the", "Check the")
    page = sign_in_as("reviewer", at=inbox)
    press(page, "j", "x", "j", "x")
    expect(page.get_by_text("2 selected")).to_be_visible()
    press(page, "a")
    expect(page.get_by_role("heading", name="Approve 2 proposals?")).to_be_visible()
    press(page, "a")
    expect(page.get_by_text("Approved 2 proposals: 1, 2.")).to_be_visible()
    press(page, "j", "Enter")
    expect(page).to_have_url(re.compile(r"/proposals/3/$"))


def test_the_review_by_keyboard(sign_in_as, space, forge, inbox):
    ask(space, forge)
    page = sign_in_as("reviewer", at=f"{inbox}1/")
    press(page, "a")
    expect(page.get_by_text("Approved by reviewer")).to_be_visible()
    assert text(space) == NEW
    press(page, "u")
    expect(page.get_by_role("button", name="Approve all 3 changes")).to_be_visible()
    assert text(space) == TEXT
    press(page, "e")
    expect(page.get_by_label("The text")).to_be_visible()
    page.goto(f"{inbox}1/")
    press(page, "c")
    page.keyboard.type("Leave the last one out.")
    press(page, "Enter")
    expect(page.get_by_text("“Leave the last one out.”")).to_be_visible()
    press(page, "r")
    expect(page.get_by_role("radio", name="transient")).to_be_focused()
    page.keyboard.type("already known")  # no letter of it is a key: `a` would approve
    expect(page.get_by_label("Reason in your own words")).to_have_value("already known")
    press(page, "Enter")
    expect(page.get_by_text("Rejected by reviewer").first).to_be_visible()
    assert proposals.get(space, 1).note == "already known"


def test_walking_from_one_to_the_next(sign_in_as, space, forge, inbox):
    edit(space, forge, "pytest -q", "make test-fast")
    edit(space, forge, "from main", "من الوسم")
    page = sign_in_as("reviewer", at=f"{inbox}1/")
    press(page, "j")
    expect(page).to_have_url(re.compile(r"/proposals/2/$"))
    number, title = page.locator("h1 .dim"), page.locator("h1 bdi")
    expect(number).to_have_text("#2")
    ends = title.evaluate("el => el.getBoundingClientRect().right")
    assert number.evaluate("el => el.getBoundingClientRect().left") >= ends, (
        "a title from right to left takes no number in"
    )
    press(page, "k")
    expect(page).to_have_url(re.compile(r"/proposals/1/$"))


def test_on_a_phone_the_decision_is_one_tap_away(new_page, sign_in_as, space, forge, inbox):
    ask(space, forge)
    page = sign_in_as("reviewer", new_page(viewport=PHONE), at=f"{inbox}1/")
    page.get_by_role("link", name="Decide").click()
    expect(page.get_by_role("button", name="Approve all 3 changes")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def tab_to(page: Page, target) -> None:
    """Tab until it is there, as somebody without a mouse does."""
    page.keyboard.press("Tab")
    for _ in range(150):
        if target.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"no way to {target} by Tab")


def test_every_decision_without_a_mouse(sign_in_as, space, forge, inbox):
    page = sign_in_as("reviewer")
    ask(space, forge)  # two changes of three
    page.goto(f"{inbox}1/")
    tab_to(page, page.get_by_label("Change 2 of 3"))
    press(page, "Space")
    tab_to(page, page.get_by_role("button", name="Approve 2 of 3 changes"))
    press(page, "Enter")
    expect(page.get_by_text("Approved by reviewer")).to_be_visible()
    assert text(space) == NEW.replace("from a tag", "from main")

    edit(space, forge, "from main", "from a tag")  # with edits
    page.goto(f"{inbox}2/")
    press(page, "e")
    tab_to(page, page.get_by_label("The text"))
    press(page, "Control+a")
    page.keyboard.insert_text(TEXT)
    press(page, "Escape")  # then Tab leaves the text
    tab_to(page, page.get_by_role("button", name="Approve with my edits"))
    press(page, "Enter")
    expect(page.get_by_text("Approved by reviewer")).to_be_visible()
    assert text(space) == TEXT

    ask(space, forge)  # stale, then rebased
    page.goto(f"{inbox}3/")
    files.write(space, HUB, PATH, TEXT.replace("# Rules\n", "# House\n").encode())
    press(page, "a")
    expect(page.get_by_text("Rebased.")).to_be_visible()
    press(page, "a")
    expect(page.get_by_text("Approved by reviewer")).to_be_visible()
    assert text(space) == NEW.replace("# Rules\n", "# House\n")

    edit(space, forge, "Check the", "Test the")  # a conflict, by hand
    files.write(space, HUB, PATH, b"- all is new\n")
    page.goto(f"{inbox}4/")
    expect(page.get_by_text("It no longer applies.")).to_be_visible()
    press(page, "e")
    tab_to(page, page.get_by_label("The text"))
    press(page, "Control+a")
    page.keyboard.insert_text("- settled")
    press(page, "Escape")
    tab_to(page, page.get_by_role("button", name="Approve with my edits"))
    press(page, "Enter")
    expect(page.get_by_text("Approved by reviewer")).to_be_visible()
    assert text(space).strip() == "- settled"


def test_edits_are_typed_and_approved_at_once_by_keyboard(sign_in_as, space, forge, inbox):
    number = ask(space, forge).number
    page = sign_in_as("reviewer", at=f"{inbox}{number}/")
    press(page, "e")
    expect(page.get_by_label("The text")).to_be_focused()
    press(page, "Control+Home")
    page.keyboard.type("Mine. ")
    press(page, "Control+Enter")
    expect(page.get_by_text("with edits").first).to_be_visible()
    assert text(space).startswith("Mine. # Rules")


def test_selecting_says_what_it_would_do_and_can_be_cleared(sign_in_as, new_page, space, forge, inbox):
    edit(space, forge, "pytest -q", "make test-fast")
    edit(space, forge, "from main", "from a tag")
    page = sign_in_as("reviewer", new_page(own=True))
    asked = []
    page.on("request", lambda sent: asked.append(sent.url) if "/several/" in sent.url else None)
    page.goto(inbox)
    bar = page.locator("#bulk")
    expect(bar).to_be_hidden()  # it comes with the first tick
    press(page, "j", "x", "j", "x")
    expect(bar).to_be_in_viewport()
    expect(bar).to_contain_text("2 selected Changes 1 file; changes the prompt of forge (")
    expect(bar).to_contain_text("tokens)")
    expect(bar.get_by_role("button", name="Approve 2")).to_be_visible()
    expect(bar.get_by_role("button", name="Reject 2")).to_be_visible()
    press(page, "Escape")
    expect(bar).to_contain_text("Select some to decide on them together")
    press(page, "x")
    bar.get_by_role("button", name="Clear").click()
    expect(page.locator("input[name=n]:checked")).to_have_count(0)
    expect(bar).to_be_hidden()
    page.wait_for_timeout(600)
    assert len(asked) <= 2  # an answer asks for nothing more


def test_rejecting_many_goes_to_the_reasons_first(sign_in_as, space, forge, inbox):
    number = edit(space, forge, "pytest -q", "make test-fast").number
    page = sign_in_as("reviewer", at=inbox)
    press(page, "j", "r")
    expect(page.locator("h1")).to_have_text("Reject 1 proposal?")
    press(page, "r", "ArrowRight", "Enter")
    page.wait_for_url("**/proposals/")
    found = proposals.get(space, number)
    assert (found.state, found.note) == ("rejected", "wrong")


def test_the_bar_comes_with_the_first_tick_without_scripts_too(new_page, sign_in_as, space, forge, inbox):
    edit(space, forge, "pytest -q", "make test-fast")
    page = sign_in_as("reviewer", new_page(java_script_enabled=False), at=inbox)
    expect(page.locator("#bulk")).to_be_hidden()
    page.get_by_label("Select 1").check()
    page.get_by_role("button", name="Approve selected").click()
    expect(page.locator("h1")).to_have_text("Approve 1 proposal?")
    expect(page.locator(".bulk-texts .diff .add")).to_contain_text("make test-fast")


def test_the_next_one_opens_until_one_prefers_to_stay(sign_in_as, space, forge, inbox):
    edit(space, forge, "pytest -q", "make test-fast")
    edit(space, forge, "from main", "from a tag")
    edit(space, forge, "Verify the", "Check the")
    page = sign_in_as("reviewer", at=f"{inbox}1/")
    press(page, "a")
    expect(page).to_have_url(re.compile(r"/proposals/2/$"))
    expect(page.get_by_text("Approved proposal 1, revision 2.")).to_be_visible()
    page.get_by_label("Open the next proposal").uncheck()
    page.wait_for_load_state("networkidle")
    page.get_by_role("radio", name="wrong").check()
    page.get_by_role("button", name="Reject").click()
    expect(page.get_by_text("Rejected by reviewer").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"/proposals/2/$"))
    page.goto(f"{inbox}3/")
    expect(page.get_by_label("Open the next proposal")).not_to_be_checked()


def test_changes_are_requested_and_stand_by_themselves(sign_in_as, space, forge, inbox, client):
    ask(space, forge)
    _, secret = accounts.create_token(space, HUB, agent=forge)
    page = sign_in_as("reviewer", at=f"{inbox}1/")
    page.get_by_label("Reason in your own words").fill("name the tag")
    page.get_by_role("button", name="Request changes").click()
    expect(page.get_by_text("Changes requested by reviewer: “name the tag”")).to_be_visible()
    expect(page.locator(".state.changes_requested")).to_have_text("Changes requested")
    page.goto(inbox)
    page.get_by_role("link", name="Changes requested 1").click()
    page.get_by_role("link", name="rk asked for it").click()
    expect(page).to_have_url(re.compile(r"/proposals/1/$"))
    told = client.get("/api/v1/proposals/1", headers={"Authorization": f"Bearer {secret}"}).json()
    assert (told["state"], told["note"]) == ("rejected", "Please try again: name the tag")
    press(page, "u")
    expect(page.get_by_role("button", name="Approve all 3 changes")).to_be_visible()


def test_ticks_count_without_scripts_and_ask_only_for_what_is_ticked(new_page, sign_in_as, space, forge, inbox):
    ask(space, forge, NEW.replace("Check the", "Che\u200bck the"))
    page = sign_in_as("reviewer", new_page(java_script_enabled=False), at=f"{inbox}1/")
    page.get_by_label("Change 3 of 3").uncheck()
    page.get_by_role("button", name="Approve all 3 changes").click()
    expect(page.get_by_text("Approved by reviewer")).to_be_visible()
    assert text(space) == NEW.replace("Check the", "Verify the")


def test_the_pages_use_their_window(sign_in_as, space, forge, inbox):
    long = "A name that somebody typed in because nobody told them to stop"
    spaces.rename(space, HUB, name=long, description="")
    prompts.create_agent(space, HUB, long)
    ask(space, forge, reason="word" * 60)
    page = sign_in_as("reviewer")
    for path in (inbox, f"{inbox}1/", f"{inbox}1/?edit=1", f"{inbox}several/?n=1", f"/s/{space.slug}/settings/access/"):
        page.goto(path)
        for width in (390, 1280, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            used = page.locator("#main").bounding_box()
            assert used["x"] + used["width"] >= width - 1 or path.endswith("/access/"), (path, width)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)


def test_both_sides_have_their_line_numbers_where_there_is_little_room(space, forge, sign_in_as, new_page):
    ask(space, forge)
    page = sign_in_as(
        "viewer", new_page(viewport={"width": 1280, "height": 800}), at=f"/s/{space.slug}/proposals/1/?view=split"
    )
    numbers = page.locator("table.split tr").filter(has=page.locator("td:nth-child(4)")).first.locator("td.no")
    sizes = numbers.evaluate_all(
        "(all) => all.map((one) => [one.offsetWidth, parseFloat(getComputedStyle(one).fontSize)])"
    )
    assert len(sizes) == 2 and all(width >= 30 and size >= 10 for width, size in sizes)
