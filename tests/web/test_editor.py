"""The editor and what it is told while somebody writes: of files, proposals, long-term entries and templates."""

from __future__ import annotations

import re
from html import unescape

import pytest

from memoryhub.domain import files, longterm, prompts, proposals, spaces
from memoryhub.models import HUB, Agent
from memoryhub.stores import paths

PATH = "/memories/AGENTS.md"
HERE = "/s/books/files/memories/AGENTS.md?view=edit"
CHECK = "/s/books/editor/check/"
TEMPLATE = "<memory>\n{agent_memory}\n</memory>\n"


@pytest.fixture
def forge(house):
    files.add_mount(house.space, HUB, "/memories/", store="database", policy="review")
    files.write(house.space, HUB, PATH, b"# Rules\n\n- One.\n")
    prompts.add_source(house.space, HUB, PATH)
    return prompts.create_agent(house.space, HUB, "forge")


def page_of(response, status=200):
    assert response.status_code == status, response.content[:2000]
    return response.content.decode()


def check_draft(client, subject, content, **more):
    """What stands beside the text, as the editor asks for it."""
    sent = {"subject": subject, "content": content.replace("\n", "\r\n"), **more}
    return page_of(client.post(CHECK, sent, headers={"HX-Request": "true"}))


def words_of(html):
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_every_text_has_the_same_editor(house, forge, as_role):
    proposals.propose(house.space, forge, kind="write", path=PATH, content=b"# Rules\n\n- Two.\n")
    longterm.store(house.space, HUB, "The desk closes at five.")
    owner = as_role("owner")
    addresses = {
        HERE: "Save",
        "/s/books/files/memories/new.md?view=edit": "Save",
        "/s/books/proposals/1/?edit=1": "Approve with my edits",
        "/s/books/longterm/1/?edit": "Save",
        "/s/books/files/memories/hub-guidelines.md?view=edit": "Save",
        "/s/books/prompt/forge/template/": "Save",
    }
    for address, button in addresses.items():
        page = page_of(owner.get(address))
        bar = page[page.index('class="ed-bar"') : page.index("</form>", page.index('class="ed-bar"'))]
        assert button in words_of(bar) and "tokens" in words_of(bar), address
        assert page.count("<textarea") in (1, 2) and 'id="ed-side"' in page, address
        assert "js/editor" in page and "When you" in page, address


def test_new_guidelines_begin_with_the_words_that_count_without_them(house, forge, as_role):
    page = page_of(as_role("editor").get("/s/books/files/memories/hub-guidelines.md?view=edit"))
    text = page[page.index("<textarea") : page.index("</textarea>")]
    assert "preferences" in text


def test_tokens_and_each_prompt_follow_the_text(house, forge, as_role):
    prompts.create_agent(house.space, HUB, "other")
    other = Agent.objects.get(slug="other")
    prompts.add_source(house.space, HUB, "/memories/own.md", agent=other)
    shown = words_of(check_draft(as_role("editor"), f"file:{PATH}", "# Rules\n\n- One.\n- Two, which is four words.\n"))
    assert "11 tokens +7" in shown
    assert "1 of 2 agents" in shown and "Not in the prompt of other" in shown
    assert "+1 −0 lines" in shown
    assert "tokens stay cached" in shown and "- Two, which is four words." in shown
    assert "are sent again once per thread" in shown


def test_a_prompt_that_is_cut_says_so(house, forge, as_role):
    prompts.change_settings(
        forge, HUB, budget=30, gives_way=["source", "working", "longterm"], memory_is_on=True, template=""
    )
    forge.refresh_from_db()
    prompts.change_agent(forge, HUB, dialect="hub")
    shown = check_draft(as_role("editor"), f"file:{PATH}", "# Rules\n\n" + "- A long line about very little.\n" * 20)
    assert "budget" in words_of(shown) and "cut" in words_of(shown)


def test_findings_stand_with_their_line_and_place(house, forge, as_role):
    text = "# Rules\n\n- 𝒳 Ver\u200bify it.\n- One.\n"
    shown = check_draft(as_role("editor"), f"file:{PATH}", text)
    assert 'data-marks="3:' in shown and "line 3" in words_of(shown)
    marks = re.search(r'data-marks="([^"]+)"', shown)[1]
    column = text.split("\n")[2].index("\u200b") + 1  # the letter before it is two units of a browser
    assert f"3:{column}-3:{column + 1}" in marks
    assert "data-remove" in shown


