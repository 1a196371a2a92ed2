"""Synaptic: one file, read again before every model call, wrapped in a tag behind the system prompt."""

from __future__ import annotations

from ._rules import status_of, warn_of_source, warn_of_text
from ._shapes import UNUSED, Block, Dialect, Family, Form, Ingredients, Piece, Source, Warn

MAX_LINES = 10_000
OPEN, CLOSE = "\n<agent_memory>\n", "\n</agent_memory>\n"


def lines(text: str) -> list[str]:
    """Lines as Rust's `str::lines` cuts them: at LF alone, with one CR before it dropped."""
    *ended, last = text.split("\n")
    cut = [line.removesuffix("\r") for line in ended]
    return [*cut, last] if last else cut


def shown(source: Source) -> str:
    """What is injected of a file: its first 10,000 lines without the final newline."""
    return "\n".join(lines(source.text or "")[:MAX_LINES]) if not source.error else ""


def build(dialect: Dialect, memory: Ingredients) -> Block:
    """The first source in its tag, or nothing at all when it is missing, unreadable or empty."""
    if not memory.sources:
        return Block([], [], list, glue="")
    first, *others = memory.sources
    text = shown(first)
    pieces = [
        Piece("template", "opening tag", OPEN),
        Piece("source", first.path, text, source=0),
        Piece("template", "closing tag", CLOSE),
    ]
    statuses = [status_of(first, text)] + [UNUSED for _ in others]
    return Block(pieces if text else [], statuses, lambda: warnings(first, text, others), glue="")


def warnings(first: Source, text: str, others: list[Source]) -> list[Warn]:
    """What a reader of this prompt would not expect: a file that is left out, lines that are dropped."""
    problem = warn_of_source(first)
    found = [problem] if problem else warn_of_text(first, text, strips=False, wraps=True)
    count = len(lines(first.text or ""))
    if count > MAX_LINES:
        message = f"{first.path} has {count:,} lines; only the first {MAX_LINES:,} reach the model."
        found.append(Warn("lines_dropped", first.path, message))
    if others:
        more = "1 more source is" if len(others) == 1 else f"{len(others)} more sources are"
        message = f"This dialect reads one file, {first.path}; {more} not used."
        found.append(Warn("sources_unused", others[0].path, message))
    return found


FAMILY = Family(
    name="synaptic",
    forms=(Form("synaptic/0.2", (0, 2)),),
    build=build,
    newest=(0, 2, 0),
    one_file=True,
)
