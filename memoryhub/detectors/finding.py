"""What a detector says about a stretch of text, and how offsets become lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar, cast

from .folding import fold
from .scanning import Rows, lowered, once

T = TypeVar("T")
Severity = Literal["low", "mid", "high"]
RANK: dict[str, int] = {"low": 0, "mid": 1, "high": 2}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at; `start` and `end` count characters of the text as it was given."""

    code: str
    severity: Severity
    start: int
    end: int
    line: int
    message: str
    kind: str = ""
    details: dict[str, Any] = field(default_factory=dict, compare=False)

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "details" or value}


class Lines:
    """Turns character offsets into 1-based line numbers; the newlines are found at the first question."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts: list[int] | None = None
        self._made: dict[str, Any] = {}

    @property
    def starts(self) -> list[int]:
        if self._starts is None:
            self._starts = [0]
            at = self.text.find("\n")
            while at >= 0:
                self._starts.append(at + 1)
                at = self.text.find("\n", at + 1)
        return self._starts

    @cached_property
    def folded(self) -> tuple[str, list[int] | None]:
        """The text without disguises, shared by the detectors that read words."""
        return fold(self.text)

    @cached_property
    def words(self) -> str:
        """Each word of the text once."""
        return once(self.text)

    @cached_property
    def folded_words(self) -> str:
        """Each word of the folded text once: no blank comes or goes by folding."""
        return fold(self.words)[0]

    @cached_property
    def rows(self) -> Rows:
        """The words of the folded text and where they stand."""
        return Rows(self.folded[0])

    @cached_property
    def plain_rows(self) -> Rows:
        """The same where offsets are those of the text: folded if that moved none, else just in lower case."""
        return self.rows if self.folded[1] is None else Rows(lowered(self.text))

    def cached(self, name: str, make: Callable[[str], T]) -> T:
        """What a detector makes of the folded text once, at the first question."""
        if name not in self._made:
            self._made[name] = make(self.folded[0])
        return cast(T, self._made[name])

    def number(self, offset: int) -> int:
        return bisect_right(self.starts, offset)

    def span(self, number: int) -> tuple[int, int]:
        """Start and end (without the newline) of a 1-based line."""
        start = self.starts[number - 1]
        end = self.starts[number] - 1 if number < len(self.starts) else len(self.text)
        return start, end

    def around(self, offset: int) -> tuple[int, int]:
        """The line that an offset stands in, without building the table of all lines."""
        end = self.text.find("\n", offset)
        return self.text.rfind("\n", 0, offset) + 1, len(self.text) if end < 0 else end
