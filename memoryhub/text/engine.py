"""What runs the patterns that look at texts of strangers, so that no text keeps a process busy.

RE2 takes time that grows with the length of a text alone. Where it has no wheel (Python 3.15) `regex` runs them: it takes steps back,
and a search that takes longer than SECONDS of a processor ends with a TimeoutError.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

try:
    import re2
except ImportError:
    re2 = None
    import regex

IS_LINEAR = re2 is not None
NAME = "RE2" if IS_LINEAR else "regex"
SECONDS = 0.4
error = re2.error if IS_LINEAR else regex.error
# What RE2 understands otherwise: its `$` is the very end. An escape, a class and the sign itself, in this order.
_END = re.compile(r"(\\z)|\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|(\$)", re.S)
_FLAGS = re.compile(r"\(\?[ims]+\)")


def compile(pattern: str) -> Any:
    """A pattern over `str`, with the methods of `re`; `\\w`, `\\d`, `\\s` and `\\b` know ASCII alone."""
    if not IS_LINEAR:
        return Timed(pattern)
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def compile_utf8(pattern: str) -> Any:
    """A pattern over UTF-8, which is quicker where a text is searched often; spans count bytes."""
    if not IS_LINEAR:
        return TimedUtf8(pattern)
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern.encode(), options)


def any_of(literals: list[bytes]) -> Any:
    """A pattern over bytes that finds whichever of these stands first."""
    if not IS_LINEAR:  # no step of it can be taken back
        return regex.compile(b"|".join(regex.escape(one) for one in literals))
    options = re2.Options()
    options.encoding, options.max_mem, options.log_errors = re2.Options.Encoding.LATIN1, 1 << 28, False
    return re2.compile(b"|".join(re2.escape(one) for one in literals), options)


def escape(text: str) -> str:
    return str(re2.escape(text)) if IS_LINEAR else re.escape(text)


class Timed:
    """A pattern that `regex` runs, for at most SECONDS a search."""

    def __init__(self, pattern: str) -> None:
        flags = _FLAGS.match(pattern)
        is_by_lines = flags is not None and "m" in flags[0]
        if flags and "i" in flags[0] and any(sign.lower() != sign.upper() for sign in pattern if not sign.isascii()):
            raise regex.error("letters of which it knows no other case", pattern)
        self._compiled = regex.compile(
            _END.sub(lambda found: r"\Z" if found[1] or (found[2] and not is_by_lines) else found[0], pattern),
            regex.ASCII | regex.VERSION0,
        )

    def search(self, text: str, pos: int = 0) -> Any:
        return self._compiled.search(text, pos, timeout=SECONDS)

    def match(self, text: str, pos: int = 0) -> Any:
        return self._compiled.match(text, pos, timeout=SECONDS)

    def fullmatch(self, text: str, pos: int = 0) -> Any:
        return self._compiled.fullmatch(text, pos, timeout=SECONDS)

    def finditer(self, text: str, pos: int = 0) -> Iterator[Any]:
        yield from self._compiled.finditer(text, pos, timeout=SECONDS)

    def sub(self, by: Any, text: str) -> str:
        return str(self._compiled.sub(by, text, timeout=SECONDS))


class TimedUtf8:
    """A pattern over UTF-8 that `regex` runs, with what is used of one of RE2."""

    def __init__(self, pattern: str) -> None:
        self._timed = Timed(pattern)

    def search(self, data: bytes, pos: int = 0) -> Any:
        return self._found(self._timed.search, data, pos)

    def match(self, data: bytes, pos: int = 0) -> Any:
        return self._found(self._timed.match, data, pos)

    def fullmatch(self, data: bytes, pos: int = 0) -> Any:
        return self._found(self._timed.fullmatch, data, pos)

    @staticmethod
    def _found(search: Any, data: bytes, pos: int) -> InBytes | None:
        text = data.decode("utf-8", "surrogatepass")
        found = search(text, len(data[:pos].decode("utf-8", "surrogatepass")))
        return InBytes(found, text) if found else None


class InBytes:
    """What was found in a text, its span in bytes."""

    def __init__(self, found: Any, text: str) -> None:
        self._found, self._text = found, text

    def span(self, group: int | str = 0) -> tuple[int, int]:
        start, end = self._found.span(group)
        return (-1, -1) if start < 0 else (self._place(start), self._place(end))

    def _place(self, offset: int) -> int:
        return offset if self._text.isascii() else len(self._text[:offset].encode("utf-8", "surrogatepass"))
