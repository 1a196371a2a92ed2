"""Whether words order something or only tell of it: what is forbidden, described, listed as a mistake or quoted as an attack.

Honest memory is full of the words of attacks, because it warns of them. The warning stands before them in the sentence (which
goes on over line ends), above the list or the column of the table that they stand in, or around the quotes that they stand in.
"""

from __future__ import annotations

from bisect import bisect_left

from ..finding import Lines
from ..patterns import bounded, plain
from ..scanning import REACH

_NEGATIVE = bounded(r"(?:do\s+not|don't|never|must\s+not|should\s+not|shouldn't|mustn't)\b")
"""Sentences whose own words forbid something: a `never` before them is part of the sentence, not a guard."""

_DESCRIBES = bounded(
    r"\b(?:that|which|who|would|could|might|may|can|if|whether|unless|when)(?:\W{1,4}|\s+the\s+|\W+an?\s+)$|"
    r"\b(?:developers|users|attackers|clients|agents|teams|people|models|callers)(?:\s+will)?\s$|"
    r"\bassum\w+\s[^.\n]{1,40}\s(?:will|may|might|can)\s$|"
    r"\bwhich\s(?:would|could|might)\s[^.;:\n]{1,50}\s(?:but|and|or)\s$|"
    r"\b(?:logic|code|functions?|handlers?|methods?|blocks?|catch(?:es)?)\s+that\s[^.;:\n]{1,60}\s$|"
    r"(?<!\w)\(\w+(?:[\s-]\w+)?,\s$|\bdoes\s+(?:an?|the|this|that|it|any|each)\s[^.?!:;\n]{0,60}$|"
    r"\b(?:use|set|pass)\s+`[^`\n]{1,40}`\s+to\s$|"
    r"\b(?:causes?|leads?|lets?|makes?|tempts?|encourages?|persuades?)\s[^.;:\n]{1,50}\s(?:to|into)\s$"
)
"""What follows tells what something does or whether it is so; it orders nothing."""

_STATES = bounded(
    r"(?:the\s+)?(?:current\s+)?(?:users?|accounts?|persons?|e?mails?|address|domain|sender|visitor|caller)\b"
)
_CONDITION = bounded(
    r"\b(?:where|whose|when|if|whether|unless|until|because|after|assumes?|check\w*)\b[^.,;:\n]{0,40}$"
)
"""A statement after one of these is a case that is spoken of, not a right that is given."""

_FORBIDDING = (
    r"never|do\s+\*{0,2}not|don't|must\s+\*{0,2}not|mustn't|cannot|can't|should\s+not|shouldn't|avoid|refuse\s+to|not\s+to|prevents?|forbid\w*|prohibit\w*|"
    r"disallow\w*|reject\w*|no\s+(?:(?!you\b|we\b|they\b|doubt|matter|rule|limit|restriction|law|filter|guideline)[\w-]+\s+){1,3}(?:may|shall|must)|no\s+option\s+to|may\s+not|does\s+not|doesn't"
)
_FORBIDS = bounded(
    rf"\b(?:{_FORBIDDING}|ignor(?:e|ing)\s+(?:\w+\s+){{0,3}}(?:requests?|attempts?|prompts?|instructions?|content)\s+to|instead\s+of|rather\s+than|attempt\w*\s+to|attackers?|adversar\w+|trying\s+to|tries\s+to|block\w*|detect\w*|against|"
    r"resist\w*|if\s+(?:asked|told|instructed)\s+to)\b[^.;:\n]{0,40}$"
)
_FORBIDS_ALL = bounded(rf"\b(?:{_FORBIDDING})\b(?:[^,]*|.*?\b(?:n?or|by|and)\b[^,]*)$", "s")
"""One `never` for everything in its sentence: no comma begins something new, or an `or` goes on."""
_FORBIDS_SERIES = bounded(rf"\b(?:{_FORBIDDING})\b[^\n]*,\s*$")
_SERIES_WITHIN = bounded(r",\s+n?or\b")
_TOLD_BY_TEXT = bounded(
    r"\b(?:if|when(?:ever)?|text|content|anything|something|whatever)\b(?:(?!\bi\b)[^.;:,]){0,60}\b(?:asks?|asking|tells?|telling|instructs?|instructing)\s+(?:you|it|the\s+\w+)\s+to\b[^.;:,]*$"
)
"""What some text asks for is a case that is spoken of; after a comma the order for that case would begin."""
_COMPLIES = bounded(r"[^.;\n]{0,60}?(?<!not\s)\b(?:comply|obey|do\s+(?:so|it|that)|agree)\b")
_SERIES = bounded(r"[^.;\n]{0,60}?,?\s{1,40}n?or\b")

