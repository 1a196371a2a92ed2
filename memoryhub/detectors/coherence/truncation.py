"""Signs of an output that broke off: JSON and Markdown left open, a sentence without its end."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator

from ..finding import Lines, Problem
from ..patterns import bounded, plain

_BEGINS_JSON = bounded(r"\{\s*(?:[\"'}]|$)|\[\s*(?:[\[{\"]|-?\d+(?:\.\d+)?\s*(?:,|$)|(?:true|false|null)\s*(?:,|$))")
_BEGINS_MARKDOWN = bounded(r"\[[^\]\n]*\](?:\(|:|\s|$)|\[\[[^\]\n]*\]\]")
_OPENS_JSON = plain(r"^[ \t]{0,3}```json[ \t]*\n", "m")
_CLOSES = plain(r"^[ \t]{0,3}```[ \t]*$", "m")
_STRING = plain(r'"(?:[^"\\\n]|\\.)*+"?')
_FENCE = plain(r"^[ \t]{0,3}(`{3,}|~{3,})(.*)$", "m")
_OPEN_LINK = bounded(r"!?\[[^\]\n]*\]\((?:https?:)?[^)\s]*\Z")
_MAX_LITERAL = 20_000

_CUT = bounded(
    r"(?:\[(?:output |response |text |message )?truncated[^\]]*\]|<truncated>|(?:\.\.\.|…) ?\(?(?:truncated|output limit|\d+ (?:more )?(?:chars|characters|lines|bytes))[^\n]*|max(?:imum)?[_ ]tokens? (?:reached|exceeded))\s*$",
    "i",
)
_DENSE = plain("[\u3041-\u30ff\u3400-\u9fff]")
_OPEN = bounded(r"[,(\[{،、，（［「『《；]$")
# Words that no sentence ends with, for each language with the words that tell it; where the script tells it, with none.
_NEVER_LAST = (
    (r"the|and|is|to|of|in|for|are|that|with", r"and|or|but|because|if|the|a|an|of|to|than|into|its|their|our|your"),
    (r"der|die|das|und|ist|nicht|ein|eine|mit|für|auf|wird|den", r"und|oder|der|den|dem|des|eine|einen|einem|einer|dass|weil|sowie|denn|beim|zum|zur|vom"),
    (r"le|la|les|est|et|des|une|pour|dans|au|du", r"et|ou|le|la|les|un|une|des|du|de|que|mais|au|aux|dans|parce que"),
    (r"el|la|los|las|que|en|es|una|se|del|por", r"y|o|el|la|los|las|un|una|de|del|que|pero|porque|en|con|al"),
    (r"o|os|as|que|em|não|uma|se|da|do|para|é", r"e|ou|os|as|um|uma|de|do|da|dos|das|que|mas|porque|em|com|ao"),
    (r"il|la|che|di|è|una|non|per|del|si|nel", r"e|il|lo|la|gli|un|una|di|del|della|che|ma|perché|con|al|nel|dei"),
    (r"de|het|een|en|van|niet|is|wordt|dat|op", r"en|of|de|het|een|van|dat|omdat|maar|te"),
    (r"nie|jest|się|na|do|że|oraz|dla|po", r"i|lub|ale|że|w|na|z|do|dla|od|oraz|ponieważ|jeśli"),
    ("", r"и|или|но|что|в|на|с|по|для|от|из|к|о|который|чтобы|если|потому что|та|або|але|що|з|від"),
    ("", r"في|من|على|إلى|عن|أن|أو|التي|الذي|ثم|لأن|مع|و"),
    ("", r"और|या|कि|लेकिन"),
)  # fmt: skip
_UNFINISHED = tuple(
    (plain(rf"(?<!\w)(?:{tells})(?!\w)", "i") if tells else None, bounded(rf"(?<![\w-])(?:{last})\Z"))
    for tells, last in _NEVER_LAST
)
# Chinese and Japanese mark where words join without blanks.
_JOINS = bounded("(?:并且|而且|但是|因为|如果|以及|或者|為了|為|把|被|[をは])$")
_MIN_LANGUAGE_WORDS = 3  # beside the last word


def broken_json(text: str, lines: Lines) -> Iterator[Problem]:
    body = text.strip()
    if _BEGINS_JSON.match(body) and not _BEGINS_MARKDOWN.match(body):
        if (at := _breaks_at(body)) is not None:
            at = min(at + text.index(body), len(text) - 1)
            yield "json", at, len(text), f"it begins as JSON and breaks in line {lines.number(at)}."
        return
    opens = _OPENS_JSON.search(text) if "```json" in text else None
    while opens and (closes := _CLOSES.search(text, opens.end())):
        if not _is_balanced(text[opens.end() : closes.start()]):
            sentence = f"the JSON of line {lines.number(opens.start())} is not balanced."
            yield "json", opens.end(), closes.start(), sentence
            return
        opens = _OPENS_JSON.search(text, closes.end())


def _breaks_at(body: str) -> int | None:
    """Where JSON breaks; not in JSON lines, in Python's own notation, or where prose follows."""
    try:
        json.loads(body)
    except RecursionError:
        return 0
    except ValueError as error:
        if _is_lines(body) or _is_followed_by_prose(body) or _is_python(body):
            return None
        return getattr(error, "pos", 0)
    return None


