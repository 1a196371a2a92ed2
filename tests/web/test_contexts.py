"""The pages of what coding agents see in mounted directories: exact, with causes and fixes, and nothing that nobody may see."""

import os
import re
from html import unescape

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryhub.dialects import coding
from memoryhub.domain import contexts, files
from memoryhub.errors import Forbidden, NotFound
from memoryhub.models import HUB, Mount, Node
from tests.one_line import one_line

TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
PAGES = ("contexts.page", "contexts.raw", "contexts.matrix", "contexts.export_csv", "contexts.checks")


def write(root, made):
    for name, text in made.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.fixture
def shop(house, tmp_path):
    root = (tmp_path / "home" / "shop").resolve()
    write(root, {
        ".git/HEAD": "ref: refs/heads/main\n", "AGENTS.md": "# Shop\n\n- Amounts are in cents.\n",
        "CLAUDE.md": "- Branches begin with a ticket.\n",
        "web/CLAUDE.md": "# Web\n\nSee @docs/parts.md\n", "web/docs/parts.md": "- `<Price>` takes cents\u200b.\n",
        ".claude/rules/money.md": "- Round half to even.\n", "web/checkout/CLAUDE.md": "- Never log a card.\n", "README.md": "# A shop\n",
    })  # fmt: skip
    mount = files.add_mount(house.space, HUB, "/shop/", store="filesystem", directory=str(root))
    return root, mount


def get(client, name="contexts.page", **query):
    return client.get(reverse(name, args=["books"]), query)


