"""The author of a text in a git repository: as git itself says, without running anything, whatever the repository holds."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from memoryhub.stores.git_history import Author, History, repository_of

PEOPLE = ("Mia Keller", "Ben Ötter", "Zoë X")


def git(root, *arguments, author="Mia Keller"):
    named = {
        "GIT_AUTHOR_NAME": author,
        "GIT_AUTHOR_EMAIL": "a@b.example",
        "GIT_COMMITTER_NAME": "ci",
        "GIT_COMMITTER_EMAIL": "c@d.example",
    }
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1", **named}
    done = subprocess.run(["git", *arguments], cwd=root, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def root(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


def commit(root, path, text, author="Mia Keller"):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "x", author=author)
    return git(root, "rev-parse", "HEAD")


def author_of(root, path, text, seconds=20.0):
    return History(str(root / ".git"), seconds).author_of(path, text.encode())


@pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
def test_every_text_of_a_history_has_the_author_of_its_commit(root, packed):
    body = "".join(f"line {n}\n" for n in range(400))
    expected = {}
    for n in range(30):
        name, text = PEOPLE[n % 3], body + f"change {n}\n" * (n + 1)
        expected[text] = Author(name, commit(root, "docs/rules.md", text, name))
        commit(root, f"other/{n}.md", "other\n", "Nobody")
    if packed:
        git(root, "gc", "-q", "--aggressive", "--prune=now")
        git(root, "pack-refs", "--all")
        assert not list((root / ".git/refs/heads").iterdir())
    for text, author in expected.items():
        assert author_of(root, "docs/rules.md", text) == author
    assert author_of(root, "docs/rules.md", body + "uncommitted\n") is None
    assert author_of(root, "other/rules.md", body) is None


def test_a_merge_leaves_the_author_of_the_branch(root):
    commit(root, "a.md", "one\n")
    git(root, "checkout", "-q", "-b", "side")
    wanted = commit(root, "b.md", "two\n", "Ben Ötter")
    git(root, "checkout", "-q", "main")
    commit(root, "a.md", "three\n")
    git(root, "merge", "-q", "--no-edit", "side", author="Zoë X")
    assert author_of(root, "b.md", "two\n") == Author("Ben Ötter", wanted)


def test_nothing_of_the_repository_is_run(root, tmp_path):
    commit(root, "a.md", "one\n")
    trap = tmp_path / "ran"
    program = root / ".git/hooks/trap"
    program.write_text(f"#!/bin/sh\ntouch {trap}\n")
    program.chmod(0o755)
    with (root / ".git/config").open("a") as config:
        config.write(
            f"[core]\n\tfsmonitor = {program}\n\tsshCommand = {program}\n\tpager = {program}\n[diff]\n\texternal = {program}\n"
        )
    (root / ".gitattributes").write_text("*.md filter=trap diff=trap\n")
    assert author_of(root, "a.md", "one\n").name == "Mia Keller"
    assert not trap.exists()


def test_where_a_repository_is(root):
    (root / "docs/deep").mkdir(parents=True)
    assert repository_of(str(root / "docs/deep")) == (str(root / ".git"), "docs/deep")
    assert repository_of(str(root))[1] == ""


def broken(root):
    """Ways to damage a repository, each of which has to end in no answer."""
    objects = [one for one in (root / ".git/objects").rglob("*") if one.is_file()]
    yield lambda: (root / ".git/HEAD").write_text("ref: ../../../../etc/passwd\n")
    yield lambda: (root / ".git/HEAD").write_bytes(b"\xff\xfe\x00")
    yield lambda: [one.chmod(0o644) or one.write_bytes(b"x\x9c" + os.urandom(200)) for one in objects]
    yield lambda: [one.chmod(0o644) or one.write_bytes(b"") for one in objects]
    yield lambda: [one.unlink() or one.symlink_to("/dev/zero") for one in objects]
    yield lambda: [one.unlink() or os.mkfifo(one) for one in objects]


@pytest.mark.parametrize("way", range(6))
@pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
def test_a_hostile_repository_gives_no_answer_and_no_error(root, way, packed):
    commit(root, "a.md", "one\n")
    if packed:
        git(root, "gc", "-q")
    list(broken(root))[way]()
    begun = time.monotonic()
    assert author_of(root, "a.md", "one\n", seconds=1.0) is None
    assert time.monotonic() - begun < 10


def test_random_bytes_in_packs_end(root):
    import random

    chance = random.Random(7)
    for n in range(12):
        commit(root, "a.md", "line\n" * 300 + f"{n}\n")
    git(root, "gc", "-q", "--aggressive")
    (pack,) = (root / ".git/objects/pack").glob("*.pack")
    (index,) = (root / ".git/objects/pack").glob("*.idx")
    whole = {one: one.read_bytes() for one in (pack, index)}
    for one in whole:
        one.chmod(0o644)
    for _ in range(150):
        for one, content in whole.items():
            damaged = bytearray(content)
            for _ in range(chance.randint(1, 20)):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            one.write_bytes(damaged)
        found = author_of(root, "a.md", "line\n" * 300 + "11\n", seconds=1.0)
        assert found is None or found.commit


def test_the_search_ends_at_its_deadline(root):
    commit(root, "a.md", "one\n")
    assert author_of(root, "a.md", "one\n", seconds=-1.0) is None
