"""Files in a directory: one step, nothing lost, no way out."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time

import pytest

from memoryhub.errors import Conflict, HubError, Invalid, NotFound, TooLarge, Unavailable
from memoryhub.stores import atomic
from memoryhub.stores.filesystem import FilesystemStore


@pytest.fixture
def store(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "canary").write_text("secret")
    return FilesystemStore(str(tmp_path / "root"))


def names(store, folder="/"):
    return [e.name for e in store.entries(folder)]


def test_what_is_put_is_read_back_byte_for_byte(store):
    content = b"\xef\xbb\xbfa\r\nb\x00\xff"
    placed = store.put("/sub/deep/AGENTS.md", content)
    assert placed.displaced is None
    assert store.read("/sub/deep/AGENTS.md").content == content
    assert names(store) == ["sub"]


def test_a_second_write_hands_back_what_stood_there(store, tmp_path):
    store.put("/a.md", b"one")
    placed = store.put("/a.md", b"two")
    assert placed.displaced == b"one"
    assert store.read("/a.md").content == b"two"
    assert names(store) == ["a.md"], "temporary names are hidden"
    assert store.read_again("/a.md", placed.leftover) == b"one"
    store.forget("/a.md", placed.leftover)
    assert os.listdir(tmp_path / "root") == ["a.md"]


def test_mode_and_owner_stay(store, tmp_path):
    store.put("/a.md", b"one")
    target = tmp_path / "root" / "a.md"
    target.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(target, 1234, 4321)
    store.put("/a.md", b"two")
    found = target.stat()
    assert found.st_mode & 0o777 == 0o640
    if os.geteuid() == 0:
        assert (found.st_uid, found.st_gid) == (1234, 4321)


def test_a_write_protected_file_is_neither_replaced_nor_removed(store, tmp_path):
    store.put("/a.md", b"one")
    (tmp_path / "root" / "a.md").chmod(0o444)
    for change in (lambda: store.put("/a.md", b"two"), lambda: store.remove("/a.md")):
        with pytest.raises(Unavailable, match=r"write-protected on disk.*chmod u\+w"):
            change()
    assert store.read("/a.md").content == b"one" and os.listdir(tmp_path / "root") == ["a.md"]


def test_removing_hands_back_what_it_was(store):
    store.put("/a.md", b"one")
    placed = store.remove("/a.md")
    assert placed.displaced == b"one"
    assert store.stat("/a.md") is None
    assert store.remove("/a.md").displaced is None


def test_a_text_that_an_open_writer_finishes_later_is_still_read(store, tmp_path):
    store.put("/a.md", b"one")
    with (tmp_path / "root" / "a.md").open("r+b") as writer:
        placed = store.put("/a.md", b"two")
        writer.write(b"late text")
        writer.flush()
        assert store.read_again("/a.md", placed.leftover) == b"late text"
    assert store.read("/a.md").content == b"two"


def test_leftovers_tell_whose_they_are_and_what_they_hold(store):
    store.put("/sub/a.md", b"one")
    store.put("/sub/a.md", b"two")
    (left,) = store.leftovers("/sub/")
    assert (left.path, left.content) == ("/sub/a.md", b"one")
    assert set(store.folders()) == {"/", "/sub/"}


def test_a_stat_that_is_too_young_has_no_mark(store, tmp_path):
    target = tmp_path / "root" / "a.md"
    target.write_text("x")
    assert store.stat("/a.md").mark is None
    time.sleep(0.02)
    mark = store.stat("/a.md").mark
    assert mark
    assert store.stat("/a.md").mark == mark
    target.write_text("y")
    time.sleep(0.02)
    assert store.stat("/a.md").mark != mark


# ---- walls


@pytest.mark.parametrize("path", ["/../canary", "/a/../../canary", "/./../canary", "/.."])
def test_no_spelling_leads_out(store, tmp_path, path):
    for call in (store.read, store.remove, lambda p: store.put(p, b"changed")):
        with pytest.raises(HubError):
            call(path)
    assert (tmp_path / "canary").read_text() == "secret"


@pytest.mark.parametrize("link_to", ["../canary", "inside.md"])
def test_links_are_shown_and_never_followed(store, tmp_path, link_to):
    (tmp_path / "root" / "inside.md").write_text("inside")
    (tmp_path / "root" / "link.md").symlink_to(link_to)
    (entry,) = [e for e in store.entries() if e.name == "link.md"]
    assert (entry.stat.kind, entry.target) == ("link", link_to)
    for call in (store.read, store.remove, lambda p: store.put(p, b"changed")):
        with pytest.raises(Invalid) as caught:
            call("/link.md")
        assert "link" in caught.value.message or "neither" in caught.value.message
    assert (tmp_path / "canary").read_text() == "secret"
    assert (tmp_path / "root" / "link.md").is_symlink()


def test_a_folder_that_is_a_link_is_not_entered(store, tmp_path):
    (tmp_path / "root" / "out").symlink_to("..")
    for call in (store.read, lambda p: store.put(p, b"changed")):
        with pytest.raises(Invalid) as caught:
            call("/out/canary")
        assert caught.value.code == "invalid_path"
    assert (tmp_path / "canary").read_text() == "secret"
    assert [p for p, _ in store.walk()] == ["/out"]


def test_folders_swapped_for_links_while_walking_lead_nowhere(store, tmp_path):
    """The race that checks by name lose: a folder becomes a link between the check and the use."""
    inside, away = tmp_path / "root" / "d", tmp_path / "root" / "d.away"
    inside.mkdir()
    (inside / "canary").write_text("fine")
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            inside.rename(away)
            with contextlib.suppress(FileExistsError):
                inside.symlink_to("..")
                inside.unlink()
            while away.exists():
                try:
                    away.rename(inside)
                except OSError:  # a write made the folder that it missed
                    shutil.rmtree(inside, ignore_errors=True)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        until = time.monotonic() + 1
        while time.monotonic() < until:
            try:
                assert store.read("/d/canary").content != b"secret"
                store.put("/d/canary", b"fine")
            except HubError:
                pass
        assert thread.is_alive()
    finally:
        stop.set()
        thread.join()
    assert (tmp_path / "canary").read_text() == "secret"


def test_pipes_folders_and_giants_are_refused_for_what_they_are(store, tmp_path):
    os.mkfifo(tmp_path / "root" / "pipe")
    (tmp_path / "root" / "folder").mkdir()
    (tmp_path / "root" / "giant").write_bytes(b"x" * ((1 << 20) + 1))
    for path, kind, code in [
        ("/pipe", Invalid, "not_a_file"),
        ("/folder", Invalid, "is_directory"),
        ("/giant", TooLarge, "too_large"),
        ("/none", NotFound, "file_not_found"),
    ]:
        with pytest.raises(kind) as caught:
            store.read(path)
        assert caught.value.code == code


def test_names_that_cannot_be_paths_are_shown_as_odd(store, tmp_path):
    (tmp_path / "root" / "a\u200bb.md").write_text("x")
    (tmp_path / "root" / "\u212a.md").write_text("x")
    (tmp_path / "root" / os.fsdecode(b"bad\xff.md")).write_text("x")
    odd = {e.name: e.odd for e in store.entries()}
    assert all(odd.values()), odd
    for name in odd:
        name.encode()


def test_a_missing_root_says_what_to_do(tmp_path):
    with pytest.raises(Unavailable) as caught:
        FilesystemStore(str(tmp_path / "gone")).read("/a.md")
    assert "bring it back" in caught.value.message


# ---- a failing disk


def run_limited(tmp_path, code: str, setup: str) -> subprocess.CompletedProcess:
    """A process of its own under a real limit of the system."""
    program = f"""
