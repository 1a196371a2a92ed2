"""Files by mouse and by keyboard, on a real mounted directory."""

from __future__ import annotations

import time
import zipfile

import pytest
from playwright.sync_api import expect

from memoryhub.domain import accounts, files, prompts, proposals, spaces
from memoryhub.domain.files import line_authors, zip
from memoryhub.domain.jobs import queue
from memoryhub.models import HUB, Actor

PATH = "/memories/AGENTS.md"
HERE = "/s/ledger/files/memories/AGENTS.md"


@pytest.fixture
def root(space, tmp_path):
    directory = tmp_path / "disk"
    directory.mkdir()
    (directory / "AGENTS.md").write_bytes(b"# Title\r\n\r\n- one\r\n- two\r\n")
    files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(directory))
    return directory


def choose(page, action):
    """Clicks an action of the page's menu."""
    page.get_by_label("More actions").click()
    page.get_by_role("link", name=action).click()


def test_from_the_tree_to_the_file_to_a_save_on_disk(root, sign_in_as):
    page = sign_in_as("editor")
    page.get_by_role("link", name="Files").first.click()
    page.locator("tbody").get_by_role("link", name="AGENTS.md").first.click()
    expect(page.locator(".md h1")).to_have_text("Title")
    page.wait_for_load_state()  # with the scripts that know keys
    page.keyboard.press("e")
    text = page.locator("#text")
    expect(text).to_have_value("# Title\n\n- one\n- two\n")
    text.click()
    page.keyboard.press("Control+End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.keyboard.type("three")
    expect(text).to_have_value("# Title\n\n- one\n- two\n- three\n")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#ed-preview .md li")).to_have_count(3)
    page.locator("#why").fill("a third one")
    page.keyboard.press("Control+s")
    expect(page.get_by_text("Saved as revision 2.")).to_be_visible()
    assert (root / "AGENTS.md").read_bytes() == b"# Title\r\n\r\n- one\r\n- two\r\n- three\r\n"


def test_rendered_markdown_looks_like_what_it_says(root, sign_in_as):
    (root / "AGENTS.md").write_text("> quoted\n\n~~gone~~\n\n- [x] done\n- plain\n\n| a | b |\n|:-:|--:|\n| 1 | 2 |\n")
    page = sign_in_as("viewer", at=HERE)

    def style(part, name):
        return page.locator(f".md {part}").first.evaluate("(shown, name) => getComputedStyle(shown)[name]", name)

    assert style("blockquote", "borderInlineStartWidth") == "3px"
    assert "line-through" in style("del", "textDecoration")
    assert [style("li.task", "listStyleType"), style("li:not(.task)", "listStyleType")] == ["none", "disc"]
    assert [style("td:first-child", "textAlign"), style("td:last-child", "textAlign")] == ["center", "end"]


def test_a_save_is_taken_back_in_its_notice(root, space, sign_in_as):
    page = sign_in_as("editor")
    for text in ("# Title\n\n- mine\n- two\n", "# Title\n\n- mine again\n- two\n"):
        page.goto(f"{HERE}?view=edit")
        page.locator("#text").fill(text)
        page.locator("#save").click()
        undo = page.locator("#notices").get_by_role("button", name="Undo")
        expect(undo).to_be_visible()
    ops = Actor.of_person(accounts.create_person(HUB, "ops"), "editor")
    files.write(space, ops, PATH, b"# Title\r\n\r\n- mine again\r\n- two by ops\r\n")
    undo.click()
    expect(page.get_by_text("changed by both of you").or_(page.get_by_role("alert"))).to_be_visible()
    assert (root / "AGENTS.md").read_bytes() == b"# Title\r\n\r\n- mine again\r\n- two by ops\r\n"
    page.goto(f"{HERE}?view=edit")
    page.locator("#text").fill("# Other\n\n- mine again\n- two by ops\n")
    page.locator("#save").click()
    page.locator("#notices").get_by_role("button", name="Undo").click()
    expect(page.locator(".md h1")).to_have_text("Title")
    assert (root / "AGENTS.md").read_bytes() == b"# Title\r\n\r\n- mine again\r\n- two by ops\r\n"


def test_chips_filter_a_folder(root, space, sign_in_as):
    forge = prompts.create_agent(space, HUB, "forge")
    prompts.add_source(space, HUB, PATH)
    files.read(space, PATH)  # what is new on disk is taken in
    for name in ("notes/a.md", "notes/b.md"):
        files.write(space, HUB, f"/memories/{name}", b"x\n")
    proposals.submit(space, Actor.of_agent(forge), files.ChangeRequest("write", "/memories/notes/b.md", content=b"y\n"))
    page = sign_in_as("viewer", at="/s/ledger/files/memories/")
    for chip, shown in (
        ("Read by an agent 1", ["AGENTS.md"]),
        ("Waiting 1", ["notes/b.md"]),
        ("All 3", ["notes", "AGENTS.md"]),
    ):
        page.locator(".chips").get_by_role("link", name=chip).click()
        expect(page.locator(".chip[aria-current]")).to_have_text(chip)
        expect(page.locator("tbody tr td:first-child .clip")).to_have_text(shown)


def test_two_editors_see_each_other_and_both_versions(root, space, sign_in_as):
    page = sign_in_as("editor", at=f"{HERE}?view=edit")
    ops = Actor.of_person(accounts.create_person(HUB, "ops"), "editor")
    files.write(space, ops, PATH, b"# Title\r\n\r\n- one by ops\r\n- two\r\n")
    page.locator("#text").fill("# Title\n\n- one by me\n- two\n")
    page.keyboard.press("Control+s")
    expect(page.get_by_text("changed by both of you")).to_be_visible()
    expect(page.locator("pre", has_text="- one by me").first).to_be_visible()
    expect(page.locator("pre", has_text="- one by ops").first).to_be_visible()
    assert b"by ops" in (root / "AGENTS.md").read_bytes(), "nothing is overwritten"
    page.locator("#text").fill("# Title\n\n- one by both\n- two\n")
    page.locator("#save").click()
    expect(page.get_by_text("Saved as revision 3.")).to_be_visible()
    assert (root / "AGENTS.md").read_bytes() == b"# Title\r\n\r\n- one by both\r\n- two\r\n"


def test_somebody_else_is_editing(root, space, sign_in_as, new_page):
    from memoryhub.domain import files

    ops = accounts.create_person(HUB, "ops")
    spaces.add_member(space, HUB, ops, "owner")
    files.note_editing(space, ops, PATH)
    page = sign_in_as("editor", at=f"{HERE}?view=edit")
    expect(page.get_by_text("ops has this file open")).to_be_visible()


def test_a_change_on_disk_appears_and_history_compares_and_restores(root, sign_in_as):
    page = sign_in_as("editor", at=HERE)
    time.sleep(0.02)
    (root / "AGENTS.md").write_bytes(b"# By hand\r\n")
    page.reload()
    expect(page.locator(".md h1")).to_have_text("By hand")
    page.get_by_role("link", name="History").click()
    expect(page.locator("[data-row]")).to_have_count(2)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator(".diff .add")).to_have_count(1)
    page.go_back()
    page.get_by_role("button", name="Restore revision 1").click()
    expect(page.get_by_text("Revision 1 is restored as revision 3.")).to_be_visible()
    assert (root / "AGENTS.md").read_bytes().startswith(b"# Title")
    page.get_by_role("link", name="Blame").click()
    expect(page.locator(".source .by").first).to_contain_text("disk")


