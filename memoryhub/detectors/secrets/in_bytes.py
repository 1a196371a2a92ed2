"""Secrets in the bytes of a file: UTF-8, UTF-16 and UTF-32, and what no encoding fits, where text stands between other bytes."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .. import packed
from ..finding import Lines, without_overlaps
from ..patterns import plain, plain_bytes
from . import MARK, hits

UTF_8 = "utf-8"
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
# Printable characters of two bytes each, as programs keep them beside other bytes.
_WIDE = (
    (plain_bytes(rb"(?:[\t\n\r\x20-\x7e]\x00){8,}"), "utf-16-le"),
    (plain_bytes(rb"(?:\x00[\t\n\r\x20-\x7e]){8,}"), "utf-16-be"),
    (plain_bytes(rb"(?:[\t\n\r\x20-\x7e]\x00\x00\x00){8,}"), "utf-32-le"),
    (plain_bytes(rb"(?:\x00\x00\x00[\t\n\r\x20-\x7e]){8,}"), "utf-32-be"),
)  # fmt: skip
MARKS = plain(r"\[secret removed: [^\]\n]{1,80}\]")


@dataclass(frozen=True, slots=True)
class ByteSecret:
    """A secret in a file: where its bytes begin and end, how they are encoded, and the line it begins in."""

    start: int
    end: int
    kind: str
    value: str
    line: int
    encoding: str = UTF_8

    @property
    def mark(self) -> bytes:
        """What stands in its place."""
        return MARK.format(kind=self.kind).encode(self.encoding)


def encoding_of(content: bytes) -> str:
    """The encoding that a file's bytes are read in; UTF-8 also for what is no text."""
    for bom, name in _BOMS:
        if content.startswith(bom):
            return name
    head = content[:4096]
    if len(head) >= 16 and b"\x00" in head:
        even, odd = head[0::2].count(0), head[1::2].count(0)
        if max(even, odd) > 0.7 * len(head) / 2 and min(even, odd) < 0.1 * len(head) / 2:
            return "utf-16-le" if odd > even else "utf-16-be"
    return UTF_8


def read_bytes(content: bytes, encoding: str) -> str:
    """The bytes as characters; none is lost, `write_bytes` gives them back."""
    errors = "surrogateescape" if encoding == UTF_8 else "surrogatepass"
    return content.decode(encoding, errors)


def write_bytes(text: str, encoding: str) -> bytes:
    return text.encode(encoding, "surrogateescape" if encoding == UTF_8 else "surrogatepass")


def find_in_bytes(content: bytes) -> list[ByteSecret]:
    """Every secret in a file, in its order and without overlaps."""
    encoding = encoding_of(content)
    try:
        found = list(_in_text(content, encoding))
    except UnicodeDecodeError:  # cut off in the middle of a character
        encoding, found = UTF_8, list(_in_text(content, UTF_8))
    if encoding == UTF_8 and b"\x00" in content:
        found += _in_wide_runs(content)
    found += _in_packed(content)
    return without_overlaps(found, lambda one: (one.start, one.end))


def mark_bytes(content: bytes, found: Iterable[ByteSecret]) -> bytes:
    """The bytes with each of these secrets, which are in order, replaced by its mark."""
    parts, at = [], 0
    for one in found:
        parts += [content[at : one.start], one.mark]
        at = one.end
    return b"".join([*parts, content[at:]])


def _in_text(content: bytes, encoding: str, first: int = 0) -> Iterator[ByteSecret]:
    text = read_bytes(content, encoding)
    lines, at, reached = Lines(text), first, 0
    for start, end, kind in sorted(hits(text)):
        at += len(write_bytes(text[reached:start], encoding))
        stop = at + len(write_bytes(text[start:end], encoding))
        yield ByteSecret(at, stop, kind, text[start:end], lines.number(start), encoding)
        at, reached = stop, end


def _in_packed(content: bytes) -> Iterator[ByteSecret]:
    """Compressed bytes with a secret inside are one as a whole."""
    if (inside := packed.unpacked(content)) is None:
        return
    for one in find_in_bytes(inside.content)[:1]:
        kind = f"{one.kind} in a compressed file"
        yield ByteSecret(0, len(content), kind, content.decode("latin-1"), 1)


def _in_wide_runs(content: bytes) -> Iterator[ByteSecret]:
    for pattern, encoding in _WIDE:
        for match in pattern.finditer(content):
            yield from _in_text(match.group(), encoding, match.start())