def test_a_finding_of_an_old_line_is_marked_too(house, forge, as_role):
    files.write(house.space, HUB, PATH, "# Rules\n\n- Ver\u200bify it.\n".encode())
    page = page_of(as_role("editor").get(HERE))
    assert 'data-marks="3:' in page


def test_what_could_not_be_saved_is_said_while_one_writes(house, forge, as_role):
    shown = words_of(check_draft(as_role("owner"), "template:forge", "no place for memory"))
    assert "It cannot be saved like this" in shown


def test_previews_for_people_models_and_changes(house, forge, as_role):
    editor = as_role("editor")
    for view, expected in (("people", "<h1"), ("model", "# Two"), ("change", "removed ")):
        shown = check_draft(editor, f"file:{PATH}", "# Two\n<!-- note -->", view=view)
        preview = shown[shown.index('id="ed-preview"') :]
        assert expected in preview and "<html" not in shown
        assert ("note" in preview) == (view != "model")
    assert "ed-preview" not in check_draft(editor, f"file:{PATH}", "# Two")


def test_without_scripts_the_page_comes_back_with_text_and_preview(house, forge, as_role):
    sent = {"subject": f"file:{PATH}", "content": "# Two\r\n", "view": "people", "reason": "Because"}
    page = page_of(as_role("editor").post(CHECK, sent))
    assert "<html" in page and "# Two" in page and ">Two</h1>" in page and 'value="Because"' in page


def test_who_may_not_save_is_told_nothing(house, forge, as_role):
    proposals.propose(house.space, forge, kind="write", path=PATH, content=b"# Rules\n\n- Two.\n")
    longterm.store(house.space, HUB, "The desk closes at five.")
    refused = {
        "viewer": [f"file:{PATH}"],
        "editor": ["proposal:1", "entry:1", "template:forge"],
        "reviewer": ["template:forge"],
    }
    for role, subjects in refused.items():
        client = as_role(role)
        for subject in subjects:
            for act in ("check", "editing"):
                answer = client.post(f"/s/books/editor/{act}/", {"subject": subject, "content": "x"})
                assert answer.status_code == 403, (role, subject)


@pytest.mark.parametrize(
    "subject",
    ["", "file", "nothing:1", "proposal:x", "proposal:9", "entry:²", "entry:9", "template:no", "proposal:" + "9" * 40],
)
def test_subjects_that_there_are_not(house, forge, as_role, subject):
    assert as_role("owner").post(CHECK, {"subject": subject, "content": "x"}).status_code in (404, 422)


def test_another_space_is_a_wall(house, forge, as_role):
    other = spaces.create(HUB, "other", "Other")
    files.add_mount(other, HUB, "/memories/", store="database", policy="review")
    assert as_role("owner").post("/s/other/editor/check/", {"subject": f"file:{PATH}"}).status_code == 404


def test_an_entry_is_saved_with_its_reason_and_shown_again_when_refused(house, forge, as_role):
    longterm.store(house.space, HUB, "The desk closes at five.")
    reviewer = as_role("reviewer")
    sent = {"content": "The desk closes at six.", "revision": "1", "reason": "They said so", "subject": "entry:1"}
    assert reviewer.post("/s/books/longterm/1/edit/", sent).status_code == 303
    page = page_of(reviewer.post("/s/books/longterm/1/edit/", sent | {"content": "At seven."}), 409)
    assert "At seven.</textarea>" in page and "They said so" in page and 'name="revision" value="2"' in page


def test_a_template_is_edited_and_its_prompt_shown(house, forge, as_role):
    prompts.change_agent(forge, HUB, dialect="deepagents")
    owner = as_role("owner")
    shown = words_of(check_draft(owner, "template:forge", TEMPLATE))
    assert "<memory>" in shown and "tokens stay cached" in shown
    assert Agent.objects.get(slug="forge").template == "", "nothing is saved by looking"
    answer = owner.post("/s/books/prompt/forge/template/save/", {"content": TEMPLATE.replace("\n", "\r\n")})
    assert answer.status_code == 303
    assert Agent.objects.get(slug="forge").template == TEMPLATE
    page = page_of(owner.post("/s/books/prompt/forge/template/save/", {"content": "none"}), 422)
    assert "none</textarea>" in page and "Not saved." in page
    assert Agent.objects.get(slug="forge").template == TEMPLATE


