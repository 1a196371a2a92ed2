"""Calls to memory beside other programs over the same texts: mem0 with pgvector, LangGraph's PostgresStore, Letta's server.

    python -m tests.bench.peers [--rows 5000] [--rounds 5] [--only mem0 …]

Starts a database of its own, in which each program has one too, and takes all of it away again. Everybody has the same embedder,
which knows nothing and costs next to nothing, lists of the same length, and was asked the same other questions before.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from memoryhub.client import MemoryHub
from memoryhub.client.langgraph_store import LONG_TERM, MemoryHubStore
from tests.bench import environments, layers_filled, peer, stub
from tests.bench.peer import Calls, Peer, compared, ours
from tests.bench.served import database, serving
from tests.bench.table import Row, finish, not_measured

BEFORE = 500  # other questions to both sides
OF_EACH = 60  # calls in each round
FEWER = 3  # times fewer of each to a server that takes long
WRITES = ("add", "put")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.peers")
    parser.add_argument("--rows", type=int, default=5000, help="memories")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=MEASURED, default=list(MEASURED), help="these programs alone")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-", dir="/tmp") as name:
        place = Path(name)
        with database(place, SECRET_KEY="b" * 40):
            scene = furnish(place, given.rows, given.rounds)
            return finish([one for program in given.only for one in beside(program, scene)])


@dataclass
class Scene:
    """A space with so many chunks, their texts, and questions to them; `before` are asked by nobody but to warm up."""

    space: Any
    place: Path
    rounds: int
    texts: list[str]
    questions: list[str]
    before: list[str]
    new: list[str]

    def new_texts(self) -> list[str]:
        """As many as there are questions; each time others."""
        return [self.new.pop() for _ in self.questions]


def furnish(place: Path, rows: int, rounds: int) -> Scene:
    from memoryhub.domain import spaces
    from memoryhub.models import HUB, Chunk

    space = spaces.create(HUB, "bench")
    layers_filled.fill_space(space, rows, seed=0)
    layers_filled.settle([space])
    texts = list(Chunk.objects.within(space).order_by("pk").values_list("text", flat=True))
    questions = [" ".join(text.split()[:6]) for text in texts]
    asked = peer.BLOCK + rounds * OF_EACH
    new = layers_filled.texts(4 * asked, 99)
    return Scene(space, place, rounds, texts, questions[:asked], questions[asked : asked + BEFORE], new)


def beside(name: str, scene: Scene) -> list[Row]:
    """Rows of one program, or one row that says why there are none."""
    try:
        with peer.running(name, scene.texts, scene.place) as one:
            return MEASURED[name](scene, one)
    except environments.Unavailable as why:
        return [not_measured("search, list, add", environments.shown(name), str(why))]


# ---- in this process


@contextlib.contextmanager
def with_stub(space: Any) -> Iterator[None]:
    """The hub embeds as the others do."""
    from memoryhub import embedders
    from memoryhub.domain import retrieval

    class Stub:
        name, is_local, dimensions, threshold = "stub", True, stub.DIMENSIONS, 0.1
        embedded_by = retrieval.serving_embedder(space).embedded_by

        def embed(self, texts: list[str], *, seconds: float = 0) -> np.ndarray:
            return embedders.unit(np.stack([stub.vector(text) for text in texts]))

    embedder = importlib.import_module("memoryhub.domain.retrieval.embedder")
    whole, one = embedder.load_embedder, Stub()
    embedder.load_embedder = lambda named: one
    try:
        yield
    finally:
        embedder.load_embedder = whole


class Hub:
    """The hub's own calls in this process."""

    def __init__(self, space: Any) -> None:
        from django.db import connection

        self.space, self.database = space, connection.settings_dict["NAME"]

    def by(self, call: Callable[[str], object]) -> Calls:
        return ours(call, self.database)

    def retrieve(self, text: str) -> list[Any]:
        from memoryhub.domain import retrieval

        return list(retrieval.retrieve(self.space, text, hot=0, threshold=-1).cold)

    def newest_entries(self, text: str) -> list[Any]:
        from memoryhub.domain import working

        return list(working.newest(self.space, limit=20))

    def newest_longterm(self, text: str) -> list[Any]:
        from memoryhub.domain import longterm

        return list(longterm.newest(self.space, 20))

    def admit(self, text: str) -> object:
        from tests.outputs import admit

        return admit(self.space, text)

    def log(self, text: str) -> object:
        from memoryhub.domain import quarantine

        return quarantine.log(self.space, None, content=text, session_id="s", node_id="n")

    def store(self, text: str) -> object:
        from memoryhub.domain import longterm
        from memoryhub.models import HUB

        return longterm.store(self.space, HUB, text)


def rows_against(
    one: Peer,
    scene: Scene,
    act: str,
    shown: str,
    mine: dict[str, Calls],
    texts: list[str],
    at_least: float | None = None,
) -> list[Row]:
    """A row for each of our ways; every list has to be as long as the other program's."""
    sides = {"": one.calls(act), **mine}
    if act not in WRITES:
        lengths = {name: call(texts[:1]).count for name, call in sides.items()}
        assert len(set(lengths.values())) == 1, f"{act}: lists of {lengths}"
    taken = peer.compare(sides, texts, scene.rounds)
    baseline = f"{environments.shown(one.database)}, {len(scene.texts):,} memories"
    warm = f"{len(scene.before):,} other questions in both"
    return [compared(f"{shown}: {name}", taken[""], taken[name], baseline, warm, at_least) for name in mine]


