"""Locks of folders, with a second process: who came first holds one, the wider folder comes before, and a kill ends it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from memoryhub.stores.folder_locks import FolderLocks

OTHER = """
import sys
from memoryhub.stores.folder_locks import FolderLocks
locks = FolderLocks()
for line in sys.stdin:
    print(sorted(locks.hold_only(line.split())), flush=True)
"""


class Other:
    """Another process that holds what it is told to."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def hold_only(self, *folders):
        self.process.stdin.write(" ".join(map(str, folders)) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@pytest.fixture
def other():
    made = Other()
    yield made
    made.process.kill()
    made.process.wait()


@pytest.fixture
def locks():
    made = FolderLocks()
    yield made
    made.hold_only([])


def test_the_first_holds_it_until_it_is_killed(tmp_path, other, locks):
    assert other.hold_only(tmp_path) == "[]"
    assert locks.hold_only([str(tmp_path)]) == {str(tmp_path)} and not locks.is_free(str(tmp_path))
    assert os.listdir(tmp_path) == []
    other.process.kill()
    other.process.wait()
    assert locks.is_free(str(tmp_path)) and locks.hold_only([str(tmp_path)]) == set()


def test_letting_go_gives_it_to_the_other(tmp_path, other, locks):
    assert locks.hold_only([str(tmp_path)]) == set() == locks.hold_only([str(tmp_path)])
    assert other.hold_only(tmp_path) == str([str(tmp_path)])
    locks.hold_only([])
    assert other.hold_only(tmp_path) == "[]"


def test_the_wider_folder_comes_first_whoever_came_before(tmp_path, other, locks):
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    inner = str(tmp_path / "docs" / "deep")
    assert locks.hold_only([inner]) == set() and other.hold_only(tmp_path) == "[]"
    assert locks.hold_only([inner]) == {inner}, "at the next look"
    assert locks.hold_only([inner, str(tmp_path / "docs")]) == {inner, str(tmp_path / "docs")}
    other.hold_only()
    assert locks.hold_only([inner, str(tmp_path / "docs")]) == {inner}, "its own wider one as well"


def test_a_folder_that_is_made_anew_is_held_anew(tmp_path, other, locks):
    folder = tmp_path / "a"
    folder.mkdir()
    locks.hold_only([str(folder)])
    folder.rmdir()
    assert locks.hold_only([str(folder)]) == set(), "what is gone keeps nobody out"
    folder.mkdir()
    assert locks.hold_only([str(folder)]) == set() and other.hold_only(folder) == str([str(folder)])


def test_folders_without_locks_and_files_keep_nobody_out(tmp_path, locks):
    (tmp_path / "file").write_text("x")
    assert locks.hold_only([str(tmp_path / "file"), str(tmp_path / "none"), "/proc"]) == set()
