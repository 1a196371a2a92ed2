"""What stands in a text in another form: base64 of text, and words that a line break cuts in two.

Other detectors look into it as into the text itself. All of it is bounded: what is longer than `MAX_DECODED` in all is left alone.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass

from . import packed
from .costs import TooCostly, spend
from .normalise import Joined, joined
from .patterns import Found, plain, plain_bytes

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
_BEFORE_END, _BEHIND_END = 16, 64  # characters, more than a joint can have before the end of a line and behind it
_BEHIND_WORD, _BEFORE_WORD = " \t\r\"'`\\+,|", " \t\r\"'`>*+#|-"
_IN_BOTH = 4  # signs that may belong to the joint or to a word
_IN_JOINT = frozenset(" \t\r\n\"'`\\+,>*#|-")
_WORD = plain(r"[A-Za-z0-9+/_=.-]+")
_BLANK = plain(r"\s")
_BESIDE = 200  # characters of the text on both sides of a joint that are looked at with the words that it joins
_LONGEST = 9_000  # characters of a word
_DIGIT = plain(r"[0-9]")
_BASE32 = plain(r"[A-Z2-7]{28,}=*")
_SIGNS_OF_85 = plain(r"[!#$%&()*;<=>?@^_{|}~\"':,.\[\]\\-]")
_MIN_SIGNS = 3
_Z85 = plain_bytes(rb"[0-9a-zA-Z.:+=^!/*?&<>()\[\]{}@%$#-]+")
_HEX = plain(r"(?:[0-9a-fA-F]{2})+")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A stretch of a text and what it says in plain words."""

    start: int
    end: int
    plain: str


def decoded(text: str, words: str) -> list[Decoded]:
    """Every stretch of base64 that decodes to text, also one that is cut into lines; `words` are the text's distinct words."""
    found = list(_base85(text, words))
    if all(len(word) < 8 or not _PIECE.search(word) for word in words.split("\n")):
        return found
    room = MAX_DECODED
    for chain in _chains(text):
        for one in _readings(text, chain):
            if (room := room - len(one.plain)) < 0:
                return found
            found.append(one)
    return found


def _base85(text: str, words: str) -> Iterator[Decoded]:
    """Words in one of the alphabets of base85 that say something: by chance no word does."""
    room = MAX_DECODED
    for word in words.split("\n"):
        if not MIN_RUN <= len(word) <= room + 8 or "://" in word or len(_SIGNS_OF_85.findall(word)) < _MIN_SIGNS:
            continue
        # Quotes around a word are signs of one alphabet as well.
        for bare in dict.fromkeys([word.removeprefix("<~").removesuffix("~>"), word.strip("\"'`,")]):
            if len(bare) >= MIN_RUN and (decoded := _from_base85(bare)) and (at := text.find(bare)) >= 0:
                room -= len(bare)
                yield Decoded(at, at + len(bare), decoded)
                break


def _from_base85(bare: str) -> str:
    spend()
    for read in (base64.b85decode, base64.a85decode, _z85decode):
        try:
            decoded = _as_text(read(bare.encode("ascii")))
        except (ValueError, UnicodeEncodeError):
            continue
        if decoded and (decoded.isascii() or _BLANK.search(decoded)):
            return decoded
    return ""


_FROM_Z85 = bytes.maketrans(
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#",
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~",
)


def _z85decode(data: bytes) -> bytes:
    """ZeroMQ's alphabet, as that of Git; characters that it does not have make no bytes."""
    return base64.b85decode(data.translate(_FROM_Z85)) if _Z85.fullmatch(data) else b""


def over_lines(text: str) -> Iterator[tuple[int, Joined]]:
    """Where lines end in the middle of a word: the text around it, joined, and where that begins.

    Every second joint is taken out alone as well: where both lines beside a joint end in the middle of a word, too, a key must
    not be hidden by what it is joined with.
    """
    for start, end, joints in _stretches(text, list(_joints(text))):
        within = [(first - start, last - start) for first, last in joints]
        piece = text[start:end]
        for chosen in [within, within[::2], within[1::2]] if len(within) > 1 else [within]:
            yield start, joined(piece, chosen)


def _stretches(text: str, joints: list[tuple[int, int]]) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """The words around joints, with what stands near them: where they begin and end, and the joints; those that touch together."""
    start = end = 0
    near: list[tuple[int, int]] = []
    for joint in joints:
        first = _word_start(text, joint[0] - _BESIDE)
        if near and first > end:
            yield start, end, near
            near = []
        start = min(start, first) if near else first
        end = max(end, _word_end(text, joint[1] + _BESIDE)) if near else _word_end(text, joint[1] + _BESIDE)
        near.append(joint)
    if near:
        yield start, end, near


def _word_start(text: str, at: int) -> int:
    """Where the word begins that a place stands in; no further away than a long key reaches."""
    for reach in (_BESIDE, _LONGEST):
        found = _BLANK.search(text[max(0, at - reach) : max(at, 0)][::-1])
        if found or at <= reach:
            return at - found.start() if found else 0
    return at - _LONGEST


def _word_end(text: str, at: int) -> int:
    found = _BLANK.search(text, at, at + _LONGEST)
    return found.start() if found else min(len(text), at + _LONGEST)


