"""Finding and replacing copies of texts that are to be erased (pure). Everything works on bytes, so that no encoding hides one.

A copy is the text itself, composed or decomposed, in one line, escaped for JSON, HTML or a URL, in base64, in UTF-16, in both,
or its beginning where a copy was shortened.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from base64 import b64encode, urlsafe_b64encode
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

from memoryhub.text import engine

MARK = "[erased]"
MIN_TEXT, MIN_NAME, MIN_LINE, MIN_SENTENCE = 6, 8, 12, 20  # characters: shorter words would be found in texts of others
_COMPARED = 4096  # bytes of a text that are compared to find its neighbours
HEAD = 16  # bytes by which a shortened copy is recognised
_PER_PATTERN = 500
MANY = 200  # pieces from which on the stored forms alone are looked for, by an index
_ELLIPSIS = "…".encode()
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")
_BULLETS = " \t\r-*+#>|"
Span = tuple[int, int]


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape" if _has_raw_bytes(text) else "surrogatepass")


def _has_raw_bytes(text: str) -> bool:
    return any("\udc80" <= sign <= "\udcff" for sign in text) if not text.isascii() else False


def pieces_of(text: str) -> set[str]:
    """The text, its lines and its sentences, as far as they are long enough to be its own: others say “duplicate” too."""
    whole = text.strip()
    found = {whole} if len(whole) >= MIN_LINE or (len(whole) >= MIN_NAME and any(map(str.isdigit, whole))) else set()
    for line in text.splitlines():
        bare = line.strip(_BULLETS)
        found |= {bare} if len(bare) >= MIN_LINE else set()
        found |= {one for part in _SENTENCE_END.split(bare) if len(one := part.strip()) >= MIN_SENTENCE}
    return found


def stored_variants_of(piece: str) -> set[str]:
    """The forms in which a table of the hub stores a piece: as it is, in one line, composed or decomposed, in JSON."""
    found = {piece, " ".join(piece.split()), piece.replace("\n", "\r\n")}
    if not piece.isascii():
        found |= {unicodedata.normalize(form, one) for one in tuple(found) for form in ("NFC", "NFD")}
    for one in tuple(found):
        found |= {json.dumps(one)[1:-1], json.dumps(one, ensure_ascii=False)[1:-1]}
    return found


def variants_of(piece: str) -> set[str]:
    """All forms in which a piece may be stored, in a URL, a page or base64 too."""
    found = stored_variants_of(piece)
    for one in tuple(found):
        found.add(html.escape(one))
        if not _has_surrogates(one):
            found |= {quote(one), quote(one, safe=""), quote_plus(one)}
            found |= {core for data in (one.encode(), *wide_variants_of(one)) for core in _base64_cores(data)}
    return found


def wide_variants_of(piece: str) -> set[bytes]:
    """A piece as a file in UTF-16 has it; tables of the hub hold no such text."""
    return {piece.encode(encoding, "surrogatepass") for encoding in ("utf-16-le", "utf-16-be")}


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= sign <= "\udfff" for sign in text)


def _base64_cores(data: bytes) -> Iterator[str]:
    """The characters that a text has in base64, wherever in a longer one it stands."""
    if len(data) < 9:
        return
    for offset in range(3):
        for encode in (b64encode, urlsafe_b64encode):
            coded = encode(b"\0" * offset + data).decode()
            yield coded[(0, 2, 3)[offset] : (len(data) + offset) * 8 // 6]


class Needles:
    """What is looked for: texts with their variants, and the beginnings of long ones.

    Up to a few hundred, all their variants are looked for by patterns; of more, those that a table stores are found by what
    they begin with, so that each text is gone through once whatever their number.
    """

    def __init__(self, pieces: Iterable[str]) -> None:
        chosen = sorted(set(pieces))
        few = len(chosen) <= MANY
        variants = variants_of if few else stored_variants_of
        literals = {as_bytes(one) for piece in chosen for one in variants(piece)}
        wide = {one for piece in chosen for one in wide_variants_of(piece)} if few else set()
        self.literals = sorted((literals | wide) - {b""}, key=len, reverse=True)
        self._wholes = sorted(
            {as_bytes(one) for piece in chosen for one in (piece, " ".join(piece.split())) if len(one) > HEAD + 2}
        )
        self._heads = {whole[:HEAD] for whole in self._wholes}
        self._patterns = _compiled(self.literals) if few else []
        self._head_patterns = _compiled(sorted(self._heads)) if few else []
        self._indexes = [] if few else _indexes(self.literals)
        self._shortest = min(map(len, [*self._heads, *self.literals]), default=0)

    def __bool__(self) -> bool:
        return bool(self.literals)

    def marks(self, most: int) -> list[bytes] | None:
        """What every text with a copy contains at least one of, for a database that looks beforehand; none if these are more."""
        if len(self._heads) > most:
            return None
        found = [*self._heads, *(one for one in self.literals if not one.startswith(tuple(self._heads) or (b"\0\0",)))]
        return found if len(found) <= most else None

    def is_in(self, data: bytes) -> bool:
        """Whether a copy stands in this, shortened ones included."""
        if len(data) < self._shortest:
            return False
        if any(pattern.search(data) for pattern in self._patterns):
            return True
        return any(True for _ in self._indexed(data)) or any(True for _ in self._shortened(data))

    def spans(self, data: bytes) -> list[Span]:
        """Where copies stand, in order and not overlapping."""
        found = [
            (one.start(), one.end())
            for pattern in self._patterns
            if pattern.search(data)
            for one in pattern.finditer(data)
        ]
        return joined([*found, *self._indexed(data), *self._shortened(data)])

    def _indexed(self, data: bytes) -> Iterator[Span]:
        for size, index in self._indexes:
            for at in range(len(data) - size + 1):
                if lengths := index.get(data[at : at + size]):
                    for length, literals in lengths:
                        if data[at : at + length] in literals:
                            yield at, at + length
                            break

    def _shortened(self, data: bytes) -> Iterator[Span]:
        """Beginnings of a long text that end with the text around them, or with an ellipsis."""
        for start in self._starts(data):
            same, whole = self._longest(data, start)
            end = _character_start(data, start + same)
            same = end - start
            if HEAD <= same < len(whole) and (
                end == len(data) or data.startswith(_ELLIPSIS, _bare_end(data, start, end))
            ):
                yield start, end

    def _starts(self, data: bytes) -> Iterator[int]:
        if self._indexes:
            yield from (at for at in range(len(data) - HEAD + 1) if data[at : at + HEAD] in self._heads)
        for pattern in self._head_patterns:
            found = pattern.search(data)
            while found:  # the next one may begin inside of this one
                yield found.start()
                found = pattern.search(data, found.start() + 1)

    def _longest(self, data: bytes, start: int) -> tuple[int, bytes]:
        """The text with the longest beginning that stands here: a neighbour in the order of all."""
        here = data[start : start + _COMPARED]
        place = bisect_left(self._wholes, here)
        near = self._wholes[max(0, place - 1) : place + 1]
        return max(((_same_length(data, start, one), one) for one in near), default=(0, b""))

    def replace(self, data: bytes, mark: Callable[[bytes], bytes]) -> bytes:
        """The data with what `mark` makes of each copy in its place."""
        return replaced(data, self.spans(data), mark)


def _compiled(literals: list[bytes]) -> list[Any]:
    groups = (literals[at : at + _PER_PATTERN] for at in range(0, len(literals), _PER_PATTERN))
    return [engine.any_of(group) for group in groups]


Index = dict[bytes, list[tuple[int, set[bytes]]]]


def _indexes(literals: list[bytes]) -> list[tuple[int, Index]]:
    """Texts by what they begin with, short ones apart; those that begin alike by their length, longest first."""
    found = []
    shortest = min(map(len, literals), default=0)
    for size, chosen in (
        (24, [one for one in literals if len(one) >= 24]),
        (shortest, [one for one in literals if len(one) < 24]),
    ):
        by_start: dict[bytes, dict[int, set[bytes]]] = {}
        for one in chosen:
            by_start.setdefault(one[:size], {}).setdefault(len(one), set()).add(one)
        if by_start:
            found.append((size, {start: sorted(each.items(), reverse=True) for start, each in by_start.items()}))
    return found


def _same_length(data: bytes, start: int, whole: bytes) -> int:
    """How far the data agrees with a text from `start` on."""
    limit = min(len(whole), len(data) - start)
    if data[start : start + limit] == whole[:limit]:
        return limit
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if data[start : start + middle] == whole[:middle] else (low, middle - 1)
    return low


def _character_start(data: bytes, at: int) -> int:
    """The place, or that of the character in the middle of which it lies."""
    while 0 < at < len(data) and data[at] & 0xC0 == 0x80:
        at -= 1
    return at


def _bare_end(data: bytes, start: int, end: int) -> int:
    """The end without blanks and points, after which an ellipsis may stand."""
    while end > start and data[end - 1 : end] in (b" ", b"."):
        end -= 1
    return end if data.startswith(_ELLIPSIS, end) else max(end, start)


def joined(spans: Iterable[Span]) -> list[Span]:
    """Spans in order; those that overlap become one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def replaced(data: bytes, spans: Iterable[Span], mark: Callable[[bytes], bytes]) -> bytes:
    parts, at = [], 0
    for start, end in spans:
        parts += [data[at:start], mark(data[start:end])]
        at = end
    return b"".join([*parts, data[at:]])


