"""Watching many mounts: one whose folder is missing is passed over, named once, and taken up when it comes back."""

from __future__ import annotations

import contextlib
import importlib
import logging
import shutil
import threading
import time

import pytest
from django.db import connection

from memoryhub.domain import files, spaces
from memoryhub.domain.files.disk.watch import _logged_problems, watch
from memoryhub.models import HUB, ActivityLine, File, Mount, Space
from tests.unprivileged import unprivileged

watch_module = importlib.import_module("memoryhub.domain.files.disk.watch")


@pytest.fixture
def roots(transactional_db, tmp_path, monkeypatch):
    """Two spaces, each with a mount; the folder of the first goes away."""
    monkeypatch.setattr("memoryhub.domain.files.disk.watch.RESCAN_SECONDS", 1.0)
    _logged_problems.clear()
    for name in ("away", "here"):
        (tmp_path / name).mkdir()
        files.add_mount(spaces.create(HUB, name), HUB, f"/{name}/", store="filesystem", directory=str(tmp_path / name))
    (tmp_path / "away").rmdir()
    return tmp_path


@contextlib.contextmanager
def watching_now():
    stop, failed = threading.Event(), []

    def run():
        try:
            watch(stop)
        except Exception as error:  # the test says which
            failed.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield failed
    finally:
        stop.set()
        thread.join(20)
    assert not failed


def noticed(path, failed):
    until = time.monotonic() + 15
    while time.monotonic() < until and not failed:
        if File.objects.filter(path=path, revision__gt=0).exists():
            return True
        time.sleep(0.1)
    return False


def test_two_first_looks_at_once_are_one_line_of_activity(roots, monkeypatch):
    monkeypatch.setattr("memoryhub.domain.files.disk.intake._BATCH", 2)
    for number in range(40):
        (roots / "here" / f"{number}.md").write_text("x\n")
    mount = Mount.objects.select_related("space").get(prefix="/here/")
    together = threading.Barrier(2)

    def look():
        together.wait()
        watch_module.scan(mount.space, mount)
        connection.close()

    threads = [threading.Thread(target=look) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    (line,) = ActivityLine.objects.filter(verb="files.create")
    assert line.thing == "40 files below /here/"


def test_one_missing_folder_does_not_stop_the_others_and_is_taken_up_when_it_is_back(roots, caplog):
    with caplog.at_level(logging.INFO, "memoryhub.files"), watching_now() as failed:
        time.sleep(1)
        (roots / "here" / "new.md").write_bytes(b"noticed\n")
        assert noticed("/here/new.md", failed)
        time.sleep(2.5)
        (roots / "away").mkdir()
        (roots / "away" / "back.md").write_bytes(b"back\n")
        assert noticed("/away/back.md", failed)
        time.sleep(1)
        (roots / "away" / "later.md").write_bytes(b"later\n")
        assert noticed("/away/later.md", failed), "it is watched again, too"
    warned = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert len(warned) == 1, "said once, however often it is tried"
    said = warned[0].getMessage()
    assert "/away/ of away" in said and str(roots / "away") in said and "\n" not in said
    assert not warned[0].exc_info
    assert any("is there again" in one.getMessage() for one in caplog.records)
    assert not Mount.objects.get(prefix="/away/").problem


def test_a_folder_that_is_made_anew_while_it_is_watched_is_watched_anew(roots):
    with watching_now() as failed:
        time.sleep(1)
        shutil.rmtree(roots / "here")
        (roots / "here").mkdir()
        time.sleep(2.5)
        (roots / "here" / "again.md").write_bytes(b"again\n")
        assert noticed("/here/again.md", failed)


def test_the_look_every_few_minutes_passes_it_over_as_well(roots):
    (roots / "here" / "a.md").write_bytes(b"a\n")
    files.scan_all()
    assert File.objects.filter(path="/here/a.md").exists()
    assert "is not there" in Mount.objects.get(prefix="/away/").problem


def test_a_folder_or_file_inside_that_is_shut_does_not_shut_the_rest(roots):
    for name in ("shut/in.md", "later.md", "a.md"):
        (roots / "here" / name).parent.mkdir(exist_ok=True)
        (roots / "here" / name).write_bytes(b"a\n")
    for name in ("shut", "later.md"):
        (roots / "here" / name).chmod(0)
    with unprivileged():
        files.scan_all()
        assert {"/here/a.md"} <= known_below("/here/") <= {"/here/a.md", "/here/later.md"}
        space = Space.objects.get(slug="here")
        notes = {one.path: one.note for one in files.list_entries(space, "/here/", with_odd=True)}
        says = "the hub may not read it: its owner or permissions keep it out"
        assert notes == {"/here/shut/": says, "/here/a.md": "", "/here/later.md": says}
        # Agents that go through all folders are not led into one that answers nothing.
        assert not [one.path for one in files.list_entries(space, "/here/") if one.is_dir]
    (roots / "here" / "shut").chmod(0o700)
    (roots / "here" / "later.md").chmod(0o600)
    with unprivileged():
        files.scan_all()
    assert known_below("/here/") == {"/here/a.md", "/here/later.md", "/here/shut/in.md"}
    (roots / "here" / "shut").chmod(0)
    with unprivileged():
        files.scan_all()
    (roots / "here" / "shut").chmod(0o700)
    files.scan_all()
    assert known_below("/here/") == {"/here/a.md", "/here/later.md", "/here/shut/in.md"}


def known_below(prefix):
    found = File.objects.filter(path__startswith=prefix, revision__gt=0, is_deleted=False)
    return set(found.values_list("path", flat=True))


def gone(path):
    until = time.monotonic() + 15
    while time.monotonic() < until:
        if File.objects.filter(path=path, is_deleted=True).exists():
            return True
        time.sleep(0.1)
    return False


def test_folders_that_come_go_or_are_ignored_are_followed(roots):
    root = roots / "here"
    (root / "old").mkdir()
    (root / "old/a.md").write_bytes(b"a\n")
    (root / "node_modules/x").mkdir(parents=True)
    with watching_now() as failed:
        assert noticed("/here/old/a.md", failed)
        (root / "deep/er").mkdir(parents=True)
        (root / "deep/er/new.md").write_bytes(b"new\n")
        assert noticed("/here/deep/er/new.md", failed)
        time.sleep(1.5)
        (root / "deep/er/later.md").write_bytes(b"later\n")
        assert noticed("/here/deep/er/later.md", failed), "a folder that came later is watched"
        (root / "old").rename(roots / "elsewhere")
        assert gone("/here/old/a.md"), "a folder that was moved away takes its files along"
        (root / ".gitignore").write_text("deep/\n")
        assert gone("/here/deep/er/new.md")
        (root / "node_modules/x/README.md").write_bytes(b"x\n")
        (root / "deep/er/ignored.md").write_bytes(b"x\n")
        (root / "last.md").write_bytes(b"last\n")
        assert noticed("/here/last.md", failed)
    assert not File.objects.filter(path__contains="node_modules").exists()
    assert not File.objects.filter(path="/here/deep/er/ignored.md").exists()


def test_no_folder_that_is_left_out_is_watched(roots, monkeypatch):
    root = roots / "here"
    for name in (".git/objects/aa", "node_modules/x/y", "docs/a", "build"):
        (root / name).mkdir(parents=True)
    watched = list(watch_module._real_folders(Mount.objects.get(prefix="/here/")))
    assert sorted(watched) == [str(root), str(root / "docs"), str(root / "docs/a")]
