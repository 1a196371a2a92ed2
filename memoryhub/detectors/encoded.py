"""What stands in a text in another form: base64 of text, and words that a line break cuts in two.

Other detectors look into it as into the text itself. All of it is bounded: what is longer than `MAX_DECODED` in all is left alone.
"""

from __future__ import annotations

import base64
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from . import packed
from .costs import TooCostly, spend
from .patterns import Found, plain

MAX_DECODED = 256 * 1024  # characters of one text
MIN_RUN = 28  # characters of base64: 20 bytes
MAX_GAP = 16  # characters between the end of one line's piece and the beginning of the next one's
MIN_WORD, MAX_WORD = 16, 200  # characters of a key that is looked for on two lines
DEPTH = 2  # base64 of base64

_PIECE = plain(r"[A-Za-z0-9+/_-]{8,}={0,2}")
# What stands between the two halves of a word that is continued on the next line: quotes, signs of quoting, lists and addition.
_JOINT = plain(
    r"(?<=[A-Za-z0-9+/_=.-])[ \t]{0,4}[\"'`]?[ \t]{0,4}[\\+,|]?[ \t]{0,4}(?:\r?\n[ \t]{0,8}){1,3}"
    r"(?:[>*+#|-][ \t]{0,4}){0,2}[\"'`]?(?=[A-Za-z0-9+/_=.-])"
)
_IN_JOINT = frozenset(" \t\r\n\"'`\\+,>*#|-")
_WORD = plain(r"[A-Za-z0-9+/_=.-]+")
_DIGIT = plain(r"[0-9]")
_HEX = plain(r"(?:[0-9a-fA-F]{2})+")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A stretch of a text and what it says in plain words."""

    start: int
    end: int
    plain: str


@dataclass(frozen=True, slots=True)
class Joined:
    """A text without the joints between lines, and where in the text its characters stand."""

    text: str
    starts: list[int]  # of each part in the joined text
    shifts: list[int]  # how much further in the text each part stands

    def place(self, offset: int) -> int:
        return offset + self.shifts[bisect_right(self.starts, offset) - 1]

    def goes_over(self, start: int, end: int) -> bool:
        """Whether a stretch holds a joint."""
        return bisect_right(self.starts, start) != bisect_right(self.starts, end - 1)


def decoded(text: str, words: str) -> list[Decoded]:
    """Every stretch of base64 that decodes to text, also one that is cut into lines; `words` are the text's distinct words."""
    if all(len(word) < 8 or not _PIECE.search(word) for word in words.split("\n")):
        return []
    found: list[Decoded] = []
    room = MAX_DECODED
    for chain in _chains(text):
        for one in _readings(text, chain):
            if (room := room - len(one.plain)) < 0:
                return found
            found.append(one)
    return found


def joined(text: str, joints: Iterable[tuple[int, int]]) -> Joined:
    """The text without these joints."""
    parts, starts, shifts, at, size = [], [0], [0], 0, 0
    for start, end in joints:
        parts.append(text[at:start])
        size += start - at
        at = end
        starts.append(size)
        shifts.append(end - size)
    return Joined("".join([*parts, text[at:]]), starts, shifts)


def hits_over_lines(text: str, find: Callable[[str], Iterable[tuple[int, int, str]]]) -> Iterator[tuple[int, int, str]]:
    """What a search finds over the ends of lines, at its place in the text.

    Every second joint is taken out alone as well: where both lines beside a joint end in the middle of a word, too, a key must
    not be hidden by what it is joined with.
    """
    joints = list(_joints(text))
    views = [joints, joints[::2], joints[1::2]] if len(joints) > 1 else [joints]
    for chosen in views if joints else ():
        whole = joined(text, chosen)
        for start, end, kind in find(whole.text):
            if whole.goes_over(start, end):
                yield whole.place(start), whole.place(end - 1) + 1, kind


def _joints(text: str) -> Iterator[tuple[int, int]]:
    """Where a line ends in the middle of what could be a key: long enough together, and with a digit."""
    if not _DIGIT.search(text):
        return
    spans = [match.span() for match in _JOINT.finditer(text)]
    before = 0
    for (start, end), (following, _) in pairwise([*spans, (len(text), len(text))]):
        # No word goes over a line's end, so most pairs of short lines are too short before a look at them.
        room, before = start - before + following - end, end
        if room < MIN_WORD:
            continue
        spend()
        left, right = _WORD.match(text[max(0, start - MAX_WORD) : start][::-1]), _WORD.match(text, end, end + MAX_WORD)
        word = (left.group() if left else "") + (right.group() if right else "")
        if len(word) >= MIN_WORD and _DIGIT.search(word) and not (right and _begins_paragraph(text, start, right)):
            yield start, end


