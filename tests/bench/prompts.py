"""How quickly the prompt is handed out: against a bare view over HTTP, and in this process against what it is made of.

    python -m tests.bench.prompts [--seconds 1] [--rounds 5] [--chunks 10000]

Starts a database and two web workers of its own, and takes all of it away again.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench import load
from tests.bench.served import BARE, Asks, database, etag_of, processor_time, rates_of, serving, shares_of_bare
from tests.bench.table import Row, finish, row
from tests.bench.turns import against, in_turns, ratios

LIBRARY = "deepagents' middleware, local files"
QUERY = "how long does a refund of a card payment take"


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
        return finish(measure(Path(place), options.seconds, options.rounds, options.chunks))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m tests.bench.prompts")
    made.add_argument("--seconds", type=float, default=1.0)
    made.add_argument("--rounds", type=int, default=5)
    made.add_argument("--chunks", type=int, default=10_000)
    return made


def measure(place: Path, seconds: float = 1.0, rounds: int = 5, chunks: int = 10_000) -> list[Row]:
    """Every figure of the prompt, measured here and now."""
    with database(place, MEMORYHUB_EMBEDDER="wordllama"):
        scene = furnish(place, chunks)
        return [*over_http(scene, seconds, rounds, chunks), *in_process(scene)]


def furnish(place: Path, chunks: int) -> Scene:
    from memoryhub.domain import accounts, files, prompts, spaces
    from memoryhub.models import HUB
    from tests.outputs import admit

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
        admit(space, sentence(rng), agent=hub)
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


def remember(space: Any, rng: random.Random, wanted: int) -> None:
    """Long-term memory of so many chunks, embedded, with the index that many chunks get."""
    from django.db import connection, transaction

    from memoryhub.db import statements
    from memoryhub.domain import retrieval
    from memoryhub.domain.longterm import chunks
    from memoryhub.domain.retrieval import vector_index
    from memoryhub.models import Chunk, Embedding, LongtermEntry

    embedder = retrieval.serving_embedder(space)
    number = 0
    while Chunk.objects.within(space).count() < wanted:
        number += 1
        text = "\n\n".join(" ".join(sentence(rng) for _ in range(5)) for _ in range(200))
        with transaction.atomic():
            entry = LongtermEntry.objects.create(
                space=space, number=number, content=text, actor_kind="hub", actor_name="hub"
            )
            changes = chunks.insert_changes(entry, chunks.cut_chunks(space, text, seconds=60))
            statements.together(*changes, answer="SELECT count(*) FROM chunk")
    Embedding.objects.update(in_index=True)  # the hub needs no index at this size; the query beside it has one
    vector_index.make_vector_index(space, embedder)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


# Over HTTP


def over_http(scene: Scene, seconds: float, rounds: int, chunks: int) -> list[Row]:
    with serving() as (address, server):
        etag = etag_of(address, load.request("/api/v1/prompt", **token(scene, "forge")))
        asks = asks_of(scene, etag)
        rates, clock = rates_of(address, asks, seconds, rounds, lambda: processor_time(server, scene.folder.parent))

    def shown(what: str, name: str, warm: str, at_least: float | None = None) -> Row:
        detail = f"{statistics.median(clock[name]):,.0f} a second"
        return row(what, shares_of_bare(rates, name), baseline=BARE, warm=warm, at_least=at_least, detail=detail)

    query = f"prompt, a file changed, a query over {chunks:,} chunks"
    return [
        shown("prompt unchanged, 200", "200", "the prompt", 0.9),
        shown("prompt unchanged, `If-None-Match`, 304", "304", "the prompt", 1.0),
        shown(f"{query}: the search remembered", "file", "set-up, the search's result", 0.3),
        shown(f"{query}: searched anew", "searched", "set-up, chunks; the query is new", 0.15),
        shown("prompt, set-up and long-term memory changed, the query asked before", "longterm", "query vector"),
        shown("prompt, a file changed, bytes new to the ledger", "new bytes", "set-up, the search's result"),
        shown("prompt, another task, bytes new to the ledger", "task", "set-up, texts, the search's result"),
        shown("prompt, a file changed, no query", "no query", "set-up"),
    ]


def token(scene: Scene, agent: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {scene.tokens[agent]}"}


def asks_of(scene: Scene, etag: str) -> Asks:
    numbers = itertools.count()
    deep, hub, query = token(scene, "forge"), token(scene, "counter"), QUERY.replace(" ", "+")
    bare = load.request(f"/bare?space={scene.space.pk}")

    def prompt(end: str = "", changed: str = "", **headers: str) -> bytes:
        moved = {"X_Bench_Moved": changed} if changed else {}
        return load.request(f"/api/v1/prompt{end}", **(headers or hub), **moved)

    same, unchanged = prompt(**deep), prompt(**deep, If_None_Match=etag)
    return {
        "bare": (lambda: bare, 200),
        "200": (lambda: same, 200),
        "304": (lambda: unchanged, 304),
        "file": (lambda: prompt(f"?query={query}", "file"), 200),
        "searched": (lambda: prompt(f"?query={query}+{next(numbers)}", "file"), 200),
        "longterm": (lambda: prompt(f"?query={query}", "longterm"), 200),
        "no query": (lambda: prompt("", "file"), 200),
        "task": (lambda: prompt(f"?query={query}&task={next(numbers)}"), 200),
        # A task of its own makes bytes that nobody got before: each call writes them into the ledger.
        "new bytes": (lambda: prompt(f"?query={query}&task={next(numbers)}", "file"), 200),
    }


# In this process


def in_process(scene: Scene) -> list[Row]:
    """Assembly in this process against the vector query alone, and three files against the library's own middleware."""
    from memoryhub.domain import prompts
    from memoryhub.domain.prompts.memory import now as memory_now

    def assembly() -> None:
        prompts.assemble(scene.space, scene.hub, query=QUERY, task="Answer.")

    def anew() -> None:
        memory_now._longterm_cache.clear()  # as if long-term memory had just changed
        assembly()

    took = in_turns({"raw": vector_query(scene), "assembly": assembly, "anew": anew})

    def shown(what: str, name: str, warm: str) -> Row:
        each, detail = ratios(took[name], took["raw"]), against(took[name], took["raw"])
        return row(what, each, baseline="its vector query", unit="x", warm=warm, detail=detail)

    return [
        shown("assembly in process, the search remembered", "assembly", "set-up, the search's result"),
        shown("assembly in process, searched anew", "anew", "set-up, query vector, chunks"),
        *against_the_library(scene),
    ]


