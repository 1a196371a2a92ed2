"""Who committed a text, read from the objects of a git repository.

Nothing of the repository is run: no program, hook, filter or setting. Its files are data that may be hostile, so every size, depth
and number is bounded, links are not followed, and the search ends at a deadline. What is not sure is not said.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import struct
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

MAX_OBJECT = 8 << 20
MAX_SMALL_FILE = 4 << 20  # of HEAD, a ref, the list of packed refs
MAX_DELTAS = 60
MAX_PACKS = 64
MAX_COMMITS = 2000  # that are looked at for one text
MAX_LEVELS = 30
_SHA = re.compile(r"[0-9a-f]{40}")
_REF = re.compile(r"refs/(?!.*\.\.)[\w./@+-]{1,250}")
_AUTHOR = re.compile(rb"^author (.*?) ?<[^>\n]*> \d+ [+-]\d+$", re.M)
_COMMIT, _TREE, _BLOB, _OFFSET_DELTA, _REF_DELTA = 1, 2, 3, 6, 7
_TYPES = {b"commit": _COMMIT, b"tree": _TREE, b"blob": _BLOB}
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Unreadable(Exception):
    """An object that is missing, damaged, too large or not reached in time."""


@dataclass(frozen=True)
class Commit:
    id: str
    tree: str
    parents: tuple[str, ...]
    author: str


@dataclass(frozen=True)
class Author:
    """The author of the commit that brought a text to its path."""

    name: str
    commit: str


def repository_of(directory: str) -> tuple[str, str] | None:
    """The `.git` folder that a directory belongs to, and the path of the directory in its work tree; None without one."""
    root = os.path.realpath(directory)
    for _ in range(MAX_LEVELS):
        found = os.path.join(root, ".git")
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(os.lstat(found).st_mode):
                inside = os.path.relpath(os.path.realpath(directory), root)
                return found, "" if inside == "." else inside
        above = os.path.dirname(root)
        if above == root:
            break
        root = above
    return None


class History:
    """The commits of one repository, from its HEAD backwards, for as many seconds as are given."""

    def __init__(self, git: str, seconds: float) -> None:
        self.git = git
        self.until = time.monotonic() + seconds
        self.commits: dict[str, Commit] = {}
        self.trees: dict[str, dict[bytes, str]] = {}

    @property
    def is_over(self) -> bool:
        """Whether the time is over: what was not found may be there."""
        return time.monotonic() > self.until

    def author_of(self, path: str, content: bytes) -> Author | None:
        """The author of the commit that brought this very text to this path; None where there is none, or it is not sure."""
        blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
        names = [os.fsencode(name) for name in path.strip("/").split("/")]
        try:
            at = self.head()
            for _ in range(MAX_COMMITS):
                if at is None:
                    return None
                commit = self.commit(at)
                same = [one for one in commit.parents if self.blob_at(self.commit(one), names) == blob]
                if self.blob_at(commit, names) == blob and not same:
                    return Author(commit.author, commit.id)
                at = next(iter(same or commit.parents), None)
        except (Unreadable, OSError, ValueError, struct.error, zlib.error, IndexError):
            return None
        return None

    def head(self) -> str | None:
        """The id of the newest commit."""
        content = self._small_file("HEAD").strip()
        if _SHA.fullmatch(content):
            return content
        name = content.removeprefix("ref:").strip()
        if not content.startswith("ref:") or not _REF.fullmatch(name):
            return None
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return self._sha(self._small_file(name))
        for line in self._small_file("packed-refs").splitlines():
            sha, _, ref = line.partition(" ")
            if ref == name:
                return self._sha(sha)
        return None

    def _sha(self, name: str) -> str | None:
        return name.strip() if _SHA.fullmatch(name.strip()) else None

    def _small_file(self, name: str) -> str:
        with _opened(os.path.join(self.git, name)) as file:
            return os.read(file, MAX_SMALL_FILE).decode("utf-8", "replace")

    def commit(self, sha: str) -> Commit:
        if sha not in self.commits:
            kind, data = self.read(sha)
            if kind != _COMMIT:
                raise Unreadable
            head = data.partition(b"\n\n")[0]
            lines = head.split(b"\n")
            trees = [line[5:].decode() for line in lines if line.startswith(b"tree ")]
            parents = tuple(line[7:].decode() for line in lines if line.startswith(b"parent "))
            author = _AUTHOR.search(head)
            if len(trees) != 1 or not all(_SHA.fullmatch(one) for one in (*trees, *parents)):
                raise Unreadable
            self.commits[sha] = Commit(sha, trees[0], parents, _readable(author[1]) if author else "")
        return self.commits[sha]

    def blob_at(self, commit: Commit, names: list[bytes]) -> str | None:
        """The id of what lies at a path in a commit."""
        at: str | None = commit.tree
        for name in names:
            if at is None:
                return None
            at = self.tree(at).get(name)
        return at

    def tree(self, sha: str) -> dict[bytes, str]:
        if sha not in self.trees:
            kind, data = self.read(sha)
            self.trees[sha] = dict(_entries(data)) if kind == _TREE else {}
        return self.trees[sha]

    # ---- objects

    def read(self, sha: str, depth: int = 0) -> tuple[int, bytes]:
        """The type and the content of an object."""
        if time.monotonic() > self.until or depth > MAX_DELTAS or not _SHA.fullmatch(sha):
            raise Unreadable
        with contextlib.suppress(FileNotFoundError):
            with _opened(os.path.join(self.git, "objects", sha[:2], sha[2:])) as file:
                data = _inflate(file, 0, MAX_OBJECT)
            head, _, content = data.partition(b"\0")
            return _TYPES.get(head.partition(b" ")[0], 0), content
        for pack, offset in self._packed(sha):
            return self._read_packed(pack, offset, depth)
        raise Unreadable

    def _packed(self, sha: str) -> Iterator[tuple[str, int]]:
        folder = os.path.join(self.git, "objects", "pack")
        names = sorted(name for name in os.listdir(folder) if name.endswith(".idx"))[:MAX_PACKS]
        for name in names:
            with _opened(os.path.join(folder, name)) as index:
                offset = _offset_in(index, bytes.fromhex(sha))
            if offset is not None:
                yield os.path.join(folder, name[:-4] + ".pack"), offset

    def _read_packed(self, pack: str, offset: int, depth: int) -> tuple[int, bytes]:
        if time.monotonic() > self.until or depth > MAX_DELTAS:
            raise Unreadable
        with _opened(pack) as file:
            head = os.pread(file, 64, offset)
            kind, size, at = _object_head(head)
            if size > MAX_OBJECT:
                raise Unreadable
            if kind == _OFFSET_DELTA:
                back, at = _offset_back(head, at)
                if back <= 0 or back > offset:
                    raise Unreadable
                delta = _inflate(file, offset + at, MAX_OBJECT)
                kind, base = self._read_packed(pack, offset - back, depth + 1)
                return kind, _apply_delta(base, delta)
            if kind == _REF_DELTA:
                delta = _inflate(file, offset + at + 20, MAX_OBJECT)
                kind, base = self.read(head[at : at + 20].hex(), depth + 1)
                return kind, _apply_delta(base, delta)
            return kind, _inflate(file, offset + at, MAX_OBJECT)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    file = os.open(path, _OPEN)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise Unreadable
        yield file
    finally:
        os.close(file)


def _inflate(file: int, offset: int, limit: int) -> bytes:
    """What is compressed from an offset on; refused where it is longer than the limit."""
    stream, parts, size = zlib.decompressobj(), [], 0
    while not stream.eof:
        piece = os.pread(file, 1 << 16, offset)
        if not piece:
            raise Unreadable
        offset += len(piece)
        while piece and not stream.eof:
            part = stream.decompress(piece, limit + 1 - size)
            piece, size = stream.unconsumed_tail, size + len(part)
            parts.append(part)
            if size > limit:
                raise Unreadable
    return b"".join(parts)


def _entries(data: bytes) -> Iterator[tuple[bytes, str]]:
    at = 0
    while at < len(data):
        end = data.index(b"\0", at)
        yield data[at:end].partition(b" ")[2], data[end + 1 : end + 21].hex()
        at = end + 21


def _offset_in(index: int, sha: bytes) -> int | None:
    """Where an object lies in a pack, by its index of version 2."""
    if os.pread(index, 8, 0) != b"\xfftOc\0\0\0\2":
        return None
    counts = struct.unpack(">256I", os.pread(index, 1024, 8))
    low, high, total = (counts[sha[0] - 1] if sha[0] else 0), counts[sha[0]], counts[255]
    while low < high:
        middle = (low + high) // 2
        found = os.pread(index, 20, 1032 + 20 * middle)
        if found == sha:
            (offset,) = struct.unpack(">I", os.pread(index, 4, 1032 + 24 * total + 4 * middle))
            if offset & 0x80000000:
                place = 1032 + 28 * total + 8 * (offset & 0x7FFFFFFF)
                (offset,) = struct.unpack(">Q", os.pread(index, 8, place))
            return int(offset)
        low, high = (middle + 1, high) if found < sha else (low, middle)
    return None


def _object_head(head: bytes) -> tuple[int, int, int]:
    """Type, size, and how many bytes say so."""
    kind, size, shift, at = head[0] >> 4 & 7, head[0] & 15, 4, 1
    while head[at - 1] & 0x80:
        size |= (head[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
    return kind, size, at


def _offset_back(head: bytes, at: int) -> tuple[int, int]:
    back = head[at] & 0x7F
    while head[at] & 0x80:
        at += 1
        back = (back + 1) << 7 | head[at] & 0x7F
    return back, at + 1


def _apply_delta(base: bytes, delta: bytes) -> bytes:
    size, at = _number(delta, 0)
    wanted, at = _number(delta, at)
    if size != len(base) or wanted > MAX_OBJECT:
        raise Unreadable
    parts, made = [], 0
    while at < len(delta) and made <= wanted:
        op, at = delta[at], at + 1
        if op & 0x80:
            start = length = 0
            for bit in range(4):
                if op & 1 << bit:
                    start, at = start | delta[at] << 8 * bit, at + 1
            for bit in range(3):
                if op & 16 << bit:
                    length, at = length | delta[at] << 8 * bit, at + 1
            part = base[start : start + (length or 0x10000)]
        else:
            part, at = delta[at : at + op], at + op
        parts.append(part)
        made += len(part)
    if made != wanted:
        raise Unreadable
    return b"".join(parts)


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return value, at


def _readable(name: bytes) -> str:
    """A name as pages may show it: without what nobody sees."""
    text = name.decode("utf-8", "replace").strip()
    return "".join(sign for sign in text if sign.isprintable())[:150]