def test_new_move_delete_and_undo(root, sign_in_as):
    page = sign_in_as("editor", at="/s/ledger/files/memories/")
    page.keyboard.press("n")
    expect(page.locator("#path")).to_be_focused()
    page.keyboard.type("team/style.md")
    expect(page.locator("#path")).to_have_value("/memories/team/style.md")
    page.keyboard.press("Enter")
    page.locator("#text").fill("short")
    expect(page.locator("#ed-tok")).to_contain_text("2 tokens")  # the editor's script is there, and so is Ctrl-S
    page.keyboard.press("Control+s")
    expect(page.get_by_text("Saved as revision 1.")).to_be_visible()
    assert (root / "team" / "style.md").read_bytes() == b"short"
    choose(page, "Rename, move, delete")
    page.locator("#move-to").fill("/memories/style.md")
    page.get_by_role("button", name="Move", exact=True).click()
    expect(page.get_by_text("Moved to /memories/style.md.")).to_be_visible()
    assert not (root / "team" / "style.md").exists()
    choose(page, "Rename, move, delete")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("is deleted")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_text("is restored as revision")).to_be_visible()
    assert (root / "style.md").read_bytes() == b"short"


def test_the_tree_opens_in_place_and_filters_as_one_types(root, space, sign_in_as):
    files.write(space, HUB, "/memories/deep/er/notes.md", b"x")
    page = sign_in_as("viewer", at=HERE)
    folder = page.locator(".tree [data-unfold]", has_text="deep")
    folder.locator(".g").click()
    expect(page.locator(".tree [data-unfold]", has_text="er").last).to_be_visible()
    page.get_by_role("searchbox", name="Go to file").fill("notes")
    expect(page.locator("#tree a")).to_have_count(1)
    page.locator("#tree a").click()
    expect(page.locator("h1").first).to_have_text("notes.md")
    page.emulate_media(media="print")
    expect(page.locator(".tree")).to_be_hidden()