def against_mem0(scene: Scene, one: Peer) -> list[Row]:
    from memoryhub.domain import working

    hub = Hub(scene.space)
    one.ask("search", scene.before)
    with with_stub(scene.space):
        for text in scene.before:
            hub.retrieve(text)
        for text in scene.new[: working.MAX_ENTRIES]:
            hub.admit(text)
        lists = {
            f"working memory, {working.MAX_ENTRIES} entries": hub.by(hub.newest_entries),
            "long-term memory": hub.by(hub.newest_longterm),
        }
        adds = {
            "working memory": hub.by(hub.admit),
            "log (gate, quarantine, working memory)": hub.by(hub.log),
            "long-term entry": hub.by(hub.store),
        }
        return [
            *rows_against(
                one, scene, "search", "search, 5", {"`retrieve`": hub.by(hub.retrieve)}, scene.questions, 2.5
            ),
            *rows_against(one, scene, "list", "list 20", lists, scene.questions, 6),
            *rows_against(one, scene, "add", "add", adds, scene.new_texts(), 2),
        ]


def against_langgraph(scene: Scene, one: Peer) -> list[Row]:
    """In this process, as the store is; then as a graph meets both: the hub's store for LangGraph, over HTTP."""
    hub = Hub(scene.space)
    one.ask("search", scene.before)
    with with_stub(scene.space):
        for text in scene.before:
            hub.retrieve(text)
        rows = [
            *rows_against(one, scene, "search", "search, 5", {"`retrieve`": hub.by(hub.retrieve)}, scene.questions),
            *rows_against(
                one, scene, "list", "list 20", {"long-term memory": hub.by(hub.newest_longterm)}, scene.questions
            ),
            *rows_against(one, scene, "add", "add", {"long-term entry": hub.by(hub.store)}, scene.new_texts()),
        ]
    with served(scene) as (client, workers):
        return [*rows, *through_store(scene, one, hub, client, workers)]


@contextlib.contextmanager
def served(scene: Scene) -> Iterator[tuple[MemoryHub, Callable[[], list[int]]]]:
    """A client of the hub over HTTP, with the processes that answer it."""
    token = agent_of(scene.space)
    with serving() as (address, server):

        def workers() -> list[int]:  # asked each time: the first ones may be replaced
            return [server, *(child.pid for child in psutil.Process(server).children(recursive=True))]

        with MemoryHub(f"http://{address[0]}:{address[1]}", token, cache_dir=scene.place / "copies") as client:
            for text in scene.before:
                client.retrieve(text, hot=0)
            yield client, workers


def agent_of(space: Any) -> str:
    """A token of one that writes files at once, and is given five results whatever they are worth."""
    from memoryhub.domain import accounts, files, prompts, retrieval
    from memoryhub.models import HUB, Agent

    if not Agent.objects.within(space).exists():
        files.add_mount(space, HUB, "/memories/", store="database", policy="trusted")
        retrieval.change_limits(space, HUB, {"threshold": -1})
        prompts.create_agent(space, HUB, "forge")
    return accounts.create_token(space, HUB, agent=prompts.agent_by_slug(space, "forge"))[1]


def through_store(scene: Scene, one: Peer, hub: Hub, client: MemoryHub, workers: Callable[[], list[int]]) -> list[Row]:
    few, texts, store = ("few",), scene.new_texts(), MemoryHubStore(client)

    def rows(act: str, shown: str, call: Callable[[str], object], given: list[str]) -> list[Row]:
        mine = {"`MemoryHubStore` over HTTP": ours(call, hub.database, workers)}
        return rows_against(one, scene, act, shown, mine, given)

    return [
        *rows("put", "put", lambda text: store.put(few, stub.key_of(text), {"text": text}), texts),
        *rows("get", "get", lambda text: [store.get(few, stub.key_of(text)).value["text"]], texts),
        *rows("list of few", f"list 20 of {len(texts)} items", lambda text: store.search(few, limit=20), texts),
        *rows("search", "search, 5", lambda text: store.search(LONG_TERM, query=text, limit=5), scene.questions),
    ]


def against_letta(scene: Scene, one: Peer) -> list[Row]:
    """Both over REST. Letta was asked a tenth of the other questions: its answers take long."""
    hub, size = Hub(scene.space), peer.BLOCK + scene.rounds * OF_EACH // FEWER
    one.ask("search", scene.before[: len(scene.before) // 10])
    with served(scene) as (client, workers):

        def rows(act: str, shown: str, call: Callable[[str], object], given: list[str]) -> list[Row]:
            return rows_against(one, scene, act, shown, {"over REST": ours(call, hub.database, workers)}, given[:size])

        asked, new = scene.questions, scene.new_texts()
        return [
            *rows(
                "add", "add: a log through the gate", lambda text: client.log(text, session_id="s", node_id="n"), new
            ),
            *rows("search", "search, 5: `retrieve`", lambda text: list(client.retrieve(text, hot=0)), asked),
            *rows("list", "list 20: working memory", lambda text: list(client.working(20)), asked),
        ]


MEASURED = {"mem0": against_mem0, "langgraph": against_langgraph, "letta": against_letta}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
