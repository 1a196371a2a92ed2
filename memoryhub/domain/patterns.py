"""Path patterns (pure): `*` and `?` stay inside a name, `**` goes through folders, `{a,b}` is either."""

from __future__ import annotations

import re
from functools import lru_cache


def matches(pattern: str, path: str) -> bool:
    """Whether a path fits, hidden names included; a pattern without a slash is about the name alone."""
    if "/" not in pattern:
        return bool(_compiled(pattern, False).fullmatch(path.rstrip("/").rpartition("/")[2]))
    return bool(_compiled(pattern.lstrip("/"), False).fullmatch(path.lstrip("/")))


def finds(pattern: str, relative: str) -> bool:
    """Whether a search for files finds this path, relative to where it began: as agents' glob tools do. A pattern without
    a slash finds names at any depth; names that begin with a dot are found only when the pattern has that dot."""
    anywhere = "" if "/" in pattern else "**/"
    return bool(_compiled(anywhere + pattern.lstrip("/"), True).fullmatch(relative.lstrip("/")))


@lru_cache(maxsize=512)
def _compiled(pattern: str, hides: bool) -> re.Pattern[str]:
    return re.compile("".join(_pieces(pattern, hides)), re.DOTALL)


_PIECE = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]]+\]|\{[^{}]*\}|.", re.DOTALL)


def _pieces(pattern: str, hides: bool, begins: bool = True) -> list[str]:
    """Regular expressions for the signs of a pattern; at the start of a name, a wildcard may stop short of a dot."""
    pieces = []
    for match in _PIECE.finditer(pattern):
        pieces.append(_piece(match[0], "(?!\\.)" if hides and begins else "", hides, begins))
        begins = match[0].endswith("/")
    return pieces


def _piece(sign: str, guard: str, hides: bool, begins: bool) -> str:
    if sign == "**/":
        return f"(?:{guard}[^/]+/)*"
    if sign == "**":
        return f"(?:{guard}[^/]+/)*{guard}[^/]*"
    if sign == "*":
        return f"{guard}[^/]*"
    if sign == "?":
        return f"{guard}[^/]"
    if len(sign) > 2 and sign[0] == "[":
        body = sign[1:-1].replace("\\", r"\\").replace("[", r"\[")
        return f"(?!/){guard}[" + ("^" + body[1:] if body[0] == "!" else body.replace("^", r"\^")) + "]"
    if len(sign) > 1 and sign[0] == "{":
        return "(?:" + "|".join("".join(_pieces(part, hides, begins)) for part in sign[1:-1].split(",")) + ")"
    return re.escape(sign)
