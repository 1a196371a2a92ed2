"""Path patterns (pure): `*` and `?` stay inside a name, `**` goes through folders, `{a,b}` is either.

Agents choose the pattern, so none may take long: folders are matched by a set of states, names by expressions
that never go back further than to their last wildcard.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memoryhub.errors import Invalid

MAX_CHARACTERS = 20_000  # of all alternatives of a pattern together; further braces are taken literally


def matches(pattern: str, path: str) -> bool:
    """Whether a whole path fits, hidden names included. A pattern without a slash is compared with the last name alone."""
    if "/" not in pattern:
        return _matches_any(pattern, path.rstrip("/").rpartition("/")[2])
    return _matches_any(pattern.lstrip("/"), path.lstrip("/"))


MAX_COMPARISONS = 1_000_000  # of names with steps, in one search: under a second


class Glob:
    """A search for files, as agents' glob tools do it, over any number of paths.

    A pattern without a slash finds names at any depth. Names that begin with a dot are found only when the pattern has
    that dot.
    """

    def __init__(self, pattern: str) -> None:
        anywhere = "" if "/" in pattern else "**/"
        self._alternatives = _compiled(anywhere + pattern.lstrip("/"))
        self._left = MAX_COMPARISONS

    def matches(self, relative: str) -> bool:
        """Whether it finds this path, which is relative to where the search began. Refused where the search takes too long."""
        names = relative.lstrip("/").split("/")
        for steps in self._alternatives:
            fits, compared = _walk(steps, names, True)
            self._left -= 1 + compared
            if self._left < 0:
                says = (
                    "The pattern takes too long for so many files: search in a folder, with fewer braces and wildcards."
                )
                raise Invalid(says, code="too_costly", field="pattern")
            if fits:
                return True
        return False


def glob_matches(pattern: str, relative: str) -> bool:
    """Whether a search with this pattern finds this one path."""
    return Glob(pattern).matches(relative)


def _matches_any(pattern: str, path: str) -> bool:
    names = path.split("/")
    return any(_walk(steps, names, False)[0] for steps in _compiled(pattern))


# One expression for each name of a path; None stands for `**`, any number of names.
Steps = tuple[re.Pattern[str] | None, ...]


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> tuple[Steps, ...]:
    return tuple(_steps(alternative) for alternative in alternatives(pattern))


def alternatives(pattern: str) -> list[str]:
    """The pattern once for each way to choose from its braces, without braces."""
    done: list[str] = []
    todo = [pattern]
    while todo:
        text = todo.pop()
        found = re.search(r"\{([^{}]*)\}", text)
        if found is None or (len(done) + len(todo) + found[1].count(",")) * len(pattern) > MAX_CHARACTERS:
            done.append(text)
        else:
            todo += [text[: found.start()] + choice + text[found.end() :] for choice in found[1].split(",")]
    return done


def _steps(pattern: str) -> Steps:
    steps: list[re.Pattern[str] | None] = []
    for segment in pattern.split("/"):
        if segment != "**":
            steps.append(_name(segment))
        elif not steps or steps[-1] is not None:
            steps.append(None)
    if steps[-1] is None:
        steps.append(_name("*"))  # `drafts/**` is what lies in drafts, not drafts itself
    return tuple(steps)


_PIECE = re.compile(r"\*+|\?|\[!?[^\]]+\]|.", re.DOTALL)


def _name(segment: str) -> re.Pattern[str]:
    try:
        return re.compile(_expression(segment), re.DOTALL)
    except re.error:  # such as [z-a]
        return re.compile(re.escape(segment))


def _expression(segment: str) -> str:
    """The expression for one name. Each star is an atomic group: it takes as little as lets the characters after it follow, and
    is never tried again."""
    runs, stars = [""], 0
    for match in _PIECE.finditer(segment):
        if match[0][0] == "*":
            runs.append("")
            stars += 1
        else:
            runs[-1] += _one_character(match[0])
    if not stars:
        return runs[0]
    between = "".join(f"(?>.*?{run})" for run in runs[1:-1] if run)
    return f"{runs[0]}{between}.*{runs[-1]}"


def _one_character(sign: str) -> str:
    if sign == "?":
        return "."
    if len(sign) > 2 and sign[0] == "[":
        body = sign[1:-1].replace("\\", r"\\").replace("[", r"\[")
        return "[" + ("^" + body[1:] if body[0] == "!" else body.replace("^", r"\^")) + "]"
    return re.escape(sign)


def _walk(steps: Steps, names: list[str], skip_hidden: bool) -> tuple[bool, int]:
    """Whether the steps lead through all names; all places that the names so far may have led to are followed at once. And how
    often a name was compared with a step."""
    at, compared = _skip_stars(steps, {0}), 0
    for name in names:
        hidden = skip_hidden and name.startswith(".")
        after = set()
        compared += len(at)
        for place in at - {len(steps)}:
            step = steps[place]
            if hidden and (step is None or not step.pattern.startswith(r"\.")):
                continue
            if step is None:
                after.add(place)
            elif step.fullmatch(name):
                after.add(place + 1)
        at = _skip_stars(steps, after)
        if not at:
            return False, compared
    return len(steps) in at, compared


def _skip_stars(steps: Steps, places: set[int]) -> set[int]:
    """The places, and those behind a `**` at them, which may also stand for no name at all."""
    return places | {place + 1 for place in places if place < len(steps) and steps[place] is None}
