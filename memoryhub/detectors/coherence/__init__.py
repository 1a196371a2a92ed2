"""Whether a text is worth remembering at all: for what agents log to quarantine."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from ..finding import Finding, Lines, Problem
from ..known_texts import KnownText
from ..patterns import bounded, plain
from .error_dumps import error_dump
from .refusals import refusal
from .truncation import broken_json, broken_markdown, truncated

CODE = "coherence"

_NOTHING = bounded(
    r"(?:null|none|nil|undefined|nan|n/?a|\{\s*\}|\[\s*\]|\(\s*\)|\"\s*\"|'\s*'|(?P<fence>```|~~~)\w*\s*(?P=fence)|\.{3,}|…+)\.?",
    "i",
)
_LETTER = plain(r"[^\W\d_]")
_WORD = plain(r"[^\W\d_]+")
# Lines of tables and rules are drawn with these, and are no broken text.
_RULE_LINE = plain(r"[-=_*#~.]{2,}|[|+\u2500-\u257f]")
# What UTF-8 looks like when it is read as Windows-1252, and the marks of texts that went through a wrong Chinese code page.
_MISREAD = plain(
    "[\xc2-\xf4][\x80-\xbf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122]{1,3}"
)
_WRONG_PAGE = plain("锟斤拷|烫烫|屯屯|\ufffd")
_CODE_SIGNS = plain(r"[`{=/]")
_VOWELS = frozenset("aeiouyаеёиоуыэюяіїєөүәұ")
_CONSONANTS = plain(r"[bcdfghjklmnpqrstvwxz]{6,}|[бвгджзйклмнпрстфхцчшщ]{6,}")
_KEYS = ("qwertzuiop", "qwertyuiop", "azertyuiop", "asdfghjkl", "zxcvbnm", "йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю", "ضصثقفغعهخحجد", "شسيبلاتنمكط")  # fmt: skip
_KEY_RUNS = frozenset(row[at : at + 5] for row in _KEYS for at in range(len(row) - 4))
_NEIGHBOURING_KEYS = plain(
    "asdf|sdfg|dfgh|fghj|ghjk|hjkl|zxcv|xcvb|qwer(?!ty)|fdsa|gfds|lkjh|rewq|poiu|vcxz|mnbv|фыва|йцук"
)
_MAX_SAMPLE = 8_000
_MAX_TAIL = 1_200
_LISTED, _MIN_DIFFERENT = 6, 0.5
"""Of a listing, so large a share of all stretches of so many words and numbers is there once."""
_MIN_REPEATS = 6
"""So many repetitions in a row, up to the end of a text, count as a model that got stuck."""


def find(text: str, lines: Lines, known: Sequence[KnownText] = ()) -> list[Finding]:
    """Empty, gibberish, cut off, repeating, an error dump, a refusal, or broken JSON or Markdown; the first that holds of each."""
    if _is_empty(text):
        return [_whole(text, "empty", "There is nothing in it.")]
    checks = (_gibberish, _repeats, error_dump, refusal, broken_json, broken_markdown, truncated)
    found = [
        Finding(CODE, "mid", start, end, lines.number(start), f"Incoherent: {sentence}", kind)
        for check in checks
        for kind, start, end, sentence in check(text, lines)
    ]
    return [one for one in found if one.kind != "truncated" or len(found) == 1]


def _whole(text: str, kind: str, sentence: str) -> Finding:
    return Finding(CODE, "high", 0, len(text), 1, f"Incoherent: {sentence}", kind)


def _is_empty(text: str) -> bool:
    bare = text.strip()
    if len(bare) > 100:
        return False
    if not bare.isascii():
        bare = "".join(char for char in bare if unicodedata.category(char) != "Cf").strip()
    return not bare or bool(_NOTHING.fullmatch(bare))


def _gibberish(text: str, lines: Lines) -> Iterator[Problem]:
    sample = text[:_MAX_SAMPLE]
    if _is_misread(sample):
        yield "gibberish", 0, len(text), "many characters were destroyed by a wrong encoding."
    elif _has_no_letters(sample):
        yield "gibberish", 0, len(text), "hardly any letters in it."
    elif _is_typed_blindly(sample):
        yield "gibberish", 0, len(text), "these are not words."


def _is_misread(sample: str) -> bool:
    if sample.isascii():
        return False
    solid = len(sample) - sum(map(str.isspace, sample))
    lost = len(_WRONG_PAGE.findall(sample))
    return lost > max(2, solid // 50) or sum(map(_reads_better, _MISREAD.findall(sample))) > max(2, solid // 60)


def _reads_better(run: str) -> bool:
    """Whether characters are one character of UTF-8 that somebody read byte by byte."""
    data = b"".join(char.encode("latin-1") if char <= "\xff" else char.encode("cp1252", "ignore") for char in run)
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _has_no_letters(sample: str) -> bool:
    bare = _RULE_LINE.sub("", sample)
    solid = len(bare) - sum(map(str.isspace, bare))
    return solid >= 12 and sum(map(str.isalnum, bare)) < solid * 0.25


def _is_typed_blindly(sample: str) -> bool:
    """Words that nobody can pronounce: next to no vowels, consonants in heaps, keys in the order of the keyboard."""
    words = _WORD.findall(sample)
    found = [word for word in words if len(word) >= 4 and not word.isupper()]
    if len(set(found)) < 3 or len(found) * 6 < len(sample.split()) or _CODE_SIGNS.search(sample):
        return False
    if any(not word.isascii() for word in words) and any(word.isascii() for word in found):
        return False  # Latin letters with accents: Czech has words without vowels
    odd = sum(len(word) for word in found if _is_unspeakable(word.lower()))
    return odd > sum(map(len, found)) * (0.5 if len(set(found)) > 4 else 0.6)


def _is_unspeakable(word: str) -> bool:
    if _NEIGHBOURING_KEYS.search(word) or any(word[at : at + 5] in _KEY_RUNS for at in range(len(word) - 4)):
        return True
    writes_vowels = len(word) > 4 and (word.isascii() or "\u0400" <= word[0] <= "\u04ff")
    share = sum(char in _VOWELS for char in word) / len(word)
    return writes_vowels and (share < 0.17 or (share < 0.3 and bool(_CONSONANTS.search(word))))


def _repeats(text: str, lines: Lines) -> Iterator[Problem]:
    if len(text) < 24:
        return
    sample = text[:20_000]
    rows = [row.strip() for row in sample.splitlines() if len(row.strip()) > 3]
    common, times = Counter(rows).most_common(1)[0] if rows else ("", 0)
    tokens = [token for token in sample.casefold().split() if _LETTER.search(token)]
    if times >= 5 and times > len(rows) * 0.6 and _LETTER.search(common):
        yield "repetition", 0, len(text), f"the same line {times} times."
    elif len(tokens) >= 12 and len(set(tokens)) <= max(2, min(30, len(tokens) // 12)) and not _is_listing(sample):
        yield "repetition", 0, len(text), "the same few words over and over."
    elif len(text) >= 40 and len(set(sample)) <= 2:
        yield "repetition", 0, len(text), "one character over and over."
    elif stuck := _stuck(text):
        yield "repetition", stuck, len(text), "it repeats itself to the end."


def _is_listing(sample: str) -> bool:
    """Few words, and numbers or names beside them that change: `shelf 1 holds 3 boxes`, `shelf 2 holds 5 boxes`."""
    signs = sample.split()
    if sum(map(_has_digit, signs)) * 8 < len(signs):
        return False
    windows = list(zip(*(signs[at:] for at in range(_LISTED)), strict=False))
    return len(set(windows)) >= len(windows) * _MIN_DIFFERENT


def _has_digit(sign: str) -> bool:
    return any(map(str.isdigit, sign))


def _stuck(text: str) -> int:
    """Where a text begins to repeat itself up to its end: 0 if it does not, 1 if it does from its beginning."""
    body = text.rstrip()
    tail = body[-_MAX_TAIL:]
    if tail.count(tail[-3:]) < _MIN_REPEATS:
        return 0
    back = tail[::-1]
    # The borders of every beginning of the text read backwards (Knuth, Morris, Pratt): a border is a period.
    border = [0] * len(back)
    length = best = 0
    for at in range(1, len(back)):
        while length and back[at] != back[length]:
            length = border[length - 1]
        length += back[at] == back[length]
        border[at] = length
        period = at + 1 - length
        if at + 1 >= 24 and (at + 1) >= _MIN_REPEATS * period and len(_LETTER.findall(back[:period])) * 2 >= period:
            best = at + 1
    return max(1, len(body) - best) if best else 0
