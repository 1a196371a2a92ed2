"""A hook by mouse: installed after its change was looked at, a refused write decided on, a fought file held again, removed."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from memoryhub.domain import contexts, files, write_hooks
from memoryhub.models import HUB, Person
from tests.browser.test_disk import picture

SETTINGS = '{\n  "model": "opus"\n}\n'
RULES = "# Rules\n\n- Answer in English.\n- Use `uv`.\n"


@pytest.fixture
def home(space, tmp_path, settings):
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    home = (tmp_path / "mia").resolve()
    (home / ".claude").mkdir(parents=True)
    (home / ".gemini").mkdir()
    (home / ".claude/settings.json").write_text(SETTINGS)
    (home / ".gemini/settings.json").write_text("{ // mine\n}\n")
    (home / ".claude/CLAUDE.md").write_text(RULES)
    mount = files.add_mount(
        space, HUB, "/claude/", store="filesystem", directory=str(home / ".claude"), takes="documents"
    )
    files.take_in_mount(space, mount)
    files.change_on_disk(space, HUB, mount, "hold", put_back=True)
    contexts.set_home(space, HUB, str(home))
    return home


def test_a_hook_is_installed_and_a_refused_write_approved(home, space, sign_in_as):
    page = sign_in_as("owner")
    Person.objects.update(is_hub_owner=True)
    page.goto("/s/ledger/contexts/hooks/")
    expect(page.get_by_text("PreToolUse", exact=False).first).to_be_visible()
    picture(page, "hooks")
    page.get_by_role("button", name="Install the hook").click()
    expect(page.get_by_text("asks before it writes")).to_be_visible()
    assert "hook claude" in (home / ".claude/settings.json").read_text()
    picture(page, "hooks-installed")
    arguments = {"file_path": str(home / ".claude/CLAUDE.md"), "old_string": "Use `uv`.", "new_string": "Use `pip`."}
    assert write_hooks.decide("claude-code", "Edit", arguments, str(home), "s1").proposal == 1
    page.goto("/s/ledger/proposals/")
    expect(page.get_by_text("never on disk")).to_be_visible()
    picture(page, "hooks-inbox")
    page.goto("/s/ledger/proposals/1/")
    expect(page.get_by_text("Never on disk.")).to_be_visible()
    picture(page, "hooks-proposal")
    page.get_by_role("button", name="Approve").first.click()
    expect(page.get_by_text("Approved proposal 1, revision 2.")).to_be_visible()
    assert (home / ".claude/CLAUDE.md").read_text() == RULES.replace("uv", "pip")
    page.goto("/s/ledger/contexts/hooks/")
    page.get_by_role("button", name="Remove the hook").click()
    expect(page.get_by_text("no longer runs the hook")).to_be_visible()
    assert (home / ".claude/settings.json").read_text() == SETTINGS


def test_a_fought_file_is_held_again(home, space, sign_in_as):
    for number in range(1, 5):
        (home / ".claude/CLAUDE.md").write_text(f"{RULES}- Round {number}.\n")
        files.sync_path(space, "/claude/CLAUDE.md")
    page = sign_in_as("owner", at="/s/ledger/proposals/")
    expect(page.get_by_text("No longer held.")).to_be_visible()
    expect(page.get_by_text("not reviewed", exact=False).first).to_be_visible()
    picture(page, "fought-inbox")
    page.goto("/s/ledger/files/claude/CLAUDE.md")
    picture(page, "fought-file")
    page.get_by_role("button", name="Hold again").click()
    expect(page.get_by_text("on disk wait for a person again")).to_be_visible()
    (home / ".claude/CLAUDE.md").write_text("another\n")
    files.sync_path(space, "/claude/CLAUDE.md")
    assert (home / ".claude/CLAUDE.md").read_text() == f"{RULES}- Round 4.\n"