import os, resource, signal
{setup}
from memoryhub.stores.filesystem import FilesystemStore
from memoryhub.errors import HubError
store = FilesystemStore({str(tmp_path / "root")!r})
{code}
"""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=os.getcwd())


def test_a_write_that_hits_a_real_limit_leaves_the_old_text(store, tmp_path):
    store.put("/a.md", b"old")
    done = run_limited(
        tmp_path,
        "try: store.put('/a.md', b'x' * 100_000)\nexcept HubError as e: print(e.status, e.code, e.message)",
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))",
    )
    assert done.stdout.startswith("503 disk_error"), done.stderr
    assert store.read("/a.md").content == b"old"
    assert os.listdir(tmp_path / "root") == ["a.md"], "nothing half written stays"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_a_read_only_directory_is_said_to_be_so(store, tmp_path):
    store.put("/a.md", b"old")
    for path in [tmp_path, *tmp_path.parents][:-1]:
        if path.stat().st_mode & 0o005 != 0o005:
            path.chmod(path.stat().st_mode | 0o005)
    (tmp_path / "root").chmod(0o555)
    done = run_limited(
        tmp_path,
        "try: store.put('/a.md', b'new')\nexcept HubError as e: print(e.status, e.message)",
        "import memoryhub.stores.filesystem; os.setgid(65534); os.setuid(65534)",
    )
    assert done.stdout.startswith("503"), done.stderr
    assert "permissions" in done.stdout
    assert store.read("/a.md").content == b"old"


# ---- a competing writer, and systems that cannot exchange


@pytest.mark.parametrize("can_exchange", [True, False])
def test_no_text_is_overwritten_unseen(store, tmp_path, monkeypatch, can_exchange):
    if not can_exchange:
        monkeypatch.setattr(atomic, "_renameat2", lambda: None)
    target, beside = tmp_path / "root" / "a.md", tmp_path / "root" / "beside"
    target.write_bytes(b"first")
    stop, theirs = threading.Event(), [b"first"]

    def compete():
        number = 0
        while not stop.is_set():
            number += 1
            beside.write_bytes(b"theirs %d" % number)
            beside.rename(target)
            theirs.append(b"theirs %d" % number)

    thread = threading.Thread(target=compete)
    thread.start()
    ours, displaced = [], []
    try:
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            ours.append(b"ours %d" % len(ours))
            try:
                placed = store.put("/a.md", ours[-1])
            except Conflict:
                continue
            displaced.append(placed.displaced)
            store.forget("/a.md", placed.leftover)
    finally:
        stop.set()
        thread.join()
    # What the hub displaced is either its own last text or a whole text of the other writer, never a torn one.
    assert set(displaced) <= set(ours) | set(theirs) | {None}
    own = [t for t in displaced if t and t.startswith(b"ours")]
    assert len(own) == len(set(own)), "a text of ours was displaced twice"


def test_the_place_of_a_vanished_file_is_taken_only_if_empty(store, tmp_path):
    fd = os.open(tmp_path / "root", os.O_RDONLY | os.O_DIRECTORY)
    (tmp_path / "root" / "a").write_text("theirs")
    (tmp_path / "root" / "b").write_text("ours")
    with pytest.raises(FileExistsError):
        atomic.rename_new(fd, "b", "a")
    os.close(fd)
    assert (tmp_path / "root" / "a").read_text() == "theirs"


def test_a_hundred_stats_are_cheap(store):
    many = [f"/d{n % 5}/f{n}.md" for n in range(100)]
    for path in many:
        store.put(path, b"x")
    best = min(_clock(lambda: store.stats(many)) for _ in range(5))
    assert best < 0.003, f"{best * 1000:.2f} ms"


def _clock(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
