"""The overview of a space before its first agent does something."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from memoryhub.domain import demo, files, prompts, proposals, quarantine, spaces
from memoryhub.models import HUB, File, Revision, Source
from tests.one_line import one_line

AGENTS = "# Shop\n\nAmounts are integers in cents.\n"


@pytest.fixture
def folder(house, tmp_path):
    root = tmp_path / "shop"
    for path, text in {
        "AGENTS.md": AGENTS, "web/AGENTS.md": "Components own the basket.\n", "CLAUDE.md": "@docs/style.md\n",
        "docs/style.md": "Short.\n", "docs/deploy.md": "Friday never.\n", ".env": "A=1\n",
    }.items():  # fmt: skip
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / ".git").mkdir()
    mount = files.add_mount(house.space, HUB, "/memories/", store="filesystem", directory=str(root))
    files.take_in_mount(house.space, mount)
    prompts.add_source(house.space, HUB, "/memories/AGENTS.md")
    return root


def test_it_shows_the_files_the_prompt_and_how_to_connect(as_role, house, folder):
    page = one_line(as_role("owner").get("/s/books/"))
    for said in ("5 files", "Your memory", "Amounts are integers in cents.", "for any new agent", "Connect", "Claude Code",
                 "Imports docs/style.md", "For work below web/.", "Imported by CLAUDE.md.", ".env", "left out"):  # fmt: skip
        assert said in page, said
    assert "Open full prompt" in page and '<svg class="flow' not in page
    assert re.search(r'value="/memories/AGENTS.md" +checked', page)
    assert not re.search(r'value="/memories/CLAUDE.md" +checked', page)


def test_the_prompt_it_shows_is_what_a_new_agent_gets(as_role, house, folder):
    shown = as_role("viewer").get("/s/books/").context["first"].prompt
    assert shown.data == prompts.assemble(house.space, prompts.create_agent(house.space, HUB, "scout")).data
    assert "Amounts are integers" in one_line(as_role("viewer").get("/s/books/prompt/?new=1"))


def test_a_switch_puts_a_file_into_every_prompt_and_takes_it_out(as_role, house, folder):
    owner = as_role("owner")
    shown = ["/memories/AGENTS.md", "/memories/CLAUDE.md"]
    answer = owner.post("/s/books/sources/choose/", {"shown": shown, "file": ["/memories/CLAUDE.md"]}, follow=True)
    assert "/memories/AGENTS.md and 1 more changed." in one_line(answer)
    now = prompts.prompt_of_new_agent(house.space)
    assert "@docs/style.md" in now.text and "Amounts" not in now.text
    assert as_role("editor").post("/s/books/sources/choose/", {"shown": shown}).status_code == 403
    assert 'role="switch"' not in one_line(as_role("editor").get("/s/books/"))


def test_it_gives_way_to_the_overview_with_the_first_call(as_role, house, folder):
    owner = as_role("owner")
    asked = re.search(r'hx-get="([^"]+first=[^"]+)"', one_line(owner.get("/s/books/")))[1]
    quiet = owner.get(asked, headers={"HX-Request": "true"})
    assert (quiet.status_code, "HX-Refresh" in quiet.headers) == (204, False)
    scout = prompts.create_agent(house.space, HUB, "scout")
    page = owner.get("/s/books/")
    assert "Created, no call yet" in one_line(page)
    asked = re.search(r'hx-get="([^"]+first=[^"]+)"', one_line(page))[1]
    quarantine.log(house.space, scout, content="The gateway answers 503.", session_id="s", node_id="n")
    assert owner.get(asked, headers={"HX-Request": "true"}).headers["HX-Refresh"] == "true"
    assert '<svg class="flow' in one_line(owner.get("/s/books/")).replace("\n", "")


def test_a_change_held_on_disk_is_no_flow_and_is_told(as_role, house, folder):
    mount = files.get_mount(house.space, files.mounts_of_space(house.space)[0].pk)
    files.change_on_disk(house.space, HUB, mount, "hold")
    (folder / "AGENTS.md").write_text("# Shop\n\nFloats.\n")
    files.take_in_mount(house.space, mount)
    assert proposals.get(house.space, 1).from_disk
    page = one_line(as_role("owner").get("/s/books/"))
    assert "1 change waits for a decision." in page and "Your memory" in page and "Floats" not in page


def test_a_space_without_anything_says_what_to_do(as_role, house):
    page = one_line(as_role("owner").get("/s/books/"))
    for said in ("memoryhub mount add /memories/", "#add-mount", "Load the demo", "No agent is connected yet."):
        assert said in page, said
    assert "0 files" not in page
    viewer = one_line(as_role("viewer").get("/s/books/"))
    assert "/agents/new/" not in viewer and "#add-mount" not in viewer


def test_the_demo_is_a_link(as_role, house, folder):
    other = demo.make(house.owner.person)
    assert f'href="/s/{other.slug}/"' in one_line(as_role("owner").get("/s/books/"))


def test_a_missing_source_leads_to_writing_it(as_role, house):
    files.add_mount(house.space, HUB, "/memories/")
    prompts.add_source(house.space, HUB, "/memories/AGENTS.md")
    page = one_line(as_role("owner").get("/s/books/"))
    assert "No file yet" in page and 'href="/s/books/files/memories/AGENTS.md?view=edit"' in page


def test_hostile_names_are_drawn_as_text(as_role, house):
    files.add_mount(house.space, HUB, "/memories/")
    for path in ("/memories/<img src=x>/AGENTS.md", "/memories/&amp;b.md"):
        files.write(house.space, HUB, path, b"<script>x</script>\n")
    page = as_role("owner").get("/s/books/").content.decode()
    assert "<img src" not in page and "<script>x" not in page


@pytest.mark.parametrize("count", [3, 300])
def test_it_costs_the_same_for_any_number_of_files(as_role, house, statements, count):
    files.add_mount(house.space, HUB, "/memories/")
    rows = File.objects.bulk_create(
        File(space=house.space, path=f"/memories/d{n % 20}/{n}.md", revision=1, size=9) for n in range(count)
    )
    Revision.objects.bulk_create(
        Revision(space=house.space, file=row, number=1, path=row.path, sha256="x", content=b"x") for row in rows
    )
    Source.objects.bulk_create(Source(space=house.space, path=row.path, position=1) for row in rows[:40])
    owner = as_role("owner")
    owner.get("/s/books/")
    with statements() as sent:
        page = owner.get("/s/books/")
    assert page.status_code == 200 and len(sent) <= 24


def test_a_stranger_sees_nothing(house, folder):
    assert Client().get("/s/books/").status_code == 302
    other = spaces.create(HUB, "other")
    spaces.add_member(other, HUB, house.viewer.person, "viewer")


def test_page_and_editor_say_which_prompts_hold_a_file_before_any_agent_exists(as_role, house, folder):
    owner = as_role("owner")
    for path, says in (("AGENTS.md", "in every prompt"), ("CLAUDE.md", "in no prompt")):
        assert says in one_line(owner.get(f"/s/books/files/memories/{path}"))
    editor = one_line(owner.get("/s/books/files/memories/AGENTS.md?view=edit"))
    assert "in every prompt" in editor and "Loaded by coding agents: " in editor
    editor = html.unescape(one_line(owner.get("/s/books/files/memories/CLAUDE.md?view=edit")))
    assert "Loaded by coding agents: Claude Code" in editor and "In no agent's prompt." not in editor
    saved = owner.post(
        "/s/books/file/write/memories/AGENTS.md", {"content": "# Shop\n", "base_revision": 1}, follow=True
    )
    assert "/s/books/prompt/?new=1" in one_line(saved).partition('id="notices"')[2][:900]
    for path, says in (("AGENTS.md", "Remove from every prompt"), ("CLAUDE.md", "Put it into every prompt")):
        assert says in one_line(owner.get(f"/s/books/files/memories/{path}"))
    back = owner.post("/s/books/sources/choose/", {"shown": "/memories/AGENTS.md", "back": "file"})
    assert back.headers["Location"] == "/s/books/files/memories/AGENTS.md"
    assert "# Shop" not in prompts.prompt_of_new_agent(house.space).text
