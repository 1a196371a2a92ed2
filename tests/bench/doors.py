"""How long an agent's calls take through the client and over MCP; beside Basic Memory's MCP tools where its program is.

`BASIC_MEMORY=/path/to/basic-memory python -m tests.bench doors` measures both in one run, over stdio with one client.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from deepagents.backends.filesystem import FilesystemBackend
from mcp import Client, StdioServerParameters

from memoryhub.client import MemoryHub
from memoryhub.client.deepagents import MemoryHubBackend
from tests.running import Hub, clean, command, statuses

SOURCES = 10
NOTES = 200
ROUNDS = 60


def main(arguments: list[str] | None = None) -> int:
    place = Path(tempfile.mkdtemp(prefix="memoryhub-bench-", dir="/tmp"))
    place.chmod(0o755)
    hub = Hub(place / "data").wait_ready()
    try:
        settings = prepared(hub)
        sources(settings, place)
        asyncio.run(over_mcp(hub, settings, place))
    finally:
        hub.stop()
        shutil.rmtree(place, ignore_errors=True)
    return 0


def prepared(hub: Hub) -> dict[str, str]:
    """A space of its own whose files agents may write at once."""
    data = ("--data-dir", str(hub.data_dir))
    command("space", "add", "bench", *data)
    command("mount", "add", "/memories/", "--database", "--space", "bench", "--policy", "trusted", *data)
    made = command("agent", "add", "runner", "--space", "bench", "--json", *data)
    return {"MEMORYHUB_URL": hub.url, "MEMORYHUB_TOKEN": json.loads(made.stdout)["token"]}


# The client: ten sources in one request, against the same files on disk


def sources(settings: dict[str, str], place: Path) -> None:
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
        first = answers.copy()
        away = best(lambda: backend.download_files(paths))
        print(f"{SOURCES} sources: {len(first)} request, then {answers[-1]} without a body")
        print(f"download_files, unchanged, from the hub: {away * 1000:.2f} ms; from local files: "
              f"{best(lambda: local.download_files(paths)) * 1000:.2f} ms")  # fmt: skip


def best(call: Callable[[], Any]) -> float:
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


# MCP over stdio: one client, two servers


KINDS = ("read", "search", "write")
Figures = dict[str, tuple[float, float]]  # p50 of the clock, processor time per call; in seconds


async def over_mcp(hub: Hub, settings: dict[str, str], place: Path) -> None:
    ours = StdioServerParameters(command=sys.executable, args=["-m", "memoryhub", "mcp"], env=clean(**settings))
    with MemoryHub(*settings.values(), cache_dir=place / "copies") as client:
        rows = {
            "memoryhub, Python client": await measured(by_client(client), lambda: [*hub.family(), psutil.Process()])
        }
    async with Client(ours, mode="legacy") as session:
        rows["memoryhub, MCP"] = await measured(hub_calls(session), lambda: [*hub.family(), *children_but(hub)])
    if program := os.environ.get("BASIC_MEMORY") or shutil.which("basic-memory"):
        async with Client(basic_memory(program, place), mode="legacy") as session:
            rows["Basic Memory, MCP"] = await measured(basic_calls(session), lambda: children_but(hub))
    for place_in, title in enumerate(("p50 on the clock", "processor time of all processes")):
        print(f"\n{title + f', {NOTES} notes':<46}" + "".join(f"{kind:>10}" for kind in KINDS))
        for name, found in rows.items():
            print(f"{name:<46}" + "".join(f"{found[kind][place_in] * 1000:>8.1f}ms" for kind in KINDS))
    if not program:
        print("Basic Memory was not measured: name its program in BASIC_MEMORY.")


def children_but(hub: Hub) -> list[psutil.Process]:
    """What the MCP client started: every child of this process that is not the hub."""
    known = {process.pid for process in hub.family()}
    return [one for one in psutil.Process().children(recursive=True) if one.pid not in known]


def spent(processes: list[psutil.Process]) -> float:
    total = 0.0
    for process in {one.pid: one for one in processes}.values():
        with contextlib.suppress(psutil.Error):
            total += process.cpu_times().user + process.cpu_times().system
    return total


Calls = dict[str, Callable[[int], Any]]


async def measured(calls: Calls, processes: Callable[[], list[psutil.Process]]) -> Figures:
    for number in range(NOTES):
        await answered(calls["write"](number))
    found: Figures = {}
    for kind in KINDS:
        taken, before = [], spent(processes())
        for number in range(ROUNDS):
            start = time.perf_counter()
            await answered(calls[kind](number if kind != "write" else NOTES + number))
            taken.append(time.perf_counter() - start)
        found[kind] = statistics.median(taken), (spent(processes()) - before) / ROUNDS
    return found


async def answered(call: Any) -> None:
    result = await call if asyncio.iscoroutine(call) else call
    assert not getattr(result, "is_error", False), result


def by_client(hub: MemoryHub) -> Calls:
    return {
        "read": lambda n: hub.read(f"/memories/note-{n}.md"),
        "search": lambda n: hub.search(f"customer {n}", layers="files", limit=10),
        "write": lambda n: hub.write(f"/memories/note-{n}.md", text_of(n)),
    }


def text_of(number: int) -> str:
    return f"# Note {number}\n\nRefunds of customer {number} need a second person.\n" + "More words stand here.\n" * 20


def hub_calls(session: Client) -> Calls:
    def search(n: int) -> dict[str, Any]:
        return {"q": f"customer {n}", "layers": "files", "limit": 10}

    return {
        "read": lambda n: session.call_tool("memory_read", {"path": f"/memories/note-{n}.md"}),
        "search": lambda n: session.call_tool("memory_search", search(n)),
        "write": lambda n: session.call_tool("memory_write", {"path": f"/memories/mcp-{n}.md", "content": text_of(n)}),
    }


def basic_memory(program: str, place: Path) -> StdioServerParameters:
    home = place / "basic"
    home.mkdir()
    env = {**clean(), "HOME": str(home), "BASIC_MEMORY_HOME": str(home / "notes"), "BASIC_MEMORY_ENV": "user"}
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
