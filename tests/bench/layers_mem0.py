"""Search, list and add against mem0 with pgvector, both over the same texts and warmed by the same questions."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench import layers_filled, stub
from tests.bench.table import Row, row


def against_mem0(space: Any, place: Path) -> list[Row]:
    """The same texts in both, the same embedder that knows nothing, in turns of ten calls."""
    from memoryhub import embedders
    from memoryhub.domain import longterm, quarantine, retrieval, working
    from memoryhub.domain.working import entries
    from memoryhub.models import HUB
    from tests.bench import beside as others

    class Stub:
        name, is_local, dimensions, threshold = "stub", True, stub.DIMENSIONS, 0.1
        embedded_by = retrieval.serving_embedder(space).embedded_by

        def embed(self, texts: list[str], *, seconds: float = 0) -> np.ndarray:
            return embedders.unit(np.stack([stub.vector(text) for text in texts]))

    embedder = importlib.import_module("memoryhub.domain.retrieval.embedder")
    whole, one = embedder.load_embedder, Stub()
    embedder.load_embedder = lambda named: one
    texts = [row[1] for row in chunks_of(space)]
    questions = [" ".join(text.split()[:6]) for text in texts[:300]]
    asked_before = [" ".join(text.split()[:6]) for text in texts[1000:2500]]
    new = layers_filled.texts(300, 99)
    try:
        with others.mem0(texts, place) as mem0:
            for text in asked_before:  # both have served for a while; the questions measured are new to them
                retrieval.retrieve(space, text, hot=0, threshold=0.1)
            mem0.ask("search", asked_before)
            for text in new[: working.MAX_ENTRIES]:
                entries.admit(space, text)
            assert len(working.newest(space, limit=20)) == mem0.ask("list", [""])[1] == 20
            rows = []
            for act, ours, given, at_least in (
                ("search", {"retrieve": lambda text: retrieval.retrieve(space, text, hot=0, threshold=0.1)}, questions, 2.5),
                ("list 20", {
                    f"working memory, {working.MAX_ENTRIES} entries": lambda text: working.newest(space, limit=20),
                    "long-term memory": lambda text: longterm.newest(space, 20),
                }, questions, 6),
                ("add", {
                    "working memory": lambda text: entries.admit(space, text),
                    "log (gate, quarantine, working memory)": lambda text: quarantine.log(
                        space, None, content=text, session_id="s", node_id="n"
                    ),
                    "long-term entry": lambda text: longterm.store(space, HUB, text),
                }, new, 2),
            ):  # fmt: skip
                theirs, mine = others.in_turns(mem0, act.split()[0], ours, given)
                rows += [
                    row(
                        f"{act}: {name}", theirs / ms, baseline=f"mem0, {len(texts):,} memories", unit=" times",
                        warm=f"{len(asked_before):,} other questions in both", at_least=at_least,
                        detail=f"{ms:.2f} ms against {theirs:.2f}",
                    )
                    for name, ms in mine.items()
                ]  # fmt: skip
            return rows
    finally:
        embedder.load_embedder = whole


def chunks_of(space: Any) -> list[tuple[int, str]]:
    from memoryhub.models import Chunk

    return list(Chunk.objects.within(space).order_by("pk").values_list("pk", "text"))
