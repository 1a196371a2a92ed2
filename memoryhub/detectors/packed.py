"""What stands in compressed bytes: unpacked as far as a limit, so that a key inside is found, and known where nobody can look."""

from __future__ import annotations

import bz2
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

MAX_UNPACKED = 1 << 20  # bytes of one file: what a text may have that is sent as it is; looking through costs as much
MAX_MEMBERS = 200  # files of a zip
PIECE = 64 * 1024
DEPTH = 2  # a gzip of a zip
_FAULTS = (
    OSError,
    EOFError,
    ValueError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
)
# Formats that need more than Python's library; what lies in them stays unknown.
CLOSED = (
    b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"\x1f\x9d", b"\x1f\xa0", b"MSCF",
    b"-----BEGIN PGP MESSAGE", b"Salted__", b"age-encryption.org/",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The bytes that lie in others; `is_whole` where that is all of them."""

    content: bytes
    is_whole: bool


def unpacked(data: bytes, depth: int = DEPTH) -> Unpacked | None:
    """What compressed bytes hold; None for bytes that are not compressed. Never more than MAX_UNPACKED bytes of it."""
    if data.startswith(CLOSED):
        return Unpacked(b"", False)
    found = _zip(data) if data.startswith(b"PK\x03\x04") else _stream(data)
    if found is None or depth <= 1 or (inner := unpacked(found.content, depth - 1)) is None:
        return found
    return Unpacked(inner.content, inner.is_whole and found.is_whole)


def _stream(data: bytes) -> Unpacked | None:
    opened = _opened(data)
    if opened is None:
        return None
    parts: list[bytes] = []
    size = 0
    try:
        while size <= MAX_UNPACKED and not opened.eof:
            feed = data if not parts else getattr(opened, "unconsumed_tail", b"")
            part = opened.decompress(feed, PIECE)
            if not part and not feed:
                break
            parts.append(part)
            size += len(part)
    except _FAULTS:
        return Unpacked(b"".join(parts), False) if size else None
    if not size and not opened.eof:
        return None  # a few bytes that only begin like it
    return Unpacked(b"".join(parts)[:MAX_UNPACKED], opened.eof and size <= MAX_UNPACKED)


def _opened(data: bytes) -> zlib._Decompress | bz2.BZ2Decompressor | lzma.LZMADecompressor | None:
    if data[:2] == b"\x1f\x8b":
        return zlib.decompressobj(31)
    if data[:1] == b"\x78" and len(data) > 1 and int.from_bytes(data[:2], "big") % 31 == 0:
        return zlib.decompressobj()
    if data[:3] == b"BZh":
        return bz2.BZ2Decompressor()
    if data[:6] == b"\xfd7zXZ\x00":
        return lzma.LZMADecompressor(memlimit=64 << 20)
    return None


def _zip(data: bytes) -> Unpacked | None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _members(archive)
    except _FAULTS:
        return Unpacked(b"", False)


def _members(archive: zipfile.ZipFile) -> Unpacked:
    """The names and texts of a zip's files, one after the other; not whole where one is encrypted or there are too many."""
    parts, size, is_whole = [], 0, len(archive.infolist()) <= MAX_MEMBERS
    for member in archive.infolist()[:MAX_MEMBERS]:
        parts.append(member.filename.encode("utf-8", "replace"))
        try:
            for part in _pieces(archive, member):
                parts.append(part)
                size += len(part)
                if size > MAX_UNPACKED:
                    return Unpacked(b"\n".join(parts)[:MAX_UNPACKED], False)
        except _FAULTS:
            is_whole = False
            size += min(member.file_size, MAX_UNPACKED + 1)  # at most so much was unpacked before the fault showed
            if size > MAX_UNPACKED:
                break
    return Unpacked(b"\n".join(parts), is_whole)


def _pieces(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes]:
    """One file of a zip, in one piece as far as the limit goes: a key must not be cut in two."""
    with archive.open(member) as file:
        yield file.read(MAX_UNPACKED + 1)