def by_lines(copy: bytes) -> bytes:
    """The mark in the place of a copy, as often as it has lines: line numbers stay. In UTF-16 where the copy is."""
    for encoding, end in (("utf-16-le", b"\n\0"), ("utf-16-be", b"\0\n")):
        if copy[encoding == "utf-16-le" :: 2].count(0) * 2 > len(copy) // 2:
            return end.join([MARK.encode(encoding)] * (copy.count(end) + 1))
    return b"\n".join([MARK.encode()] * (copy.count(b"\n") + 1))


def by_stars(copy: bytes) -> bytes:
    """The replacement of a copy where offsets must stay: as many stars as it has bytes."""
    return b"\n".join(b"*" * len(line) for line in copy.split(b"\n"))


def line_spans(data: bytes, lines: Iterable[int]) -> list[Span]:
    """The spans of whole lines, given by their place from 0, without their line end."""
    wanted, found, at = set(lines), [], 0
    for place, line in enumerate(data.split(b"\n")):
        if place in wanted and line.strip():
            found.append((at, at + len(line)))
        at += len(line) + 1
    return found


_NOTHING_LEFT = b" \t\r-*+#>|0123456789.:;,`_~\"'()[]"


def cut_out(data: bytes, spans: list[Span]) -> bytes:
    """The data without these spans, and without lines of which only a bullet, a number or punctuation is left."""
    if not spans:
        return data
    kept: list[bytes] = []
    at = first = 0
    for line in data.split(b"\n"):
        end, mine, place = at + len(line), [], first
        while place < len(spans) and spans[place][0] <= end:
            start, stop = max(spans[place][0], at), min(spans[place][1], end)
            mine += [(start - at, stop - at)] if stop > start or (not line and spans[place][1] > at) else []
            place += 1
        while first < len(spans) and spans[first][1] <= end:
            first += 1
        rest = replaced(line, mine, lambda copy: b"")
        if not mine or rest.strip(_NOTHING_LEFT):
            kept.append(rest)
        at = end + 1
    return b"\n".join(kept)
