"""What the file tools of coding agents make of a text. The expected texts are those that the real Claude Code 2.1.327 wrote."""

from __future__ import annotations

import pytest

from memoryhub.errors import HubError, Invalid, TooLarge
from memoryhub.text.tool_calls import paths_in_command, read_call, text_after
from tests.cases import for_each


def edit(old, new, **more):
    return {"file_path": "/m/a.md", "old_string": old, "new_string": new, **more}


RESULTS = [
    ("a write is the text", "Write", {"file_path": "/m/a.md", "content": "x\n"}, "old\n", "x\n"),
    ("a write makes CR LF what it says", "Write", {"file_path": "/m/a.md", "content": "w1\nw2\n"}, "a\r\nb\r\n", "w1\nw2\n"),
    ("an edit", "Edit", edit("two", "2"), "one\ntwo\n", "one\n2\n"),
    ("every place", "Edit", edit("dup", "x", replace_all=True), "dup\ndup\n", "x\nx\n"),
    ("CR LF stays", "Edit", edit("one\ntwo", "1\n2"), "one\r\ntwo\r\nthree\r\n", "1\r\n2\r\nthree\r\n"),
    ("a BOM stays", "Edit", edit("two", "2"), "\ufeffone\ntwo\n", "\ufeffone\n2\n"),
    ("curly marks count as plain ones", "Edit", edit('it\'s "fine"', 'it\'s "ok"'), "it’s “fine”\n", "it’s “ok”\n"),
    ("nothing takes its line end", "Edit", edit("drop", ""), "keep\ndrop\nend\n", "keep\nend\n"),
    ("an empty one makes a file", "Edit", edit("", "made  \nby edit"), None, "made  \nby edit"),
    ("blanks at line ends stay", "Edit", edit("a\n", "rel  \n"), "a\nb  \n", "rel  \nb  \n"),
    ("several, one after the other", "MultiEdit",
     {"file_path": "/m/a.md", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "b\n", "new_string": "c\n"}]}, "a\n", "c\n"),
]  # fmt: skip


@for_each([one[1:] for one in RESULTS])
def test_the_text_that_results(tool, arguments, before, after):
    assert text_after(read_call("claude-code", tool, arguments), before) == after


@for_each([
    (edit("no", "x"), "a\n"), (edit("a", "x"), "a a\n"), (edit("", "x"), "there\n"), (edit("a", "x"), None),
])  # fmt: skip
def test_what_the_tool_itself_refuses_has_no_text(arguments, before):
    with pytest.raises(HubError):
        text_after(read_call("claude-code", "Edit", arguments), before)


HOSTILE = [
    None, [], "x", 7, {}, {"file_path": None}, {"file_path": ["/m/a"], "content": "x"}, {"file_path": "", "content": "x"},
    {"file_path": "/m/\x00a", "content": "x"}, {"file_path": "/m/a", "content": 1}, {"file_path": "/m/a", "content": "\ud800"},
    {"file_path": "\udfff", "content": "x"}, {"file_path": "/m/a"},
]  # fmt: skip


@for_each(HOSTILE)
def test_arguments_that_no_tool_has_are_refused(arguments):
    for tool in ("Write", "Edit", "MultiEdit"):
        with pytest.raises(Invalid):
            read_call("claude-code", tool, arguments)


@for_each(
    [
        None,
        [],
        {},
        [1],
        [{}],
        [{"old_string": "a"}],
        [{"old_string": "a", "new_string": "b", "replace_all": "yes"}],
        [{}] * 1001,
    ]
)
def test_lists_of_edits_are_checked(edits):
    with pytest.raises(Invalid):
        read_call("claude-code", "MultiEdit", {"file_path": "/m/a", "edits": edits})


def test_other_tools_write_nothing():
    assert read_call("claude-code", "Read", {"file_path": "/m/a"}) is None
    assert read_call("nobody", "Write", {"file_path": "/m/a", "content": ""}) is None


def test_tools_of_other_agents():
    assert (
        text_after(
            read_call("gemini-cli", "replace", {"file_path": "/m/a", "old_string": "a", "new_string": "b"}), "a\n"
        )
        == "b\n"
    )
    call = read_call("opencode", "edit", {"filePath": "/m/a", "oldString": "a", "newString": "b", "replaceAll": True})
    assert call.paths == ("/m/a",) and text_after(call, "a a\n") == "b b\n"


@for_each([
    ("echo x >> ~/.claude/CLAUDE.md", ["~/.claude/CLAUDE.md"]), ("echo x>a.md", ["a.md"]),
    ("cat a.md | tee -a 'b c.md'", ["b c.md"]), ("sed -i s/a/b/ a.md && rm -f b.md", ["s/a/b/", "a.md", "b.md"]),
    ("sed s/a/b/ a.md", []), ("cat a.md", []), ("mv a.md b.md; ls", ["a.md", "b.md"]), ("cat <<EOF > a.md\nit's\nEOF", ["a.md"]),
    ("FOO=1 sudo tee a.md", ["a.md"]), ("dd if=x of=a.md", ["a.md"]), ("", []), ("make test 2>&1 >/dev/null", ["/dev/null"]),
])  # fmt: skip
def test_what_a_command_plainly_writes(command, paths):
    found = paths_in_command(command)
    assert [one for one in found if one in paths] == paths and (paths or not found)


def test_an_edit_that_would_fill_the_memory_is_refused():
    """A refusal is recorded; a hub that runs out of memory lets the write through."""
    twice = [edit("a", "a" * 1000, replace_all=True)] * 5
    for tool, arguments in (
        ("Edit", edit("a", "b" * 10_000_000, replace_all=True)), ("MultiEdit", {"file_path": "/m/a.md", "edits": twice}),
    ):  # fmt: skip
        with pytest.raises(TooLarge):
            text_after(read_call("claude-code", tool, arguments), "a" * 1_000_000)
