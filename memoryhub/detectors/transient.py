"""Lines that are true for now only; a hint for the reviewer, since memory stays until somebody changes it."""

from __future__ import annotations

from collections.abc import Sequence

from .finding import Finding, Lines
from .known_texts import KnownText
from .patterns import bounded
from .scanning import groups

CODE = "transient"

_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)"
)
_SPAN = "morning afternoon evening week month sprint session conversation chat thread task time"
_PARTS: tuple[tuple[str, str], ...] = (
    (
        "until till by before since from on next this last / mond tues wedn thur frid satu sund tomo toni noon midn end jan janu feb febr "
        "mar marc apr apri may jun june jul july aug augu sep sept oct octo nov nove dec dece",
        rf"\b(?:until|till|by|before|since|from|on|next|this|last)\s+(?:{_DAY}|tomorrow|tonight|noon|midnight|{_MONTH}\s+\d{{1,2}}|"
        r"the\s+end\s+of\s+(?:the\s+)?(?:day|week|month|sprint))\b",
    ),
    (
        "today tomorrow yesterday tonight moment now these temporarily being",
        r"\b(?:today|tomorrow|yesterday|tonight|right\s+now|for\s+now|at\s+the\s+moment|just\s+now|as\s+of\s+now|these\s+days|temporarily|"
        r"for\s+the\s+time\s+being)\b",
    ),
    (
        f"this next last / {_SPAN}",
        rf"\bthis\s+(?:{_SPAN.replace(' ', '|')})\b|\b(?:next|last)\s+(?:week|month|sprint|session)\b",
    ),
    (
        "in for / minute hour day week",
        r"\b(?:in|for)\s+(?:the\s+next\s+)?(?:\d+|an?|a\s+few|two|three)\s+(?:minutes?|hours?|days?|weeks?)\b(?!\s+(?:after|before|old|or))",
    ),
    (
        "is are was were / currently still temporarily down sick vacation holiday leave late away offline meeting",
        r"\b(?:is|are|was|were)\s+(?:currently|still|temporarily)\s+(?:\w+\s+)?(?:down|away|off|out|broken|busy|on|in|working|waiting|"
        r"running|failing|sick|travel\w*|debugging|fixing|blocked)\b|\b(?:is|are)\s+(?:down|out\s+sick|on\s+(?:vacation|holiday|leave)|"
        r"running\s+late|away|offline|in\s+a\s+meeting)\b",
    ),
)
_WHEN = [(groups(words), bounded(pattern)) for words, pattern in _PARTS]
_HABIT = bounded(
    r"\b(?:every|each|always|never|daily|weekly|on\s+\w+days|whenever|when|if|unless|expires?|retries|after|within|format|e\.g\.)\b"
)


def find(text: str, lines: Lines, known: Sequence[KnownText] = ()) -> list[Finding]:
    """The stretch of each line that speaks of a moment rather than of a rule."""
    lower = lines.plain_rows.text
    found = []
    for words, pattern in _WHEN:
        end = 0
        for stretch in lines.plain_rows.near(words):
            for match in pattern.finditer(lower, *stretch):
                if match.start() < end:
                    continue  # one is enough for a line, and a line may be the whole text
                start, end = lines.around(match.start())
                if not _HABIT.search(lower, start, end):
                    found.append(_finding(lines, start, end, text[match.start() : match.end()]))
    return _one_a_line(found)


def _one_a_line(found: list[Finding]) -> list[Finding]:
    return list({one.line: one for one in reversed(found)}.values())


def _finding(lines: Lines, start: int, end: int, quote: str) -> Finding:
    message = f"Transient: “{quote}” will pass, memory stays. Working memory forgets by itself after 24 hours."
    return Finding(CODE, "low", start, end, lines.number(start), message)
