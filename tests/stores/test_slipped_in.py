"""What takes a file's place between the look and the write, and is no text of a file, goes back where it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memoryhub.errors import HubError
from memoryhub.stores.disk import MAX_BYTES
from memoryhub.stores.filesystem import FilesystemStore


def a_folder(place: Path) -> None:
    place.mkdir()
    (place / "inside.md").write_text("theirs")


def a_link(place: Path) -> None:
    place.symlink_to(place.parent.parent / "canary")


def too_large(place: Path) -> None:
    with place.open("wb") as file:
        file.truncate(MAX_BYTES + 1)


def as_it_lies(place: Path) -> tuple[str, object]:
    if place.is_symlink():
        return "link", os.readlink(place)
    return ("folder", sorted(os.listdir(place))) if place.is_dir() else ("file", place.stat().st_size)


@pytest.fixture
def store(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "canary").write_text("secret")
    return FilesystemStore(str(tmp_path / "root"))


@pytest.mark.parametrize("verb", ["put", "remove"])
@pytest.mark.parametrize("theirs", [a_folder, a_link, too_large], ids=lambda theirs: theirs.__name__)
def test_what_slipped_in_is_put_back(store, tmp_path, monkeypatch, verb, theirs):
    store.put("/a.md", b"one")
    place, beside = tmp_path / "root" / "a.md", tmp_path / "beside"
    theirs(beside)
    before, rename = as_it_lies(beside), os.rename

    def slip_in(*names, **folders):
        monkeypatch.setattr(os, "rename", rename)
        place.unlink()
        rename(beside, place)
        return rename(*names, **folders)

    monkeypatch.setattr(os, "rename", slip_in)  # what both verbs do first after their look
    with pytest.raises(HubError):
        store.put("/a.md", b"two") if verb == "put" else store.remove("/a.md")
    assert as_it_lies(place) == before
    assert os.listdir(tmp_path / "root") == ["a.md"], "nothing temporary stays"
    assert (tmp_path / "canary").read_text() == "secret"
