"""MCP with the official client: over stdio as a process of its own, and over streamable HTTP."""

import asyncio
import contextlib
import os
import re
import socket
import subprocess
import sys
import time

import pytest

from memoryhub.client import AsyncMemoryHub
from tests.api.test_no_secret_is_kept import fresh, holding
from tests.later import Later

mcp, server = Later("mcp"), Later("memoryhub.client.mcp")
AGENTS = "/memories/AGENTS.md"
PROGRAM = [sys.executable, "-m", "memoryhub", "mcp"]


def settings(real):
    """No database, no data directory, no HOME."""
    return {"MEMORYHUB_URL": real.url, "MEMORYHUB_TOKEN": real.token, "PATH": os.environ["PATH"]}


def over_stdio(real):
    return mcp.Client(mcp.StdioServerParameters(command=PROGRAM[0], args=PROGRAM[1:], env=settings(real)))


@contextlib.asynccontextmanager
async def in_process(real, url=""):
    """What a process over stdio answers, without its start: half a second."""
    hub = AsyncMemoryHub(url or real.url, real.token, cache_dir=real.cache_dir / "mcp")
    async with hub, mcp.Client(server.HubServer(hub)) as client:
        yield client


def run(story):
    return asyncio.run(asyncio.wait_for(story, 60))


def text(result):
    return result.content[0].text


@contextlib.contextmanager
def over_http(real):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([*PROGRAM, "--http", str(port)], env=settings(real), stderr=subprocess.PIPE)
    try:
        wait_for(port, process)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.communicate(timeout=10)


def wait_for(port, process):
    for _ in range(600):
        assert process.poll() is None, process.stderr.read().decode()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
            return
        time.sleep(0.05)
    raise AssertionError("no answer")


async def whole_story(client, real):
    seen = {}
    seen["tools"] = {tool.name: tool for tool in (await client.list_tools()).tools}
    seen["list"] = (await client.call_tool("memory_list", {"prefix": "/memories/"})).structured_content
    seen["read"] = text(await client.call_tool("memory_read", {"path": AGENTS}))
    edit = {"path": AGENTS, "old_string": "brief", "new_string": "kind", "reason": "asked"}
    seen["edit"] = await client.call_tool("memory_edit", edit)
    seen["same"] = text(await client.call_tool("memory_edit", edit))
    seen["write"] = text(await client.call_tool("memory_write", {"path": "/memories/new.md", "content": "x"}))
    seen["proposal"] = (await client.call_tool("memory_proposal", {"number": 1})).structured_content
    seen["log"] = text(await client.call_tool("memory_log", {"content": "Refunds need a second person."}))
    seen["search"] = (await client.call_tool("memory_search", {"q": "brief"})).structured_content
    seen["retrieve"] = text(await client.call_tool("memory_retrieve", {"query": "refunds"}))
    seen["missing"] = await client.call_tool("memory_read", {"path": "/memories/none.md"})
    seen["resources"] = [str(one.uri) for one in (await client.list_resources()).resources]
    seen["resource"] = (await client.read_resource(f"memory://files{AGENTS}")).contents[0].text
    seen["prompt"] = (await client.get_prompt("memory")).messages[0].content.text
    with contextlib.suppress(mcp.MCPError):
        await client.read_resource("memory://files/memories/none.md")
        seen["no resource"] = "was found"
    return seen


def check(seen, real):
    tools = seen["tools"]
    assert set(tools) == {
        "memory_list", "memory_read", "memory_search", "memory_retrieve", "memory_edit", "memory_write", "memory_log",
        "memory_proposal", "memory_delete", "memory_move", "memory_promote",
    }  # fmt: skip
    hints = {name: tool.annotations for name, tool in tools.items()}
    reading = {"memory_list", "memory_read", "memory_search", "memory_retrieve", "memory_proposal"}
    assert {name for name, hint in hints.items() if hint.read_only_hint} == reading
    assert hints["memory_edit"].destructive_hint
    assert not hints["memory_log"].destructive_hint
    assert hints["memory_write"].idempotent_hint
    assert not hints["memory_edit"].idempotent_hint
    assert [entry["path"] for entry in seen["list"]["entries"]] == [AGENTS]
    assert seen["read"] == "Be brief.\n"
    assert not seen["edit"].is_error
    assert "proposal 1" in text(seen["edit"])
    assert "do not retry" in text(seen["edit"])
    assert seen["same"] == text(seen["edit"])
    assert "proposal 2" in seen["write"]
    assert (seen["proposal"]["state"], seen["proposal"]["reason"]) == ("pending", "asked")
    assert re.fullmatch(r"mcp-[0-9a-f]+/\d+", seen["proposal"]["tool_call_id"])
    assert "admitted" in seen["log"]
    assert AGENTS in str(seen["search"])
    assert "Refunds need a second person." in seen["retrieve"]
    assert seen["missing"].is_error
    assert "not found" in text(seen["missing"])
    assert seen["resources"] == [f"memory://files{AGENTS}"]
    assert seen["resource"] == "Be brief.\n"
    assert seen["prompt"] == str(real.hub.prompt())
    assert "no resource" not in seen
    assert real.text() == "Be brief.\n"