def _begins_paragraph(text: str, start: int, right: Found) -> bool:
    """Whether a word behind an empty line is the first of a text, not all of its line and with a digit, as a piece of a key is."""
    if text.count("\n", start, right.start()) < 2:
        return False
    line = text[right.end() : right.end() + 4].lstrip("\"'` \t\r")
    return not _DIGIT.search(right.group()) or not (line.startswith("\n") or right.end() >= len(text.rstrip()))


def _chains(text: str) -> Iterator[list[Found]]:
    """Pieces of base64, those together that follow each other line by line, or are cut into words of one length."""
    chain: list[Found] = []
    for piece in _PIECE.finditer(text):
        if chain and not _goes_on(text, chain, piece):
            yield chain
            chain = []
        chain.append(piece)
    if chain:
        yield chain


def _goes_on(text: str, chain: list[Found], piece: Found) -> bool:
    gap = text[chain[-1].end() : min(piece.start(), chain[-1].end() + MAX_GAP + 1)]
    if gap == " ":
        return len(chain[-1].group()) == len(chain[0].group())
    return len(gap) <= MAX_GAP and 1 <= gap.count("\n") <= 3 and _IN_JOINT.issuperset(gap)


def _readings(text: str, chain: list[Found]) -> Iterator[Decoded]:
    """What the whole chain says, else without the word before it, else what each of its pieces says."""
    for pieces in (chain, chain[1:]) if len(chain) > 1 else ():
        run = "".join(piece.group().rstrip("=") for piece in pieces)
        if len(run) >= MIN_RUN and (said := decode(run)):
            yield Decoded(pieces[0].start(), pieces[-1].end(), said)
            return
    for piece in chain:
        if len(piece.group()) >= MIN_RUN and (said := decode(piece.group())):
            yield Decoded(piece.start(), piece.end(), said)


def decode(run: str, depth: int = DEPTH) -> str:
    """The text in base64 or in hexadecimal digits; empty where it is none that can be read."""
    if _HEX.fullmatch(run) and (said := _as_text(bytes.fromhex(run))):
        return said
    bare = run.rstrip("=")
    bare = bare[: len(bare) - 1] if len(bare) % 4 == 1 else bare
    try:
        data = base64.b64decode(
            bare + "=" * (-len(bare) % 4), altchars=b"-_" if "-" in bare or "_" in bare else None, validate=True
        )
    except ValueError:
        return ""
    if (inside := packed.unpacked(data)) is not None:
        return _unpacked_text(inside)
    said = _as_text(data[:MAX_DECODED])
    if depth > 1 and len(said) >= MIN_RUN and _PIECE.fullmatch(said.strip()):
        return decode(said.strip(), depth - 1) or said
    return said


def _unpacked_text(inside: packed.Unpacked) -> str:
    """The text that compressed bytes hold. What cannot be looked into is too costly to check: nobody knows what it says."""
    said = _as_text(inside.content[:MAX_DECODED]) or inside.content[:MAX_DECODED].decode("latin-1")
    if not inside.is_whole or len(inside.content) > MAX_DECODED:
        raise TooCostly
    return said


def _as_text(data: bytes) -> str:
    for encoding in _encodings(data):
        try:
            said = data.decode(encoding).lstrip("\ufeff")
        except UnicodeDecodeError:
            continue
        if _is_readable(said):
            return said
    return ""


def _encodings(data: bytes) -> Iterator[str]:
    """UTF-8, and UTF-16 where every other byte is zero or its mark begins the text."""
    if b"\x00" not in data[:64] and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        yield "utf-8"
        return
    even = len(data) // 2 * 2
    if data[:2] == b"\xfe\xff" or data[:even:2].count(0) > data[1:even:2].count(0):
        yield "utf-16-be"
    else:
        yield "utf-16-le"


def _is_readable(said: str) -> bool:
    return bool(said) and said.translate(_LINE_SIGNS).isprintable()


_LINE_SIGNS = {ord("\n"): None, ord("\t"): None, ord("\r"): None}
