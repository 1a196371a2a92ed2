"""From the printed link to one's own AGENTS.md: reading, editing and seeing it in the prompt, on a folder of one's own."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from memoryhub.domain import accounts, files, first_start, prompts, quarantine, spaces
from memoryhub.models import HUB, Mount, Space, WorkingEntry
from tests.browser.axe import AXE, EVERYTHING, RUN, faults_of, in_turns
from tests.browser.conftest import PHONE, WIDE
from tests.commands.test_laptop import make_home

TEXT = "# Bakery\n\n- Amounts are integers in cents.\n\n```python\ntotal = 1  # cents\n```\n"


@pytest.fixture
def folder(transactional_db, tmp_path):
    root = tmp_path / "bakery"
    for path, text in {
        "AGENTS.md": TEXT, "CLAUDE.md": "@docs/style.md\n", "docs/style.md": "Short sentences.\n",
        "web/AGENTS.md": "# Web\n\nComponents own the basket.\n", "README.md": "# Read me\n", ".env": "A=1\n",
    }.items():  # fmt: skip
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / ".git").mkdir()
    first_start.prepare(root)
    return root


@pytest.fixture
def link(folder):
    """The path that `memoryhub up` prints."""
    secret = accounts.make_sign_in_link(HUB, accounts.hub_owner(), leads_to="/s/main/")
    return f"/login/once/{secret}/"


@pytest.fixture
def owner(page, link):
    page.goto(link)
    page.locator("main form button").click()
    expect(page.get_by_role("heading", name="bakery")).to_be_visible()
    page.wait_for_load_state("load")  # its script hears of switches from then on
    return page


class Clicks:
    """Clicks of one person, counted."""

    def __init__(self) -> None:
        self.count = 0

    def on(self, target) -> None:
        self.count += 1
        target.click()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("viewport", [WIDE, PHONE])
def test_from_the_link_to_reading_editing_and_the_prompt(new_page, link, folder, viewport):
    page, clicks = new_page(viewport=viewport), Clicks()
    page.goto(link)
    clicks.on(page.locator("main form button"))
    prompt = page.get_by_role("region", name="/memories/AGENTS.md")
    expect(prompt).to_contain_text("Amounts are integers in cents.")
    assert clicks.count <= 1, "reading"
    clicks.on(page.get_by_role("link", name=re.compile(r"^Edit\s+AGENTS\.md$")))
    text = page.locator("#text")
    expect(text).to_be_visible()
    assert clicks.count <= 2, "editing"
    text.click()
    page.keyboard.press("Control+End")
    page.keyboard.type("- Refunds need two people.")
    page.keyboard.press("Control+s")
    expect(page.locator(".md li", has_text="Refunds need two people.")).to_be_visible()
    clicks.on(page.get_by_role("link", name="See the prompt").first)
    expect(page.locator("pre").filter(has_text="Refunds need two people.")).to_be_visible()
    assert clicks.count <= 3, "seeing it in the prompt"
    assert "\n- Refunds need two people." in (folder / "AGENTS.md").read_text()


def test_a_switch_puts_a_file_into_every_prompt_at_once(owner):
    switch = owner.get_by_role("switch", name="CLAUDE.md in every prompt")
    expect(switch).not_to_be_checked()
    with owner.expect_navigation():
        switch.check(force=True)
    expect(owner.get_by_role("region", name="/memories/CLAUDE.md")).to_contain_text("@docs/style.md")
    expect(owner.get_by_role("switch", name="CLAUDE.md in every prompt")).to_be_checked()
    assert "@docs/style.md" in prompts.prompt_of_new_agent(Space.objects.get(slug="main")).text


def test_the_page_gives_way_by_itself_to_the_overview(owner):
    space = Space.objects.get(slug="main")
    agent = prompts.create_agent(space, HUB, "scout")
    quarantine.log(space, agent, content="The gateway answers 503.", session_id="s", node_id="n")
    expect(owner.get_by_role("heading", name="Needs your attention")).to_be_visible(timeout=40_000)
    expect(owner.locator("svg.flow-wide")).to_be_visible()


def test_the_drawing_of_the_flow_and_working_memory_are_whole_on_a_phone(new_page, link, folder):
    space = Space.objects.get(slug="main")
    agent = prompts.create_agent(space, HUB, "scout")
    quarantine.log(space, agent, content="The gateway answers 503.", session_id="s", node_id="n")
    WorkingEntry.objects.filter(space_id=space.pk).update(is_pinned=True)
    page = new_page(viewport=PHONE)
    page.goto(link)
    page.locator("main form button").click()
    expect(page.locator("svg.flow-tall")).to_be_visible()
    outside = page.evaluate("""[...document.querySelectorAll('svg.flow-tall text')]
        .filter((one) => one.getBoundingClientRect().right > one.ownerSVGElement.getBoundingClientRect().right + 1)
        .map((one) => one.textContent)""")
    assert outside == []
    page.goto("/s/main/working/")
    left = page.locator(".timeleft").first
    expect(left).to_contain_text("until unpinned")
    assert left.locator("b, strong, span").last.bounding_box()["height"] < 30, "in one line"


def test_without_scripts_the_choices_are_saved_by_a_button(new_page, link):
    page = new_page(java_script_enabled=False)
    page.goto(link)
    page.locator("main form button").click()
    page.get_by_role("switch", name="CLAUDE.md in every prompt").check(force=True)
    page.get_by_role("button", name="Save choices").click()
    expect(page.get_by_role("switch", name="CLAUDE.md in every prompt")).to_be_checked()
    page.get_by_role("link", name="Open files").click()
    page.locator("summary", has_text="Upload").click()
    page.locator("#up").set_input_files({"name": "more.md", "mimeType": "text/plain", "buffer": b"More.\n"})
    page.locator("#upload button").click()
    expect(page.get_by_role("link", name="more.md").first).to_be_visible()
    page.get_by_role("searchbox").fill("webagents")
    page.get_by_role("button", name="Find").click()
    expect(page.locator("#found a")).to_have_attribute("href", re.compile(r"/memories/web/AGENTS\.md$"))


def test_nothing_is_clipped_on_a_phone(new_page, link):
    page = new_page(viewport=PHONE)
    page.goto(link)
    page.locator("main form button").click()
    for where in ("", "files/memories/", "files/memories/AGENTS.md", "prompt/?new=1"):
        page.goto(f"/s/main/{where}")
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), where
        outside = page.evaluate("""[...document.querySelectorAll('main :is(a, b, h1, h2, h3, p, span, td)')]
            .filter((one) => one.checkVisibility() && !one.closest('pre, .clip, .sr, .tabs, .msg'))
            .filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && one.getBoundingClientRect().width > 1)
            .map((one) => one.textContent.trim().slice(0, 60))""")
        assert outside == [], where


def test_a_file_is_found_by_its_letters_and_the_tree_keeps_its_width(owner):
    owner.goto("/s/main/files/")
    expect(owner.get_by_role("heading", name="memories")).to_be_visible()
    owner.keyboard.press("t")
    owner.keyboard.type("wagm")
    expect(owner.locator("#found a")).to_have_count(1)
    owner.keyboard.press("Enter")
    expect(owner).to_have_url(re.compile(r"/memories/web/AGENTS\.md$"))
    nav = owner.locator("nav.tree-panel")
    before = nav.bounding_box()["width"]
    owner.locator("[data-grip]").focus()
    for _ in range(3):
        owner.keyboard.press("ArrowRight")
    wider = nav.bounding_box()["width"]
    assert wider > before + 60
    owner.goto("/s/main/files/memories/AGENTS.md")
    assert nav.bounding_box()["width"] == wider


def test_the_text_measures_680_pixels_beside_the_tree(owner):
    owner.goto("/s/main/files/memories/AGENTS.md")
    width = owner.evaluate(
        "getComputedStyle(document.querySelector('.md')).width.replace('px', '') - "
        "2 * getComputedStyle(document.querySelector('.md')).paddingLeft.replace('px', '')"
    )
    assert 672 <= width <= 688


def test_a_long_tree_leaves_no_gap_below_a_short_text(owner, folder):
    for number in range(40):
        (folder / "docs" / f"note-{number}.md").write_text("One.\n")
    files.take_in_mount(Space.objects.get(), Mount.objects.get())
    owner.goto("/s/main/files/memories/docs/note-1.md")
    text, beside = (owner.locator(f".file-cols > {css}").bounding_box() for css in (":first-child", ".beside"))
    assert beside["y"] - (text["y"] + text["height"]) < 40


def test_all_views_of_a_file_fit_beside_each_other_on_a_phone(new_page, link):
    page = new_page(viewport=PHONE)
    page.goto(link)
    page.locator("main form button").click()
    page.goto("/s/main/files/memories/AGENTS.md?view=diff")
    assert page.locator(".tabs").evaluate("tabs => tabs.scrollWidth <= tabs.clientWidth")


def test_files_are_dropped_anywhere_on_a_folder(owner, folder):
    owner.goto("/s/main/files/memories/web/")
    given = owner.evaluate_handle("""() => {
        const carried = new DataTransfer();
        carried.items.add(new File(['Dropped.\\n'], 'dropped.md', {type: 'text/markdown'}));
        return carried;
    }""")
    owner.dispatch_event("main", "dragover", {"dataTransfer": given})
    expect(owner.locator("body.dropping")).to_be_visible()
    with owner.expect_navigation():
        owner.dispatch_event("main", "drop", {"dataTransfer": given})
    expect(owner.get_by_role("link", name="dropped.md").first).to_be_visible()
    assert (folder / "web/dropped.md").read_text() == "Dropped.\n"


def test_code_has_colours_and_a_button_that_copies_it(owner):
    owner.context.grant_permissions(["clipboard-read", "clipboard-write"])
    owner.goto("/s/main/files/memories/AGENTS.md")
    expect(owner.locator(".md .hl-c")).to_have_text("# cents")
    owner.locator(".md pre").hover()
    owner.get_by_role("button", name="Copy").click()
    expect(owner.get_by_role("button", name="Copied")).to_be_visible()
    assert owner.evaluate("navigator.clipboard.readText()") == "total = 1  # cents\n"


def test_history_blame_and_compare_lead_to_each_other(owner, folder):
    space = Space.objects.get(slug="main")
    for n in (2, 3):
        files.write(space, HUB, "/memories/AGENTS.md", (TEXT + f"- Rule {n}.\n").encode(), reason=f"Rule {n}")
    owner.goto("/s/main/files/memories/AGENTS.md?view=history")
    owner.get_by_role("link", name="Rule 2").click()
    expect(owner.get_by_role("heading", name="Revision 1 to 2")).to_be_visible()
    expect(owner.get_by_role("button", name="Compare")).to_have_count(0)  # a script took its place
    with owner.expect_navigation():
        owner.get_by_label("To", exact=True).select_option("3")
    expect(owner.get_by_role("heading", name="Revision 1 to 3")).to_be_visible()
    owner.goto("/s/main/files/memories/AGENTS.md?view=blame")
    expect(owner.locator("tr.age6")).to_have_count(1)
    owner.get_by_role("link", name="Blame before this change").click()
    expect(owner.get_by_role("heading", name="Blame at revision 2")).to_be_visible()
    expect(owner.get_by_text("- Rule 2.")).to_be_visible()


def test_a_folder_with_one_level_has_no_tree(new_page, transactional_db, tmp_path):
    (tmp_path / "flat").mkdir()
    (tmp_path / "flat/AGENTS.md").write_text("# Flat\n")
    first_start.prepare(tmp_path / "flat")
    page = new_page()
    secret = accounts.make_sign_in_link(HUB, accounts.hub_owner(), leads_to="/s/main/files/memories/AGENTS.md")
    page.goto(f"/login/once/{secret}/")
    page.locator("main form button").click()
    expect(page.locator(".md h1")).to_have_text("Flat")
    expect(page.locator("nav.tree-panel")).to_have_count(0)
    assert spaces.get_by_slug("main").name == "flat"
    page.goto("/s/main/files/memories/AGENTS.md?view=history")
    list_box, place = (page.locator(at).bounding_box() for at in (".cols.one > *", ".cols.one"))
    assert list_box["width"] == place["width"], "without a tree the list has all the room"


@in_turns
def test_axe_finds_nothing_on_these_pages(new_page, link, folder, turns):
    page = new_page(own=True)
    page.goto(link)
    page.locator("main form button").click()
    here = "/s/main/files/memories/"
    pages = (here, f"{here}web/AGENTS.md", f"{here}AGENTS.md?view=blame", f"{here}?q=web", "/s/main/prompt/")
    assert faults_of(page, ("/s/main/", *pages), turns) == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("viewport", [PHONE, WIDE])
def test_two_clicks_show_the_coding_agents_of_this_machine(new_page, link, tmp_path, monkeypatch, viewport):
    home = make_home(tmp_path / "mia")
    monkeypatch.setenv("HOME", str(home))
    page = new_page(viewport=viewport)
    page.goto(link)
    page.locator("main form button").click()
    page.get_by_role("link", name="Find coding agents").first.click()
    expect(page.get_by_role("heading", name="Coding agents on this machine")).to_be_visible()
    page.evaluate(AXE)
    assert page.evaluate(RUN % EVERYTHING) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_label("~/notes").uncheck()
    page.get_by_role("button", name="Show ticked folders").click()
    expect(page.get_by_role("heading", name="What Claude Code sees in")).to_be_visible()
    expect(page.get_by_text("4 folders are shown.")).to_be_visible()
    shown = Mount.objects.filter(space__slug="laptop").values_list("directory", flat=True)
    assert set(shown) == {str(home / name) for name in (".claude", ".codex", ".gemini", "shop")}
