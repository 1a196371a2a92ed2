"""How long an agent's calls take through the client and over MCP; beside Basic Memory's MCP tools, over stdio with one client.

python -m tests.bench.doors [--rounds 5]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from deepagents.backends.filesystem import FilesystemBackend
from mcp import Client, StdioServerParameters

from memoryhub.client import MemoryHub
from memoryhub.client.deepagents import MemoryHubBackend
from tests.bench import environments
from tests.bench.peer import Block, Taken, compared, time_of
from tests.bench.served import end_in_order
from tests.bench.table import Row, finish, not_measured, row
from tests.bench.turns import against, in_turns, ratios
from tests.running import Hub, clean, command, own_place, running_in, statuses

SOURCES = 10
NOTES = 200
TURN = 20  # calls through one door before the next one has its turn


def main(arguments: list[str]) -> int:
    end_in_order()
    parser = argparse.ArgumentParser(prog="python -m tests.bench.doors")
    parser.add_argument("--rounds", type=int, default=5, help=f"of {TURN} calls of each kind through each door")
    rounds = parser.parse_args(arguments).rounds
    with own_place() as place, running_in(place / "data") as hub:
        rows = [sources(prepared(hub, "sources"), place, rounds), *asyncio.run(doors(hub, place, rounds))]
        hub.stop()
    return finish(rows)


def prepared(hub: Hub, space: str) -> dict[str, str]:
    """A space of its own whose files agents may write at once."""
    data = ("--data-dir", str(hub.data_dir))
    command("space", "add", space, *data)
    command("mount", "add", "/memories/", "--database", "--space", space, "--policy", "trusted", *data)
    made = command("agent", "add", "runner", "--space", space, "--json", *data)
    return {"MEMORYHUB_URL": hub.url, "MEMORYHUB_TOKEN": json.loads(made.stdout)["token"]}


# The client: ten sources in one request, against the same files on disk


def sources(settings: dict[str, str], place: Path, rounds: int) -> Row:
    local = FilesystemBackend(root_dir=place / "files", virtual_mode=True)
    with MemoryHub(*settings.values(), cache_dir=place / "copies") as hub:
        backend, answers = MemoryHubBackend(hub), statuses(hub)
        paths = [f"/source-{number}.md" for number in range(SOURCES)]
        for path in paths:
            text = f"# {path}\n\n" + "One line of memory that says something.\n" * 50
            for one in (local, backend):
                one.write(path, text)
        answers.clear()
        assert [file.content for file in backend.download_files(paths)] == [
            file.content for file in local.download_files(paths)
        ]
        assert len(answers) == 1, answers
        calls = {"hub": lambda: backend.download_files(paths), "files": lambda: local.download_files(paths)}
        taken = in_turns(calls, rounds, TURN)
        assert answers[-1] == 304
    return row(
        f"{SOURCES} sources by `download_files`, unchanged", ratios(taken["hub"], taken["files"]), baseline="local files", unit="x",
        warm="copies at the client, the files", detail=against(taken["hub"], taken["files"]),
    )  # fmt: skip


# The same calls through each door, in turns


KINDS = ("read", "read again", "search", "write")
Calls = dict[str, Callable[[int], Any]]


@dataclass
class Door:
    """One way to a memory with 200 notes, and what its calls took so far; in seconds."""

    name: str
    calls: Calls
    processes: Callable[[], list[psutil.Process]]
    taken: dict[str, Taken] = field(default_factory=lambda: {kind: Taken() for kind in KINDS})

    async def measure(self, kind: str, numbers: range) -> None:
        """One round. Each answer is looked at as well: a refusal would be quick."""
        pids = [one.pid for one in self.processes()]
        before, each = time_of(pids), []
        for number in numbers:
            start = time.perf_counter()
            answer = await self.call(kind, number)
            each.append((time.perf_counter() - start) * 1e3)
            assert EXPECTED[kind](number) in said(answer), said(answer)
        self.taken[kind].add([Block(each, time_of(pids) - before)])

    async def call(self, kind: str, number: int) -> Any:
        call = self.calls[kind.removesuffix(" again")](number)
        return await call if asyncio.iscoroutine(call) else call


async def doors(hub: Hub, place: Path, rounds: int) -> list[Row]:
    settings = clean(**prepared(hub, "mcp"), MEMORYHUB_CACHE_DIR=str(place / "copies"))
    ours = StdioServerParameters(command=sys.executable, args=["-m", "memoryhub", "mcp"], env=settings)
    with MemoryHub(*prepared(hub, "client").values(), cache_dir=place / "copies") as client:
        found = [Door("memoryhub, Python client", by_client(client), lambda: [*everything(hub), psutil.Process()])]
        async with contextlib.AsyncExitStack() as stack:
            session, started = await opened(stack, ours)
            found.append(Door("memoryhub, MCP", hub_calls(session), lambda: [*everything(hub), *started]))
            session, alone = await opened(stack, empty_tool())
            floor = Door("MCP, a tool that does nothing, of the SDK alone", nothing(session), lambda: alone)
            why = ""
            try:
                session, theirs = await opened(stack, basic_memory(place))
                found.append(Door("Basic Memory, MCP", basic_calls(session), lambda: theirs))
            except environments.Unavailable as reason:
                why = str(reason)
            for door in found:
                await fill(door, rounds)
            await take_turns(found, rounds, floor)
    missing = [not_measured("calls against Basic Memory", BASIC, why)] if why else []
    return [*rows_of(found), door_row(floor, None, "read again"), *missing]


async def take_turns(found: list[Door], rounds: int, floor: Door) -> None:
    for kind in KINDS:
        for start in range(0, rounds * TURN, TURN):
            for door in [*found, *([floor] if kind == "read again" else [])]:
                first = start if kind != "write" else NOTES + start
                await door.measure(kind, range(first, first + TURN))


def empty_tool() -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=["-m", "tests.bench.empty_tool"], env=clean())


def nothing(session: Client) -> Calls:
    return {"read": lambda n: session.call_tool("nothing", {"path": line_of(n)})}


def everything(hub: Hub) -> list[psutil.Process]:
    """The hub's processes, with the database's server and its backends, which work for the hub alone."""
    family = hub.family()
    return [*family, *family[-1].children(recursive=True)]


async def opened(
    stack: contextlib.AsyncExitStack, server: StdioServerParameters
) -> tuple[Client, list[psutil.Process]]:
    """A session, and the processes that were started for it."""
    before = set(psutil.Process().children(recursive=True))
    session = await stack.enter_async_context(Client(server, mode="legacy"))
    return session, [one for one in psutil.Process().children(recursive=True) if one not in before]


async def fill(door: Door, rounds: int) -> None:
    """Writes the notes, and asks a little of what is not measured, so that everything is loaded."""
    for number in range(NOTES):
        said(await door.call("write", number))
    for number in range(rounds * TURN, NOTES):
        said(await door.call("read", number))
        said(await door.call("search", number))


WARM = {
    "read": "processes; no copy at the client",
    "read again": "the client's copy",
    "search": "processes; other questions before",
    "write": "processes",
}
BASIC = f"{environments.shown('basic-memory')}, MCP"
ASKED = {"read": 40, "search": 15, "write": 15}  # times as fast as Basic Memory


def rows_of(found: list[Door]) -> list[Row]:
    other = found[-1] if found[-1].name.startswith("Basic") else None
    return [door_row(door, other, kind) for door in found if door is not other for kind in KINDS]


def door_row(door: Door, other: Door | None, kind: str) -> Row:
    """How many times as fast as the other program; on its own where that is not there."""
    what, mine = f"{door.name}: {kind}", door.taken[kind]
    if other is None:
        detail = f"processor {statistics.median(mine.processor):.3g}, PostgreSQL's included"
        return row(what, mine.clock, unit=" ms", warm=WARM[kind], detail=detail)
    return compared(what, other.taken[kind], mine, BASIC, WARM[kind], ASKED.get(kind))


def said(answer: Any) -> str:
    """What a model reads of an answer."""
    assert not getattr(answer, "is_error", False), answer
    return answer.content[0].text if hasattr(answer, "is_error") else str(answer)


def line_of(number: int) -> str:
    return f"Refunds of customer {number} need a second person."


EXPECTED: dict[str, Callable[[int], str]] = {
    "read": line_of,
    "read again": line_of,
    "search": lambda n: f"note-{n}",
    "write": lambda n: "",
}


def by_client(hub: MemoryHub) -> Calls:
    return {
        "read": lambda n: hub.read(f"/memories/note-{n}.md"),
        "search": lambda n: hub.search(f"customer {n}", layers="files", limit=10),
        "write": lambda n: hub.write(f"/memories/note-{n}.md", text_of(n)),
    }


def text_of(number: int) -> str:
    return f"# Note {number}\n\n{line_of(number)}\n" + "More words stand here.\n" * 20


def hub_calls(session: Client) -> Calls:
    def search(n: int) -> dict[str, Any]:
        return {"q": f"customer {n}", "layers": "files", "limit": 10}

    return {
        "read": lambda n: session.call_tool("memory_read", {"path": f"/memories/note-{n}.md"}),
        "search": lambda n: session.call_tool("memory_search", search(n)),
        "write": lambda n: session.call_tool("memory_write", {"path": f"/memories/note-{n}.md", "content": text_of(n)}),
    }


def basic_memory(place: Path) -> StdioServerParameters:
    program = str(environments.program("basic-memory", "basic-memory"))
    home = place / "basic"
    home.mkdir()
    # By words alone: by meaning as well takes it longer, a model out of the network and a Python that loads extensions.
    words = {"BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false", **os.environ}
    env = {**words, **clean(), "HOME": str(home), "BASIC_MEMORY_HOME": str(home / "notes"), "BASIC_MEMORY_ENV": "user"}
    subprocess.run([program, "project", "list"], env=env, capture_output=True, timeout=300, check=False)
    return StdioServerParameters(command=program, args=["mcp"], env=env)


def basic_calls(session: Client) -> Calls:
    def call(tool: str, **words: Any) -> Any:
        return session.call_tool(tool, {"project": "main", **words})

    return {
        "read": lambda n: call("read_note", identifier=f"bench/note-{n}"),
        "search": lambda n: call("search_notes", query=f"customer {n}", page_size=10),
        "write": lambda n: call("write_note", title=f"Note {n}", directory="bench", content=text_of(n)),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
