"""Words that are written in another way: percent, HTML and backslash escapes, letters with blanks between them, backwards, rot13.

Each place is read as it is meant, with what stands around it, and every character remembers where it stands in the text. Letters
and digits need none of it, so a text that escapes them hides something; what honest texts escape (`%20`, `&amp;`) is left alone.
"""

from __future__ import annotations

import codecs
import html
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from .costs import TooCostly, spend
from .patterns import Found, Plain, plain
from .scanning import Needles, Words, lowered, offsets_of

MAX_READ = 512 * 1024
"""Characters of one text that are read again; a text with more of them is too costly to check."""
_MAX_ESCAPES = 4_000  # that are read together; the last ones of them with the next ones again
_AGAIN = 200
_BESIDE = 300  # characters on both sides of an escape that are read with it
_MAX_LINE = 1_000

_ESCAPE = plain(
    r"%[2-7][0-9A-Fa-f]|%u[0-9A-Fa-f]{4}|&#[0-9]{2,7};|&#[xX][0-9A-Fa-f]{1,6};|&(?:lowbar|commat|period|colon|sol|num|equals|plus);|"
    r"\\{1,4}(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|U[0-9A-Fa-f]{8}|[01][0-7]{2})"
)
_WORD_SIGNS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_LETTER_ALONE = plain(r"(?m)^[^\s]$")
_MIN_ALONE = 5  # different letters that stand alone
_SPACED = plain(r"(?<![^\s\"'`(])[^\s\"'`]([ \t])(?:[^\s\"'`][ \t]{1,3}){6,20000}[^\s\"'`](?![^\s\"'`).,;!?])")
_HAS_SPACED = plain(r"[ \t](?:[^\s\"'`][ \t]{1,3}){6}")
_HAS_DOTTED = plain(r"(?:[A-Za-z0-9_][.*|·~-]){7}[A-Za-z0-9_](?![A-Za-z0-9_])")
_DOTTED = plain(r"(?<![A-Za-z0-9_])[A-Za-z0-9_]([.*|·~-])(?:[A-Za-z0-9_]\1{1,3}){6,20000}[A-Za-z0-9_](?![A-Za-z0-9_])")
_HAS_WORDS_APART = plain(r"(?:[A-Za-z][.*|·~_-]){3}[A-Za-z](?![A-Za-z0-9])")
_WORDS_APART = plain(
    r"(?<![A-Za-z0-9.*|·~_-])(?:[A-Za-z][.*|·~_-]){1,30}+[A-Za-z](?:[ \t]{1,3}+(?:(?:[A-Za-z][.*|·~_-]){1,30}+[A-Za-z]|[AaIi])){1,400}+(?![A-Za-z0-9])"
)
"""`i.g.n.o.r.e a.l.l`: words whose letters stand apart, with blanks between the words."""
_MARK = r"<!--[^<>]{0,100}-->|</?[A-Za-z]{1,10} ?/?>|[*`]{1,3}"
# It begins with a sign that Python looks for at once, and looks back from there.
_MARK_IN_WORD = plain(
    r"[<*`](?<=[A-Za-z0-9][<*`])(?:(?<=<)(?:!--[^<>]{0,100}-->|/?[A-Za-z]{1,10} ?/?>)|(?<=[*`])[*`]{0,2})"
    rf"(?:{_MARK}){{0,3}}(?=[A-Za-z0-9])"
)
"""What a page does not show, or only draws the word with: a comment, a tag, the marks of Markdown."""
_MIN_MARKS = 2
_KEY, _DIGIT = plain(r"[A-Za-z0-9+/_=.-]+"), plain(r"[0-9]")
_MIN_KEY = 20
"""Characters, and a digit among them, of a word in which one mark is enough: it may be a key, and holds no order."""
_SQUEEZED = plain(
    r"(?i)(ignore|disregard|forget)(all|any|every)?(of)?(the|your|my)?(previous|prior|above|earlier|preceding)(instructions?|rules?|prompts?|orders?|messages?)"
)
_BACKWARDS = Needles(word[::-1] for word in ("ignore", "disregard", "previous", "instruction", "password", "api_key", "secret", "github_pat_", "ghp_", "sk-ant-", "sk-proj-", "xoxb-", "glpat-", "akia"))  # fmt: skip
_ROT13 = Needles(codecs.encode(word, "rot13") for word in ("ignore all", "ignore prev", "disregard", "previous instruc", "instructions", "password", "api_key", "github_pat_", "ghp_", "sk-ant-", "sk-proj-", "xoxb-", "glpat-"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Read:
    """A stretch of a text as it is meant, where each of its characters stands in the text, and how it was written."""

    plain: str
    places: Sequence[int]
    """One more than there are characters: the last one is where the stretch ends."""
    form: str

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where in the text a stretch of the plain words stands."""
        first, last = self.places[start], self.places[end]
        return (first, last) if first < last else (self.places[end - 1], first + 1)


def readings(text: str, words: str, lower_words: Words) -> list[Read]:
    """What stands in a text in one of these ways, with its distinct words. Raises TooCostly where that is too much."""
    found: list[Read] = []
    room = MAX_READ
    for one in _all(text, words, lower_words):
        if (room := room - len(one.plain)) < 0:
            raise TooCostly
        spend()
        found.append(one)
    return found


def _all(text: str, words: str, lower_words: Words) -> Iterator[Read]:
    if "%" in words or "&" in words or "\\" in words:
        yield from _unescaped(text)
    if len(_LETTER_ALONE.findall(words)) >= _MIN_ALONE and _HAS_SPACED.search(text):
        yield from _together(text, _SPACED)
    if _HAS_DOTTED.search(words):
        yield from _together(text, _DOTTED)
    if _HAS_WORDS_APART.search(words):
        yield from _words_together(text)
    if "<" in words or "*" in words or "`" in words:
        yield from _without_marks(text)
    if there := _BACKWARDS.there(lower_words):
        yield from _lines(text, lower_words, there, _backwards)
    if there := _ROT13.there(lower_words):
        yield from _lines(text, lower_words, there, _rot13)


def _unescaped(text: str) -> Iterator[Read]:
    """The text around escapes that stand for letters, digits, hyphens and underscores."""
    near: list[tuple[int, int, str]] = []
    for match in _ESCAPE.finditer(text):
        sign = _decoded(match)
        spend()
        if near and (len(near) >= _MAX_ESCAPES or match.start() > near[-1][1] + _BESIDE):
            yield from _with_escapes_read(text, near)
            near = near[-_AGAIN:] if len(near) >= _MAX_ESCAPES else []
        if sign:
            near.append((match.start(), match.end(), sign))
    yield from _with_escapes_read(text, near)


def _decoded(match: Found) -> str:
    written = match.group()
    if written.startswith("&"):
        sign = html.unescape(written)
    elif written.startswith("\\") and (bare := written.lstrip("\\"))[0] in "01":
        sign = chr(int(bare, 8))
    else:
        sign = chr(min(int(written.lstrip("%\\xuU{").rstrip("}") or "0", 16), 0x10FFFF))
    return sign if len(sign) == 1 and sign.isprintable() else ""


def _with_escapes_read(text: str, escapes: list[tuple[int, int, str]]) -> Iterator[Read]:
    if not any(sign in _WORD_SIGNS for _, _, sign in escapes):
        return
    at, end = max(0, escapes[0][0] - _BESIDE), min(len(text), escapes[-1][1] + _BESIDE)
    parts: list[str] = []
    places: list[int] = []
    for start, stop, sign in escapes:
        parts += [text[at:start], sign]
        places += [*range(at, start), start]
        at = stop
    yield Read("".join([*parts, text[at:end]]), [*places, *range(at, end + 1)], "escapes")


def _together(text: str, pattern: Plain) -> Iterator[Read]:
    """Letters one by one, without what stands between them; where words are further apart than letters, words again."""
    for match in pattern.finditer(text):
        start, end = match.span()
        signs: list[str] = []
        places: list[int] = []
        gap = 0
        for at in range(start, end):
            is_gap = text[at] == match[1] or (match[1].isspace() and text[at].isspace())
            if is_gap and gap == 1:
                signs.append(" ")
                places.append(at)
            elif not is_gap:
                signs.append(text[at])
                places.append(at)
            gap = gap + 1 if is_gap else 0
        yield from _in_words(Read("".join(signs), [*places, end], "letters with blanks between them"))


def _words_together(text: str) -> Iterator[Read]:
    """Words whose letters stand apart, each put together."""
    for match in _WORDS_APART.finditer(text):
        places = [at for at in range(*match.span()) if text[at].isalpha() or text[at].isspace()]
        yield Read("".join(text[at] for at in places), [*places, match.end()], "letters with signs between them")


def _without_marks(text: str) -> Iterator[Read]:
    """The text around marks that stand inside of words, without them."""
    near: list[tuple[int, int]] = []
    for match in _MARK_IN_WORD.finditer(text):
        spend()
        if near and (len(near) >= _MAX_ESCAPES or match.start() > near[-1][1] + _BESIDE):
            yield from _joined(text, near)
            near = []
        near.append(match.span())
    yield from _joined(text, near)


def _joined(text: str, marks: list[tuple[int, int]]) -> Iterator[Read]:
    if not marks:
        return
    at, end = max(0, marks[0][0] - _BESIDE), min(len(text), marks[-1][1] + _BESIDE)
    if len(marks) < _MIN_MARKS:
        left, right = _KEY.match(text[at : marks[0][0]][::-1]), _KEY.match(text, marks[0][1], end)
        at, end = marks[0][0] - (left.end() if left else 0), right.end() if right else marks[0][1]
        if end - at < _MIN_KEY or not _DIGIT.search(text, at, end):
            return
    places: list[int] = []
    for start, stop in marks:
        places += range(at, start)
        at = stop
    places += range(at, end)
    yield Read("".join([text[at] for at in places]), [*places, end], "pieces with marks between them")


def _in_words(read: Read) -> Iterator[Read]:
    """Words that ran together, apart again where they are those of an order."""
    yield read
    for match in _SQUEEZED.finditer(read.plain):
        parts = [part for part in match.groups() if part]
        places: list[int] = []
        at = match.start()
        for part in parts:
            places += [*read.places[at : at + len(part)], read.places[at + len(part)]]
            at += len(part)
        yield Read(" ".join(parts), places, read.form)


def _lines(text: str, words: str, needles: Iterable[str], read: Callable[[str, int, int], Read]) -> Iterator[Read]:
    """The lines in which one of the needles stands, each once."""
    done = -1
    for at in sorted(offsets_of(lowered(text), needles, words)):
        if at < done:
            continue
        start = max(text.rfind("\n", 0, at) + 1, at - _MAX_LINE)
        end = text.find("\n", at)
        done = min(len(text) if end < 0 else end, at + _MAX_LINE)
        yield read(text, start, done)


def _backwards(text: str, start: int, end: int) -> Read:
    return Read(text[start:end][::-1], [*range(end - 1, start - 1, -1), start], "letters in reverse")


def _rot13(text: str, start: int, end: int) -> Read:
    return Read(codecs.encode(text[start:end], "rot13"), range(start, end + 1), "rot13")
