"""Lines that give a reader nothing to act on; a hint for the reviewer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .finding import Finding, Lines
from .known_texts import KnownText
from .patterns import bounded
from .scanning import groups

CODE = "vague"
MAX_LINE = 160
"""Characters; a longer line says something somewhere."""

_EMPTY = bounded(
    r"\b(?:best\s+practices?|be\s+(?:careful|smart|good|nice|thorough|consistent)|do\s+(?:it|things?|this|that)\s+(?:right|properly|correctly|well|better)|"
    r"(?:handle|do|fix|improve|manage)\s+(?:it|things?|stuff|everything|that\s+thing)\b|as\s+(?:needed|appropriate|usual|before|discussed|always)|"
    r"(?:the|in\s+the)\s+(?:usual|normal|right|proper|correct|same)\s+(?:way|thing|stuff|manner|place)|and\s+so\s+(?:on|forth)|"
    r"some(?:thing|how)\s+(?:like\s+that|else|important)|various\s+(?:things|stuff|issues|reasons)|stuff|"
    r"(?:high|good|better)[\s-]quality\s+code|clean\s+code|use\s+common\s+sense|make\s+sure\s+(?:it|everything|all)\s+(?:works?|is\s+(?:ok|fine|good|right))|"
    r"(?:more|less)\s+(?:better|carefully|nicely)|try\s+(?:your\s+best|harder)|might\s+(?:be|matter)\s+(?:useful|important|later)|etc)\b"
)
_CONCRETE = bounded(r"[`\d/@#<>=:]|\b[A-Z]{2,}\b|\b[a-z]+_[a-z]+\b|\b\w+\.\w{1,4}\b|[\"“']\w")
_POINTS_AT_NOTHING = bounded(
    r"^\s*(?:[-*+]\s+)?(?:remember|note|user said|he|she|they|it|that|this)\s+(?:that\s+)?(?:thing|one|stuff|it|this|that|is|was)\b.{0,40}$",
    "i",
)


_WORDS = groups(
    "practice careful smart thorough consistent properly correctly thing stuff needed appropriate usual discussed manner forth "
    "somehow something various quality clean sense sure nicely carefully harder best useful important etc good nice better right same"
)


def find(text: str, lines: Lines, known: Sequence[KnownText] = ()) -> list[Finding]:
    """Advice without an object, in lines that name no file, command, number or name."""
    seen = {at for stretch in lines.plain_rows.near(_WORDS) for at in _line_starts(lines, *stretch)}
    return [one for start in sorted(seen) if (one := _finding_in(text, lines, start))]


def _line_starts(lines: Lines, start: int, end: int) -> Iterator[int]:
    while start < end:
        first, last = lines.around(start)
        yield first
        start = last + 1


def _finding_in(text: str, lines: Lines, start: int) -> Finding | None:
    line = text[start : lines.around(start)[1]]
    if len(line) > MAX_LINE or line.lstrip().startswith("#") or _CONCRETE.search(line):
        return None
    hit = _EMPTY.search(line.lower())
    if not hit and not _POINTS_AT_NOTHING.match(line):
        return None
    quote = f"“{hit.group()}”" if hit else "this line"
    message = f"Vague: {quote} does not say what to do. Name the file, command, person or value."
    return Finding(CODE, "low", start, start + len(line), lines.number(start), message)