def _is_lines(body: str) -> bool:
    rows = [row for row in body.splitlines() if row.strip()]
    try:
        return len(rows) > 1 and all(isinstance(json.loads(row), dict | list) for row in rows)
    except (ValueError, RecursionError):
        return False


def _is_followed_by_prose(body: str) -> bool:
    try:
        _, end = json.JSONDecoder().raw_decode(body)
    except (ValueError, RecursionError):
        return False
    rest = body[end:]
    return rest[:1].isspace() and rest.strip()[:1] not in "{[}],:"


def _is_python(body: str) -> bool:
    if len(body) > _MAX_LITERAL or ("'" not in body and "True" not in body and "None" not in body):
        return False
    try:
        return isinstance(ast.literal_eval(body), dict | list)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False


def _is_balanced(block: str) -> bool:
    bare = _STRING.sub("", block)
    return bare.count("{") == bare.count("}") and bare.count("[") == bare.count("]")


def broken_markdown(text: str, lines: Lines) -> Iterator[Problem]:
    opened: tuple[str, int] | None = None
    for match in _FENCE.finditer(text) if "```" in text or "~~~" in text else ():
        fence, rest = match.group(1), match.group(2)
        if opened is None and fence[0] == "~" and not rest and _underlines(text, match.start(), len(fence)):
            continue
        if opened is None and not ("`" in rest and fence[0] == "`"):
            opened = (fence, match.start())
        elif opened and fence[0] == opened[0][0] and len(fence) >= len(opened[0]) and not rest.strip():
            opened = None
    if opened:
        sentence = f"the code block of line {lines.number(opened[1])} is never closed."
        yield "markdown", opened[1], len(text), sentence
    elif link := _OPEN_LINK.search(text.rstrip(), max(0, len(text) - 500)):
        yield "markdown", link.start(), link.end(), "it ends inside a link."


def _underlines(text: str, start: int, length: int) -> bool:
    """Whether tildes are the line below a title, as in reStructuredText."""
    above = text[text.rfind("\n", 0, max(0, start - 1)) + 1 : max(0, start - 1)].strip()
    return bool(above) and abs(len(above) - length) <= 3


def truncated(text: str, lines: Lines) -> Iterator[Problem]:
    body = text.rstrip()
    match = _CUT.search(body, max(0, len(body) - 200))
    if match or _dangles(body):
        start = match.start() if match else max(0, len(body) - 12)
        yield "truncated", start, len(body), "it stops in the middle."


def _dangles(body: str) -> bool:
    """Whether the last word promises another one."""
    is_dense = not body[-40:].isascii() and bool(_DENSE.search(body[-40:]))
    if len(body) <= (20 if is_dense else 80):
        return False
    end = body[-40:]
    if _OPEN.search(end) or (is_dense and _JOINS.search(end)):
        return True
    if end[-1].isascii() and not end[-1].isalpha():  # a full stop: no word is the last
        return False
    before = body[-400:]
    return any(
        last.search(end) and (tells is None or len(tells.findall(before)) >= _MIN_LANGUAGE_WORDS)
        for tells, last in _UNFINISHED
    )
