"""Names on disk: long ones, and such as macOS spells with accents taken apart."""

from __future__ import annotations

import os
import unicodedata

import pytest

from memoryhub.errors import Conflict, HubError, Invalid
from memoryhub.stores.filesystem import FilesystemStore

NFC = "Café.md"
NFD = unicodedata.normalize("NFD", NFC)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def store(root):
    return FilesystemStore(str(root), "/disk/")


def test_a_name_taken_apart_is_listed_and_read_as_one_that_is_not(store, root):
    folder = root / unicodedata.normalize("NFD", "Büro")
    folder.mkdir()
    (folder / NFD).write_bytes(b"one")
    ((path, entry),) = store.walk()
    assert (path, entry.odd) == (f"/Büro/{NFC}", "")
    assert store.read(path).content == b"one"
    assert store.stat(path).kind == "file"
    assert store.spelled(path) == f"/{folder.name}/{NFD}"


def test_writes_go_to_the_spelling_that_is_there(store, root):
    (root / NFD).write_bytes(b"one")
    placed = store.put(f"/{NFC}", b"two")
    assert placed.displaced == b"one"
    assert (root / NFD).read_bytes() == b"two"
    store.forget(f"/{NFC}", placed.leftover)
    assert os.listdir(root) == [NFD]
    store.remove(f"/{NFC}")
    assert not (root / NFD).exists()


def test_a_mixed_spelling_is_found_too(store, root):
    (root / ("é" + NFD)).write_bytes(b"mixed")
    assert store.read(f"/é{NFC}").content == b"mixed"


def test_both_spellings_side_by_side_are_told_and_neither_is_guessed(store, root):
    (root / NFC).write_bytes(b"one")
    (root / NFD).write_bytes(b"two")
    for call in (store.read, store.remove, store.stat, lambda path: store.put(path, b"x")):
        with pytest.raises(Conflict) as caught:
            call(f"/{NFC}")
        assert (caught.value.code, caught.value.details["path"]) == ("two_spellings", f"/disk/{NFC}")
    (entry,) = store.entries()
    assert "two spellings" in entry.odd


def test_a_sign_that_would_turn_into_ascii_stays_odd(store, root):
    (root / "\u212a.md").write_bytes(b"kelvin")
    (entry,) = store.entries()
    assert entry.odd


def test_control_characters_and_bytes_that_are_no_text_are_listed_as_escapes(store, root):
    os.makedirs(os.fsencode(root) + b"/a\nb\xff")
    (root / "c\t.md").symlink_to(os.fsdecode(b"to\n\xff"))
    folder, link = sorted(store.entries(), key=lambda one: one.name)
    assert (folder.name, link.name, link.target) == (r"a\nb\xff", r"c\t.md", r"to\n\xff")
    assert folder.odd and link.odd


def test_a_link_with_such_a_name_is_not_followed_either(store, root):
    (root / "secret").write_text("secret")
    (root / NFD).symlink_to("secret")
    (root / unicodedata.normalize("NFD", "ü")).symlink_to("..")
    for path in (f"/{NFC}", "/ü/root/secret"):
        for call in (store.read, store.remove, lambda p: store.put(p, b"changed")):
            with pytest.raises(HubError):
                call(path)
    assert (root / "secret").read_text() == "secret"


@pytest.mark.parametrize("name", ["n" * 252 + ".md", "ü" * 126 + ".md", "x" * 101])
def test_names_as_long_as_file_systems_take_them(store, root, name):
    store.put(f"/{name}", b"one")
    placed = store.put(f"/{name}", b"two")
    assert placed.displaced == b"one"
    (left,) = store.leftovers()
    assert (left.path, left.content) == (f"/{name}", b"one")
    store.forget(f"/{name}", left.name)
    store.remove(f"/{name}")
    assert not list(store.leftovers()), "whose it is, the disk alone cannot tell"
    (left,) = store.leftovers("/", lambda: [name])
    assert (left.path, left.content) == (f"/{name}", b"two")


def test_refusals_name_the_path_that_the_caller_knows(store, root):
    (root / "ln").symlink_to("secret")
    (root / "big.md").write_bytes(b"x" * 11)
    (root / "sub").mkdir()
    for path, limit in (("/ln", 99), ("/big.md", 10), ("/none.md", 9), ("/big.md/a", 99), ("/sub", 9), ("/none/a", 9)):
        with pytest.raises(HubError) as caught:
            store.read(path, limit)
        assert caught.value.details["path"] == "/disk" + path
        assert f"/disk{path}" in caught.value.message
    with pytest.raises(Invalid) as caught:
        store.put("/ln", b"")
    assert "/disk/ln" in caught.value.message
