"""Keys, tokens, passwords and connection strings: what must not become memory, nor be stored anywhere on the way.

From sure to careful: keys with a provider's prefix and credentials in links, headers and commands (`credentials`),
values given to a name such as `password`, and random strings on a line that speaks of a secret (`named_values`). What stands
in the place of a secret (`<token>`, `${TOKEN}`, `your-key-here`, `xxxx`) is none.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain

from .. import costs, encoded
from ..disguises import Read
from ..duplicate import KnownText
from ..finding import Finding, Lines, without_overlaps
from ..normalise import joined
from ..patterns import plain
from ..scanning import distinct_words, replaced
from .credentials import Hit, credentials, keys_in, provider_keys
from .named_values import RANDOM, loose_values, named_values, random_keys

CODE = "secrets"
MARK = "[secret removed: {kind}]"

_ENDING = plain(r"\.[A-Za-z]\w{0,4}$")
_UNSEEN = plain(
    r"(?<=[\w+/=.-])[\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]++(?=[\w+/=.-])"
)

_WIDE = plain("[\uff01-\uff5e\U0001d400-\U0001d7ff]")
_NARROW = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {
    chr(code): sign for code in range(0x1D400, 0x1D800) if len(sign := unicodedata.normalize("NFKC", chr(code))) == 1
}
"""Full-width and mathematical letters as plain ones: one for one, so that offsets stay."""


def find(text: str, lines: Lines, known: Sequence[KnownText] = ()) -> list[Finding]:
    """Every secret with its kind and line; the message never holds the secret."""
    return [_finding(lines, *hit) for hit in hits(text, lines)]


def redact(text: str) -> tuple[str, list[Finding]]:
    """The text with every secret replaced by a mark that names its kind, and what was found where in the text as sent. Raises
    TooCostly where that takes too long: a text that was not looked at whole may hold one."""
    with costs.limited(len(text)):
        found = find(text, Lines(text))
    parts, at = [], 0
    for one in found:
        parts += [text[at : one.start], MARK.format(kind=one.kind)]
        at = one.end
    return "".join([*parts, text[at:]]), found


def in_name(name: str) -> str:
    """The kind of a secret in a name (of a file, a thread, a call), or nothing; names are often random themselves."""
    bare = "\n".join(_ENDING.sub("", part) for part in name.split("/"))
    return next((kind for _, _, kind in [*hits(name), *hits(bare)] if kind != RANDOM), "")


def hits(text: str, lines: Lines | None = None) -> list[Hit]:
    """Start, end and kind of each secret, without overlaps: where two ways find one, the surer way names it."""
    if not text:
        return []
    if not text.isascii() and _UNSEEN.search(text):
        return _hits_without_unseen(text)
    if not text.isascii() and _WIDE.search(text):
        text, lines = replaced(text, _NARROW), None
    lines = lines or Lines(text)
    with costs.limited(len(text)):
        found = chain(
            _formats(lines),
            named_values(lines),
            random_keys(lines),
            loose_values(lines),
            _in_base64(lines.decoded),
            _read_otherwise(lines.readings),
            _over_lines(text),
        )
        return without_overlaps(found, lambda hit: hit[:2])


def _formats(lines: Lines) -> Iterator[Hit]:
    yield from provider_keys(lines.text, keys_in(lines.words))
    yield from credentials(lines)


def _hits_without_unseen(text: str) -> list[Hit]:
    """The hits of a text with invisible characters inside of words, found as if those were not there."""
    seen = joined(text, (match.span() for match in _UNSEEN.finditer(text)))
    return [(*seen.span(start, end), kind) for start, end, kind in hits(seen.text)]


def _in_base64(runs: Sequence[encoded.Decoded]) -> Iterator[Hit]:
    """Base64 of something that holds a secret; all that decodes to text is searched at once."""
    starts, at = [], 0
    for run in runs:
        starts.append(at)
        at += len(run.plain) + 1
    whole = Lines("\n".join(run.plain for run in runs))
    if not whole.text:
        return
    found = {
        bisect_right(starts, start) - 1: kind
        for start, _, kind in sorted({*_formats(whole), *named_values(whole)}, reverse=True)
    }
    for place, kind in sorted(found.items()):
        yield runs[place].start, runs[place].end, f"{kind} in base64"


def _read_otherwise(readings: Sequence[Read]) -> Iterator[Hit]:
    """Secrets whose letters are escaped, stand apart, or are turned around."""
    for read in readings:
        lines = Lines(read.plain)
        for start, end, kind in [*_formats(lines), *named_values(lines)]:
            yield *read.span(start, end), f"{kind} in {read.form}"


def _over_lines(text: str) -> Iterator[Hit]:
    """Keys of a known form that the end of a line cuts in two."""
    pieces = list(encoded.over_lines(text))
    if not pieces:
        return
    keys = keys_in(distinct_words("\n".join(whole.text for _, whole in pieces)))
    for at, whole in pieces:
        for start, end, kind in provider_keys(whole.text, keys):
            if whole.goes_over(start, end):
                first, last = whole.span(start, end)
                yield at + first, at + last, kind


def _finding(lines: Lines, start: int, end: int, kind: str) -> Finding:
    number = lines.number(start)
    message = f"A secret ({kind}) in line {number}. Secrets do not belong in memory: keep it in a vault and write its name here."
    return Finding(CODE, "high", start, end, number, message, kind)
