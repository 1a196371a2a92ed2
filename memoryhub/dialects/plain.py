"""plain: the system prompt, then the texts of the sources in order, an empty line between them, nothing else."""

from __future__ import annotations

from ._rules import joined, source_pieces, status_of, warn_of_sources
from ._shapes import Block, Dialect, Family, Form, Ingredients


def build(dialect: Dialect, memory: Ingredients) -> Block:
    """Every text as it is."""
    texts = ["" if source.error else source.text or "" for source in memory.sources]
    return Block(
        pieces=joined(source_pieces(memory.sources, texts)),
        statuses=[status_of(source, text) for source, text in zip(memory.sources, texts, strict=True)],
        find_warnings=lambda: warn_of_sources(memory.sources, texts, strips=False, wraps=False),
    )


FAMILY = Family(name="plain", forms=(Form("plain"),), build=build, cuts=True)
