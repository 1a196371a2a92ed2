"""Anthropic's memory tool: the SDK's own local tool and ours side by side, then the gate."""

import asyncio

import pytest

from memoryhub.client import AsyncMemoryHub
from tests.later import Later

tools, sdk = Later("memoryhub.client.anthropic"), Later("anthropic.tools.memory")
NOTES = "/memories/notes.md"

STORY = [
    {"command": "view", "path": NOTES},
    {"command": "create", "path": NOTES, "file_text": "one\ntwo\nthree\ntwo\n"},
    {"command": "create", "path": NOTES, "file_text": "again"},
    {"command": "view", "path": NOTES},
    {"command": "view", "path": NOTES, "view_range": [2, 3]},
    {"command": "view", "path": NOTES, "view_range": [3, -1]},
    {"command": "view", "path": NOTES, "view_range": [0, 1]},
    {"command": "str_replace", "path": NOTES, "old_str": "two", "new_str": "2"},
    {"command": "str_replace", "path": NOTES, "old_str": "four", "new_str": "4"},
    {"command": "str_replace", "path": NOTES, "old_str": "three\n", "new_str": "3\n"},
    {"command": "str_replace", "path": "/memories/none.md", "old_str": "a", "new_str": "b"},
    {"command": "insert", "path": NOTES, "insert_line": 0, "insert_text": "zero"},
    {"command": "insert", "path": NOTES, "insert_line": 5, "insert_text": "five\n"},
    {"command": "insert", "path": NOTES, "insert_line": 99, "insert_text": "x"},
    {"command": "insert", "path": NOTES, "insert_line": -1, "insert_text": "x"},
    {"command": "insert", "path": "/memories/none.md", "insert_line": 0, "insert_text": "x"},
    {"command": "view", "path": NOTES},
    {"command": "create", "path": "/memories/a/b/deep.txt", "file_text": "no newline"},
    {"command": "insert", "path": "/memories/a/b/deep.txt", "insert_line": 1, "insert_text": "end"},
    {"command": "view", "path": "/memories/a/b/deep.txt"},
    {"command": "rename", "old_path": NOTES, "new_path": "/memories/a/b/deep.txt"},
    {"command": "rename", "old_path": "/memories/none.md", "new_path": "/memories/x.md"},
    {"command": "rename", "old_path": NOTES, "new_path": "/memories/c/moved.md"},
    {"command": "rename", "old_path": "/memories", "new_path": "/memories/x"},
    {"command": "view", "path": NOTES},
    {"command": "view", "path": "/memories/c/moved.md"},
    {"command": "rename", "old_path": "/memories/c", "new_path": "/memories/d"},
    {"command": "view", "path": "/memories/d/moved.md"},
    {"command": "delete", "path": "/memories/d/moved.md"},
    {"command": "delete", "path": "/memories/d/moved.md"},
    {"command": "delete", "path": "/memories/a"},
    {"command": "view", "path": "/memories/a/b/deep.txt"},
    {"command": "delete", "path": "/memories"},
    {"command": "str_replace", "path": "/memories", "old_str": "a", "new_str": "b"},
    {"command": "view", "path": "/etc/passwd"},
]


def outcome_of(tool, command):
    try:
        return "text", tool.call(command)
    except tools.ToolError as error:
        return "error", str(error)


def test_every_answer_is_the_sdks_own(either, tmp_path):
    stock, ours = sdk.BetaLocalFilesystemMemoryTool(str(tmp_path)), tools.MemoryHubTool(either.hub)
    for command in STORY:
        assert outcome_of(ours, command) == outcome_of(stock, command), command


def test_a_folder_is_listed_two_levels_deep(trusted):
    tool = tools.MemoryHubTool(trusted.hub)
    for name, text in (("b.md", "x" * 1536), ("a/one.md", "12 letters.."), ("a/b/c/deep.md", "deep"), (".hidden", "h")):
        trusted.put(f"/memories/{name}", text)
    head, *lines = tool.call({"command": "view", "path": "/memories"}).split("\n")
    assert head == "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:"
    assert [line.split("\t")[1] for line in lines] == [
        "/memories",
        "/memories/a/",
        "/memories/a/b/",
        "/memories/a/one.md",
        "/memories/b.md",
    ]
    assert "12B\t/memories/a/one.md" in lines
    assert "1.5K\t/memories/b.md" in lines


