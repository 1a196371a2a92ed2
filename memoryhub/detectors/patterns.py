"""Compiles every pattern of the detectors, so that no text can keep one busy. There are three kinds:

- `linear`: RE2, whose time grows with the length of a text alone, whatever stands in it. It refuses lookaround and back
  references when the module is imported. Its `\\w`, `\\d`, `\\s` and `\\b` know ASCII alone, and its `$` is the very end.
- `bounded`: Python's `re`, for patterns that need lookaround. It looks at no more than `reach` characters at a time; in a longer
  text piece by piece, and finds everything that is no longer than that.
- `plain`: Python's `re` without a bound, for characters and runs of characters in which no step is ever taken back.

`tests/detectors/test_patterns.py` attacks each pattern with texts that are made from its own pieces.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeVar

from memoryhub.text import engine

from .costs import TooCostly, spend

T = TypeVar("T")
REACH = 600
EVERY: list[Any] = []
"""Every pattern that was compiled, for the tests."""
Plain = re.Pattern[str]
Found = re.Match[str]
escape = re.escape


class Match:
    """What RE2 found, in characters of the text that was searched."""

    __slots__ = ("_data", "_found", "_from")

    def __init__(self, found: Any, data: bytes, start: int) -> None:
        self._found, self._data, self._from = found, data, start

    def span(self, group: int | str = 0) -> tuple[int, int]:
        start, end = self._found.span(group)
        return (-1, -1) if start < 0 else (self._place(start), self._place(end))

    def start(self, group: int | str = 0) -> int:
        return self.span(group)[0]

    def end(self, group: int | str = 0) -> int:
        return self.span(group)[1]

    def group(self, group: int | str = 0) -> str:
        start, end = self._found.span(group)
        return "" if start < 0 else _decode(self._data[start:end])

    __getitem__ = group

    def _place(self, offset: int) -> int:
        return self._from + (offset if self._data.isascii() else len(_decode(self._data[:offset])))


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


class Linear:
    """A pattern that RE2 runs, or what stands in for it (`text/engine.py`). Offsets are those of `str`."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._compiled = engine.compile_utf8(pattern.replace(r"\Z", r"\z"))

    def search(self, text: str, start: int = 0, end: int | None = None) -> Match | None:
        return self._first(self._compiled.search, text, start, end)

    def match(self, text: str, start: int = 0, end: int | None = None) -> Match | None:
        return self._first(self._compiled.match, text, start, end)

    def fullmatch(self, text: str, start: int = 0, end: int | None = None) -> Match | None:
        return self._first(self._compiled.fullmatch, text, start, end)

    def finditer(self, text: str, start: int = 0, end: int | None = None) -> Iterator[Match]:
        while (found := self.search(text, start, end)) is not None:
            yield found
            start = max(found.end(), found.start() + 1)
            if start > (len(text) if end is None else end):
                return

    def _first(self, search: Callable[..., Any], text: str, start: int, end: int | None) -> Match | None:
        spend()
        # The character before is handed over as well: `\b` and `^` ask for it.
        before = text[start - 1 : start] if start else ""
        data = (before + text[start:end]).encode("utf-8", "surrogatepass")
        try:
            found = search(data, len(before.encode("utf-8", "surrogatepass")))
        except TimeoutError:  # never of RE2
            raise TooCostly from None
        return None if found is None else Match(found, data, start - len(before))


class Bounded:
    """A pattern that Python runs, over pieces of a text. It is compiled when it is first used: of hundreds, a text needs few."""

    def __init__(self, pattern: str, reach: int) -> None:
        self.pattern, self.reach = pattern, reach

    @cached_property
    def _compiled(self) -> Plain:
        return re.compile(self.pattern)

    @cached_property
    def _search(self) -> Callable[..., Found | None]:
        return self._compiled.search

    @cached_property
    def _match(self) -> Callable[..., Found | None]:
        return self._compiled.match

    def match(self, text: str, start: int = 0, end: int | None = None) -> Found | None:
        spend()
        limit = start + self.reach
        return self._match(text, start, limit if end is None or end > limit else end)

    def matches_at(self, text: str, places: Sequence[int], stretches: Iterable[tuple[int, int]]) -> Iterator[Found]:
        """The hits in these stretches that begin at one of the places, which are in order; none inside of another."""
        match_from, reach = self._match, self.reach
        for start, end in stretches:
            free, last = 0, end - reach
            for at in places[bisect_left(places, start) : bisect_left(places, end)]:
                if at >= free:
                    spend()
                    if found := match_from(text, at, end if at >= last else at + reach):
                        yield found
                        free = found.end()

    def match_within(self, text: str, start: int, end: int) -> Found | None:
        """Up to where the caller says, whatever the reach."""
        return self._compiled.match(text, start, end)

    def fullmatch(self, text: str, start: int = 0, end: int | None = None) -> Found | None:
        """Nothing in a longer text fits: it is not looked at."""
        end = len(text) if end is None else end
        return self._compiled.fullmatch(text, start, end) if end - start <= self.reach else None

    def search(self, text: str, start: int = 0, end: int | None = None) -> Found | None:
        if (len(text) if end is None else end) - start <= 2 * self.reach:
            spend()
            return self._search(text, start, sys.maxsize if end is None else end)
        return next(self.finditer(text, start, end), None)

    def finditer(self, text: str, start: int = 0, end: int | None = None) -> Iterator[Found]:
        """Every hit. A piece is twice the reach, and the next one begins in its middle."""
        end = len(text) if end is None else min(end, len(text))
        while start <= end:
            spend()
            stop = start + 2 * self.reach
            if stop >= end:
                yield from self._compiled.finditer(text, start, end)
                return
            found = self._search(text, start, stop)
            if found is None or found.start() > start + self.reach:
                start += self.reach
            else:
                yield found
                start = max(found.end(), found.start() + 1)


def linear(pattern: str, flags: str = "") -> Linear:
    """A pattern for RE2; an error at import where RE2 cannot take it. Flags are the letters i, m and s."""
    return _kept(Linear(_with_flags(pattern, flags)))


def bounded(pattern: str, flags: str = "", reach: int = REACH) -> Bounded:
    """A pattern with lookaround, or one that is quicker in Python, on pieces of a text."""
    return _kept(Bounded(_with_flags(pattern, flags), reach))


def plain(pattern: str, flags: str = "") -> Plain:
    """A pattern of characters and their runs, without a bound."""
    return _kept(re.compile(_with_flags(pattern, flags)))


def plain_bytes(pattern: bytes) -> re.Pattern[bytes]:
    """Of runs of bytes."""
    return re.compile(pattern)


def _with_flags(pattern: str, flags: str) -> str:
    return f"(?{flags}){pattern}" if flags else pattern


def _kept(one: T) -> T:
    EVERY.append(one)
    return one