def vector_query(scene: Scene) -> Callable[[], Any]:
    """The prepared statement that finds the nearest five, and nothing else."""
    from memoryhub.db import statements
    from memoryhub.domain import retrieval
    from memoryhub.domain.retrieval import vector_index

    embedder = retrieval.serving_embedder(scene.space)
    vector = retrieval.query_vector(embedder, QUERY)
    far = f"vector::halfvec({embedder.dimensions}) <=> %(vector)s::halfvec({embedder.dimensions})"
    sql = (
        f"SELECT chunk_id, 1 - ({far}) FROM memoryhub_embedding WHERE space_id = {scene.space.pk} "
        f"AND embedded_by = '{embedder.embedded_by}' AND {vector_index.IN_OWN} ORDER BY {far} LIMIT 5"
    )
    return lambda: statements.rows(sql, {"vector": vector})


def against_the_library(scene: Scene) -> list[Row]:
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
    took = in_turns({call.__name__: call for call in (library, hub, anew)})

    def shown(what: str, name: str, warm: str, at_most: float | None = None) -> Row:
        each, detail = ratios(took[name], took["library"]), against(took[name], took["library"])
        return row(what, each, baseline=LIBRARY, unit="x", warm=warm, at_most=at_most, detail=detail)

    return [
        shown("three AGENTS.md in process, unchanged", "hub", "the prompt; the files for both", 1.3),
        shown("three AGENTS.md in process, assembled anew", "anew", "set-up; the files for both"),
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