def test_a_reviewer_confirms_findings_beside_the_text(house, forge, as_role):
    proposals.propose(house.space, forge, kind="write", path=PATH, content="# Rules\n\n- Ver\u200bify.\n".encode())
    reviewer = as_role("reviewer")
    page = page_of(reviewer.get("/s/books/proposals/1/?edit=1"))
    assert 'name="looked"' in page and 'type="checkbox"' in page
    clean = check_draft(reviewer, "proposal:1", "# Rules\n\n- Verify.\n")
    assert 'type="checkbox"' not in clean
    seen = re.search(r'name="seen" value="([^"]+)"', page)[1]
    sent = {"seen": seen, "do": "edited", "subject": "proposal:1", "note": "as it should be"}
    refused = reviewer.post("/s/books/proposals/1/approve/", sent | {"content": "# Rules\n\n- Still \u200b.\n"})
    page = page_of(refused, 422)
    assert "as it should be" in page and "Confirm first" in page
    assert (
        reviewer.post("/s/books/proposals/1/approve/", sent | {"content": "# Rules\n\n- Verify.\n"}).status_code == 303
    )
    assert files.read(house.space, PATH).content == b"# Rules\n\n- Verify.\n"


def test_edits_keep_bom_and_line_ends_of_the_file(house, forge, as_role):
    files.write(house.space, HUB, PATH, "\ufeff# Rules\r\n\r\n- One.\r\n".encode())
    new = "\ufeff# Rules\r\n\r\n- Two.\r\n".encode()
    proposals.propose(house.space, forge, kind="write", path=PATH, content=new)
    reviewer = as_role("reviewer")
    page = page_of(reviewer.get("/s/books/proposals/1/?edit=1"))
    assert "\ufeff" not in page[page.index("<textarea") : page.index("</textarea>")]
    seen = re.search(r'name="seen" value="([^"]+)"', page)[1]
    sent = {"seen": seen, "do": "edited", "content": "# Rules\r\n\r\n- Three.\r\n"}
    assert reviewer.post("/s/books/proposals/1/approve/", sent).status_code == 303
    assert files.read(house.space, PATH).content == "\ufeff# Rules\r\n\r\n- Three.\r\n".encode()


def test_two_people_at_one_text_see_each_other(house, forge, as_role):
    longterm.store(house.space, HUB, "The desk closes at five.")
    as_role("reviewer").get("/s/books/longterm/1/?edit")
    page = page_of(as_role("owner").get("/s/books/longterm/1/?edit"))
    assert "a-reviewer has this open" in words_of(page)
    mine = page_of(as_role("owner").post("/s/books/editor/editing/", {"subject": "entry:1"}))
    assert "a-reviewer has this open" in words_of(mine)


def test_a_path_without_a_leading_slash(house, forge, as_role):
    files.add_mount(house.space, HUB, "./notes/", store="database", policy="review")
    where = paths.clean("./notes/a.md")
    files.write(house.space, HUB, where, b"one\n")
    editor = as_role("editor")
    page = page_of(editor.get("/s/books/files/?path=./notes/a.md&view=edit"))
    action = unescape(re.search(r'class="ed-bar"[^>]*?action="([^"]+)"', page, re.DOTALL)[1])
    assert editor.post(action, {"content": "two\r\n", "base_revision": "1"}).status_code == 303
    assert files.read(house.space, where).content == b"two\n"


def test_a_large_text_is_checked_after_the_page(house, forge, as_role):
    files.write(house.space, HUB, PATH, b"- A line of the rules.\n" * 8000)
    page = page_of(as_role("editor").get(HERE))
    assert "data-late" in page and "Effect on prompts" not in page
    assert "1 agent" in words_of(check_draft(as_role("editor"), f"file:{PATH}", "- A line.\n" * 8000))
