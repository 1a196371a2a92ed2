"""How quickly the prompt is handed out: against a bare view over HTTP, and in this process against what it is made of.

    python -m tests.bench.prompts [--seconds 2] [--rounds 5] [--chunks 10000]

Starts a database and two granian workers of its own, and takes all of it away again.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.bench import load

QUERY = "how long does a refund of a card payment take"


@dataclass
class Figure:
    """One line of the table in docs/develop/performance.md."""

    what: str
    at_least: str
    aim: str
    measured: str
    holds: bool


@dataclass
class Scene:
    """A space with three files on disk, an agent of each kind, and so many long-term chunks."""

    space: Any
    hub: Any
    deep: Any
    tokens: dict[str, str]
    folder: Path


def main(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-", dir="/tmp") as place:
        figures = measure(Path(place), options.seconds, options.rounds, options.chunks)
    for one in figures:
        print(f"| {one.what} | {one.at_least} | {one.aim} | {one.measured} |{'' if one.holds else ' MISSED'}")
    return 0 if all(one.holds for one in figures) else 1


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m tests.bench.prompts")
    made.add_argument("--seconds", type=float, default=2.0)
    made.add_argument("--rounds", type=int, default=5)
    made.add_argument("--chunks", type=int, default=10_000)
    return made


def measure(place: Path, seconds: float = 2.0, rounds: int = 5, chunks: int = 10_000) -> list[Figure]:
    """Every figure of the prompt, measured here and now."""
    os.environ.update(
        MEMORYHUB_DATA_DIR=str(place), DJANGO_SETTINGS_MODULE="memoryhub.settings", MEMORYHUB_EMBEDDER="wordllama"
    )
    os.environ.pop("DATABASE_URL", None)
    (place / "static").mkdir()
    with database(place):
        scene = furnish(place, chunks)
        return [*over_http(scene, seconds, rounds), *in_process(scene)]


@contextlib.contextmanager
def database(place: Path) -> Iterator[None]:
    import django

    from memoryhub.server import postgres

    with postgres.ensure_running(place):
        django.setup()
        from django.db import connections

        from memoryhub.server.migrate import migrate_if_needed

        migrate_if_needed()
        yield
        connections.close_all()


def furnish(place: Path, chunks: int) -> Scene:
    from memoryhub.domain import accounts, files, prompts, spaces
    from memoryhub.domain.working import entries
    from memoryhub.models import HUB

    folder = place / "notes"
    folder.mkdir()
    space = spaces.create(HUB, "bench")
    files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(folder))
    rng = random.Random(4)
    for name in ("AGENTS.md", "tone.md", "refunds.md"):
        (folder / name).write_text("# Notes\n" + "".join(f"- {sentence(rng)} <!-- {name} -->\n" for _ in range(40)))
        prompts.add_source(space, HUB, f"/memories/{name}")
    prompts.import_installed_template()
    hub = prompts.create_agent(space, HUB, "counter", system_prompt="You answer the desk.", dialect="hub")
    deep = prompts.create_agent(space, HUB, "forge", system_prompt="You write code.", dialect="deepagents")
    for _ in range(20):
        entries.admit(space, sentence(rng), agent=hub)
    remember(space, rng, chunks)
    return Scene(
        space, hub, deep, {one.slug: accounts.create_token(space, HUB, agent=one)[1] for one in (hub, deep)}, folder
    )


ASKED = (
    "refund",
    "invoice",
    "card",
    "bank",
    "payment",
    "gateway",
    "customer",
    "shop",
    "month",
    "ledger",
    "delay",
    "rule",
)
SYLLABLES = ("ba", "ke", "lo", "mi", "nu", "ra", "se", "ti", "vo", "za", "pri", "sto", "gla", "dren", "cul", "mar")
# A vocabulary as texts have one: a few words everywhere, thousands that are rare; what one asks for stands in every 20th piece.
RARE = ["".join(three) for three in itertools.product(SYLLABLES, repeat=3)]
WORDS = [*RARE[:150], *ASKED, *RARE[150:]]
WEIGHTS = [1 / (place + 3) for place in range(len(WORDS))]


def sentence(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, WEIGHTS, k=12)).capitalize() + "."


def remember(space: Any, rng: random.Random, chunks: int) -> None:
    """Long-term memory of so many chunks, embedded, with the index that many chunks get."""
    from django.db import connection, transaction

    from memoryhub.domain import retrieval
    from memoryhub.domain.longterm import chunks
    from memoryhub.domain.retrieval import vector_index
    from memoryhub.models import Chunk, Embedding, LongtermEntry

    embedder = retrieval.serving_embedder(space)
    number = 0
    while Chunk.objects.within(space).count() < chunks:
        number += 1
        text = "\n\n".join(" ".join(sentence(rng) for _ in range(5)) for _ in range(200))
        with transaction.atomic():
            entry = LongtermEntry.objects.create(
                space=space, number=number, content=text, actor_kind="hub", actor_name="hub"
            )
            chunks.add_chunks(entry, chunks.cut_chunks(space, text, seconds=60))
    Embedding.objects.update(in_index=True)  # the hub needs no index at this size; the query beside it has one
    vector_index.make_vector_index(embedder)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


# Over HTTP


@contextlib.contextmanager
def serving() -> Iterator[tuple[tuple[str, int], int]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port), "--workers", "2",
        "--blocking-threads", "1", "--log-level", "warning", "--no-ws", "tests.bench.bare:application",
    ]  # fmt: skip
    server = subprocess.Popen(command)
    try:
        for _ in range(200):
            time.sleep(0.05)
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
        yield ("127.0.0.1", port), server.pid
    finally:
        server.terminate()
        server.wait(20)


def over_http(scene: Scene, seconds: float, rounds: int) -> list[Figure]:
    token = {"Authorization": f"Bearer {scene.tokens['forge']}"}
    hub = {"Authorization": f"Bearer {scene.tokens['counter']}"}
    numbers = itertools.count()
    query = QUERY.replace(" ", "+")
    with serving() as (address, server):
        etag = etag_of(address, load.request("/api/v1/prompt", **token))
        same, bare = load.request("/api/v1/prompt", **token), load.request(f"/bare?space={scene.space.pk}")
        asks: dict[str, tuple[Callable[[], bytes], int]] = {
            "bare": (lambda: bare, 200),
            "200": (lambda: same, 200),
            "304": (lambda: load.request("/api/v1/prompt", **token, If_None_Match=etag), 304),
            "file": (lambda: load.request(f"/api/v1/prompt?query={query}", **hub, X_Bench_Moved="file"), 200),
            "longterm": (lambda: load.request(f"/api/v1/prompt?query={query}", **hub, X_Bench_Moved="longterm"), 200),
            "no query": (lambda: load.request("/api/v1/prompt", **hub, X_Bench_Moved="file"), 200),
            "task": (lambda: load.request(f"/api/v1/prompt?query={query}&task={next(numbers)}", **hub), 200),
            # A task of its own makes bytes that nobody got before: each call writes them into the ledger.
            "new bytes": (
                lambda: load.request(f"/api/v1/prompt?query={query}&task={next(numbers)}", **hub, X_Bench_Moved="file"),
                200,
            ),
        }
        rates, throughput = rates_of(
            address, asks, seconds, rounds, lambda: processor_time(server, scene.folder.parent)
        )
    ratio = {
        name: statistics.median(one / bare for one, bare in zip(rates[name], rates["bare"], strict=True))
        for name in rates
    }
    told = {name: f"{ratio[name]:.2f} ({statistics.median(throughput[name]):,.0f} a second)" for name in rates}
    return [
        Figure("unchanged memory, 200", "0.75", "0.9", told["200"], ratio["200"] >= 0.75),
        Figure("`If-None-Match`, 304", "0.95", "1.2", told["304"], ratio["304"] >= 0.95),
        Figure(
            "just changed (a file), full assembly, 10,000 long-term chunks", "0.35", "0.55", told["file"],
            ratio["file"] >= 0.35,
        ),
        Figure("the same, setup and long-term memory changed too: gathered and searched anew", "-", "-", told["longterm"], True),
        Figure("the same as the first, with bytes that are new to the ledger", "-", "-", told["new bytes"], True),
        Figure("another task while nothing changed, bytes new to the ledger", "-", "-", told["task"], True),
        Figure("just changed (a file), without a query", "-", "-", told["no query"], True),
    ]  # fmt: skip


def processor_time(server: int, place: Path) -> float:
    """Seconds of processor that the web workers and the database have used: what else the machine does is not in it."""
    return sum(sum(one.cpu_times()[:2]) for one in psutil.process_iter() if ours(one, server, place))


def ours(process: psutil.Process, server: int, place: Path) -> bool:
    with contextlib.suppress(psutil.Error):
        if process.name() == "postgres":
            return process.cwd().startswith(str(place))
        return server in (process.pid, process.ppid())
    return False


def rates_of(
    address: tuple[str, int], asks: dict[str, Any], seconds: float, rounds: int, used: Callable[[], float]
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Answers per second of processor, and per second, in turns."""
    for ask, status in asks.values():
        load.run(address, ask, status=status, seconds=0.5)
    rates: dict[str, list[float]] = {name: [] for name in asks}
    throughput: dict[str, list[float]] = {name: [] for name in asks}
    for _ in range(rounds):
        for name, (ask, status) in asks.items():
            before = used()
            told = load.run(address, ask, status=status, seconds=seconds)
            assert not told.wrong, f"{told.wrong} answers of {name!r} were not {status}: {told.first_wrong!r}"
            rates[name].append(len(told.took) / (used() - before))
            throughput[name].append(told.rate)
    return rates, throughput


