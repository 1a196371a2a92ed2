"""Rules of memory files compared with each other: the same in several files, and two that cannot both be followed (pure)."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

REPEATED_IN, REPEATED_LENGTH = 3, 40
File = tuple[str, Sequence[str], set[int]]  # path, lines, the numbers of those in code fences
Fault = tuple[str, str, int, str]  # code, path, line, message

NO_RULE = re.compile(r"#|\||<!--|\[|\W*$|`[^`]*`\W*$")  # a heading, a row of a table, a comment, a link, code alone
NEGATIVE = re.compile(r"^(?:please )?(?:never|do not|don't|don’t|avoid|must not|should not|no)\b(?: ever)? ")
POSITIVE = re.compile(r"^(?:please )?(?:always|do|must|should|prefer to|prefer|make sure to)\b ")
IMPERATIVE = re.compile(
    r"^(?:use|run|write|add|commit|push|edit|create|call|import|indent|format|name|put|ask|keep|start|install)\b"
)
# Of each group one is chosen: two files that choose differently cannot both be followed.
CHOICES = (
    ("package manager", frozenset(["npm", "pnpm", "yarn", "bun"])),
    ("Python installer", frozenset(["pip", "uv", "poetry", "conda", "pipenv"])),
    ("indentation", frozenset(["tabs", "spaces"])),
)  # fmt: skip
CHOICE = re.compile(
    r"^(?:always |only )?(?:use|prefer|indent with|indent using) (?:\d |two |four )?(\w+)(?: only)?"
    r"(?=$|[.,;:(]| (?:not|never|instead|for|to|in|over)\b)"
)


def repeated(files: Sequence[File]) -> Iterator[Fault]:
    """A rule that stands in several files: a change of one leaves the others behind."""
    places: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for path, lines, fenced in files:
        rules = {
            " ".join(line.strip(" -*").split()).lower(): at for at, line in enumerate(lines, 1) if at not in fenced
        }
        for rule, number in rules.items():
            if len(rule) >= REPEATED_LENGTH and not NO_RULE.match(rule):
                places[rule].append((path, number))
    for rule, where in places.items():
        if len(where) >= REPEATED_IN:
            path, number = where[0]
            others = ", ".join(os.path.relpath(other, os.path.dirname(path)) for other, _ in where[1:4])
            yield "repeated", path, number, f"Stands in {len(where)} files: also in {others} (“{rule[:60]}”)"


def contradictions(files: Sequence[File]) -> Iterator[Fault]:
    """Rules of two files of which one forbids what the other asks for, or that choose differently where one is chosen."""
    choices: dict[tuple[str, str], list[tuple[str, int, str]]] = defaultdict(list)
    for path, lines, fenced in files:
        for number, line in enumerate(lines, 1):
            for subject, stance in () if number in fenced else _claims(line):
                choices[subject, _scope(path)].append((path, number, stance))
    for (subject, _), claims in choices.items():
        yield from _opposed(subject, claims)


def _opposed(subject: str, claims: list[tuple[str, int, str]]) -> Iterator[Fault]:
    first_path, first_line, first_stance = claims[0]
    for path, line, stance in claims[1:]:
        if stance != first_stance and path != first_path:
            where = f"{os.path.relpath(first_path, os.path.dirname(path))}, line {first_line}"
            yield "contradiction", path, line, f"Contradicts {where}: {subject}"
            return


def _scope(path: str) -> str:
    """The folder that a file speaks of; rules of different folders may differ."""
    parts = os.path.dirname(path).split("/")
    hidden = next((at for at, part in enumerate(parts) if part.startswith(".")), len(parts))
    return "/".join(parts[:hidden])


def _claims(line: str) -> Iterator[tuple[str, str]]:
    """What a line is about and what it says of it; nothing for lines that are no rule."""
    text = " ".join(line.replace("`", "").replace("**", "").strip(" -*#>").lower().split()).rstrip(".!")
    if not 6 <= len(text) <= 200:
        return
    if match := CHOICE.match(text):
        yield from ((f"{name} is chosen differently", match[1]) for name, names in CHOICES if match[1] in names)
    forbids = NEGATIVE.match(text)
    rest = text[forbids.end() :] if forbids else POSITIVE.sub("", text)
    if IMPERATIVE.match(rest):
        yield f"“{rest[:60]}”", "no" if forbids else "yes"