def test_the_same_names_in_the_same_order_as_the_sdk(either, tmp_path):
    stock, ours = sdk.BetaLocalFilesystemMemoryTool(str(tmp_path)), tools.MemoryHubTool(either.hub)
    for tool in (stock, ours):
        for name in ("z.md", "m/x.md", "m/deep/y.md", "a.md", "m/deep/er/no.md"):
            tool.call({"command": "create", "path": f"/memories/{name}", "file_text": "x"})
    listed = [
        [line.split("\t")[1] for line in tool.call({"command": "view", "path": "/memories"}).split("\n")[1:]]
        for tool in (stock, ours)
    ]
    assert listed[0] == listed[1]


@pytest.mark.parametrize("path", ["/memoriesX", "/memoriesX/a.md", "/memories/../secret", "memories/a.md", "/"])
def test_memories_is_a_whole_segment(trusted, path):
    kind, text = outcome_of(tools.MemoryHubTool(trusted.hub), {"command": "view", "path": path})
    assert kind == "error"
    assert "/memories" in text


def test_under_review_every_write_waits_and_says_so(review):
    review.put(NOTES, "one\ntwo\n")
    tool = tools.MemoryHubTool(review.hub)
    answers = [
        tool.call({"command": "create", "path": "/memories/new.md", "file_text": "x"}),
        tool.call({"command": "str_replace", "path": NOTES, "old_str": "one", "new_str": "1"}),
        tool.call({"command": "insert", "path": NOTES, "insert_line": 2, "insert_text": "three"}),
        tool.call({"command": "rename", "old_path": NOTES, "new_path": "/memories/moved.md"}),
        tool.call({"command": "delete", "path": NOTES}),
    ]
    assert all("proposal" in text and "do not retry" in text for text in answers)
    assert review.text(NOTES) == "one\ntwo\n"
    again = tool.call({"command": "create", "path": "/memories/new.md", "file_text": "x"})
    assert again == answers[0]
    assert {proposal.kind for proposal in review.hub.proposals()} >= {"edit", "insert", "move", "delete"}


def test_what_builds_on_another_says_so_and_which_thread_asks(review):
    review.put(NOTES, "one\ntwo\n")
    tool = tools.MemoryHubTool(review.hub, thread_id="t-8")
    tool.call({"command": "str_replace", "path": NOTES, "old_str": "one", "new_str": "first"})
    outcome_of = tool.call({"command": "str_replace", "path": NOTES, "old_str": "first", "new_str": "1st"})
    assert "builds on your proposal 1 " in outcome_of
    assert [one.thread_id for one in review.hub.proposals()] == ["t-8", "t-8"]


def test_an_approved_edit_is_seen(review):
    review.put(NOTES, "one\ntwo\n")
    tool = tools.MemoryHubTool(review.hub)
    tool.call({"command": "str_replace", "path": NOTES, "old_str": "one", "new_str": "1"})
    review.approve(1)
    assert tool.call({"command": "view", "path": NOTES}).endswith("     1\t1\n     2\ttwo\n     3\t")


def test_the_hub_away_is_an_error_that_the_model_reads(review):
    from tests.client.conftest import away

    with away(review.hub):
        kind, text = outcome_of(tools.MemoryHubTool(review.hub), {"command": "view", "path": "/memories"})
    assert kind == "error"
    assert "cannot be reached" in text


def test_the_async_tool(trusted):
    async def story():
        async with AsyncMemoryHub(trusted.url, trusted.token, cache_dir=trusted.cache_dir) as hub:
            tool = tools.AsyncMemoryHubTool(hub)
            made = await tool.call({"command": "create", "path": NOTES, "file_text": "x"})
            return made, await tool.call({"command": "view", "path": NOTES})

    made, seen = asyncio.run(story())
    assert made == f"File created successfully at: {NOTES}"
    assert seen == f"Here's the content of {NOTES} with line numbers:\n     1\tx"


def test_the_tool_is_named_as_the_model_knows_it(trusted):
    assert tools.MemoryHubTool(trusted.hub).to_dict() == {"type": "memory_20250818", "name": "memory"}
