"""Whether words order something or only tell of it: what is forbidden, described, listed as a mistake or quoted as an attack.

Honest memory is full of the words of attacks, because it warns of them. The warning stands before them in the sentence (which
goes on over line ends), above the list or the column of the table that they stand in, or around the quotes that they stand in.
"""

from __future__ import annotations

import re

from .scanning import REACH

_NEGATIVE = re.compile(r"(?:do\s+not|don't|never|must\s+not|should\s+not|shouldn't|mustn't)\b")
"""Sentences whose own words forbid something: a `never` before them is part of the sentence, not a guard."""

_DESCRIBES = re.compile(
    r"\b(?:that|which|who|would|could|might|may|can|if|whether|unless|when)(?:\W{1,4}|\s+the\s+|\W+an?\s+)$|"
    r"\b(?:developers|users|attackers|clients|agents|teams|people|models|callers)(?:\s+will)?\s$|"
    r"\bassum\w+\s[^.\n]{1,40}\s(?:will|may|might|can)\s$|"
    r"\b(?:causes?|leads?|lets?|makes?|tempts?|encourages?|persuades?)\s[^.;:\n]{1,50}\s(?:to|into)\s$"
)
"""What follows tells what something does or whether it is so; it orders nothing."""

_STATES = re.compile(
    r"(?:the\s+)?(?:current\s+)?(?:users?|accounts?|persons?|e?mails?|address|domain|sender|visitor|caller)\b"
)
_CONDITION = re.compile(
    r"\b(?:where|whose|when|if|whether|unless|until|because|after|assumes?|check\w*)\b[^.,;:\n]{0,40}$"
)
"""A statement after one of these is a case that is spoken of, not a right that is given."""

_FORBIDDING = (
    r"never|do\s+not|don't|must\s+not|mustn't|cannot|can't|should\s+not|shouldn't|avoid|refuse\s+to|not\s+to|prevents?|forbid\w*|prohibit\w*|"
    r"disallow\w*|reject\w*|no\s+one\s+may|may\s+not|does\s+not|doesn't"
)
_FORBIDS = re.compile(
    rf"\b(?:{_FORBIDDING}|instead\s+of|rather\s+than|attempt\w*\s+to|attackers?|adversar\w+|trying\s+to|tries\s+to|block\w*|detect\w*|against|"
    r"resist\w*|if\s+(?:asked|told|instructed)\s+to)\b[^.;:\n]{0,40}$"
)
_FORBIDS_ALL = re.compile(rf"\b(?:{_FORBIDDING})\b(?:[^,]*|.*?\b(?:n?or|by|and)\b[^,]*)$", re.S)
"""One `never` for everything in its sentence: no comma begins something new, or an `or` goes on."""
_FORBIDS_SERIES = re.compile(rf"\b(?:{_FORBIDDING})\b[^\n]*,\s*$")
_SERIES = re.compile(r"[^.;\n]{0,60}?,?\s+n?or\b")

_BREAK = re.compile(r"[.!?;:。！？；](?=[\s*\"'`)]|$)|\n[ \t]*(?:\n|[-*+>#|•]|\d+[.)])|\n(?=[ \t]*```)")
_SENTENCE = 240

_ATTACK = re.compile(
    r"(?<![a-z])(?:inject\w*|jailbreak\w*|attack\w*|untrusted|malicious|adversar\w*|phrases?|patterns?|such\s+as|e\.g|for\s+example|like|suspicious|"
    r"detect\w*|test\w*|social\s+engineering|red\s+flags?|manipulat\w*|treat\s+(?:it|them|this)|probes?|payloads?|red-?team\w*|report\s+(?:it|to)|hidden\s+(?:instructions?|text)|scams?|phish\w*|frauds?|exfiltrat\w*)(?![a-z])"
)
_AROUND = 300
QUOTES = ('"', "'", "`", "“", "‘", "«", "”", "’", "»", "\\")

_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]|[❌✗✘🚫⛔✖])[ \t\ufe0f]")
_CROSS = re.compile(
    r"[ \t|>*+-]*(?:\d{1,3}[.)][ \t]*)?[\"'`*]{0,3}(?:[❌✗✘🚫⛔✖]|\b(?:bad|wrong|don'?ts?|never|avoid|anti-?patterns?)\b[*`]{0,3}:)"
)
_WARNING = re.compile(
    r"\b(?:never|do\s+not|don'?ts?|must\s?n[o']t|should\s?n[o']t|may\s+not|cannot|can't|won't|will\s+not|avoid\w*|anti-?patterns?|forbid\w*|prohibit\w*|disallow\w*|"
    r"not\s+allowed|(?:red|warning)\s+flags?|warning\s+signs?|bad|wrong|mistakes?|pitfalls?|violat\w+|attacks?|attackers?|threats?|injections?|risks?|malicious|suspicious|"
    r"unsafe|dangerous|vulnerab\w+|refuse\w*|reject\w*|block(?:s|ed|ing)?|detect\w*|failure\s+modes?|smells?|rationali[sz]ations?|excuses?|out\s+of\s+scope|unacceptable|"
    r"not\s+ok|no-?nos?|(?:what|things)\s+not\s+to)\b|禁止|不要|严禁|避免|错误|反模式|нельзя|запрещ|verboten|niemals|interdit|jamais|prohibido|nunca|❌|🚫|⛔"
)
_ABOVE = 2_000
"""Characters above an item within which the line stands that introduces the list."""