def _joints(text: str) -> Iterator[tuple[int, int]]:
    """Where a line ends in the middle of what could be a key: long enough together, and with a digit."""
    done, last = 0, len(text.rstrip())
    for first, at in _cut_lines(text):
        match = _JOINT.search(text, max(done, first, at - _BEFORE_END), at + _BEHIND_END)
        if match is None:
            continue
        spend()
        start, end = match.span()
        left, right = _WORD.match(text[max(0, start - MAX_WORD) : start][::-1]), _WORD.match(text, end, end + MAX_WORD)
        word = (left.group() if left else "") + (right.group() if right else "")
        if (
            len(word) >= MIN_WORD
            and _DIGIT.search(word)
            and not (right and _begins_paragraph(text, start, right, last))
        ):
            yield start, end
        done = end


def _cut_lines(text: str) -> Iterator[tuple[int, int]]:
    """Where lines begin and end whose last word and the first one after it are together as long as a key, with a digit."""
    if not _DIGIT.search(text):
        return
    lines = text.split("\n")
    first = 0
    heads = [words[0] if (words := line.lstrip(_BEFORE_WORD).split(None, 1)) else "" for line in lines[:4]]
    for place, line in enumerate(lines[:-1]):
        at = first + len(line)
        if tail := line.rstrip(_BEHIND_WORD).rsplit(None, 1)[-1:]:
            head = next(filter(None, heads[place + 1 : place + 4]), "")
            if len(tail[0]) + len(head) >= MIN_WORD - _IN_BOTH and _DIGIT.search(tail[0] + head):
                yield first, at
        first = at + 1
        if place + 4 < len(lines):
            words = lines[place + 4].lstrip(_BEFORE_WORD).split(None, 1)
            heads.append(words[0] if words else "")


def _begins_paragraph(text: str, start: int, right: Found, last: int) -> bool:
    """Whether a word behind an empty line is the first of a text, not all of its line and with a digit, as a piece of a key is.
    Behind `last` stand blanks alone."""
    if text.count("\n", start, right.start()) < 2:
        return False
    line = text[right.end() : right.end() + 4].lstrip("\"'` \t\r")
    return not _DIGIT.search(right.group()) or not (line.startswith("\n") or right.end() >= last)


def _chains(text: str) -> Iterator[list[tuple[int, int]]]:
    """Pieces of base64, those together that follow each other line by line, or are cut into words of one length."""
    chain: list[tuple[int, int]] = []
    for match in _PIECE.finditer(text):
        piece = match.span()
        if chain and not (piece[0] - chain[-1][1] <= MAX_GAP and _goes_on(text, chain, piece)):
            if len(chain) > 1 or chain[0][1] - chain[0][0] >= MIN_RUN:
                yield chain
            chain = []
        chain.append(piece)
    if chain:
        yield chain


def _goes_on(text: str, chain: list[tuple[int, int]], piece: tuple[int, int]) -> bool:
    gap = text[chain[-1][1] : piece[0]]
    if gap == " ":
        return chain[-1][1] - chain[-1][0] == chain[0][1] - chain[0][0]
    return 1 <= gap.count("\n") <= 3 and _IN_JOINT.issuperset(gap)


def _readings(text: str, chain: list[tuple[int, int]]) -> Iterator[Decoded]:
    """What the whole chain says, else without the word before it, else what each of its pieces says."""
    for pieces in (chain, chain[1:]) if len(chain) > 1 else ():
        run = "".join(text[start:end].rstrip("=") for start, end in pieces)
        if len(run) >= MIN_RUN and (decoded := decode(run)):
            yield Decoded(pieces[0][0], pieces[-1][1], decoded)
            return
    for start, end in chain:
        if end - start >= MIN_RUN and (decoded := decode(text[start:end])):
            yield Decoded(start, end, decoded)


def decode(run: str, depth: int = DEPTH) -> str:
    """The text in base64, base32 or in hexadecimal digits; empty where it is none that can be read."""
    if _BASE32.fullmatch(run) and (decoded := _as_text(_from_base32(run))):
        return decoded
    if _HEX.fullmatch(run) and (decoded := _as_text(bytes.fromhex(run))):
        return decoded
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
    decoded = _as_text(data[:MAX_DECODED])
    if depth > 1 and len(decoded) >= MIN_RUN and _PIECE.fullmatch(decoded.strip()):
        return decode(decoded.strip(), depth - 1) or decoded
    return decoded


def _from_base32(run: str) -> bytes:
    """As many bytes as whole groups of eight characters give, and of the rest what it is long enough for."""
    bare = run.rstrip("=")
    while len(bare) % 8 in (1, 3, 6):
        bare = bare[:-1]
    try:
        return base64.b32decode(bare + "=" * (-len(bare) % 8))
    except ValueError:
        return b""


def _unpacked_text(inside: packed.Unpacked) -> str:
    """The text that compressed bytes hold. What cannot be looked into is too costly to check: nobody knows what it says."""
    unpacked = _as_text(inside.content[:MAX_DECODED]) or inside.content[:MAX_DECODED].decode("latin-1")
    if not inside.is_whole or len(inside.content) > MAX_DECODED:
        raise TooCostly
    return unpacked


def _as_text(data: bytes) -> str:
    for encoding in _encodings(data):
        try:
            text = data.decode(encoding).lstrip("\ufeff")
        except UnicodeDecodeError:
            continue
        if _is_readable(text):
            return text
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


def _is_readable(text: str) -> bool:
    return bool(text) and text.translate(_LINE_SIGNS).isprintable()


_LINE_SIGNS = {ord("\n"): None, ord("\t"): None, ord("\r"): None}
