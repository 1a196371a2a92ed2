"""`memoryhub sync DIR`: what was approved arrives on disk, what is edited there becomes a proposal, nothing is lost."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from memoryhub.client.syncing import STATE, LocalCopy
from tests.client.conftest import away

AGENTS = "/memories/AGENTS.md"
PROGRAM = [sys.executable, "-m", "memoryhub", "sync"]


@pytest.fixture
def copy(review, tmp_path):
    def make(**options):
        return LocalCopy(review.hub, tmp_path / "copy", **options)

    return make


def on_disk(copy):
    return {
        path.relative_to(copy.directory).as_posix(): path.read_bytes()
        for path in copy.directory.rglob("*")
        if path.is_file() and path.name != STATE
    }


def test_published_files_arrive_and_follow(review, copy):
    review.put(AGENTS, "one\n")
    review.put("/memories/a/b.bin", b"\xff\x00")
    local = copy()
    assert sorted(local.run().updated) == [AGENTS, "/memories/a/b.bin"]
    assert on_disk(local) == {"AGENTS.md": b"one\n", "a/b.bin": b"\xff\x00"}
    again = copy().run()
    assert (again.updated, again.unchanged) == ([], 2)
    review.put(AGENTS, "two\n")
    assert copy().run().updated == [AGENTS]
    assert on_disk(local)["AGENTS.md"] == b"two\n"


def test_what_is_deleted_there_goes_here(review, copy):
    from memoryhub.domain import files

    review.put(AGENTS, "one\n")
    review.put("/memories/b.md", "b\n")
    local = copy()
    local.run()
    files.delete(review.space, review.rk, "/memories/b.md")
    assert copy().run().removed == ["/memories/b.md"]
    assert on_disk(local) == {"AGENTS.md": b"one\n"}


def test_what_is_deleted_there_and_edited_here_is_kept_and_told(review, copy):
    from memoryhub.domain import files

    review.put(AGENTS, "one\n")
    review.put("/memories/b.md", "b\n")
    local = copy()
    local.run()
    files.delete(review.space, review.rk, "/memories/b.md")
    (local.directory / "b.md").write_text("mine\n")
    for _ in range(2):
        report = copy().run()
        assert (report.removed, report.conflicts) == ([], ["/memories/b.md"])
        assert on_disk(local) == {"AGENTS.md": b"one\n", "b.md": b"mine\n"}
    (local.directory / "b.md").write_text("b\n")  # as it was published: nothing of anybody's is lost now
    assert copy().run().removed == ["/memories/b.md"]
    assert on_disk(local) == {"AGENTS.md": b"one\n"}


def test_an_edit_here_is_kept_and_told(review, copy):
    review.put(AGENTS, "one\n")
    local = copy()
    local.run()
    (local.directory / "AGENTS.md").write_text("mine\n")
    assert copy().run().kept == [AGENTS]
    assert on_disk(local)["AGENTS.md"] == b"mine\n"
    review.put(AGENTS, "theirs\n")
    assert copy().run().conflicts == [AGENTS]
    assert on_disk(local)["AGENTS.md"] == b"mine\n"
    assert review.hub.proposals() == []


def test_an_edit_here_becomes_one_proposal_and_comes_back_approved(review, copy):
    review.put(AGENTS, "one\n")
    local = copy(propose=True)
    local.run()
    (local.directory / "AGENTS.md").write_text("mine\n")
    (local.directory / "new.md").write_text("new\n")
    report = copy(propose=True).run()
    assert [item["path"] for item in report.proposed] == [AGENTS]
    assert report.only_here == ["/memories/new.md"]
    assert report.lines()[-1] == "only here: /memories/new.md (add --new to propose what is new)"
    assert local.run().only_here == [], "it says so once, and walks the folder no more"
    both = copy(propose=True, new=True).run()
    assert [item["path"] for item in both.proposed] == ["/memories/new.md"]
    assert copy(propose=True, new=True).run().proposed == []
    assert len(review.hub.proposals()) == 2
    review.approve(report.proposed[0]["number"])
    done = copy(propose=True).run()
    assert (done.unchanged, done.conflicts) == (1, [])
    assert review.text() == "mine\n"


def test_a_file_that_went_here_comes_again(review, copy):
    review.put(AGENTS, "one\n")
    local = copy()
    local.run()
    (local.directory / "AGENTS.md").unlink()
    assert copy().run().updated == [AGENTS]


def test_links_are_not_followed_and_stop_nothing(review, copy, tmp_path):
    review.put(AGENTS, "one\n")
    review.put("/memories/out/x.md", "x\n")
    local = copy()
    outside = tmp_path / "outside"
    outside.mkdir()
    local.directory.mkdir()
    (local.directory / "out").symlink_to(outside)
    report = local.run()
    assert report.updated == [AGENTS]
    assert "not followed" in report.problems[0]
    assert list(outside.iterdir()) == []


def test_the_hub_away_leaves_the_copy_alone(review, copy):
    from memoryhub.client import HubError

    review.put(AGENTS, "one\n")
    local = copy()
    local.run()
    with away(review.hub), pytest.raises(HubError):
        copy().run()
    assert on_disk(local) == {"AGENTS.md": b"one\n"}


def test_a_file_that_the_hub_cannot_read_now_stays_here(review, copy, monkeypatch):
    review.put(AGENTS, "one\n")
    local = copy()
    local.run()
    unread = [{"path": AGENTS, "content": None, "encoding": None, "error": "disk_error"}]
    monkeypatch.setattr(review.hub, "batch", lambda paths: unread)
    listed = review.hub.walk("/memories/")
    for below in (listed, []):  # without it in a list: its folder cannot be read either
        monkeypatch.setattr(review.hub, "walk", lambda prefix, below=below: below)
        report = copy().run()
        assert (report.removed, report.updated) == ([], []) and "disk_error" in report.problems[0]
    assert on_disk(local) == {"AGENTS.md": b"one\n"}


def test_nothing_is_written_where_git_would_run_it(review, copy):
    for path in (
        AGENTS,
        "/memories/.git/config",
        "/memories/a/.GIT/hooks/x",
        "/memories/git~1/config",
        "/memories/git/a.md",
    ):
        review.put(path, "x\n")
    report = copy().run()
    assert sorted(report.updated) == [AGENTS, "/memories/git/a.md"]
    assert len(report.problems) == 3 and all("belongs to git" in one for one in report.problems)


def test_a_prefix_that_is_not_there_empties_nothing(review, copy):
    review.put(AGENTS, "one\n")
    local = copy()
    local.run()
    report = LocalCopy(review.hub, local.directory, "/nowhere/").run()
    assert report.removed == []
    assert on_disk(local) == {"AGENTS.md": b"one\n"}


# The command


def command(real, *words, **environment):
    env = {"PATH": os.environ["PATH"], "MEMORYHUB_URL": real.url, "MEMORYHUB_TOKEN": real.token, **environment}
    return subprocess.run([*PROGRAM, *map(str, words)], env=env, capture_output=True, text=True, timeout=60)


def test_the_command(review, tmp_path):
    review.put(AGENTS, "one\n")
    done = command(review, tmp_path / "copy", "--json")
    assert (done.returncode, json.loads(done.stdout)["updated"]) == (0, [AGENTS])
    assert "1 file is as published" in command(review, tmp_path / "copy").stdout


def test_the_command_says_what_is_wrong(review, tmp_path):
    assert command(review).returncode == 2
    wrong = command(review, tmp_path / "copy", MEMORYHUB_TOKEN="mh_wrong")
    assert (wrong.returncode, "does not accept this token" in wrong.stderr) == (1, True)
    missing = command(review, tmp_path / "copy", MEMORYHUB_URL="")
    assert (missing.returncode, "Set MEMORYHUB_URL" in missing.stderr) == (1, True)
    (tmp_path / "file").write_text("")
    taken = command(review, tmp_path / "file")
    assert (taken.returncode, "Traceback" in taken.stderr) == (1, False)


def test_watching(review, tmp_path):
    review.put(AGENTS, "one\n")
    env = {"PATH": os.environ["PATH"], "MEMORYHUB_URL": review.url, "MEMORYHUB_TOKEN": review.token}
    words = [*PROGRAM, str(tmp_path / "copy"), "--watch", "--interval", "0.1"]
    process = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        file = tmp_path / "copy" / "AGENTS.md"
        waits_for(lambda: file.exists() and file.read_text() == "one\n")
        review.put(AGENTS, "two\n")
        waits_for(lambda: file.read_text() == "two\n")
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=40)
    assert process.returncode == 0, err
    assert "updated /memories/AGENTS.md" in out


def waits_for(condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def test_files_that_show_memory_arrive_and_follow(review, tmp_path):
    from memoryhub.domain import files
    from memoryhub.models import HUB
    from tests.outputs import admit

    files.add_mount(review.space, HUB, "/recall/", store="views")
    admit(review.space, "The gateway is slow.")
    local = LocalCopy(review.hub, tmp_path / "recall", prefix="/recall/")
    assert "/recall/working.md" in local.run().updated
    assert b"The gateway is slow." in on_disk(local)["working.md"]
    admit(review.space, "It is quick again.")
    assert LocalCopy(review.hub, tmp_path / "recall", prefix="/recall/").run().updated == ["/recall/working.md"]
    assert b"It is quick again." in on_disk(local)["working.md"]
