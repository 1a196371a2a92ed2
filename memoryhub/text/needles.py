"""Finding and replacing copies of texts that are to be erased (pure). Everything works on bytes, so that no encoding hides one.

A copy is the text itself, composed or decomposed, in one line, escaped for JSON, HTML or a URL, in base64, or its beginning
where a copy was shortened.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from base64 import b64encode, urlsafe_b64encode
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote, quote_plus

import re2

MARK = "[erased]"
MIN_TEXT, MIN_NAME, MIN_LINE, MIN_SENTENCE = 6, 8, 12, 20  # characters: shorter words would be found in texts of others
HEAD = 16  # characters by which a shortened copy is recognised
_PER_PATTERN = 500
_ELLIPSIS = "…".encode()
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")
_BULLETS = " \t\r-*+#>|"
_LATIN1 = re2.Options()
_LATIN1.encoding, _LATIN1.max_mem, _LATIN1.log_errors = re2.Options.Encoding.LATIN1, 1 << 28, False
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


def variants_of(piece: str) -> set[str]:
    """The ways in which a piece may be stored."""
    found = {piece, " ".join(piece.split())}
    found |= {unicodedata.normalize(form, one) for one in tuple(found) for form in ("NFC", "NFD")}
    for one in tuple(found):
        found |= {json.dumps(one)[1:-1], json.dumps(one, ensure_ascii=False)[1:-1], html.escape(one)}
        if not _has_surrogates(one):
            found |= {quote(one), quote(one, safe=""), quote_plus(one), *_base64_cores(one.encode())}
    return found


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
    """What is looked for: texts with their variants, and the beginnings of long ones."""

    def __init__(self, pieces: Iterable[str]) -> None:
        chosen = sorted(set(pieces))
        self.literals = sorted({as_bytes(one) for piece in chosen for one in variants_of(piece)}, key=len, reverse=True)
        self._heads: dict[bytes, list[bytes]] = defaultdict(list)
        for piece in chosen:
            for one in {piece, " ".join(piece.split())}:
                if len(one) > HEAD + 2:
                    self._heads[as_bytes(one[:HEAD])].append(as_bytes(one))
        self._patterns = _compiled(self.literals)
        self._head_patterns = _compiled(sorted(self._heads))

    def __bool__(self) -> bool:
        return bool(self.literals)

    @property
    def marks(self) -> list[bytes]:
        """What every text with a copy contains at least one of, for a database that looks beforehand."""
        heads = set(self._heads)
        return [*heads, *(one for one in self.literals if not any(one.startswith(head) for head in heads))]

    def is_in(self, data: bytes) -> bool:
        """Whether a copy stands in this, shortened ones included."""
        return any(pattern.search(data) for pattern in self._patterns) or any(True for _ in self._shortened(data))

    def spans(self, data: bytes) -> list[Span]:
        """Where copies stand, in order and not overlapping."""
        found = [
            (one.start(), one.end())
            for pattern in self._patterns
            if pattern.search(data)
            for one in pattern.finditer(data)
        ]
        return joined([*found, *self._shortened(data)])

    def _shortened(self, data: bytes) -> Iterator[Span]:
        """Beginnings of a long text that end with the text around them, or with an ellipsis."""
        for pattern in self._head_patterns:
            if not pattern.search(data):
                continue
            for one in pattern.finditer(data):
                start = one.start()
                for whole in self._heads[bytes(one.group())]:
                    same = _same_length(data, start, whole)
                    end = start + same
                    if same < len(whole) and (
                        end == len(data) or data.startswith(_ELLIPSIS, _bare_end(data, start, end))
                    ):
                        yield start, end

    def replace(self, data: bytes, mark: Callable[[bytes], bytes]) -> bytes:
        """The data with what `mark` makes of each copy in its place."""
        return replaced(data, self.spans(data), mark)


def _compiled(literals: list[bytes]) -> list[re2._Regexp]:
    groups = (literals[at : at + _PER_PATTERN] for at in range(0, len(literals), _PER_PATTERN))
    return [re2.compile(b"|".join(re2.escape(one) for one in group), _LATIN1) for group in groups]


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
    """The mark in the place of a copy, as often as it has lines: line numbers stay."""
    return b"\n".join([MARK.encode()] * (copy.count(b"\n") + 1))


def by_stars(copy: bytes) -> bytes:
    """As many stars as the copy has bytes, where offsets must stay."""
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