_BREAK = bounded(r"[.!?;:。！？；](?=[\s*\"'`)]|$)|\n[ \t]*(?:\n|[-*+>#|•]|\d+[.)])|\n(?=[ \t]*```)|\][ \t]*\n")
_MAX_SENTENCE = 240

_ATTACK = bounded(
    r"(?<![a-z])(?:inject\w*|jailbreak\w*|attack\w*(?!\.[a-z])|untrusted|malicious|adversar\w*|phrases?|patterns?|such\s+as|e\.g|for\s+example|like|suspicious|"
    r"detect\w*|test\w*|social\s+engineering|red\s+flags?|manipulat\w*|treat\s+(?:it|them|this)|probes?|payloads?|red-?team\w*|report\s+(?:it|to)|hidden\s+(?:instructions?|text)|scams?|phish\w*|frauds?|exfiltrat\w*|不是指令|注入|攻击|攻撃)(?![a-z])"
)
_SAYING = bounded(r"\b(?:saying|says|containing|reading)\s+[\"'`“«]\s?$")
_IS_A_THING = bounded(r"\s?[\"'`”»]\s+(?:is|are|was|were)\s+(?:an?|only|just|not|data|text|content|treated)\b")
_NEXT_QUOTE = bounded(r"\s?(?:\"\s*,\s*\"[^\"\n]{1,80}\n?[^\"\n]{0,80}\"(?!\s*:)|[”»]\s*,\s*[“«])")
_QUOTE_BEFORE = bounded(r"(?:(?<![:\s])\"\s*,\s*\"|[”»]\s*,\s*[“«]\s?)$")
_VALUE = bounded(r"[\"']\s*:\s*[\"“«]\s?$")
_QUOTE_ENDS = bounded(r"[^\"”».\n]{0,40}[\"”»]")
"""Short quotes one after another are a list of examples; after a quoted name and a colon they are its value."""
_AROUND = 300
QUOTES = ('"', "'", "`", "“", "‘", "«", "”", "’", "»", "\\")

_ITEM = bounded(r"[ \t]*+(?:[-*+•]|\d{1,3}[.)]|[❌✗✘🚫⛔✖])[ \t\ufe0f]")
_CROSS = bounded(
    r"[ \t|>*+-]*+(?:\d{1,3}[.)][ \t]*)?[\"'`*]{0,3}(?:[❌✗✘🚫⛔✖]|\b(?:bad|wrong|don'?ts?|never|avoid|anti-?patterns?)\b[*`]{0,3}:)"
)
_WARNING = bounded(
    r"\b(?:never|do\s+not|don'?ts?|must\s?n[o']t|should\s?n[o']t|may\s+not|cannot|can't|won't|will\s+not|avoid\w*|anti-?patterns?|forbid\w*|prohibit\w*|disallow\w*|"
    r"not\s+allowed|(?:red|warning)\s+flags?|warning\s+signs?|bad|wrong|mistakes?|pitfalls?|violat\w+|attacks?|attackers?|threats?|injections?|risks?|malicious|suspicious|"
    r"unsafe|dangerous|vulnerab\w+|refuse\w*|reject\w*|block(?:s|ed|ing)?|detect\w*|failure\s+modes?|smells?|rationali[sz]ations?|excuses?|out\s+of\s+scope|unacceptable|"
    r"not\s+ok|no-?nos?|(?:what|things)\s+not\s+to)\b|禁止|不要|严禁|避免|错误|反模式|нельзя|запрещ|verboten|niemals|interdit|jamais|prohibido|nunca|❌|🚫|⛔"
)
_MAX_ABOVE = 2_000
"""Characters above an item within which the line stands that introduces the list."""


_NEAR = 60
_FENCE = plain("```")
_OPTION = bounded(r"[ \t|*+-]{0,8}[\"'`*]{1,3}-{1,2}[a-z][^\n`]{0,40}`[*]{0,2}(?:[^\n`]{0,40}\|)?[\s|:—–-]{1,8}")
_COMMENT = bounded(r"[ \t]{0,8}#[ \t]")
_COMMAND = bounded(r"[^\n]{0,200}\n[ \t]{0,8}[a-z][^\n]{0,200}?\s-{1,2}[a-z]")


def fences(text: str) -> list[int]:
    """Where the lines of three backticks stand that open and close blocks of code."""
    return [match.start() for match in _FENCE.finditer(text)]


def is_in_code(lines: Lines, at: int) -> bool:
    return bisect_left(lines.cached("fences", fences), at) % 2 == 1


def is_forbidden_or_described(text: str, at: int) -> bool:
    """Whether the words right before a place forbid or describe what follows."""
    near = max(text.rfind("\n", 0, at) + 1, at - _NEAR)
    return bool(_FORBIDS.search(text, near, at) or _DESCRIBES.search(text, near, at))


