"""LangGraph's PostgresStore with pgvector, in an environment of its own: the other end of `tests.bench.peer`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import peer_side
import psycopg
import stub
from langgraph.store.base import PutOp  # type: ignore[import-not-found]
from langgraph.store.postgres import PostgresStore  # type: ignore[import-not-found]
from psycopg.rows import dict_row

MANY, FEW = ("many",), ("few",)
BATCH = 500


def embed(texts: list[str]) -> list[list[float]]:
    return [stub.vector(text).tolist() for text in texts]


def put(text: str, namespace: tuple[str, ...]) -> PutOp:
    return PutOp(namespace, stub.key_of(text), {"text": text})


def prepare(told: dict[str, Any]) -> peer_side.Acts:
    """The store as its documentation sets it up, with its default index; only the embedder is ours. `few` begins empty."""
    connection = psycopg.connect(**told["address"], autocommit=True, prepare_threshold=0, row_factory=dict_row)
    store = PostgresStore(connection, index={"dims": stub.DIMENSIONS, "embed": embed, "fields": ["text"]})
    store.setup()
    texts = told["texts"]
    for at in range(0, len(texts), BATCH):
        store.batch([put(text, MANY) for text in texts[at : at + BATCH]])
    connection.execute("VACUUM ANALYZE")
    return {
        "search": lambda text: store.search(MANY, query=text, limit=5),
        "list": lambda text: store.search(MANY, limit=20),
        "list of few": lambda text: store.search(FEW, limit=20),
        "get": lambda text: [store.get(FEW, stub.key_of(text)).value["text"]],
        "put": lambda text: store.put(FEW, stub.key_of(text), {"text": text}),
        "add": lambda text: store.put(MANY, stub.key_of(text), {"text": text}),
    }


if __name__ == "__main__":
    peer_side.serve(prepare)
