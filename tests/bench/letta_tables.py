"""Letta's tables, made from its own models because its wheel brings no migrations: `letta_tables.py [PASSAGE]`.

With the id of a passage, the texts that come in as JSON become passages like that one. Runs in Letta's environment, with LETTA_PG_URI.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import letta.orm  # type: ignore[import-not-found]  # noqa: F401  its models register themselves
import stub
from letta.constants import MAX_EMBEDDING_DIM  # type: ignore[import-not-found]
from letta.orm.base import Base  # type: ignore[import-not-found]
from letta.server.db import engine  # type: ignore[import-not-found]
from sqlalchemy import text  # type: ignore[import-not-found]


async def make() -> None:
    async with engine.begin() as connection:
        await connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
        await connection.run_sync(Base.metadata.create_all)
        await connection.execute(text("CREATE SEQUENCE bench_messages"))
        await connection.execute(text("ALTER TABLE messages ALTER sequence_id SET DEFAULT nextval('bench_messages')"))
    await engine.dispose()


async def fill(like: str, texts: list[str]) -> None:
    named = "SELECT column_name FROM information_schema.columns WHERE table_name = 'archival_passages'"
    padding = f"array_fill(0::real, ARRAY[{MAX_EMBEDDING_DIM - stub.DIMENSIONS}])"
    async with engine.begin() as connection:
        found = [f'"{name}"' for (name,) in await connection.execute(text(named))]
        others = ", ".join(name for name in found if name not in ('"id"', '"text"', '"embedding"'))
        copied = text(
            f"INSERT INTO archival_passages (id, text, embedding, {others}) SELECT 'passage-' || gen_random_uuid(), :text, "
            f"(CAST(:vector AS real[]) || {padding})::vector, {others} FROM archival_passages WHERE id = :like"
        )
        given = [{"text": one, "vector": stub.vector(one).tolist(), "like": like} for one in texts]
        await connection.execute(copied, given)
        await connection.execute(text("ANALYZE archival_passages"))
    await engine.dispose()


if __name__ == "__main__":
    asyncio.run(fill(sys.argv[1], json.load(sys.stdin)) if sys.argv[1:] else make())
