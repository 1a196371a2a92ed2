"""How long an agent's calls take through the client and over MCP; beside Basic Memory's MCP tools where its program is.

`BASIC_MEMORY=/path/to/basic-memory python -m tests.bench doors` measures both in one run, over stdio with one client.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from deepagents.backends.filesystem import FilesystemBackend
from mcp import Client, StdioServerParameters

from memoryhub.client import MemoryHub
from memoryhub.client.deepagents import MemoryHubBackend
from tests.running import Hub, clean, command

SOURCES = 10
NOTES = 200
ROUNDS = 40


def main(arguments: list[str] | None = None) -> int:
    place = Path(tempfile.mkdtemp(prefix="memoryhub-bench-", dir="/tmp"))
    place.chmod(0o755)
    hub = Hub(place / "data").wait_ready()
    try:
        settings = prepared(hub)
        sources(settings, place)
        asyncio.run(over_mcp(settings, place))
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
        backend, answers = MemoryHubBackend(hub), []
        hub._http.event_hooks["response"].append(lambda response: answers.append(response.status_code))
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


async def over_mcp(settings: dict[str, str], place: Path) -> None:
    ours = StdioServerParameters(command=sys.executable, args=["-m", "memoryhub", "mcp"], env=clean(**settings))
    with MemoryHub(*settings.values(), cache_dir=place / "copies") as hub:
        rows = {"memoryhub, Python client": by_client(hub)}
    rows["memoryhub, MCP"] = await measured(ours, hub_calls())
    program = os.environ.get("BASIC_MEMORY") or shutil.which("basic-memory")
    if program:
        rows["Basic Memory"] = await measured(basic_memory(program, place), basic_calls())
    print(f"\n{'p50 over stdio, ' + str(NOTES) + ' notes':<34}{'read':>10}{'search':>10}{'write':>10}")
    for name, times in rows.items():
        print(f"{name:<34}" + "".join(f"{times[kind] * 1000:>8.1f}ms" for kind in ("read", "search", "write")))
    if program:
        for name in ("memoryhub, Python client", "memoryhub, MCP"):
            ratio = {kind: rows["Basic Memory"][kind] / taken for kind, taken in rows[name].items()}
            print(
                f"{name + ', times faster':<34}"
                + "".join(f"{ratio[kind]:>9.0f}x" for kind in ("read", "search", "write"))
            )
    else:
        print("Basic Memory was not measured: name its program in BASIC_MEMORY.")


def by_client(hub: MemoryHub) -> dict[str, float]:
    numbers = iter(range(10_000))
    for number in range(NOTES):
        hub.write(f"/memories/note-{number}.md", text_of(number))
    return {
        "read": best(lambda: hub.read(f"/memories/note-{next(numbers) % NOTES}.md")),
        "search": best(lambda: hub.search(f"customer {next(numbers) % NOTES}", layers="files", limit=10)),
        "write": best(lambda: hub.write(f"/memories/more-{(number := next(numbers))}.md", text_of(number))),
    }


Calls = dict[str, Callable[[Client, int], Awaitable[Any]]]


async def measured(server: StdioServerParameters, calls: Calls) -> dict[str, float]:
    async with Client(server, mode="legacy") as client:
        for number in range(NOTES):
            await calls["write"](client, number)
        times: dict[str, float] = {}
        for kind, call in calls.items():
            taken = []
            for number in range(ROUNDS):
                start = time.perf_counter()
                result = await call(client, number if kind != "write" else NOTES + number)
                taken.append(time.perf_counter() - start)
                assert not result.is_error, result.content
            times[kind] = statistics.median(taken)
        return times


def text_of(number: int) -> str:
    return f"# Note {number}\n\nRefunds of customer {number} need a second person.\n" + "More words stand here.\n" * 20


def hub_calls() -> Calls:
    return {
        "read": lambda client, n: client.call_tool("memory_read", {"path": f"/memories/note-{n}.md"}),
        "search": lambda client, n: client.call_tool(
            "memory_search", {"q": f"customer {n}", "layers": "files", "limit": 10}
        ),
        "write": lambda client, n: client.call_tool(
            "memory_write", {"path": f"/memories/note-{n}.md", "content": text_of(n)}
        ),
    }


def basic_memory(program: str, place: Path) -> StdioServerParameters:
    home = place / "basic"
    home.mkdir()
    env = {**clean(), "HOME": str(home), "BASIC_MEMORY_HOME": str(home / "notes"), "BASIC_MEMORY_ENV": "user"}
    subprocess.run([program, "project", "list"], env=env, capture_output=True, timeout=300, check=False)
    return StdioServerParameters(command=program, args=["mcp"], env=env)


def basic_calls() -> Calls:
    def named(**words: Any) -> dict[str, Any]:
        return {"project": "main", **words}

    return {
        "read": lambda client, n: client.call_tool("read_note", named(identifier=f"bench/note-{n}")),
        "search": lambda client, n: client.call_tool("search_notes", named(query=f"customer {n}", page_size=10)),
        "write": lambda client, n: client.call_tool(
            "write_note", named(title=f"Note {n}", directory="bench", content=text_of(n))
        ),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