def etag_of(address: tuple[str, int], ask: bytes) -> str:
    line = load.Line(address, lambda: ask, b"200")
    line.send()
    while not line.is_whole():
        pass
    head = line.got.partition(b"\r\n\r\n")[0].decode()
    return next(row.partition(":")[2].strip() for row in head.splitlines() if row.lower().startswith("etag:"))


# In this process


def in_process(scene: Scene) -> list[Figure]:
    from memoryhub.domain import prompts
    from memoryhub.domain.prompts import inputs
    from memoryhub.domain.retrieval import retrieve

    raw = vector_query(scene)

    def anew() -> None:
        inputs._longterm_cache.clear()  # as if long-term memory had just changed
        prompts.assemble(scene.space, scene.hub, query=QUERY, task="Answer.")

    calls = {
        "raw": raw,
        "assembly": lambda: prompts.assemble(scene.space, scene.hub, query=QUERY, task="Answer."),
        "anew": anew,
        "retrieve": lambda: retrieve(scene.space, QUERY, agent=scene.hub, hot=0),
    }
    took = beside(calls)
    whole, other, service = (took[name] / took["raw"] for name in ("assembly", "anew", "retrieve"))
    told = f"the query {took['raw'] * 1e3:.2f} ms"
    return [
        Figure(
            "assembly in process, p50, against its vector query alone", "1.5x", "1.2x",
            f"{whole:.2f}x ({took['assembly'] * 1e3:.2f} ms, {told})", whole <= 1.5,
        ),
        Figure("the same, long-term memory searched anew", "-", "-", f"{other:.2f}x ({took['anew'] * 1e3:.2f} ms)", True),
        Figure(
            "retrieval with words, p50, against the vector query", "1.4x", "1.15x",
            f"{service:.2f}x ({took['retrieve'] * 1e3:.2f} ms)", service <= 1.4,
        ),
        against_the_library(scene),
    ]  # fmt: skip


