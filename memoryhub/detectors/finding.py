"""What a detector says about a stretch of text, and how offsets become lines."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from .disguises import Read, readings
from .encoded import Decoded, decoded
from .normalise import Joined, normalise
from .patterns import plain
from .scanning import Words, distinct_words, lowered

if TYPE_CHECKING:
    from .stems import Rows

T = TypeVar("T")
_NEWLINE = plain("\n")
Severity = Literal["low", "mid", "high"]
Problem = tuple[str, int, int, str]  # kind, start, end, sentence: what becomes a finding
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

    @property
    def is_of_text(self) -> bool:
        """Whether a passage of the text has it, not its path, its name or the change as a whole."""
        return self.end > 0

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "details" or value}


class Lines:
    """A text that is searched: line numbers of its offsets, and what several detectors need of it, each made when first needed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._cache: dict[str, Any] = {}

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins."""
        return [0, *(match.end() for match in _NEWLINE.finditer(self.text))]

    @cached_property
    def _normal(self) -> tuple[str, Joined | None]:
        return normalise(self.text)

    @property
    def normalised(self) -> str:
        """The text without disguises, shared by the detectors that read words."""
        return self._normal[0]

    @property
    def original(self) -> Joined | None:
        """Where in the text the characters of the normalised text stand; None if no offset moved."""
        return self._normal[1]

    def in_original(self, start: int, end: int) -> tuple[int, int]:
        """Where in the text a stretch of the normalised text stands."""
        return (start, end) if self.original is None else self.original.span(start, end)

    @cached_property
    def lower(self) -> str:
        """The text in lower case, with its offsets."""
        return lowered(self.text)

    @cached_property
    def words(self) -> Words:
        """The distinct words of the text."""
        return distinct_words(self.text)

    @cached_property
    def lower_words(self) -> Words:
        return Words(lowered(self.words))

    @cached_property
    def normalised_words(self) -> Words:
        """The distinct words of the normalised text: normalising adds and removes no blank."""
        normal = normalise(self.words)[0]
        return self.lower_words if normal == self.lower_words else Words(normal)

    @cached_property
    def decoded(self) -> list[Decoded]:
        """What stands in the text in another form."""
        return decoded(self.text, self.words)

    @cached_property
    def readings(self) -> list[Read]:
        """What is written in another way: with escapes, letter by letter, backwards."""
        return readings(self.text, self.words, self.lower_words)

    @cached_property
    def rows(self) -> Rows:
        """The words of the normalised text and where they stand."""
        return self._rows_of(self.normalised)

    @cached_property
    def plain_rows(self) -> Rows:
        """Rows with the offsets of the text: of the normalised text if no offset moved, else of the text in lower case."""
        return self.rows if self.original is None else self._rows_of(self.lower)

    def _rows_of(self, text: str) -> Rows:
        # Inside: NumPy takes longer to import than most texts to check, and secrets need no rows.
        from .stems import Rows

        return Rows(text)

    def cached(self, name: str, make: Callable[[str], T]) -> T:
        """What a detector makes of the normalised text, made at the first call."""
        if name not in self._cache:
            self._cache[name] = make(self.normalised)
        return cast(T, self._cache[name])

    def number(self, offset: int) -> int:
        """The 1-based number of the line that an offset stands in."""
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


def without_overlaps(found: Iterable[T], span: Callable[[T], tuple[int, int]]) -> list[T]:
    """What overlaps with nothing that came before it, in the order of the text; quick for a text that is full of findings."""
    free: list[T] = []
    starts: list[int] = []
    for one in found:
        start, end = span(one)
        at = bisect_left(starts, start)
        if (at == 0 or span(free[at - 1])[1] <= start) and (at == len(free) or end <= starts[at]):
            free.insert(at, one)
            starts.insert(at, start)
    return free
