"""Glob patterns as the agents' rules use them."""

from __future__ import annotations

import re
from functools import lru_cache

MAX_BRACES = 1000


def expand_braces(pattern: str) -> list[str]:
    """The patterns that one with {a,b} stands for."""
    found: list[str] = []
    todo = [pattern]
    while todo and len(found) + len(todo) <= MAX_BRACES:
        one = todo.pop()
        match = re.search(r"\{([^{}]*)\}", one)
        if match and "," in match[1]:
            todo += [one[: match.start()] + part + one[match.end() :] for part in reversed(match[1].split(","))]
        else:
            found.append(one)
    return found


@lru_cache(maxsize=1024)
def pattern_regex(pattern: str) -> re.Pattern[str]:
    """`**` spans folders, `*` and `?` stay in a name; a leading `**/` may be nothing."""
    out, at = [], 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            out.append("(?:.*/)?")
            at += 3
        elif pattern.startswith("**", at):
            out.append(".*")
            at += 2
        elif pattern[at] == "*":
            out.append("[^/]*")
            at += 1
        elif pattern[at] == "?":
            out.append("[^/]")
            at += 1
        elif pattern[at] == "[" and (end := pattern.find("]", at + 2)) > 0:
            out.append("[" + pattern[at + 1 : end].replace("!", "^", 1).replace("\\", "\\\\") + "]")
            at = end + 1
        else:
            out.append(re.escape(pattern[at]))
            at += 1
    try:
        return re.compile("".join(out) + r"\Z", re.DOTALL)
    except re.error:
        return re.compile(re.escape(pattern) + r"\Z")


def matches(pattern: str, path: str) -> bool:
    """Whether a path fits a pattern in full."""
    return any(pattern_regex(one).match(path) for one in expand_braces(pattern))


def matches_like_gitignore(pattern: str, path: str) -> bool:
    """As in a .gitignore: without a slash inside it fits a name at any depth, and a folder takes what is below it along."""
    anchored = "/" in pattern.rstrip("/")
    bare = pattern.strip("/")
    heads = [path]
    while "/" in heads[-1]:
        heads.append(heads[-1].rpartition("/")[0])
    return any(matches(bare if anchored else "**/" + bare, head) for head in heads)