def test_delete_move_and_promotion_ask_where_a_person_decides(review):
    review.put(AGENTS, "Be brief.\n")

    async def story():
        async with in_process(review) as client:
            asked = [
                ("memory_delete", {"path": AGENTS, "reason": "old"}),
                ("memory_move", {"from": AGENTS, "to": "/memories/b.md", "reason": "better name"}),
                ("memory_move", {"source": AGENTS, "target": "/memories/c.md"}),
                ("memory_promote", {"content": "Refunds need a second person.", "reason": "asked often"}),
            ]
            tools = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
            wrong = await client.call_tool("memory_move", {"from": AGENTS, "into": "/memories/d.md"})
            return tools, [text(await client.call_tool(*one)) for one in asked], wrong

    tools, told, wrong = run(story())
    assert set(tools["memory_move"]["properties"]) == {"from", "to", "reason"}
    assert [f"proposal {number}" in said and "do not retry" in said for number, said in enumerate(told, 1)] == [
        True
    ] * 4
    assert wrong.is_error and "it takes: from, to, reason" in text(wrong)
    assert [one.kind for one in reversed(review.hub.proposals())] == ["delete", "move", "move", "promotion"]
    assert review.hub.proposal(1)["reason"] == "old"
    assert review.text() == "Be brief.\n"


def test_delete_and_move_where_the_agent_is_trusted(trusted):
    trusted.put(AGENTS, "Be brief.\n")

    async def story():
        async with in_process(trusted) as client:
            moved = text(await client.call_tool("memory_move", {"from": AGENTS, "to": "/memories/b.md"}))
            for folder in ("/", "/memories/", ""):
                refused = await client.call_tool("memory_delete", {"path": folder})
                assert refused.is_error and "is a folder" in text(refused)
            for tool in ("memory_read", "memory_delete"):
                refused = await client.call_tool(tool, {"path": "/memories/../x.md"})
                assert refused.is_error and "would leave its root" in text(refused)
            deleted = text(await client.call_tool("memory_delete", {"path": "/memories/b.md"}))
            missing = await client.call_tool("memory_delete", {"path": "/memories/b.md"})
            return moved, deleted, missing

    moved, deleted, missing = run(story())
    assert (moved, deleted) == (f"Moved {AGENTS} to /memories/b.md.", "Deleted /memories/b.md.")
    assert missing.is_error and "not found" in text(missing)
    assert trusted.hub.walk("/") == []


def test_over_stdio(review):
    review.put(AGENTS, "Be brief.\n")

    async def story():
        async with over_stdio(review) as client:
            return await whole_story(client, review)

    check(run(story()), review)


def test_over_streamable_http(review):
    review.put(AGENTS, "Be brief.\n")

    async def story(url):
        async with mcp.Client(url) as client:
            return await whole_story(client, review)

    async def one(url):
        async with mcp.Client(url) as client:
            return text(await client.call_tool("memory_read", {"path": AGENTS}))

    async def two_at_once(url):
        return await asyncio.gather(one(url), one(url))

    with over_http(review) as url:
        check(run(story(url)), review)
        assert run(two_at_once(url)) == ["Be brief.\n"] * 2


def test_the_models_own_id_of_a_call_goes_along(review):
    async def story():
        async with in_process(review) as client:
            told = {"claudecode/toolUseId": "toolu_01"}
            await client.call_tool("memory_write", {"path": AGENTS, "content": "Be kind."}, meta=told)

    run(story())
    assert review.hub.proposal(1).tool_call_id == "toolu_01"


