"""Patches of Codex and Copilot CLI. The expected texts are those that the real Codex 0.169.0 wrote."""

from __future__ import annotations

import time

import pytest

from memoryhub.errors import HubError
from memoryhub.text.patches import parse_patch, paths_in_patch
from memoryhub.text.tool_calls import paths_in_command, read_calls, text_after
from tests.cases import for_each


def patch(changes, path="a.md"):
    return f"*** Begin Patch\n*** Update File: {path}\n{changes}*** End Patch\n"


RESULTS = [
    ("a\nb\nc\n", "@@\n a\n-b\n+x\n", "a\nx\nc\n"),
    ("a\nb\nc\n", " a\n-b\n+x\n", "a\nx\nc\n"),
    ("a\nb\na\nb\n", "@@\n-b\n+x\n*** End of File\n", "a\nb\na\nx\n"),
    ("keep\ndrop\nend\n", "@@ keep\n-drop\n", "keep\nend\n"),
    ("dup\ndup\n", "@@ dup\n-dup\n+x\n", "dup\nx\n"),
    ("a\n", "@@\n+x\n", "a\nx\n"),
    ("", "@@\n+x\n", "x\n"),
    ("no end", "@@\n-no end\n+an end\n", "an end\n"),
    ("a\nb", "@@\n-a\n+x\n", "x\nb\n"),
    ("a\n\nb\n", "@@\n a\n\n-b\n+x\n", "a\n\nx\n"),
    ("a\nb\n", "@@\n-b\n+x\n \n", "a\nx\n"),
    ("a\nb\nc\nd\n", "@@\n-a\n+1\n@@\n-d\n+4\n", "1\nb\nc\n4\n"),
    # what stays keeps its blanks; looked for without them, and with plain marks
    ("a  \nb\n", "@@\n a\n-b\n+c\n", "a  \nc\n"),
    ("a\n  b\nc\n", "@@\n b\n-c\n+d\n", "a\n  b\nd\n"),
    ("it’s—a\nb\n", "@@\n-it's-a\n+x\n", "x\nb\n"),
    # new lines end as the first one does
    ("one\r\ntwo\r\nthree\r\n", "@@\n-two\n+2\n", "one\r\n2\r\nthree\r\n"),
    ("a\nb\r\nc\r\n", "@@\n a\n+x\n", "a\nx\nb\r\nc\r\n"),
    ("a\r\nb\nc\nd\r\n", "@@\n-b\n-c\n+x\n+y\n+z\n", "a\r\nx\r\ny\r\nz\r\nd\r\n"),
    ("a\r\nb\nc\r\n", "@@\n a\n+x\n b\n", "a\r\nx\r\nb\nc\r\n"),
    ("a\nb\nc\r\n", "@@\n-c\n+x\n", "a\nb\nx\n"),
    ("a\r\nb", "@@\n-b\n+x\n", "a\r\nx\r\n"),
]


@for_each(RESULTS)
def test_the_text_that_results(before, changes, after):
    (call,) = read_calls("codex", "apply_patch", {"command": patch(changes)})
    assert text_after(call, before) == after and call.paths == ("a.md",)


@for_each([
    ("a\n", "@@\n-b\n+x\n"), ("a\nb\n", "@@ a\n@@ b\n+x\n"), ("a\nb\n", "@@\n-b\n+x\n@@\n-a\n+y\n"), ("a\n", "@@\n-a\n-b\n"),
])  # fmt: skip
def test_lines_that_are_not_there_are_refused(before, changes):
    with pytest.raises(HubError):
        parse_patch(patch(changes))[0].text_after(before)


WHOLE = (
    "*** Begin Patch\n*** Add File: new.md\n+a\n+b  \n*** Update File: old.md\n*** Move to: moved.md\n@@\n-x\n+y\n"
    "*** Delete File: gone.md\n*** End Patch"
)


def test_each_file_of_a_patch_is_a_call_of_its_own():
    made, moved, gone = read_calls("copilot-cli", "apply_patch", WHOLE)
    assert (made.paths, text_after(made, None)) == (("new.md",), "a\nb  \n")
    assert moved.paths == ("old.md", "moved.md") and gone.paths == ("gone.md",)
    for call in (moved, gone):
        with pytest.raises(HubError, match="person"):
            text_after(call, "x\n")
    assert paths_in_patch(WHOLE) == ["new.md", "old.md", "moved.md", "gone.md"]


@for_each([
    "", "no patch", "*** Begin Patch\n", "*** Begin Patch\n*** Add File: a\nb\n*** End Patch", "*** Begin Patch\nx\n*** End Patch",
    "*** Begin Patch\n*** Update File: a\n?x\n*** End Patch", 3, {"command": 1}, [],
])  # fmt: skip
def test_what_is_no_patch_is_refused(text):
    with pytest.raises(HubError):
        read_calls("codex", "apply_patch", {"command": text})


def test_a_shell_that_applies_a_patch_writes_its_files():
    added = patch("@@\n+x\n", "/m/a.md")
    assert paths_in_command(f"cd /m && apply_patch <<'EOF'\n{added}EOF") == ["/m/a.md"]


def test_a_costly_patch_ends_soon():
    changes = "".join(f"@@\n-{'a' * 20}\n-none{number}\n+x\n" for number in range(150))
    began = time.monotonic()
    with pytest.raises(HubError):
        parse_patch(patch(changes))[0].text_after(("a" * 20 + "\n") * 40_000)
    with pytest.raises(HubError, match="at most"):
        parse_patch(patch("@@\n+x\n" * 100_000))
    assert time.monotonic() - began < 20


def test_a_patch_of_one_line_again_and_again_is_read_in_one_pass():
    began = time.process_time()
    assert paths_in_patch("*** Add File: a" + " " * 500_000 + "b \n*** Move to:   \n")[0].endswith("b")
    repeated = patch("@@\n" + " a\n" * 60_000 + " b\n")
    with pytest.raises(HubError):
        parse_patch(repeated)[0].text_after("a\n" * 400_000)
    found = parse_patch(patch("@@\n" + " a\n" * 60_000 + "-b\n"))[0].text_after("a\n" * 100_000 + "b\nc\n")
    assert found == "a\n" * 100_000 + "c\n" and time.process_time() - began < 8