_NEAR = 60


def told_of(folded: str, at: int) -> bool:
    """Whether the words right before a place forbid or describe what follows."""
    near = max(folded.rfind("\n", 0, at) + 1, at - _NEAR)
    return bool(_FORBIDS.search(folded, near, at) or _DESCRIBES.search(folded, near, at))


def only_mentioned(folded: str, at: int, end: int) -> bool:
    """Whether what stands from `at` to `end` is forbidden, described, or quoted by the words around it."""
    start = folded.rfind("\n", 0, at) + 1
    if _NEGATIVE.match(folded, at):
        return _is_quoted(folded, start, at, end)
    if told_of(folded, at):
        return True
    near = max(start, at - _NEAR)
    if _STATES.match(folded, at) and (folded[max(0, at - 1) : at] in QUOTES or _CONDITION.search(folded, near, at)):
        return True
    sentence = _sentence_before(folded, at)
    return (
        bool(_FORBIDS_ALL.search(sentence))
        or bool(_FORBIDS_SERIES.search(sentence.replace("\n", " ")) and _SERIES.match(folded, end))
        or _is_listed(folded, start, at)
        or _is_quoted(folded, start, at, end)
    )


def _sentence_before(folded: str, at: int) -> str:
    """What the sentence says before a place, over the line ends of its paragraph."""
    piece = folded[max(0, at - _SENTENCE) : at]
    breaks = [match.end() for match in _BREAK.finditer(piece)]
    return piece[breaks[-1] :] if breaks else piece


def _is_listed(folded: str, start: int, at: int) -> bool:
    """An item of a list, or a cell of a column, of what not to do or what to beware of."""
    before = folded[max(start, at - _ABOVE) : at]
    if _CROSS.match(before):
        return True
    if before.lstrip().startswith("|"):
        return bool(_WARNING.search(_head_of_column(folded, start, before.count("|"))))
    item = _item_of(folded, start)
    return item is not None and bool(_WARNING.search(_introduction(folded, item)))


def _item_of(folded: str, start: int) -> int | None:
    """Where the item of a list begins whose line, first or later, starts here."""
    for _ in range(4):
        if _ITEM.match(folded, start):
            return start
        if start == 0 or folded[start : start + 1] not in (" ", "\t"):
            return None
        start = folded.rfind("\n", max(0, start - REACH), start - 1) + 1
    return None


def _introduction(folded: str, item: int) -> str:
    """The line above a list: a heading, or words that end in a colon; of items further in, the item that they belong to."""
    indent = _indent(folded[item : item + 80])
    above = folded[max(0, item - _ABOVE) : item].split("\n")[:-1]
    for line in reversed(above):
        bare = line.strip()
        depth = _indent(line)
        if not bare or depth > indent or (depth == indent and _ITEM.match(line)):
            continue
        if (
            bare.startswith("#")
            or bare.rstrip("*_ ").endswith((":", "："))
            or bare.startswith("**")
            or _ITEM.match(line)
        ):
            return bare
        if depth == 0:
            return ""
    return ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _head_of_column(folded: str, start: int, column: int) -> str:
    """The cell above a cell in the first row of its table."""
    rows = folded[max(0, start - _ABOVE) : start].split("\n")[:-1]
    head = ""
    for row in reversed(rows):
        if not row.lstrip().startswith("|"):
            break
        head = row
    cells = head.split("|")
    return cells[column] if column < len(cells) else ""


def opens_quote(before: str) -> bool:
    """Whether what stands before on a line opens quotes that it does not close; an apostrophe tells nothing."""
    return before.count('"') % 2 == 1 or before.count("`") % 2 == 1 or before.count("«") > before.count("»")


def _is_quoted(folded: str, start: int, at: int, end: int) -> bool:
    """In quotes, where the words around speak of attacks."""
    before = folded[at - 1 : at] if at else ""
    near = max(start, at - REACH)
    if not (before and before in QUOTES) and not opens_quote(folded[near:at]):
        return False
    stop = folded.find("\n", end)
    # A line may be the whole text: what is said of attacks stands near.
    stop = min(stop if stop >= 0 else len(folded), end + REACH)
    return bool(_ATTACK.search(folded, max(0, min(near, at - _AROUND)), stop))