SECRET_DOORS = {
    "reason": lambda key: ("memory_edit", {"path": AGENTS, "old_string": "Be", "new_string": "Stay", "reason": f"for {key}"}),
    "old": lambda key: ("memory_edit", {"path": AGENTS, "old_string": key, "new_string": "x"}),
    "new": lambda key: ("memory_edit", {"path": AGENTS, "old_string": "Be", "new_string": key}),
    "path": lambda key: ("memory_write", {"path": f"/memories/{key}.md", "content": "fine"}),
    "no mount": lambda key: ("memory_write", {"path": f"/{key}/a.md", "content": "fine"}),
    "content": lambda key: ("memory_write", {"path": "/memories/a.md", "content": f"it is {key}"}),
    "no text": lambda key: ("memory_write", {"path": "/memories/b.md", "content": {"it": key}}),
    "no argument": lambda key: ("memory_write", {"path": "/memories/c.md", "content": "fine", key: "x"}),
    "logged": lambda key: ("memory_log", {"content": f"It is {key} there."}),
    "session": lambda key: ("memory_log", {"content": "Tills close at nine.", "session_id": key}),
    "node": lambda key: ("memory_log", {"content": "Tills close at nine.", "node_id": key}),
    "kind": lambda key: ("memory_log", {"content": "Tills close at nine.", "node_kind": key}),
    "metadata": lambda key: ("memory_log", {"content": "Tills close at nine.", "metadata": {key: [{"a": key}]}}),
    "search": lambda key: ("memory_search", {"q": key}),
    "layers": lambda key: ("memory_search", {"q": "x", "layers": key}),
    "retrieve": lambda key: ("memory_retrieve", {"query": key}),
    "number": lambda key: ("memory_proposal", {"number": key}),
}  # fmt: skip


def test_a_key_through_any_door_is_kept_nowhere(review):
    review.put(AGENTS, "Be brief.\n")
    keys = {door: fresh(f"{door} over MCP") for door in [*SECRET_DOORS, "call", "resource", "query", "task"]}

    async def story():
        async with in_process(review) as client:
            for door, call in SECRET_DOORS.items():
                await client.call_tool(*call(keys[door]))
            told = {"claudecode/toolUseId": keys["call"]}
            await client.call_tool("memory_write", {"path": "/memories/d.md", "content": "fine"}, meta=told)
            with contextlib.suppress(mcp.MCPError):
                await client.read_resource(f"memory://files/memories/{keys['resource']}.md")
            await client.get_prompt("memory", {"query": keys["query"], "task": f"use {keys['task']}"})

    run(story())
    assert len(review.hub.proposals()) == 2  # with the reason, and of the call: both came in without their key
    assert {door: found for door, key in keys.items() if (found := holding(key))} == {}


def test_a_hub_that_is_away_is_said_to_the_model(review):
    async def story():
        async with in_process(review, "http://127.0.0.1:9") as client:
            return await client.call_tool("memory_list", {})

    result = run(story())
    assert result.is_error
    assert "cannot be reached" in text(result)


@pytest.mark.parametrize(
    ("words", "environment", "status", "sentence"),
    [
        ([], {}, 1, "Set MEMORYHUB_URL and MEMORYHUB_TOKEN"),
        ([], {"MEMORYHUB_URL": "nonsense", "MEMORYHUB_TOKEN": "mh_x"}, 1, "must look like"),
        (["--http", "0"], {}, 2, "no port"),
        (["--frobnicate"], {}, 2, "unrecognized"),
    ],
)
def test_what_is_missing_is_said_in_one_sentence(words, environment, status, sentence):
    environment = {"PATH": os.environ["PATH"], **environment}
    done = subprocess.run([*PROGRAM, *words], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == status
    assert sentence in done.stderr
    assert done.stdout == ""


def test_a_port_that_is_taken(review):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [*PROGRAM, "--http", str(port)], env=settings(review), capture_output=True, text=True, timeout=60
        )
    assert done.returncode == 1
    assert str(port) in done.stderr
    assert "Traceback" not in done.stderr


def test_arguments_by_their_other_name_and_unknown_ones(review):
    async def story():
        async with in_process(review) as client:
            listed = await client.call_tool("memory_list", {"path": "/memories/"})
            found = await client.call_tool("memory_search", {"query": "brief"})
            unknown = await client.call_tool("memory_list", {"folder": "/memories/"})
            edit = {"path": AGENTS, "old_string": " Be brief.", "new_string": "x"}
            missed = text(await client.call_tool("memory_edit", edit))
            return listed.structured_content, found.structured_content, unknown, missed

    review.put(AGENTS, "Be brief.\n")
    listed, found, unknown, missed = run(story())
    assert "It is there with other blanks around it" in missed
    assert [entry["path"] for entry in listed["entries"]] == [AGENTS]
    assert AGENTS in str(found)
    assert unknown.is_error
    assert "memory_list has no argument 'folder'; it takes: prefix." in text(unknown)


def test_a_binary_file_is_named_as_such(trusted):
    async def story():
        async with in_process(trusted) as client:
            return text(await client.call_tool("memory_read", {"path": "/memories/a.bin"}))

    trusted.hub.write("/memories/a.bin", b"\xff\x00\x01")
    assert run(story()).splitlines() == [
        "/memories/a.bin is a binary file of 3 bytes, not text. Its bytes as base64:", "/wAB",
    ]  # fmt: skip
