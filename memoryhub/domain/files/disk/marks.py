"""Secrets in files on disk: the hub stores marks in their place, and a write leaves on disk what stands there.

`take_in` is the one way from the bytes of a disk to what is stored. `compose` is the way back: the hub's text with the secrets
of the disk at their marks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from memoryhub.detectors import secrets as secrets_found
from memoryhub.detectors.secrets.in_bytes import MARKS, encoding_of, read_bytes, write_bytes
from memoryhub.domain import spaces
from memoryhub.domain.files.revisions import sha_of
from memoryhub.errors import Conflict
from memoryhub.models import Space

MARKED_LINES = (
    "“{path}” holds a secret on disk, which the hub replaced by a mark{where}. Leave the lines with marks as they are, or take "
    "the secret out of the file on disk first."
)
MARKED_FILE = (
    "“{path}” holds a secret on disk, which the hub does not keep{where}: it would be lost. Take the secret out of the file on "
    "disk first."
)


UNKNOWN = "k"  # the digest of no bytes: what lies on disk is taken in anew


@dataclass(frozen=True)
class DiskText:
    """The content of a file on disk: the text that the hub stores, the digest by which it knows the bytes again, and the secrets
    that it replaced. `raw` is never stored."""

    raw: bytes
    text: bytes
    digest: str
    secrets: list[dict[str, Any]]

    @property
    def sha256(self) -> str:
        """The SHA-256 of the text as the hub stores it."""
        return self.digest if self.text is self.raw else sha_of(self.text)


def take_in(space: Space, raw: bytes) -> DiskText:
    """What the hub may store of these bytes of a disk."""
    marked = spaces.mark_secrets(space, raw)
    if not marked.secrets:
        return DiskText(raw, raw, sha_of(raw), [])
    return DiskText(raw, marked.content, spaces.bytes_digest(raw), [one.as_json() for one in marked.secrets])


_MAY_BE_SECRET = re.compile(r"[=:@]|(?=[^/]*\d)[^/]*\w{16}")


@lru_cache(maxsize=16384)
def has_secret_name(path: str) -> bool:
    """Whether a name in a path on disk holds a secret: such a file is left out, since names are shown and stored everywhere.
    Most names are too short or too plain to be looked at."""
    return any(_MAY_BE_SECRET.match(name) for name in path.split("/")) and bool(secrets_found.in_name(path))


def is_known(digest: str, raw: bytes) -> bool:
    """Whether this is the digest of these bytes, which is quicker to say than to take them in again."""
    return digest == (spaces.bytes_digest(raw) if digest.startswith("k") else sha_of(raw))


def would_be_lost(path: str, secrets: list[dict[str, Any]]) -> Conflict:
    """The refusal of a write over a file with secrets that only the disk has."""
    return _marked(MARKED_FILE, path, secrets)


def where(secrets: list[dict[str, Any]]) -> str:
    """The lines of the secrets, as a sentence names them."""
    lines = sorted({one["line"] for one in secrets})
    if not lines:
        return ""
    named = ", ".join(map(str, lines[:5])) + (" and more" if len(lines) > 5 else "")
    return f" (line{'s' if len(lines) > 1 else ''} {named})"


def check_marks(path: str, secrets: list[dict[str, Any]], before: bytes, after: bytes | None) -> None:
    """Refuses a change that would lose or move a secret on disk: only lines without a mark may change. None is a deletion."""
    if not secrets:
        return
    if after is None:
        raise would_be_lost(path, secrets)
    encoding = encoding_of(before)
    if before != after and (b"\x00" in before or b"\x00" in after) and encoding == "utf-8":
        raise _marked(MARKED_LINES, path, secrets)  # no text of lines
    try:
        same = _marked_lines(before, encoding) == _marked_lines(after, encoding)
    except UnicodeError:
        same = False
    if not same:
        raise _marked(MARKED_LINES, path, secrets)


def _marked(sentence: str, path: str, secrets: list[dict[str, Any]]) -> Conflict:
    lines = sorted({one["line"] for one in secrets})
    return Conflict(sentence.format(path=path, where=where(secrets)), code="secret_on_disk", path=path, lines=lines)


def _marked_lines(content: bytes, encoding: str) -> list[str]:
    return [line.rstrip("\r") for line in read_bytes(content, encoding).split("\n") if MARKS.search(line)]


def compose(space: Space, path: str, text: bytes, disk: bytes) -> bytes:
    """The hub's text with the secrets of the disk at their marks; refused where the lines of the marks are not the same.

    The marks of both texts are paired in their order, those that a person typed included.
    """
    marked = spaces.mark_secrets(space, disk)
    if not marked.secrets:
        return text
    if marked.content == text:
        return disk
    check_marks(path, [one.as_json() for one in marked.secrets], marked.content, text)
    encoding = encoding_of(marked.content)
    values = iter(_behind_marks(marked, encoding))
    return write_bytes(MARKS.sub(lambda found: next(values), read_bytes(text, encoding)), encoding)


def _behind_marks(marked: spaces.MarkedBytes, encoding: str) -> list[str]:
    """The value on disk behind each mark of the marked text, in order; for a mark that is on disk itself, that mark."""
    behind: list[str] = []
    real: dict[int, str] = {}  # by the place in the marked bytes
    shift = 0
    for one in marked.found:
        real[one.start + shift] = one.value
        shift += len(one.mark) - (one.end - one.start)
    text, at, reached = read_bytes(marked.content, encoding), 0, 0
    for found in MARKS.finditer(text):
        at += len(write_bytes(text[reached : found.start()], encoding))
        reached = found.start()
        behind.append(real.get(at, found.group()))
    return behind