def vector_query(scene: Scene) -> Callable[[], Any]:
    """The prepared statement that finds the nearest five, and nothing else."""
    from memoryhub.db import statements
    from memoryhub.domain import retrieval

    embedder = retrieval.serving_embedder(scene.space)
    vector = retrieval.query_vector(embedder, QUERY)
    far = f"vector::halfvec({embedder.dimensions}) <=> %(vector)s::halfvec({embedder.dimensions})"
    sql = (
        f"SELECT chunk_id, 1 - ({far}) FROM memoryhub_embedding WHERE space_id = {scene.space.pk} "
        f"AND embedded_by = '{embedder.embedded_by}' AND in_index ORDER BY {far} LIMIT 5"
    )
    return lambda: statements.rows(sql, {"vector": vector})


def beside(calls: dict[str, Callable[[], Any]], times: int = 300) -> dict[str, float]:
    """The median of each, in turns, so that a busy moment slows all of them alike."""
    took: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(times + 20):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if turn >= 20:
                took[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) for name, each in took.items()}


def against_the_library(scene: Scene) -> Figure:
    """Three AGENTS.md as the hub hands them out, and as deepagents' own middleware reads them from local files."""
    from deepagents.backends.filesystem import FilesystemBackend
    from deepagents.middleware.memory import MemoryMiddleware
    from langchain.agents.middleware.types import ModelRequest
    from langchain_core.messages import SystemMessage

    from memoryhub.domain import accounts, prompts
    from memoryhub.domain.prompts import PromptRequest

    paths = ["/AGENTS.md", "/tone.md", "/refunds.md"]
    theirs = MemoryMiddleware(backend=FilesystemBackend(root_dir=scene.folder, virtual_mode=True), sources=paths)

    def library() -> str:
        state = {"messages": [], **theirs.before_agent({}, None, None)}
        request = ModelRequest(model=None, messages=[], system_message=SystemMessage("You write code."), state=state)
        return theirs.modify_request(request).system_message.text

    def hub() -> str:
        caller = accounts.authenticate(scene.tokens["forge"], "127.0.0.1")
        return prompts.prompt_for(caller, PromptRequest()).text

    def anew() -> str:
        return prompts.assemble(scene.space, scene.deep).text

    assert hub() == anew() == library().replace("\n/", "\n/memories/")
    took = {call.__name__: median_of(call) for call in (library, hub, anew)}
    ratio = took["hub"] / took["library"]
    told = f"{ratio:.2f}x ({took['hub'] * 1e3:.2f} ms, theirs {took['library'] * 1e3:.2f} ms; assembled anew {took['anew'] * 1e3:.2f} ms)"
    return Figure(
        "three AGENTS.md against deepagents' own middleware on local files, in process, p50",
        "1.3x",
        "1.0x",
        told,
        ratio <= 1.3,
    )


def median_of(call: Callable[[], Any], times: int = 300) -> float:
    for _ in range(20):
        call()
    took = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        took.append(time.perf_counter() - start)
    return statistics.median(took)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
