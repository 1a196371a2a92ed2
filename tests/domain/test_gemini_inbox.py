"""Changes of memory that Gemini CLI drafted and keeps in its inbox: proposals here, and out of the inbox once decided."""

from __future__ import annotations

import os
import time

import pytest

from memoryhub.domain import accounts, coding_agents, files, proposals, spaces, write_hooks
from memoryhub.errors import Conflict, Invalid
from memoryhub.models import HUB, Actor, Proposal
from tests.domain.files.test_disk_secrets import KEY, assert_nowhere

MEMORY = "# Shop\n\n- Run the slow tests at night.\n- Prices are in cents.\n"


@pytest.fixture
def space(transactional_db):
    return spaces.create(HUB, "laptop")


@pytest.fixture
def home(space, tmp_path):
    home = (tmp_path / ".gemini").resolve()
    (home / "tmp/shop/memory/.inbox/private").mkdir(parents=True)
    (home / "tmp/shop/memory/.inbox/global").mkdir()
    (home / "tmp/shop/memory/MEMORY.md").write_text(MEMORY)
    (home / "GEMINI.md").write_text("- Be kind.\n")
    mount = files.add_mount(
        space, HUB, "/gemini/", store="filesystem", directory=str(home), takes="documents", include=["tmp/*/memory/**"]
    )
    files.take_in_mount(space, mount)
    return home


@pytest.fixture
def mia(space):
    person = accounts.create_person(HUB, "mia")
    spaces.add_member(space, HUB, person, "owner")
    return Actor.of_person(person, "owner")


def diff(path, *lines, before=None):
    return f"--- {before or path}\n+++ {path}\n" + "".join(f"{line}\n" for line in lines)


def draft(home, text, kind="private", name="extraction.patch"):
    path = home / "tmp/shop/memory/.inbox" / kind / name
    path.write_text(text)
    return path


def approve(space, mia, number):
    return proposals.approve(space, mia, number, seen=proposals.result(proposals.get(space, number)).seen)


CHANGE = (
    "@@ -2,3 +2,3 @@",
    " ",
    "-- Run the slow tests at night.",
    "+- Run the slow tests at noon.",
    " - Prices are in cents.",
)


def test_a_draft_is_a_proposal_and_approving_applies_it(space, home, mia):
    kept = draft(home, diff(home / "tmp/shop/memory/MEMORY.md", *CHANGE))
    assert write_hooks.take_in_pending(space).count == write_hooks.take_in_pending(space).count == 1
    one = proposals.get(space, 1)
    assert (one.agent_name, one.path) == ("gemini-cli", "/gemini/tmp/shop/memory/MEMORY.md") and kept.exists()
    approve(space, mia, 1)
    assert (home / "tmp/shop/memory/MEMORY.md").read_text() == MEMORY.replace("night", "noon") and not kept.exists()


def test_a_new_file_and_the_global_one(space, home, mia):
    draft(
        home,
        diff(home / "tmp/shop/memory/db.md", "@@ -0,0 +1,2 @@", "+# Database", "+- Port 5433.", before="/dev/null"),
    )
    draft(home, diff(home / "GEMINI.md", "@@ -1 +1,2 @@", " - Be kind.", "+- Be short."), "global")
    assert write_hooks.take_in_pending(space).count == 2
    approve(space, mia, 1)
    approve(space, mia, 2)
    assert (home / "tmp/shop/memory/db.md").read_text() == "# Database\n- Port 5433.\n"
    assert (home / "GEMINI.md").read_text() == "- Be kind.\n- Be short.\n" and write_hooks.take_in_pending(
        space
    ).count == 0


def test_the_name_is_used_again_for_another_draft(space, home, mia):
    draft(home, diff(home / "tmp/shop/memory/MEMORY.md", *CHANGE))
    write_hooks.take_in_pending(space)
    proposals.reject(space, mia, 1, note="")
    assert os.listdir(home / "tmp/shop/memory/.inbox/private") == []
    kept = draft(
        home,
        diff(home / "tmp/shop/memory/MEMORY.md", "@@ -4 +4 @@", "-- Prices are in cents.", "+- Prices are in euros."),
    )
    assert (
        write_hooks.take_in_pending(space).count == 1 and kept.exists() and proposals.get(space, 2).state == "pending"
    )


