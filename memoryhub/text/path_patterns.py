"""Path patterns (pure): `*` and `?` stay inside a name, `**` goes through folders, `{a,b}` is either.

Whoever asks chooses the pattern, so none may take long: folders are matched by a set of states, names by expressions
that never go back further than to their last wildcard.
"""

from __future__ import annotations

import re
from functools import lru_cache

MAX_CHARACTERS = 20_000  # of a pattern with all its braces chosen from; further braces are taken as they stand


def matches(pattern: str, path: str) -> bool:
    """Whether a path fits, hidden names included; a pattern without a slash is about the name alone."""
    if "/" not in pattern:
        return _matches_any(pattern, path.rstrip("/").rpartition("/")[2], False)
    return _matches_any(pattern.lstrip("/"), path.lstrip("/"), False)


def glob_matches(pattern: str, relative: str) -> bool:
    """Whether a search for files finds this path, relative to where it began: as agents' glob tools do. A pattern without
    a slash finds names at any depth; names that begin with a dot are found only when the pattern has that dot."""
    anywhere = "" if "/" in pattern else "**/"
    return _matches_any(anywhere + pattern.lstrip("/"), relative.lstrip("/"), True)


def _matches_any(pattern: str, path: str, hides: bool) -> bool:
    names = path.split("/")
    return any(_walk(steps, names, hides) for steps in _compiled(pattern))


# One step for each name; None stands for `**`, any number of names.
Steps = tuple[re.Pattern[str] | None, ...]


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> tuple[Steps, ...]:
    return tuple(_steps(choice) for choice in _choices(pattern))


def _choices(pattern: str) -> list[str]:
    """The pattern once for each way to choose from its braces."""
    done: list[str] = []
    todo = [pattern]
    while todo:
        text = todo.pop()
        found = re.search(r"\{([^{}]*)\}", text)
        if found is None or (len(done) + len(todo) + found[1].count(",")) * len(pattern) > MAX_CHARACTERS:
            done.append(text)
        else:
            todo += [text[: found.start()] + one + text[found.end() :] for one in found[1].split(",")]
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
    """One name. A star takes as little as lets the signs after it follow, and never thinks again: an atomic group."""
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


def _walk(steps: Steps, names: list[str], hides: bool) -> bool:
    """Walks the names with every place in the pattern that the ones before could have led to."""
    at = _skip_stars(steps, {0})
    for name in names:
        hidden = hides and name.startswith(".")
        after = set()
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
            return False
    return len(steps) in at


def _skip_stars(steps: Steps, places: set[int]) -> set[int]:
    """`**` may also stand for no name at all."""
    return places | {place + 1 for place in places if place < len(steps) and steps[place] is None}
