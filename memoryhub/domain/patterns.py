"""Path patterns (pure): `*` and `?` stay inside a name, `**` goes through folders, `{a,b}` is either."""

from __future__ import annotations

import re
from functools import lru_cache


def matches(pattern: str, path: str) -> bool:
    """Whether a path fits; a pattern without a slash is about the name alone."""
    if "/" not in pattern:
        return bool(_compiled(pattern).fullmatch(path.rstrip("/").rpartition("/")[2]))
    return bool(_compiled(pattern.lstrip("/")).fullmatch(path.lstrip("/")))


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile("".join(_pieces(pattern)), re.DOTALL)


_PIECE = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]]+\]|\{[^{}]*\}|.", re.DOTALL)


def _pieces(pattern: str) -> list[str]:
    return [_piece(match[0]) for match in _PIECE.finditer(pattern)]


def _piece(sign: str) -> str:
    if sign == "**/":
        return "(?:[^/]+/)*"
    if sign == "**":
        return ".*"
    if sign == "*":
        return "[^/]*"
    if sign == "?":
        return "[^/]"
    if len(sign) > 2 and sign[0] == "[":
        body = sign[1:-1].replace("\\", r"\\").replace("[", r"\[")
        return "(?!/)[" + ("^" + body[1:] if body[0] == "!" else body.replace("^", r"\^")) + "]"
    if len(sign) > 1 and sign[0] == "{":
        return "(?:" + "|".join("".join(_pieces(part)) for part in sign[1:-1].split(",")) + ")"
    return re.escape(sign)
