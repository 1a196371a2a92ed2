"""A write to a disk that is full or read-only counts, and its answer says that it is not on disk yet, and why."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryhub.domain import files, spaces
from memoryhub.models import HUB

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(os.geteuid() != 0, reason="a disk of its own can be made by root alone"),
]


@pytest.fixture
def space():
    return spaces.create(HUB, "house")


@pytest.fixture
def tiny(space, tmp_path) -> Iterator[Path]:
    """A disk of 64 kB with a file, mounted at /disk/ and trusted."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    if mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)):
        pytest.skip("this system does not let us mount")
    try:
        files.add_mount(space, HUB, "/disk/", store="filesystem", directory=str(folder), policy="trusted")
        files.write(space, HUB, "/disk/plan.md", b"before\n")
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def mount(*options: str) -> int:
    return subprocess.run(["mount", *options], capture_output=True, check=False).returncode


def write(forge, text: str) -> dict:
    answer = forge("PUT", "files/disk/plan.md", {"content": text})
    assert answer.status_code == 200, answer.content
    return answer.json()


def published(forge) -> str:
    return forge("GET", "files/disk/plan.md").json()["content"]


def test_a_full_disk(forge, tiny):
    said = write(forge, "x" * 100_000)
    assert (said["status"], said["on_disk"]) == ("applied", "waiting")
    assert "full" in said["why"]
    assert (tiny / "plan.md").read_text() == "before\n"
    assert published(forge) == "x" * 100_000
    said = write(forge, "there is room for this\n")
    assert (said["status"], said["on_disk"], said["why"]) == ("applied", None, None)
    assert (tiny / "plan.md").read_text() == "there is room for this\n"


def test_a_disk_that_became_read_only(forge, tiny):
    assert mount("-o", "remount,ro", str(tiny)) == 0
    said = write(forge, "waits\n")
    assert (said["status"], said["on_disk"]) == ("applied", "waiting")
    assert "read-only" in said["why"] or "written" in said["why"]
    assert (tiny / "plan.md").read_text() == "before\n"
    assert published(forge) == "waits\n"
    assert mount("-o", "remount,rw", str(tiny)) == 0
    assert write(forge, "goes on\n")["on_disk"] is None
    assert (tiny / "plan.md").read_text() == "goes on\n"