def test_what_no_longer_fits_is_outdated(space, home, mia):
    kept = draft(home, diff(home / "tmp/shop/memory/MEMORY.md", *CHANGE))
    write_hooks.take_in_pending(space)
    files.write(space, mia, "/gemini/tmp/shop/memory/MEMORY.md", b"another\n")
    write_hooks.take_in_pending(space)
    assert proposals.get(space, 1).state == "outdated" and kept.exists()


def test_a_secret_stays_out(space, home):
    draft(home, diff(home / "GEMINI.md", "@@ -1 +1,2 @@", " - Be kind.", f"+- Key {KEY}"), "global")
    assert "secret" in write_hooks.take_in_pending(space).refused[0][1] and Proposal.objects.count() == 0
    assert_nowhere(KEY)


OUTSIDE = {
    "another project": "{home}/tmp/other/memory/MEMORY.md", "a hidden file": "{home}/tmp/shop/memory/.env.md",
    "settings": "{home}/settings.json", "no document": "{home}/tmp/shop/memory/run.sh", "elsewhere": "/etc/motd.md",
    "above": "{home}/tmp/shop/memory/../../../GEMINI.md", "not absolute": "MEMORY.md", "the global one": "{home}/GEMINI.md",
    "deeper": "{home}/tmp/shop/memory/a/b.md",
}  # fmt: skip


@pytest.mark.parametrize("target", OUTSIDE.values(), ids=OUTSIDE)
def test_a_draft_for_another_file_is_refused(space, home, target):
    kept = draft(home, diff(target.format(home=home), *CHANGE))
    assert len(write_hooks.take_in_pending(space).refused) == 1 and kept.exists() and Proposal.objects.count() == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "--- a\n+++ b\n",
        "--- {p}\n+++ {p}\n",
        "--- {p}\n+++ {p}\n@@ -1 +1 @@\n*odd\n",
        "--- {p}\n+++ {p}\n@@ -1 +1 @@\n-a\n+b\n" * 2,
    ],
)
def test_what_is_no_diff_of_one_file_is_refused(space, home, text):
    draft(home, text.replace("{p}", str(home / "tmp/shop/memory/MEMORY.md")))
    assert len(write_hooks.take_in_pending(space).refused) == 1 and Proposal.objects.count() == 0


def test_lines_that_moved_are_found_again(home):
    path = home / "tmp/shop/memory/MEMORY.md"
    patch = coding_agents.parse_patch(str(home), "shop/private/x.patch", diff(path, *CHANGE).encode())
    assert coding_agents.text_after_patch(patch, f"# New head\n{MEMORY}") == f"# New head\n{MEMORY}".replace(
        "night", "noon"
    )
    windows = MEMORY.replace("\n", "\r\n")
    assert coding_agents.text_after_patch(patch, windows) == windows.replace("night", "noon")
    for text in (None, "", "other\n", MEMORY * 2 + "x"):
        if text == MEMORY * 2 + "x":
            assert coding_agents.text_after_patch(patch, text).count("noon") == 1
        else:
            with pytest.raises(Conflict):
                coding_agents.text_after_patch(patch, text)
    with pytest.raises(Invalid):
        coding_agents.parse_patch(str(home), "shop/private/x.patch", b"")


@pytest.mark.parametrize("last", [" b", "-b"])
def test_lines_are_looked_for_in_one_pass(home, last):
    path = home / "tmp/shop/memory/MEMORY.md"
    hunk = ["@@ -9 +9 @@", *[" a"] * 60_000, last]
    patch = coding_agents.parse_patch(str(home), "shop/private/x.patch", diff(path, *hunk).encode())
    began = time.process_time()
    with pytest.raises(Conflict):
        coding_agents.text_after_patch(patch, "a\n" * 500_000)
    found = coding_agents.text_after_patch(patch, "a\n" * 200_000 + "b\n" + "a\n" * 200_000)
    assert found.count("b") == (last == " b") and time.process_time() - began < 5


def test_lines_that_overlap_themselves_stand_in_two_places(home):
    path = home / "tmp/shop/memory/MEMORY.md"
    patch = coding_agents.parse_patch(
        str(home), "shop/private/x.patch", diff(path, "@@ -90 +90 @@", " a", " b", "-a").encode()
    )
    assert coding_agents.text_after_patch(patch, "x\na\na\nb\na\n") == "x\na\na\nb\n"
    for text in ("a\nb\na\nb\na\n", "a\nb\n", "a\nb\nb\na\n"):
        with pytest.raises(Conflict):
            coding_agents.text_after_patch(patch, text)