def test_a_paragraph_from_right_to_left_begins_at_the_right(root, space, sign_in_as):
    (root / "AGENTS.md").write_text("# الشحن\n\nخلال 24 ساعة.\n\nIn Berlin.\n")
    page = sign_in_as("viewer", at=HERE)
    for block, side in ((".md h1", "right"), (".md p >> nth=0", "right"), (".md p >> nth=1", "left")):
        gap = page.locator(block).evaluate(
            "(el, side) => { const text = document.createRange(); text.selectNodeContents(el);"
            " return Math.abs(text.getBoundingClientRect()[side] - el.getBoundingClientRect()[side]); }", side
        )  # fmt: skip
        assert gap < 2, block


def test_it_all_works_without_scripts(root, sign_in_as, new_page):
    page = sign_in_as("editor", new_page(java_script_enabled=False), at=HERE)
    page.get_by_role("link", name="Edit e").click()
    page.locator("#text").fill("# Plain\n")
    page.get_by_role("button", name="Changes", exact=True).click()
    expect(page.locator("#text")).to_have_value("# Plain\n")
    expect(page.locator("#ed-preview .diff")).to_be_visible()
    page.locator("#save").click()
    expect(page.locator(".md h1")).to_have_text("Plain")
    assert (root / "AGENTS.md").read_bytes() == b"# Plain\r\n"


def test_mounts_are_explained_and_sources_ordered(root, sign_in_as):
    page = sign_in_as("owner", at=HERE)
    choose(page, "Explain this path")
    expect(page.get_by_text(str(root / "AGENTS.md"))).to_be_visible()
    for path in (PATH, "/memories/missing.md"):
        page.locator("#path").fill(path)
        page.locator("#sources").get_by_role("button", name="Add", exact=True).click()
        expect(page.get_by_text(f"{path} is a source now.")).to_be_visible()
    expect(page.locator(".sortable .tag", has_text="missing")).to_be_visible()
    page.get_by_role("button", name="Move /memories/missing.md up").click()
    expect(page.locator("#sources .sortable li").first).to_contain_text("missing.md")


def test_a_large_folder_is_packed_while_its_page_waits(root, sign_in_as, monkeypatch):
    monkeypatch.setattr(zip, "MAX_SMALL_BYTES", 0)
    page = sign_in_as("viewer", at="/s/ledger/files/memories/")
    choose(page, "Download as ZIP")
    page.get_by_role("button", name="Create ZIP").click()
    expect(page.get_by_text("It begins in a moment.")).to_be_visible()
    queue.run_waiting()
    expect(page.get_by_text("1 file, ")).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download", exact=True).click()
    assert waiting.value.suggested_filename == "memories.zip"
    with zipfile.ZipFile(waiting.value.path()) as archive:
        assert archive.read("AGENTS.md") == (root / "AGENTS.md").read_bytes()


def test_the_blame_of_a_long_history_appears_by_itself(root, space, sign_in_as, monkeypatch):
    monkeypatch.setattr(line_authors, "MAX_BLAME_BYTES", 0)
    page = sign_in_as("viewer")
    files.write(space, HUB, PATH, b"# Title\nby the hub\n", reason="a line of its own")
    page.goto(f"{HERE}?view=blame")
    expect(page.get_by_text("The history is long")).to_be_visible()
    monkeypatch.undo()
    queue.run_waiting()
    expect(page.locator(".source .by").first).to_contain_text("a line of its own")


def test_an_owner_takes_in_and_leaves_out(root, space, sign_in_as):
    for name in ("node_modules/x/NOTES.md", "drafts/a.md", ".git/config"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x\n")
    page = sign_in_as("owner", at="/s/ledger/mounts/")
    row = page.locator(".left-out tr", has_text="node_modules")
    expect(row).to_contain_text("Dependencies")
    expect(page.locator(".left-out tr", has_text=".git").first).to_contain_text("Version control, always")
    row.get_by_role("button", name="Include node_modules").click()
    expect(page.locator(".left-out tr", has_text="node_modules")).to_have_count(0)
    assert files.exists(space, "/memories/node_modules/x/NOTES.md")
    page.get_by_label("Exclude").first.fill("drafts/")
    page.get_by_role("button", name="Save mount").click()
    expect(page.locator(".left-out tr", has_text="drafts/")).to_contain_text("Excluded by a pattern of this mount")
    assert not files.exists(space, "/memories/drafts/a.md")
    page.get_by_role("button", name="Remove drafts/").click()
    expect(page.locator(".left-out tr", has_text="drafts/")).to_have_count(0)
    assert files.exists(space, "/memories/drafts/a.md")


def test_a_rule_that_matches_nothing_is_confirmed(root, sign_in_as):
    page = sign_in_as("owner", at="/s/ledger/rules/")
    form = page.locator("#rule-form")
    expect(form.get_by_label("Changes by agents")).to_have_value("review")
    form.get_by_label("Path pattern").fill("memories")
    form.get_by_role("button", name="Add rule").click()
    expect(page.get_by_text("No file matches “memories”.")).to_be_visible()
    page.get_by_label("Save it although no file matches it now").check()
    page.get_by_role("button", name="Add rule").click()
    expect(page.locator("#rules .sortable")).to_contain_text("memories")
