"""A change on disk, by mouse: held and decided, counted and seen, and a secret that is none. On a real folder."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import expect

from memoryhub.domain import files, prompts
from memoryhub.models import HUB, Proposal
from tests.domain.files.test_disk_held import INJECTED, ONE, THREE, TWO, hold, mount_of, read
from tests.domain.files.test_disk_secrets import KEY, MARK

FILE = "/s/ledger/files/memories/AGENTS.md"


@pytest.fixture
def root(space, tmp_path):
    directory = tmp_path / "disk"
    directory.mkdir()
    (directory / "AGENTS.md").write_text(ONE)
    files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(directory))
    files.take_in_mount(space, mount_of(space))
    prompts.create_agent(space, HUB, "scout", dialect="hub")
    prompts.add_source(space, HUB, "/memories/AGENTS.md")
    return directory


def picture(page, name):
    """Where SCREENSHOTS names a folder: the page at phone width and wide, light and dark."""
    if not (folder := os.environ.get("SCREENSHOTS")):
        return
    size = page.viewport_size
    for scheme in ("light", "dark"):
        for width in (390, 1280):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            page.screenshot(path=f"{folder}/{name}-{width}-{scheme}.png", full_page=True)
    page.set_viewport_size(size)


def test_a_held_change_is_approved(root, space, sign_in_as):
    hold(space)
    (root / "AGENTS.md").write_text(INJECTED)
    page = sign_in_as("reviewer", at=FILE)
    expect(page.get_by_text("Changed on disk, held.")).to_be_visible()
    picture(page, "file-held")
    page.get_by_role("link", name="Review proposal 1").first.click()
    expect(page.get_by_role("heading", name="AGENTS.md changed on disk")).to_be_visible()
    expect(page.get_by_text("What agents get in the meantime")).to_be_visible()
    expect(page.get_by_role("button", name="Keep the approved text, revision 1")).to_be_visible()
    picture(page, "proposal-held")
    page.get_by_label("I looked at").check()
    page.get_by_role("button", name="Approve").first.click()
    expect(page.get_by_text("Approved proposal 1, revision 2.")).to_be_visible()
    assert read(space) == INJECTED
    page.goto(f"{FILE}?view=history")
    expect(page.get_by_text("disk").first).to_be_visible()


def test_a_held_change_is_rejected_and_the_disk_says_so(root, space, sign_in_as):
    hold(space)
    (root / "AGENTS.md").write_text(TWO)
    page = sign_in_as("reviewer", at="/s/ledger/files/memories/AGENTS.md")
    page.get_by_role("link", name="Review proposal 1").first.click()
    page.get_by_role("button", name="Keep the approved text").click()
    expect(page.get_by_text("Rejected proposal 1.")).to_be_visible()
    page.goto(FILE)
    expect(page.get_by_text("The disk differs.")).to_be_visible()
    picture(page, "file-differs")
    page.get_by_role("button", name="Restore the approved text on disk").click()
    expect(page.get_by_text("The approved text is on disk again.")).to_be_visible()
    assert (root / "AGENTS.md").read_text() == ONE and Proposal.objects.get().state == "rejected"


def test_put_back(root, space, sign_in_as):
    page = sign_in_as("owner", at="/s/ledger/mounts/")
    page.get_by_role("radio", name="Hold and put back").check()
    picture(page, "mounts")
    page.get_by_role("button", name="Save mount").click()
    expect(page.get_by_text("Changes on disk: Apply → Hold and put back.")).to_be_visible()
    (root / "AGENTS.md").write_text(TWO)
    page.goto(FILE)
    assert (root / "AGENTS.md").read_text() == ONE
    page.goto("/s/ledger/proposals/1/")
    expect(page.get_by_text("The approved text is back on disk.")).to_be_visible()
    picture(page, "proposal-put-back")


def test_seen_and_taken_back_in_the_inbox(root, space, sign_in_as):
    (root / "AGENTS.md").write_text(TWO)
    (root / "new.md").write_text("new\n")
    page = sign_in_as("reviewer", at="/s/ledger/files/memories/new.md")
    expect(page.get_by_text("From disk, not reviewed.")).to_be_visible()
    page.goto(FILE)
    picture(page, "file-unreviewed")
    page.goto("/s/ledger/prompt/scout/")
    expect(page.get_by_text("from disk, not reviewed")).to_be_visible()
    picture(page, "prompt-unreviewed")
    page.goto("/s/ledger/proposals/")
    picture(page, "inbox-unreviewed")
    page.get_by_role("button", name="Mark as seen : /memories/AGENTS.md").click()
    expect(page.get_by_role("button", name="Mark as seen : /memories/AGENTS.md")).to_have_count(0)
    page.get_by_role("button", name="Revert : /memories/new.md").click()
    expect(page.get_by_text("From disk, not reviewed")).to_have_count(0)
    assert not (root / "new.md").exists() and read(space) == TWO


def test_it_is_no_secret(root, space, sign_in_as):
    (root / "AGENTS.md").write_text(ONE + f"The key is {KEY}, of the demo shop.\n")
    page = sign_in_as("reviewer", at=FILE)
    expect(page.get_by_text("Line 4", exact=True)).to_be_visible()
    assert KEY not in page.content()
    picture(page, "file-secret")
    page.get_by_role("button", name="I removed it").click()
    expect(page.get_by_text("The file on disk still contains a secret: line 4.")).to_be_visible()
    page.get_by_role("button", name="Not a secret").click()
    expect(page.get_by_text("Marked as not a secret.")).to_be_visible()
    assert KEY in read(space)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Marked as a secret again.")).to_be_visible()
    assert KEY not in read(space) and MARK in read(space)
    page.goto(FILE)
    (root / "AGENTS.md").write_text(THREE)
    page.get_by_role("button", name="I removed it").click()
    expect(page.get_by_text("The file on disk no longer contains a secret.")).to_be_visible()


def test_it_is_no_secret_in_the_editor(root, space, sign_in_as):
    page = sign_in_as("editor", at=f"{FILE}?view=edit")
    page.locator("#text").fill(ONE + f"The key is {KEY}.\n")
    page.locator("#save").click()
    expect(page.get_by_text("Not saved.")).to_be_visible()
    picture(page, "editor-secret")
    page.get_by_label("Line 4").check()
    page.locator("#save").click()
    expect(page.get_by_text("Saved as revision 2.")).to_be_visible()
    assert KEY in (root / "AGENTS.md").read_text()
    page.goto("/s/ledger/disk/secrets/")
    expect(page.get_by_text("Stripe key in /memories/AGENTS.md", exact=True)).to_be_visible()
    picture(page, "allowed")


def test_a_held_secret_is_approved_as_its_mark(root, space, sign_in_as):
    (root / "AGENTS.md").write_text(ONE + f"The key is {KEY}.\n")
    read(space)
    page = sign_in_as("reviewer", at="/s/ledger/proposals/1/")
    expect(page.get_by_text("The file on disk holds a secret")).to_be_visible()
    assert KEY not in page.content()
    picture(page, "proposal-secret")
    page.get_by_label("I looked at").check()
    page.get_by_role("button", name="Approve").first.click()
    expect(page.get_by_text("Approved proposal 1, revision 2.")).to_be_visible()
    assert MARK in read(space) and KEY in (root / "AGENTS.md").read_text()
