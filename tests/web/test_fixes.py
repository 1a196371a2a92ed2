"""Fixes of several agents reviewed together: each tried on what the others leave, ticked by a person, written or proposed as one."""

from __future__ import annotations

import html
import re

import pytest
from django.urls import reverse

from memoryhub.dialects.coding import ChangedTree
from memoryhub.domain import contexts, files
from memoryhub.models import HUB, Proposal
from tests.one_line import one_line
from tests.web.test_contexts import get, text_of, write

NAMES = ["claude-code", "codex", "gemini-cli", "opencode"]


@pytest.fixture
def shop(house, tmp_path):
    root = (tmp_path / "home" / "shop").resolve()
    write(root, {
        ".git/HEAD": "ref: refs/heads/main\n", "AGENTS.md": "# Shop\n\n- Amounts are in cents.\n",
        "CLAUDE.md": "- Branches begin with a ticket.\n", "web/CLAUDE.md": "- Web.\n", "web/AGENTS.md": "- Buttons.\n",
    })  # fmt: skip
    mount = files.add_mount(house.space, HUB, "/shop/", store="filesystem", directory=str(root))
    files.take_in_mount(house.space, mount)
    return root, mount


def fields(page):
    """What the form that decides sends."""
    form = one_line(page).partition('action="/s/books/contexts/fixes/apply/"')[2]
    pairs = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form)
    sent = {}
    for name, value in pairs:
        sent.setdefault(name, []).append(html.unescape(value))
    return sent


def send(client, page, **more):
    return client.post(reverse("fixes.apply", args=["books"]), fields(page) | more)


def test_the_matrix_leads_to_all_fixes(shop, as_role, house):
    page = one_line(get(as_role("editor"), "contexts.matrix", dir="web", agents=NAMES))
    count = int(re.search(r"Review (\d+) fix", page)[1])
    found = get(as_role("editor"), "fixes.page", dir="web", agents=NAMES)
    offered = found.context["found"].offered
    assert count == sum(not one.solved for one in offered) >= 2
    assert {one.agent.name for one in offered} >= {"claude-code"}
    for one in offered:
        assert one.after > one.before
    assert "Review" not in one_line(get(as_role("viewer"), "contexts.matrix", dir="web")).partition("<main")[2][:3000]
    assert get(as_role("viewer"), "fixes.page", dir="web").status_code == 403


def test_every_fix_together_reaches_every_agent_and_none_is_made_twice(shop, house):
    place = contexts.place_in_mount(house.space, house.owner, None, "web")
    found = contexts.plan_fixes(contexts.compare(place, NAMES))
    assert found.plan
    for one in found.offered:
        seen = contexts.read_context(place, one.agent.name)
        after = seen.read_changed(ChangedTree(place.tree, found.changes))
        said = place.tree.read(one.about).strip()
        assert said in after.text and after.text.count(said) == 1, one.key
    assert {one.about for one in found.doubled} <= {str(shop[0] / "CLAUDE.md"), str(shop[0] / "web/CLAUDE.md")}
    for name in NAMES:
        after = contexts.read_context(place, name).read_changed(ChangedTree(place.tree, found.changes)).text
        assert all(after.count(text) <= 1 for text in (b"- Web.", b"- Buttons.", b"Amounts are", b"Branches begin")), (
            name
        )
    for change in found.plan.files:
        said = [line for line in change.after.decode().splitlines() if line]
        assert len(set(said)) == len(said), "no line twice"
    again = contexts.plan_fixes(contexts.compare(place, NAMES), {found.offered[0].key})
    assert sum(one.is_chosen for one in again.offered) == 1


def test_what_is_ticked_is_written_and_taken_back(shop, as_role, django_capture_on_commit_callbacks):
    root, _mount = shop
    before = {name: (root / name).read_text() for name in ("AGENTS.md", "CLAUDE.md", "web/CLAUDE.md", "web/AGENTS.md")}
    editor = as_role("editor")
    page = get(editor, "fixes.page", dir="web", agents=["claude-code"], chosen="1", fix=[])
    assert page.context["plan"] is None and "Write 1 file" not in text_of(page)
    key = page.context["found"].offered[0].key
    page = get(editor, "fixes.page", dir="web", agents=["claude-code"], chosen="1", fix=[key])
    assert "What it does to each coding agent" in text_of(page)
    with django_capture_on_commit_callbacks(execute=True):
        done = send(editor, page)
    assert done.status_code == 303
    changed = [name for name, text in before.items() if (root / name).read_text() != text]
    assert len(changed) == 1
    undo = html.unescape(re.search(r'"(/s/books/contexts/move/undo/[^"]+)"', one_line(editor.get(done["Location"])))[1])
    with django_capture_on_commit_callbacks(execute=True):
        editor.post(undo)
    assert before == {name: (root / name).read_text() for name in before}


def test_all_of_them_become_proposals(shop, as_role, house):
    page = get(as_role("editor"), "fixes.page", dir="web", agents=NAMES)
    count = len(page.context["plan"].files)
    assert send(as_role("editor"), page, propose="1").status_code == 303
    assert Proposal.objects.within(house.space).filter(state="pending").count() == count >= 1


def test_other_texts_than_were_seen_are_not_written(shop, as_role):
    root, _mount = shop
    page = get(as_role("editor"), "fixes.page", dir="web", agents=["claude-code"])
    (root / "web/CLAUDE.md").write_text("- Other.\n")
    answer = send(as_role("editor"), page)
    assert answer.status_code == 409 and "changed since you looked" in text_of(answer)
    assert (root / "web/CLAUDE.md").read_text() == "- Other.\n"
    assert send(as_role("editor"), page, fix=[]).status_code == 422
    assert send(as_role("viewer"), page).status_code == 403


def test_where_nothing_is_missed_there_is_nothing_to_fix(house, as_role, tmp_path):
    write(tmp_path / "one", {".git/HEAD": "x\n", "AGENTS.md": "- Cents.\n", "CLAUDE.md": "@AGENTS.md\n"})
    files.add_mount(house.space, HUB, "/one/", store="filesystem", directory=str(tmp_path / "one"))
    page = get(as_role("editor"), "fixes.page", agents=["claude-code", "codex"])
    assert page.context["found"].offered == [] and "Nothing to fix" in text_of(page)
    assert (
        "Review"
        not in one_line(get(as_role("editor"), "contexts.matrix", agents=["claude-code", "codex"])).partition("<h1")[2][
            :2000
        ]
    )