def is_mention(text: str, at: int, end: int) -> bool:
    """Whether what stands from `at` to `end` is forbidden, described, or quoted by the words around it."""
    start = text.rfind("\n", 0, at) + 1
    if _NEGATIVE.match(text, at):
        return _is_quoted(text, start, at, end) or _is_example(text, at, end)
    if is_forbidden_or_described(text, at):
        return True
    near = max(start, at - _NEAR)
    if _STATES.match(text, at) and (text[max(0, at - 1) : at] in QUOTES or _CONDITION.search(text, near, at)):
        return True
    sentence = _sentence_before(text, at)
    return (
        bool(_FORBIDS_ALL.search(sentence))
        or bool(_FORBIDS_SERIES.search(sentence.replace("\n", " ")) and _goes_on(text, at, end))
        or bool(_TOLD_BY_TEXT.search(sentence) and not _COMPLIES.match(text, end))
        or _is_listed(text, start, at)
        or _is_quoted(text, start, at, end)
        or _is_example(text, at, end)
        or (opens_quote(sentence) and _is_quoted(text, at - len(sentence), at, end))
    )


def is_listed_as_wrong(text: str, at: int) -> bool:
    """Whether a place stands in an item of a list, or a cell of a column, of what not to do or what to beware of."""
    return _is_listed(text, text.rfind("\n", 0, at) + 1, at)


def _goes_on(text: str, at: int, end: int) -> bool:
    """Whether a series that was forbidden ends with its `or` only here or later."""
    return bool(_SERIES.match(text, end) or _SERIES_WITHIN.search(text, at, end))


def _is_example(text: str, at: int, end: int) -> bool:
    """Quoted as something that a text says, or as one of several quotes in a row."""
    before = text[max(0, at - _NEAR) : at]
    if _SAYING.search(before) and _IS_A_THING.match(text, end):
        return True
    is_in_row = _NEXT_QUOTE.match(text, end) if opens_quote(before[-2:]) else None
    is_last = _QUOTE_BEFORE.search(before) and _QUOTE_ENDS.match(text, end)
    return bool((is_in_row and not _VALUE.search(before)) or is_last)


def describes_option(text: str, at: int, is_in_code: bool) -> bool:
    """Whether a place stands right behind the name of an option, or in a comment of code above a command with one."""
    start = text.rfind("\n", max(0, at - REACH), at) + 1
    if start == 0 and at >= REACH:
        return False
    if _OPTION.fullmatch(text, start, at):
        return True
    return bool(is_in_code and _COMMENT.match(text, start) and _COMMAND.match(text, at))


def _sentence_before(text: str, at: int) -> str:
    """What the sentence says before a place, over the line ends of its paragraph."""
    piece = text[max(0, at - _MAX_SENTENCE) : at]
    breaks = [match.end() for match in _BREAK.finditer(piece)]
    return piece[breaks[-1] :] if breaks else piece


def _is_listed(text: str, start: int, at: int) -> bool:
    """An item of a list, or a cell of a column, of what not to do or what to beware of."""
    before = text[max(start, at - _MAX_ABOVE) : at]
    if _CROSS.match(before):
        return True
    if before.lstrip().startswith("|"):
        return bool(_WARNING.search(_head_of_column(text, start, before.count("|"))))
    item = _item_of(text, start)
    return item is not None and bool(_WARNING.search(_introduction(text, item)))


def _item_of(text: str, start: int) -> int | None:
    """Where the item of a list begins whose line, first or later, starts here."""
    for _ in range(4):
        if _ITEM.match(text, start):
            return start
        if start == 0 or text[start : start + 1] not in (" ", "\t"):
            return None
        start = text.rfind("\n", max(0, start - REACH), start - 1) + 1
    return None


def _introduction(text: str, item: int) -> str:
    """The line above a list: a heading, or words that end in a colon; of items further in, the item that they belong to."""
    indent = _indent(text[item : item + 80])
    above = text[max(0, item - _MAX_ABOVE) : item].split("\n")[:-1]
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


def _head_of_column(text: str, start: int, column: int) -> str:
    """The cell above a cell in the first row of its table."""
    rows = text[max(0, start - _MAX_ABOVE) : start].split("\n")[:-1]
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


def _is_quoted(text: str, start: int, at: int, end: int) -> bool:
    """In quotes, where the words around speak of attacks."""
    before = text[at - 1 : at] if at else ""
    near = max(start, at - REACH)
    if not (before and before in QUOTES) and not opens_quote(text[near:at]):
        return False
    stop = text.find("\n", end)
    # A line may be the whole text: what is said of attacks stands near.
    stop = min(stop if stop >= 0 else len(text), end + REACH)
    return bool(_ATTACK.search(text, max(0, min(near, at - _AROUND)), stop))