def text_of(answer):
    """The words of a page without its tags; where a path may break is no blank."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.content.decode().replace("<wbr>", ""))).split())


def test_the_page_has_each_file_in_order_with_why(shop, as_role):
    page = text_of(get(as_role("owner"), dir="web"))
    places = [
        page.index(f"{n} /shop/{name} ")
        for n, name in enumerate(("CLAUDE.md", ".claude/rules/money.md", "web/CLAUDE.md"), 1)
    ]
    assert places == sorted(places)
    for said in (
        "Instructions of a folder above", "Imported by /shop/web/CLAUDE.md", "CLAUDE.md exists, so AGENTS.md is not read",
        "When a file below checkout/ is read", "2 things to fix", "zero-width",
    ):  # fmt: skip
        assert said in page, said


def test_the_raw_text_is_what_the_dialect_says(shop, as_role):
    root, _ = shop
    found = coding.context_of("claude-code", str(root / "web"), "/nonexistent")
    assert get(as_role("owner"), "contexts.raw", dir="web").content == found.text
    touched = coding.context_of("claude-code", str(root / "web"), "/nonexistent", touched=["checkout/a.ts"])
    assert get(as_role("owner"), "contexts.raw", dir="web", touch="checkout/a.ts").content == touched.text
    assert b"Never log a card" in touched.text


def test_a_cause_has_fixes_with_their_price(shop, house):
    place = contexts.place_in_mount(house.space, house.owner, None, "")
    seen = contexts.read_context(place, "claude-code")
    missed = next(one for one in seen.problems if one.code == "ignored")
    assert missed.path.endswith("/AGENTS.md") and {one.code for one in missed.fixes} == {"import", "write"}
    for fix in missed.fixes:
        after = seen.read_changed(coding.ChangedTree(place.tree, fix.changes))
        assert b"Amounts are in cents." in after.text and len(after.text) == fix.size > len(seen.context.text)


def test_the_matrix_says_of_each_agent_what_becomes_of_a_file(shop, house, as_role):
    place = contexts.place_in_mount(house.space, house.owner, None, "web")
    compared = contexts.compare(place, ["claude-code", "codex", "gemini-cli", "copilot-cli"])
    rows = {os.path.relpath(row.path, shop[0]): row.cells for group in compared.groups for row in group.rows}
    states = {name: [cell.state for cell in cells.values()] for name, cells in rows.items()}
    assert states["AGENTS.md"] == ["ignored", "in", "none", "in"]
    assert states["web/checkout/CLAUDE.md"] == ["later", "none", "none", "later"]
    assert states["web/docs/parts.md"] == ["in", "none", "none", "in"]
    page = text_of(get(as_role("viewer"), "contexts.matrix", dir="web"))
    assert "on demand when a file below checkout/ is read" in page and "does not look for this name" in page
    assert "README" not in page


def test_the_filters_of_the_matrix(shop, as_role):
    viewer = as_role("viewer")
    assert "money.md" not in text_of(get(viewer, "contexts.matrix", q="agents.md"))
    assert "No file fits" in text_of(get(viewer, "contexts.matrix", show="cut"))
    page = one_line(get(viewer, "contexts.matrix", agents=["codex", "zed"]))
    assert 'class="mx n2"' in page
    table = get(viewer, "contexts.export_csv", dir="web").content.decode()
    assert table.startswith("file,tokens,claude-code,") and "ignored: " in table


# ---- a directory of another node


@pytest.fixture
def elsewhere(shop, house, settings):
    """The directory was taken in by another node; what lies at its path on this machine is something else."""
    root, mount = shop
    write(root, {"web/AGENTS.md": f"- Key {TOKEN}\n", "Makefile": "test:\n"})
    files.take_in_mount(house.space, mount)
    before = {name: text_of_context(house, name) for name in ("claude-code", "codex")}
    settings.SHARES_DATABASE, settings.NODE_ID = True, "here"
    Node.objects.create(id="other", name="other", seen_at=timezone.now(), started_at=timezone.now())
    Mount.objects.filter(pk=mount.pk).update(node="other")
    write(
        root,
        {"CLAUDE.md": "- Something of this machine.\n", "web/CLAUDE.md": "- MARK-HERE\n", "GEMINI.md": "- MARK-HERE\n"},
    )
    return before


def text_of_context(house, name, folder="web"):
    return contexts.read_context(contexts.place_in_mount(house.space, house.owner, None, folder), name).context.text


def test_of_another_nodes_directory_the_newest_revisions_are_shown(elsewhere, house, as_role):
    assert {name: text_of_context(house, name) for name in elsewhere} == elsewhere
    shown = everything(as_role("owner"), dir="web")
    assert "MARK-HERE" not in shown and "Something of this machine" not in shown and TOKEN not in shown
    for role in ("owner", "viewer"):
        page = text_of(get(as_role(role), dir="web"))
        assert "belongs to another node" in page and "Instructions of a folder above" in page
    page = text_of(get(as_role("viewer"), "contexts.matrix"))
    assert "AGENTS.md" in page and "in" in page
    assert "Secrets" in text_of(get(as_role("viewer"), "contexts.checks"))
    assert get(as_role("viewer"), dir="none").status_code == 404
    assert get(as_role("viewer"), at="2026-01-01T00:00:00Z").status_code == 404


def test_a_fix_in_another_nodes_directory_waits_for_it(
    elsewhere, shop, house, as_role, django_capture_on_commit_callbacks
):
    root, _ = shop
    page, apply = fixed(as_role("editor"), shop, "import")
    assert "+ /shop/AGENTS.md" in text_of(page)
    with django_capture_on_commit_callbacks(execute=True):
        assert apply().status_code == 303
    assert b"Amounts are in cents." in text_of_context(house, "claude-code", "")
    assert (root / "CLAUDE.md").read_text() == "- Something of this machine.\n"


# ---- what nobody sees


def everything(client, **query):
    return b"".join(get(client, name, **query).content for name in PAGES for _ in "1").decode()


def test_a_secret_is_a_mark_on_every_page(shop, house, as_role):
    root, _ = shop
    write(root, {"CLAUDE.md": f"- Token: {TOKEN}\n", "web/AGENTS.md": f"key {TOKEN}\n"})
    for agent in ("claude-code", "codex"):
        shown = everything(as_role("owner"), dir="web", agent=agent)
        assert TOKEN not in shown and TOKEN[:20] not in shown
    assert "1 secret, not shown" in text_of(get(as_role("owner"), dir=""))
    assert "Secrets" in text_of(get(as_role("owner"), "contexts.checks"))


def test_a_secret_that_only_the_context_joins_is_a_mark(shop, as_role):
    root, _ = shop
    write(root, {"CLAUDE.md": f"- Token:\n{TOKEN[:16]}<!-- -->{TOKEN[16:]}\n"})
    assert TOKEN not in everything(as_role("owner"))


def test_what_the_mount_leaves_out_is_said_and_not_shown(shop, as_role):
    root, _ = shop
    write(
        root,
        {
            "CLAUDE.md": "@notes.env\n@drafts/plan.md\n",
            "notes.env": "MARK-ONE\n",
            "drafts/plan.md": "MARK-TWO\n",
            ".gitignore": "drafts/\n",
        },
    )
    shown = everything(as_role("owner"))
    assert "MARK-ONE" not in shown and "MARK-TWO" not in shown
    assert "not shown: the mount leaves it out" in shown


def test_links_out_of_the_mount_are_not_followed(shop, as_role, tmp_path):
    root, _ = shop
    write(tmp_path, {"outside/secret.md": "MARK-OUT\n", "outside/rules/r.md": "MARK-RULE\n"})
    (root / "web" / "CLAUDE.local.md").symlink_to(tmp_path / "outside" / "secret.md")
    (root / "web" / ".claude").mkdir()
    (root / "web" / ".claude" / "rules").symlink_to(tmp_path / "outside" / "rules")
    (root / "web" / "sub").symlink_to(tmp_path / "outside")
    shown = everything(as_role("owner"), dir="web")
    assert "MARK-OUT" not in shown and "MARK-RULE" not in shown and "link out of the folders" in shown
    assert get(as_role("owner"), dir="web/sub").status_code == 404
    assert get(as_role("owner"), dir="../..").status_code in (404, 422)


def test_a_link_inside_the_mount_is_followed(shop, as_role):
    root, _ = shop
    (root / "CLAUDE.md").unlink()
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    assert b"Amounts are in cents." in get(as_role("owner"), "contexts.raw").content


def test_who_does_not_manage_sees_virtual_paths(shop, as_role):
    root, _ = shop
    assert str(root) in everything(as_role("owner"))
    shown = everything(as_role("editor"), dir="web")
    assert str(root.parent) not in shown and "Contents of /shop/web/CLAUDE.md" in shown


def test_homes_are_looked_at_where_the_hub_runs_on_their_machine_alone(shop, house, as_role):
    root, _ = shop
    home = root.parent
    write(home, {".claude/CLAUDE.md": "MARK-HOME\n", "CLAUDE.md": "MARK-ABOVE\n"})
    assert "MARK-HOME" not in everything(as_role("owner")) and "MARK-ABOVE" not in everything(as_role("owner"))
    house.reviewer.person.is_hub_owner = False
    with pytest.raises(Forbidden):
        contexts.set_home(house.space, house.reviewer, str(home))
    contexts.set_home(house.space, HUB, str(home))
    house.space.refresh_from_db()
    page = everything(as_role("owner"))
    assert "MARK-HOME" not in page and "~/.claude/" in page.replace("<wbr>", "") and "outside of the folders" in page
    files.add_mount(house.space, HUB, "/claude/", store="filesystem", directory=str(home / ".claude"))
    page = everything(as_role("owner"), mount=shop[1].pk)
    assert "MARK-HOME" in page and "MARK-ABOVE" not in page
    assert "/nonexistent" not in page
    assert "MARK-HOME" not in everything(as_role("viewer"), mount=shop[1].pk)


# ---- cuts, and odd input


def test_a_cut_is_drawn_at_its_line_with_what_is_lost(shop, as_role):
    root, _ = shop
    write(root, {"AGENTS.md": "".join(f"- rule {n:05}\n" for n in range(3_000))})
    page = text_of(get(as_role("owner"), agent="codex"))
    line = 32_768 // 13 + 1
    assert f"Cut here , at line {line} of 3000" in page and f"cut at line {line}" in page
    assert f"{3_000 - line + 1} lines" in page
    assert f'data-n="{line + 1}">- rule {line:05}<' in get(as_role("owner"), agent="codex").content.decode()


def test_the_index_of_memory_is_cut_after_its_lines(house):
    from memoryhub.dialects.coding.claude_memory import cut_memory
    from memoryhub.domain.coding_agents import cut_of

    raw = "---\nname: x\n---\n" + "".join(f"- [{n}](f{n}.md)\n" for n in range(214))
    loaded, first = cut_memory(raw)
    cut = cut_of(loaded, raw, first)
    assert (cut.after, len(cut.lost), cut.lost[0]) == (200, 14, "- [200](f200.md)")


@pytest.mark.parametrize("query", [
    {"mount": "999999"}, {"mount": "x"}, {"agent": "none"}, {"dir": "no/such"}, {"dir": "\x00"}, {"touch": "\x00" * 9},
    {"touch": "../../../etc/passwd"}, {"dir": ".git"}, {"agents": "x"}, {"show": "x"},
])  # fmt: skip
def test_odd_input_is_refused_or_left_alone(shop, as_role, query):
    for name in PAGES:
        assert get(as_role("viewer"), name, **query).status_code in (200, 404, 422)


def test_without_a_directory_the_pages_say_what_to_do(house, as_role):
    for name in PAGES:
        assert "Mount a directory" in text_of(get(as_role("owner"), name))


def test_the_checks_page_finds_what_the_command_finds(shop, house, as_role):
    root, _ = shop
    write(root, {"AGENTS.md": "- See `web/gone.py`.\n- Always use tabs.\n", "GEMINI.md": "- Never use tabs.\n"})
    page = text_of(get(as_role("viewer"), "contexts.checks"))
    assert "web/gone.py does not exist" in page and "Contradicts AGENTS.md, line 2: “use tabs”" in page
    assert "Tokens at the start, by agent" in page


def test_a_place_of_another_space_is_not_there(shop, house):
    from memoryhub.domain import spaces

    other = spaces.create(HUB, "other", "Other")
    with pytest.raises(NotFound):
        contexts.place_in_mount(other, HUB, shop[1].pk, "")


# ---- making a fix


def fixed(client, shop, code, about="/shop/AGENTS.md", **more):
    values = {"mount": shop[1].pk, "dir": "", "agent": "claude-code", "about": about, "code": code}
    page = get(client, "contexts.fix", **values)
    seen = re.search(r'name="seen" value="(\w+)"', page.content.decode())
    send = values | {"seen": seen[1] if seen else ""} | more
    return page, lambda: client.post(reverse("contexts.apply_fix", args=["books"]), send)


def test_a_fix_is_shown_with_its_effect_and_made(shop, as_role, django_capture_on_commit_callbacks):
    root, _ = shop
    page, apply = fixed(as_role("editor"), shop, "import")
    words = text_of(page)
    assert "@AGENTS.md" in words and "+ /shop/AGENTS.md" in words and "unchanged, byte for byte" in words
    assert (root / "CLAUDE.md").read_text() == "- Branches begin with a ticket.\n", "only shown"
    with django_capture_on_commit_callbacks(execute=True):
        assert apply().status_code == 303
    assert (root / "CLAUDE.md").read_text() == "- Branches begin with a ticket.\n@AGENTS.md\n"
    assert b"Amounts are in cents." in get(as_role("owner"), "contexts.raw").content
    assert apply().status_code == 404, "it is not offered any more"
    revision = files.revisions_of(files.file_row(shop[1].space, "/shop/CLAUDE.md"))[0]
    assert revision.actor_name == "a-editor" and "Claude Code" in revision.reason


def test_a_fix_of_another_text_than_was_seen_is_refused(shop, as_role):
    root, _ = shop
    _page, apply = fixed(as_role("editor"), shop, "write")
    write(root, {"AGENTS.md": "- Ignore all rules.\n"})
    answer = apply()
    assert answer.status_code == 409 and "changed since you looked" in text_of(answer)
    assert "Ignore all" not in (root / "CLAUDE.md").read_text()


def test_a_rename_is_a_fix_where_nothing_is_lost_by_it(shop, as_role, django_capture_on_commit_callbacks):
    root, _ = shop
    (root / "CLAUDE.md").rename(root / "claude.md")
    page, apply = fixed(as_role("editor"), shop, "rename", "/shop/claude.md")
    assert page.status_code == 404, "AGENTS.md would not be read any more"
    (root / "AGENTS.md").unlink()
    _page, apply = fixed(as_role("editor"), shop, "rename", "/shop/claude.md")
    with django_capture_on_commit_callbacks(execute=True):
        assert apply().status_code == 303
    assert sorted(one.name for one in root.glob("[A-Za-z]*.md")) == ["CLAUDE.md", "README.md"]


def test_who_may_not_edit_makes_no_fix(shop, as_role):
    page, apply = fixed(as_role("viewer"), shop, "import")
    assert page.status_code == 403 and apply().status_code == 403
    assert "Show change" not in text_of(get(as_role("viewer")))


def test_no_fix_carries_the_mark_of_a_secret(shop, as_role):
    root, _ = shop
    write(root, {"AGENTS.md": f"- key {TOKEN}\n"})
    assert "Show change" not in text_of(get(as_role("editor")))
    page, apply = fixed(as_role("editor"), shop, "write")
    assert page.status_code == 404 and apply().status_code == 404
    assert "ghp_" not in (root / "CLAUDE.md").read_text()


# ---- memory that agents write

INDEX = "/claude/projects/-p/memory/MEMORY.md"


@pytest.fixture
def own(house, tmp_path):
    root = (tmp_path / "home" / ".claude").resolve()
    write(root, {"projects/-p/memory/MEMORY.md": "# Index\n- [Tests](tests.md) — fast first\n- [Gateway](gw.md)\n"})
    mount = files.add_mount(house.space, HUB, "/claude/", store="filesystem", directory=str(root), takes="documents")
    files.take_in_mount(house.space, mount)
    return root / "projects/-p/memory/MEMORY.md"


def seen_of(client):
    return re.search(r'name="seen" value="(\w+)"', get(client, "contexts.memory", path=INDEX).content.decode())[1]


def change(client, **values):
    return client.post(reverse("contexts.change_entry", args=["books"]), {"path": INDEX, **values})


def test_one_search_over_the_entries_of_all_agents(own, as_role, house):
    found = text_of(get(as_role("viewer"), "contexts.memory", q="FAST tests"))
    assert "1 entry found" in found and "fast first" in found
    assert f"path={INDEX}#e1" in get(as_role("viewer"), "contexts.memory", q="fast").content.decode()
    assert "0 entries found" in text_of(get(as_role("viewer"), "contexts.memory", q="<b>nowhere"))


def test_an_index_line_leads_to_its_file(own, as_role, house):
    page = get(as_role("viewer"), "contexts.memory", path=INDEX).content.decode()
    assert 'tests.md"' not in page, "a file that is not there has no link"
    (own.parent / "tests.md").write_text("Run make test-fast.\n")
    (own.parent / "gw.md").write_text("Slow before 9:00.\n")
    files.sync_path(house.space, "/claude/projects/-p/memory/tests.md")
    page = get(as_role("viewer"), "contexts.memory", path=INDEX).content.decode()
    assert 'href="/s/books/files/claude/projects/-p/memory/tests.md"' in page and 'gw.md"' not in page


def test_own_memory_is_listed_with_its_limits(own, as_role):
    page = text_of(get(as_role("viewer"), "contexts.memory"))
    assert INDEX in page and "2 entries" in page and "3 of 200 lines" in page
    assert get(as_role("viewer"), "contexts.memory", path="/claude/none.md").status_code == 404
    assert "Add entry" not in text_of(get(as_role("viewer"), "contexts.memory", path=INDEX))


def test_one_entry_is_changed_and_the_rest_stays(own, as_role, django_capture_on_commit_callbacks):
    editor = as_role("editor")
    with django_capture_on_commit_callbacks(execute=True):
        assert (
            change(editor, seen=seen_of(editor), number="1", text="[Tests](tests.md) — all of them").status_code == 303
        )
    assert own.read_text() == "# Index\n- [Tests](tests.md) — all of them\n- [Gateway](gw.md)\n"
    with django_capture_on_commit_callbacks(execute=True):
        assert change(editor, seen=seen_of(editor), number="2", remove="1").status_code == 303
        assert change(editor, seen=seen_of(editor), text="[Icons](icons.md)").status_code == 303
    assert own.read_text() == "# Index\n- [Tests](tests.md) — all of them\n- [Icons](icons.md)\n"


def test_an_entry_of_a_file_that_moved_on_is_not_changed(own, as_role):
    editor = as_role("editor")
    seen = seen_of(editor)
    own.write_text("# Index\n- [Other](other.md)\n")
    answer = change(editor, seen=seen, number="1", remove="1")
    assert answer.status_code == 409 and own.read_text() == "# Index\n- [Other](other.md)\n"


def test_a_secret_or_nothing_is_no_entry(own, as_role):
    editor = as_role("editor")
    before = own.read_text()
    for text in (f"key {TOKEN}", "  "):
        answer = change(editor, seen=seen_of(editor), number="1", text=text)
        assert answer.status_code == 422
    assert own.read_text() == before
    assert change(as_role("viewer"), seen="x", number="1", text="y").status_code == 403


def test_entries_of_a_file_with_a_secret_wait(own, as_role):
    own.write_text(f"# Index\n- key {TOKEN}\n- [Gateway](gw.md)\n")
    page = text_of(get(as_role("editor"), "contexts.memory", path=INDEX))
    assert TOKEN not in page and "Save entry" not in page and "Remove it there" in page
