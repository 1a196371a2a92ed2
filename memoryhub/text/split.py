"""Cuts long texts into overlapping chunks, by the rule that LangChain's recursive character splitter made common.

The rule, in our words: cut at the coarsest separator the text has (an empty line, a line end, a blank, anywhere), keep
each separator at the head of the piece that follows it, fill chunks with neighbouring pieces up to `size`, and let each
chunk begin with as many of the last pieces of the one before as fit into `overlap`. A piece that alone is too long is
cut again at the next finer separator. Blanks around a chunk are dropped, so every chunk is a slice of the text and its
offsets are exact.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

SIZE = 500
OVERLAP = 50
SEPARATORS = ("\n\n", "\n", " ", "")


class Piece(NamedTuple):
    """One chunk: `text` is exactly `whole[start:end]`; its first `shared` characters also end the chunk before."""

    start: int
    end: int
    text: str
    shared: int


Span = tuple[int, int]


def split(text: str, size: int = SIZE, overlap: int = OVERLAP) -> list[Piece]:
    """The chunks of a text, in order."""
    if size < 2 or not 0 <= overlap < size:
        raise ValueError("a chunk holds at least 2 characters, and more than it shares with its neighbour")
    pieces: list[Piece] = []
    covered = 0  # up to where the chunks so far go
    if len(text) <= size:  # most texts of agents fit whole
        return [Piece(start, end, text[start:end], 0) for start, end in _stripped(text, 0, len(text))]
    for start, end in _spans(text, 0, len(text), SEPARATORS, size, overlap):
        pieces.append(Piece(start, end, text[start:end], max(0, min(covered, end) - start)))
        covered = max(covered, end)
    return pieces


def _spans(text: str, start: int, end: int, separators: tuple[str, ...], size: int, overlap: int) -> Iterator[Span]:
    separator, finer = _coarsest_separator(text, start, end, separators)
    short: list[Span] = []
    for piece in _pieces(text, start, end, separator):
        if piece[1] - piece[0] < size:
            short.append(piece)
            continue
        yield from _fill(text, short, size, overlap)
        short = []
        yield from _spans(text, *piece, finer, size, overlap)
    yield from _fill(text, short, size, overlap)


def _coarsest_separator(text: str, start: int, end: int, separators: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    for at, separator in enumerate(separators):
        if text.find(separator, start, end) >= 0:  # "" is always found
            return separator, separators[at + 1 :]
    raise AssertionError("the last separator is the empty one")


def _pieces(text: str, start: int, end: int, separator: str) -> Iterator[Span]:
    if not separator:
        yield from ((at, at + 1) for at in range(start, end))
        return
    piece_start = search_from = start
    while (found := text.find(separator, search_from, end)) >= 0:
        if found > piece_start:
            yield piece_start, found
        piece_start, search_from = found, found + len(separator)
    yield piece_start, end


def _fill(text: str, pieces: list[Span], size: int, overlap: int) -> Iterator[Span]:
    """Joins neighbouring pieces into chunks of at most `size`."""
    chunk: deque[Span] = deque()
    total = 0
    for piece in pieces:
        length = piece[1] - piece[0]
        if chunk and total + length > size:
            yield from _stripped(text, chunk[0][0], chunk[-1][1])
            while total > overlap or (total + length > size and total > 0):
                first = chunk.popleft()
                total -= first[1] - first[0]
        chunk.append(piece)
        total += length
    if chunk:
        yield from _stripped(text, chunk[0][0], chunk[-1][1])


def _stripped(text: str, start: int, end: int) -> Iterator[Span]:
    chunk = text[start:end]
    body = chunk.strip()
    if body:
        start += len(chunk) - len(chunk.lstrip())
        yield start, start + len(body)
