"""The editor as a person uses it: keys, lists, findings while one writes, find and replace, previews, drafts, large texts."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from memoryhub.domain import accounts, files, longterm, prompts, proposals, spaces
from memoryhub.models import HUB, Agent
from tests.browser.conftest import PHONE, WIDE

PATH = "/memories/AGENTS.md"
HERE = "/s/ledger/files/memories/AGENTS.md"
TEXT = "# Rules\n\n- One.\n- Two.\n\n## Later\n\n- Three.\n"
LARGE = "".join(
    f"- Rule {number} says what to do about the refunds of that many customers.\n" for number in range(5100)
)
# Milliseconds from each key to the picture after it, at the middle of all keys.
KEY_TIMES = """() => {
  window.times = [];
  document.addEventListener("keydown", () => {
    const start = performance.now();
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => window.times.push(performance.now() - start);
      port2.postMessage(0);
    });
  }, true);
}"""


@pytest.fixture
def forge(space):
    files.add_mount(space, HUB, "/memories/", store="database", policy="review")
    files.write(space, HUB, PATH, TEXT.encode())
    prompts.add_source(space, HUB, PATH)
    return prompts.create_agent(space, HUB, "forge")


@pytest.fixture
def editing(forge, sign_in_as):
    page = sign_in_as("editor", at=f"{HERE}?view=edit")
    return page


def text_of(page: Page):
    return page.get_by_label("The text", exact=True)


def caret(page: Page) -> int:
    return page.evaluate("document.getElementById('text').selectionStart")


def put_caret(page: Page, at: int, end: int | None = None) -> None:
    text_of(page).focus()
    page.evaluate(
        "([from, to]) => document.getElementById('text').setSelectionRange(from, to)", [at, at if end is None else end]
    )


def published(space, path=PATH) -> str:
    return files.read(space, path).content.decode()


def drawn(page: Page) -> str:
    """What stands on the page where the text is drawn."""
    return "\n".join(page.locator(".ed-line").all_inner_texts())


# ---- keys and lists


def test_lists_go_on_and_leave_no_empty_item_behind(editing, space):
    text = text_of(editing)
    text.fill("1. a")
    text.press("End")
    for keys in ("Enter", "b", "Enter"):
        editing.keyboard.press(keys)
    expect(text).to_have_value("1. a\n2. b\n3. ")
    editing.keyboard.press("Control+s")  # with an item that was begun and stayed empty
    expect(editing.get_by_text("Saved as revision 2.")).to_be_visible()
    assert published(space) == "1. a\n2. b\n"


def test_an_empty_item_goes_when_the_caret_leaves_it(editing):
    text = text_of(editing)
    text.fill("- [ ] a\n\nend")
    put_caret(editing, 7)
    editing.keyboard.press("Enter")
    expect(text).to_have_value("- [ ] a\n- [ ] \n\nend")
    editing.keyboard.press("Control+End")
    expect(text).to_have_value("- [ ] a\n\nend")
    assert caret(editing) == len("- [ ] a\n\nend")


def test_an_item_that_was_written_stays_and_a_second_enter_ends_the_list(editing):
    text = text_of(editing)
    text.fill("- a")
    text.press("End")
    editing.keyboard.press("Enter")
    editing.keyboard.type("b")
    editing.keyboard.press("Control+Home")
    expect(text).to_have_value("- a\n- b")
    editing.keyboard.press("Control+End")
    editing.keyboard.press("Enter")
    editing.keyboard.press("Enter")
    expect(text).to_have_value("- a\n- b\n")


def test_numbers_after_a_new_item_count_on(editing):
    text = text_of(editing)
    text.fill("1. a\n2. b\n   - below\n3. c\n\n7. d\n")
    put_caret(editing, 4)
    editing.keyboard.press("Enter")
    editing.keyboard.type("new")
    expect(text).to_have_value("1. a\n2. new\n3. b\n   - below\n4. c\n\n7. d\n")
    editing.keyboard.press("Control+z")
    editing.keyboard.press("Control+z")
    editing.keyboard.press("Control+z")
    expect(text).not_to_have_value(re.compile("new"))


def test_tab_indents_and_escape_leaves(editing):
    text = text_of(editing)
    text.fill("- a\n- b")
    editing.keyboard.press("Control+a")
    editing.keyboard.press("Tab")
    expect(text).to_have_value("  - a\n  - b")
    editing.keyboard.press("Shift+Tab")
    expect(text).to_have_value("- a\n- b")
    editing.keyboard.press("Escape")
    editing.keyboard.press("Tab")
    assert editing.evaluate("document.activeElement.id") != "text"


def test_the_newline_at_the_end_is_kept(editing, space):
    editing.get_by_text("Ends with a newline").wait_for()
    put_caret(editing, len(TEXT))
    editing.keyboard.type("- Four.")
    expect(editing.get_by_text("The newline at the end is kept")).to_be_visible()
    editing.keyboard.press("Control+s")
    expect(editing.get_by_text("Saved as revision 2.")).to_be_visible()
    assert published(space) == TEXT + "- Four.\n"


def test_a_text_without_one_gets_none(editing, space):
    files.write(space, HUB, PATH, b"one\ntwo")
    editing.goto(f"{HERE}?view=edit")
    put_caret(editing, 3)
    editing.keyboard.type("s")
    expect(editing.get_by_text("No newline at the end")).to_be_visible()
    editing.keyboard.press("Control+s")
    expect(editing.get_by_text("Saved as revision 3.")).to_be_visible()
    assert published(space) == "ones\ntwo"


# ---- what is drawn, and what stands beside it


def test_findings_come_while_one_writes_and_the_caret_stays(editing):
    put_caret(editing, len("# Rules\n\n- One."))
    editing.keyboard.insert_text(" Ver\u200bify it.")
    before = caret(editing)
    finding = editing.locator("#ed-side [data-marks]").filter(has_text="Hidden")
    expect(finding).to_contain_text("line 3")
    expect(editing.locator(".ed-line .unseen")).to_have_attribute("data-label", "U+200B")
    expect(editing.locator(".ed-line .flag.high")).to_have_count(1)
    assert caret(editing) == before
    editing.keyboard.type(" On.")
    expect(text_of(editing)).to_have_value(re.compile(r"One\. Ver\u200bify it\. On\."))
    finding.get_by_role("link").click()
    expect(editing.locator(".ed-line .finding-box")).to_contain_text("Zero-width")
    editing.get_by_role("button", name="Remove it").click()
    expect(text_of(editing)).to_have_value(re.compile(r"One\. Verify it\. On\."))
    expect(editing.locator("#ed-side [data-marks]")).to_have_count(0)


def test_marks_move_with_their_line(editing):
    put_caret(editing, len("# Rules\n\n- One."))
    editing.keyboard.insert_text(" \u202eeno")
    expect(editing.locator(".ed-line .flag")).to_have_count(1)
    editing.keyboard.press("Control+Home")
    editing.keyboard.press("Enter")
    editing.keyboard.press("Enter")
    line = editing.locator(".ed-line").filter(has=editing.locator(".flag"))
    expect(line).to_have_attribute("data-n", "5")


def test_f8_walks_from_finding_to_finding(editing):
    text_of(editing).fill("a\u200bb\n\n\nc\u200bd\n")
    expect(editing.locator("#ed-side [data-marks]")).to_have_count(2)
    put_caret(editing, 0)
    editing.keyboard.press("F8")
    expect(editing.get_by_text("Line 4, column")).to_be_visible()
    editing.keyboard.press("F8")
    expect(editing.get_by_text("Line 1, column")).to_be_visible()


def test_each_prompt_says_what_the_text_does_to_it(editing, space):
    other = prompts.create_agent(space, HUB, "other")
    prompts.add_source(space, HUB, "/memories/own.md", agent=Agent.objects.get(pk=other.pk))
    put_caret(editing, len(TEXT))
    editing.keyboard.type("- Four, with a few more words.")
    side = editing.locator("#ed-side")
    expect(side).to_contain_text("1 of 2 agents")
    expect(side.locator("details").filter(has_text="forge")).to_contain_text("+")
    expect(side.locator(".diff .add")).to_contain_text("- Four, with a few more words.")
    expect(editing.locator("#ed-tok")).to_contain_text("+1")
    expect(side).to_contain_text("Not in the prompt of other")


def test_changed_lines_are_marked(editing):
    put_caret(editing, TEXT.index("Two"))
    editing.keyboard.type("New and ")
    put_caret(editing, len(TEXT) + 8)
    editing.keyboard.type("- Four.")
    expect(editing.locator(".ed-line.mod")).to_have_text("- New and Two.")
    expect(editing.locator(".ed-line.new")).to_have_text("- Four.")
    editing.keyboard.press("Control+a")
    editing.keyboard.press("Delete")
    expect(editing.locator(".ed-line")).to_have_class(re.compile("gone"))


@pytest.mark.parametrize("size", [PHONE, WIDE], ids=["phone", "wide"])
def test_what_is_drawn_stands_exactly_behind_what_is_typed(forge, space, new_page, sign_in_as, size):
    odd = (
        "# 表題\n\n\tTabs\tand  blanks   \n"
        + "wrapped words " * 40
        + "\n"
        + "x" * 500
        + "\n🙂 one\u200btwo\n\n"
        + "- more\n" * 40
        + "- end"
    )
    files.write(space, HUB, PATH, odd.encode())
    page = sign_in_as("editor", new_page(viewport=size), at=f"{HERE}?view=edit")
    expect(page.locator(".ed-line").last).to_have_text("- end")
    heights = page.evaluate(
        """() => {
          const [text, mirror] = [document.getElementById("text"), document.querySelector(".ed-mirror")];
          text.classList.add("measured");
          const before = mirror.offsetHeight;
          mirror.remove();
          return [text.scrollHeight, before];
        }"""
    )
    assert abs(heights[0] - heights[1]) <= 1, heights


def test_typing_everywhere_draws_what_stands_in_the_field(editing):
    text = text_of(editing)
    for at, keys in ((0, "Enter"), (3, "Delete"), (20, "Enter"), (25, "Backspace"), (9, "x"), (0, "Delete")):
        put_caret(editing, at)
        editing.keyboard.press(keys)
    put_caret(editing, 2, 30)
    editing.keyboard.insert_text("several\nlines\n\nat once")
    editing.keyboard.press("Control+z")
    editing.keyboard.press("Control+z")
    value = text.input_value()
    expect(editing.locator(".ed-line")).to_have_count(len(value.split("\n")))
    assert drawn(editing).split("\n") == value.split("\n")


# ---- find and replace


def test_find_and_replace(editing):
    text = text_of(editing)
    text.fill("- [ ] one\n- [ ] ONE\n- [ ] two\n")
    editing.keyboard.press("Control+Home")
    editing.keyboard.press("Control+f")
    editing.keyboard.type("one")
    expect(editing.locator("#hits")).to_have_text("1 of 2")
    expect(editing.locator(".ed-line mark")).to_have_count(2)
    editing.keyboard.press("Enter")
    expect(editing.locator("#hits")).to_have_text("2 of 2")
    editing.get_by_role("button", name="Previous match").click()
    expect(editing.locator("#hits")).to_have_text("1 of 2")
    editing.locator("#needle").fill("ONE")
    expect(editing.locator("#hits")).to_have_text("1 of 1")
    editing.get_by_role("button", name="Replace", exact=True).click()
    editing.get_by_label("Replace with").fill("uno")
    editing.get_by_role("button", name="Replace this").click()
    expect(text).to_have_value("- [ ] one\n- [ ] uno\n- [ ] two\n")
    editing.locator("#needle").fill("[ ]")
    editing.get_by_label("Replace with").fill("[x]")
    editing.get_by_role("button", name="Replace all").click()
    expect(text).to_have_value("- [x] one\n- [x] uno\n- [x] two\n")
    expect(editing.locator("#hits")).to_have_text("none")
    text.focus()
    editing.keyboard.press("Control+z")
    expect(text).to_have_value("- [ ] one\n- [ ] uno\n- [ ] two\n")


# ---- previews


def test_previews_and_the_way_back(editing):
    text_of(editing).fill("# New\n<!-- for people -->\ntext\n")
    editing.get_by_role("button", name="Preview").click()
    expect(editing.locator("#ed-preview .comment")).to_be_visible()
    editing.get_by_role("button", name="Model view").click()
    expect(editing.locator("#ed-preview .source")).to_contain_text("text")
    expect(editing.locator("#ed-preview .source")).not_to_contain_text("for people")
    editing.get_by_role("button", name="Changes").click()
    expect(editing.locator("#ed-preview .diff .add").first).to_be_visible()
    editing.get_by_role("button", name="Write").click()
    expect(text_of(editing)).to_be_visible()
    expect(editing.locator("#ed-preview")).to_be_hidden()


def test_the_preview_follows_the_scroll(forge, space, new_page, sign_in_as):
    long = "".join(
        f"## Part {number}\n\n" + f"Words of part {number}.\n\n" * (1 + number % 5 * 6) for number in range(30)
    )
    files.write(space, HUB, PATH, long.encode())
    page = sign_in_as("editor", new_page(viewport={"width": 1920, "height": 900}), at=f"{HERE}?view=edit")
    page.get_by_role("button", name="Side by side").click()
    expect(page.locator("#ed-preview h2").first).to_be_visible()
    page.evaluate(
        """() => {
          const scroll = document.getElementById("ed-scroll");
          const line = [...document.querySelectorAll(".ed-line")].find((one) => one.textContent === "## Part 20");
          scroll.scrollTop += line.getBoundingClientRect().top - scroll.getBoundingClientRect().top;
        }"""
    )
    heading = page.locator("#ed-preview h2", has_text="Part 20")
    expect(heading).to_be_in_viewport()
    away = "(one) => Math.abs(one.getBoundingClientRect().top - document.getElementById('ed-preview').getBoundingClientRect().top)"
    page.wait_for_function(f"(({away})([...document.querySelectorAll('#ed-preview h2')][20])) < 80")


# ---- drafts, two people, leaving


def test_a_draft_is_kept_and_restored_or_discarded(editing):
    text_of(editing).fill("half a thought")
    expect(editing.get_by_text("Draft kept in this browser")).to_be_visible()
    editing.goto(HERE)
    editing.goto(f"{HERE}?view=edit")
    editing.get_by_role("button", name="Restore draft").click()
    expect(text_of(editing)).to_have_value("half a thought")
    expect(editing.locator("#draft")).to_be_hidden()
    editing.goto(HERE)
    editing.goto(f"{HERE}?view=edit")
    editing.get_by_role("button", name="Discard draft").click()
    editing.goto(f"{HERE}?view=edit")
    expect(text_of(editing)).to_have_value(TEXT)
    expect(editing.locator("#draft")).to_be_hidden()


def test_a_saved_text_is_no_draft_any_more(editing):
    put_caret(editing, 0)
    editing.keyboard.type("x")
    editing.keyboard.press("Control+s")
    expect(editing.get_by_text("Saved as revision 2.")).to_be_visible()
    editing.goto(f"{HERE}?view=edit")
    expect(editing.locator("#draft")).to_be_hidden()


def test_leaving_with_unsaved_words_warns(forge, sign_in_as, new_page):
    asked = []
    editing = sign_in_as("editor", new_page(own=True), at=f"{HERE}?view=edit")
    editing.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    put_caret(editing, 0)
    editing.keyboard.type("x")
    editing.get_by_role("link", name="Overview").click()
    editing.wait_for_url("**/s/ledger/")
    assert asked == ["beforeunload"]
    editing.goto(f"{HERE}?view=edit")
    editing.get_by_role("link", name="Overview").click()
    editing.wait_for_url("**/s/ledger/")
    assert len(asked) == 1, "with nothing written nobody is asked"


def test_a_refused_text_comes_back_and_can_be_mended(editing, space):
    text_of(editing).fill("token = AKIAIOSFODNN7EXAMPLQ\nsecret: ghp_16C7e42F292c6912E7710c838347Ae178B4a\n")
    editing.keyboard.press("Control+s")
    expect(editing.get_by_text("Not saved.")).to_be_visible()
    expect(editing.locator(".ed-line.mod").first).to_be_visible()
    text_of(editing).fill("token: see the vault\n")
    editing.keyboard.press("Control+s")
    expect(editing.get_by_text("Saved as revision 2.")).to_be_visible()
    assert published(space) == "token: see the vault\n"


# ---- the other texts


def test_an_entry_by_keyboard_alone(space, forge, sign_in_as):
    longterm.store(space, HUB, "The desk closes at five.")
    page = sign_in_as("reviewer", at="/s/ledger/longterm/1/")
    page.keyboard.press("e")
    expect(text_of(page)).to_be_focused()
    page.keyboard.press("Control+End")
    page.keyboard.type(" On Fridays at four.")
    page.keyboard.press("Control+s")
    expect(page.get_by_role("heading", level=1)).to_contain_text("On Fridays at four.")
    assert longterm.get(space, 1).content == "The desk closes at five. On Fridays at four."


def test_a_template_with_its_prompt(space, forge, sign_in_as):
    prompts.change_agent(forge, HUB, dialect="deepagents")
    page = sign_in_as("owner", at="/s/ledger/prompt/forge/settings/")
    page.get_by_role("link", name="Edit the template").click()
    text_of(page).fill("<memory>\n{agent_memory}\n</memory>\n")
    expect(page.locator("#ed-side .diff")).to_contain_text("<memory>")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The template is saved.")).to_be_visible()
    assert Agent.objects.get(slug="forge").template == "<memory>\n{agent_memory}\n</memory>\n"


def test_words_of_a_proposal_are_checked_until_they_are_clean(space, forge, sign_in_as):
    proposals.propose(space, forge, kind="write", path=PATH, content=TEXT.replace("One", "O\u200bne").encode())
    page = sign_in_as("reviewer", at="/s/ledger/proposals/1/?edit=1")
    expect(page.get_by_label("I looked at")).to_be_visible()
    page.get_by_role("button", name="Approve with my edits").click()
    expect(page.get_by_text("Tick this box to continue.")).to_be_visible()
    page.get_by_role("button", name="Remove it").click()
    expect(page.get_by_label("I looked at")).to_have_count(0)
    page.get_by_role("button", name="Approve with my edits").click()
    expect(page.get_by_text("Approved proposal 1")).to_be_visible()
    assert published(space) == TEXT


def test_two_people_at_one_text_see_each_other(editing, space):
    ops = accounts.create_person(HUB, "ops")
    spaces.add_member(space, HUB, ops, "owner")
    files.note_editing(space, ops, PATH)
    expect(editing.get_by_text("ops has this file open")).to_be_visible(timeout=15_000)


# ---- large texts, small windows, no scripts


def test_a_large_text_stays_fluid(editing, space):
    files.write(space, HUB, "/memories/large.md", LARGE.encode())
    editing.goto("/s/ledger/files/memories/large.md?view=edit")
    expect(editing.locator("#ed-side")).to_contain_text("Effect on prompts", timeout=30_000)
    assert len(LARGE) > 350_000
    editing.evaluate(KEY_TIMES)
    for at in (0, len(LARGE) // 2, len(LARGE)):
        put_caret(editing, at)
        for key in (*"the next words", "Enter", "Backspace"):
            editing.keyboard.press(key)
            editing.wait_for_timeout(30)
    times = sorted(editing.evaluate("window.times"))
    assert times[len(times) // 2] < 400, times  # a bound against hanging; how quick it is stands with the figures
    assert editing.locator(".ed-line[data-n]").count() < 300, (
        "only lines that were in the window are layers of their own"
    )
    apart = "[...document.querySelectorAll('.ed-chunk')].filter((one) => getComputedStyle(one).contain !== 'content').length"
    assert editing.evaluate(apart) == 0, "a new line moves the chunks below it without walking their lines"


@pytest.mark.parametrize("size", [PHONE, WIDE, {"width": 1920, "height": 1000}], ids=["phone", "wide", "widest"])
def test_the_bar_and_the_text_stay_in_view(forge, space, new_page, sign_in_as, size):
    files.write(space, HUB, PATH, LARGE[:40_000].encode())
    page = sign_in_as("editor", new_page(viewport=size), at=f"{HERE}?view=edit")
    text_of(page).focus()
    page.keyboard.press("Control+End")
    expect(page.get_by_role("button", name="Save")).to_be_in_viewport()
    expect(page.locator(".ed-line").last).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


def test_without_javascript_it_is_a_text_area(forge, space, new_page, sign_in_as):
    page = sign_in_as("editor", new_page(java_script_enabled=False), at=f"{HERE}?view=edit")
    expect(page.get_by_text("Effect on prompts")).to_be_visible()
    text_of(page).fill("# Plain\n\nwords\n")
    page.get_by_label("Reason").fill("no scripts")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#ed-preview h1")).to_have_text("Plain")
    expect(page.get_by_label("Reason")).to_have_value("no scripts")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved as revision 2.")).to_be_visible()
    assert published(space) == "# Plain\n\nwords\n"
