"""mem0 with pgvector, in an environment of its own: the other end of `tests.bench.peer`.

Its memories come in as `add(infer=False)` would store them, by its own store's `insert`.
"""

from __future__ import annotations

import hashlib
import os
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("MEM0_TELEMETRY", "False")

import peer_side
import stub
from mem0 import Memory  # type: ignore[import-not-found]
from mem0.configs.base import MemoryConfig  # type: ignore[import-not-found]
from mem0.utils.lemmatization import lemmatize_for_bm25  # type: ignore[import-not-found]

USER = {"user_id": "bench"}
BATCH = 1000


class Stub:
    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return stub.vector(text).tolist()

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [self.embed(text) for text in texts]


def memory(address: str, place: str) -> Any:
    """mem0 as its documentation sets it up, with its default index; only the embedder is ours."""
    store = {
        "provider": "pgvector",
        "config": {"connection_string": address, "collection_name": "bench", "embedding_model_dims": stub.DIMENSIONS},
    }
    llm = {"provider": "openai", "config": {"api_key": "none is called"}}
    embedder = {"provider": "openai", "config": {"api_key": "none is called"}}
    made = Memory(
        MemoryConfig(vector_store=store, llm=llm, embedder=embedder, history_db_path=str(Path(place) / "history.db"))
    )
    made.embedding_model = Stub()
    return made


def fill(one: Any, texts: list[str]) -> None:
    now = datetime.now(UTC).isoformat()
    for at in range(0, len(texts), BATCH):
        batch = texts[at : at + BATCH]
        payloads = [
            {
                **USER, "role": "user", "data": text, "hash": hashlib.md5(text.encode()).hexdigest(),
                "created_at": now, "updated_at": now, "text_lemmatized": lemmatize_for_bm25(text),
            }
            for text in batch
        ]  # fmt: skip
        vectors = [stub.vector(text).tolist() for text in batch]
        one.vector_store.insert(vectors, payloads=payloads, ids=[str(uuid.uuid4()) for _ in batch])


def prepare(told: dict[str, Any]) -> peer_side.Acts:
    one = memory(" ".join(f"{name}={value}" for name, value in told["address"].items()), told["place"])
    fill(one, told["texts"])
    return {
        "search": lambda text: one.search(text, filters=USER, top_k=5)["results"],
        "list": lambda text: one.get_all(filters=USER, top_k=20)["results"],
        "add": lambda text: one.add(text, **USER, infer=False)["results"],
    }


if __name__ == "__main__":
    peer_side.serve(prepare)
