"""The unified form of a diff is the one that `patch` reads."""

from __future__ import annotations

import random
import subprocess

from memoryhub.text.diff import unified


def test_unified_is_the_form_every_tool_reads(tmp_path):
    rng = random.Random(7)
    for _ in range(40):
        old = [f"line {rng.randrange(30)}\n" for _ in range(rng.randrange(1, 60))]
        new = [x for x in old if rng.random() > 0.1] + [f"new {rng.randrange(9)}\n"] * rng.randrange(3)
        if rng.random() < 0.3:
            new[-1:] = ["no newline"]
        if "".join(new) == "".join(old):
            continue
        target = tmp_path / "f.md"
        target.write_text("".join(old))
        patch = unified("".join(old), "".join(new), "/f.md")
        subprocess.run(["patch", "-p1", "-s"], input=patch, text=True, cwd=tmp_path, check=True)
        assert target.read_text() == "".join(new)


def test_unified_names_new_and_deleted_files():
    assert unified(None, "a\n", "/m/a.md").splitlines()[:2] == ["--- /dev/null", "+++ b/m/a.md"]
    assert unified("a\n", None, "/m/a.md").splitlines()[:2] == ["--- a/m/a.md", "+++ /dev/null"]
    assert unified("a\n", "", "/m/a.md").splitlines()[:2] == ["--- a/m/a.md", "+++ b/m/a.md"]
    assert unified("a\n", "a\n", "/m/a.md") == ""
