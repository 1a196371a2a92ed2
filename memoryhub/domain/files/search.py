"""Files by a pattern of their path (glob), lines by a literal text (grep)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from memoryhub.domain.files.find import Entry, made_at, mount_in_hub, oldest_in_hub, walk
from memoryhub.domain.files.read import ANYBODY, Published, Reader, published_now, read_many
from memoryhub.errors import Invalid
from memoryhub.models import Space
from memoryhub.stores import paths
from memoryhub.text.lines import text_of
from memoryhub.text.path_patterns import Glob, glob_matches

MAX_MATCHES = 1000
MAX_LINE_LENGTH = 4000
_BATCH = 200


def glob(
    space: Space, pattern: str, prefix: str = "/", *, thread_id: str = "", reader: Reader = ANYBODY
) -> tuple[list[Entry], bool]:
    """The files whose path below the prefix matches a pattern, at most MAX_MATCHES, and whether there are more."""
    found = list(islice(_fitting(space, pattern, prefix, thread_id, reader), MAX_MATCHES + 1))
    if len(found) > MAX_MATCHES:
        return found[:MAX_MATCHES], True
    return sorted(found, key=lambda entry: entry.path), False


def glob_oldest(
    space: Space, pattern: str, prefix: str, start: int, count: int, *, thread_id: str = "", reader: Reader = ANYBODY
) -> tuple[list[Entry], bool]:
    """Some of the files that `glob` finds, in the order in which they were made, and whether there are more behind them.

    What the hub has not taken in from a disk yet comes last.
    """
    _check_pattern(pattern)
    prefix = paths.clean(prefix or "/", directory=True)
    if mount := mount_in_hub(space, prefix):
        wanted, at_once = Glob(pattern), start + count + 1
        files = oldest_in_hub(space, mount, prefix, thread_id, at_once)
        chosen = list(islice((one for one in files if wanted.matches(one.path[len(prefix) :])), start, at_once))
        return chosen[:count], len(chosen) > count
    found = {entry.path: entry for entry in _fitting(space, pattern, prefix, thread_id, reader)}
    made = made_at(space, prefix, thread_id)
    ordered = sorted(found, key=lambda path: (path not in made, made.get(path), path))
    return [found[path] for path in ordered[start : start + count]], len(ordered) > start + count


def _fitting(space: Space, pattern: str, prefix: str, thread_id: str, reader: Reader) -> Iterator[Entry]:
    _check_pattern(pattern)
    prefix, wanted = paths.clean(prefix or "/", directory=True), Glob(pattern)
    files = walk(space, prefix, thread_id=thread_id, reader=reader)
    return (entry for entry in files if wanted.matches(entry.path[len(prefix) :]))


@dataclass(frozen=True, slots=True)
class Match:
    """A line that has the text searched for."""

    path: str
    line: int
    text: str


def grep(
    space: Space, pattern: str, prefix: str = "/", *, glob: str = "", thread_id: str = "", reader: Reader = ANYBODY
) -> tuple[list[Match], bool]:
    """The lines with a literal text in files below the prefix, at most MAX_MATCHES, and whether there are more.

    `glob` limits the search to paths below the prefix that match it. `space` must have been read for this request, because
    texts come from the cache of its revision.
    """
    _check_pattern(pattern)
    prefix = paths.clean(prefix or "/", directory=True)
    entries = walk(space, prefix, thread_id=thread_id, reader=reader)
    wanted = Glob(glob) if glob else None
    chosen = sorted(entry.path for entry in entries if not wanted or wanted.matches(entry.path[len(prefix) :]))
    chosen = chosen or _single_file(prefix, glob)
    # More files than these would push out of the cache what others read.
    texts_of = published_now if len(chosen) <= _BATCH else read_many
    found: list[Match] = []
    for start in range(0, len(chosen), _BATCH):
        texts = texts_of(space, chosen[start : start + _BATCH], thread_id=thread_id, reader=reader)
        for path, published in texts.items():
            if not isinstance(published, Published) or b"\x00" in published.content:
                continue
            for match in _matching_lines(path, published.content, pattern):
                if len(found) == MAX_MATCHES:
                    return found, True
                found.append(match)
    return found, False


def _single_file(prefix: str, glob: str) -> list[str]:
    """The prefix as the path of one file, which a search may name too; empty if `glob` leaves it out."""
    path = prefix.removesuffix("/")
    return [path] if path and (not glob or glob_matches(glob, path.rpartition("/")[2])) else []


def _matching_lines(path: str, content: bytes, pattern: str) -> Iterator[Match]:
    if pattern.encode("utf-8", "surrogateescape") not in content:
        return
    for number, line in enumerate(text_of(content).split("\n"), 1):
        if pattern in line:
            shown = line.encode("utf-8", "replace").decode()
            yield Match(path, number, shown[:MAX_LINE_LENGTH])


def _check_pattern(pattern: str) -> None:
    if not pattern or len(pattern) > 1024 or "\x00" in pattern:
        raise Invalid("Write what to look for: one sign at least, 1,024 at most.", code="invalid", field="pattern")
