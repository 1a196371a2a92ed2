"""Characters that a reader does not see and a model does, and words that only look like other words."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from .costs import spend
from .duplicate import KnownText
from .finding import Finding, Lines, Severity
from .normalise import CYRILLIC, LOOKALIKES
from .patterns import Found, plain

CODE = "hidden"

_KINDS: tuple[tuple[str, str, Severity, str], ...] = (
    ("tag", "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff", "high", "tag characters"),
    ("variation", "\U000e0100-\U000e01ef\ufe00-\ufe0f", "high", "variation selectors"),
    ("bidi", "\u202a-\u202e\u2066-\u2069", "high", "characters that turn the reading direction"),
    ("zero-width", "\u200b-\u200d\u2060\ufeff\u180e\u034f", "high", "zero-width characters"),
    ("invisible", "\u2061-\u2065\u206a-\u206f\ufff0-\ufffb\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800"
     "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a", "high", "invisible characters"),
    ("strike", "\u0335-\u0338\u0488\u0489\u20d2\u20d3\u20d8-\u20da\u20dd-\u20e0\u20e2\u20e4-\u20e6\u20ea\u20eb", "mid",
     "marks that strike letters out for readers alone"),
    ("mark", "\u200e\u200f\u061c", "mid", "direction marks"),
    ("soft-hyphen", "\u00ad", "mid", "soft hyphens"),
    ("control", "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f", "high", "control characters"),
    ("line-break", "\u2028\u2029", "mid", "line breaks that editors do not show"),
)  # fmt: skip
_RUN = plain("[" + "".join(chars for _, chars, _, _ in _KINDS) + "]+")
_WHICH = [plain(f"[{chars}]") for _, chars, _, _ in _KINDS]
_NAMES = {
    0x200B: "zero-width space", 0x200C: "zero-width non-joiner", 0x200D: "zero-width joiner", 0x2060: "word joiner",
    0xFEFF: "byte order mark inside the text", 0x1B: "escape character", 0x202E: "right-to-left override",
}  # fmt: skip
_JOINING = plain(r"[\u0590-\u08ff\u0900-\u0dff\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u1800-\u18af]")
_RTL = plain(r"[\u05d0-\u05ea\u0620-\u064a\u0671-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")

_FOREIGN = plain(r"[\u0370-\u03ff\u0400-\u052f]")
_LETTERS = plain(r"[^\W\d_]+")
_STYLED_LETTER = plain("[\U0001d400-\U0001d7ff]")
_STYLED = plain("[\U0001d400-\U0001d7ff][\U0001d400-\U0001d7ff ]{2,}")
_LATIN = plain(r"[A-Za-z]")


def find(text: str, lines: Lines, known: Sequence[KnownText] = ()) -> list[Finding]:
    """Invisible characters, characters that reorder text, and words mixed from look-alike letters."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return []  # most texts, without a look at each character
    used = "".join(set(text))
    found: list[Finding] = []
    if _RUN.search(used):
        found += [_invisible(text, lines, match) for match in _RUN.finditer(text) if not _is_harmless(text, match)]
    if _FOREIGN.search(used):
        found += [_mixed(lines, match) for match in _words_with_foreign(text) if _is_lookalike(used, match.group())]
    if _STYLED_LETTER.search(used):
        found += [_styled(lines, match) for match in _STYLED.finditer(text)]
    return found


def _words_with_foreign(text: str) -> Iterator[Found]:
    """Whole words that hold a letter of another alphabet, found from the letter outwards."""
    at = 0
    while hit := _FOREIGN.search(text, at):
        start = hit.start()
        while start > at and text[start - 1].isalpha():
            start -= 1
        if text[start - 1 : start] == "\\" and text[start] in "nrt":
            start += 1  # a line's end as code writes it
        match = _LETTERS.match(text, start)
        at = max(hit.end(), match.end() if match else 0)
        if match:
            yield match


def _is_harmless(text: str, match: Found) -> bool:
    """What scripts and emoji need: joiners in them, a variation selector after a sign, a mark at the file's start."""
    run, before, after = match.group(), text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    if run == "\ufeff":
        return match.start() == 0
    if run in ("\u200c", "\u200d"):
        return bool(_JOINING.match(before)) or (run == "\u200d" and _is_sign(before) and _is_sign(after))
    if run in ("\ufe0f", "\ufe0e"):
        return _is_sign(before) or before in "0123456789#*"
    if run == "\ufe0f\u200d":
        return _is_sign(before)
    if len(run) == 1 and 0xE0100 <= ord(run) <= 0xE01EF:
        return unicodedata.category(before or " ") == "Lo"
    if run[0] == "\u200e" or run[0] == "\u200f" or run == "\u061c":
        return bool(_RTL.search(text, max(0, match.start() - 40), match.end() + 40))
    return _is_flag(text, match)


def _is_sign(char: str) -> bool:
    return bool(char) and (
        char in "ℹ〰"
        or unicodedata.category(char) in ("So", "Sm", "Sk", "Po", "Mn")
        or "\U0001f3fb" <= char <= "\U0001f3ff"
    )


_FLAGS = {"gbeng", "gbsct", "gbwls"}


def _is_flag(text: str, match: Found) -> bool:
    """The flags of England, Scotland and Wales are the only tag sequences in use."""
    return text[match.start() - 1 : match.start()] == "\U0001f3f4" and _hidden_message(match.group()) in _FLAGS


def _hidden_message(run: str) -> str:
    """The plain letters that tag characters or variation selectors carry."""
    return "".join(filter(None, map(_hidden_letter, run)))


def _hidden_letter(char: str) -> str:
    code = ord(char)
    if 0xE0020 <= code <= 0xE007E:
        return chr(code - 0xE0000)
    byte = code - 0xFE00 if 0xFE00 <= code <= 0xFE0F else code - 0xE0100 + 16 if 0xE0100 <= code <= 0xE01EF else 0
    return chr(byte) if 32 <= byte < 127 else ""


def _invisible(text: str, lines: Lines, match: Found) -> Finding:
    spend()
    run = match.group()
    kind, _, severity, many = next(row for row, which in zip(_KINDS, _WHICH, strict=True) if which.search(run))
    what = f"{len(run)} {many}" if len(run) > 1 else _NAMES.get(ord(run), f"1 of the {many} (U+{ord(run):04X})")
    inside = _is_inside_word(text, match.start(), match.end())
    parts = [f"Hidden: {what} inside a word." if inside else f"Hidden: {what}.", "Readers do not see this, models do."]
    spelled = _hidden_message(run) if kind in ("tag", "variation") else ""
    if len(spelled) > 1:
        parts.append(f"They spell: “{spelled[:120]}”.")
    return Finding(CODE, severity, match.start(), match.end(), lines.number(match.start()), " ".join(parts), kind)


def _is_inside_word(text: str, start: int, end: int) -> bool:
    return text[start - 1 : start].isalnum() and text[end : end + 1].isalnum()


def _is_lookalike(used: str, word: str) -> bool:
    """Mixed with Latin letters, or all of it look-alikes in a text that has no other word of that script."""
    foreign = [char for char in word if "\u0370" <= char <= "\u052f"]
    if len(word) < 3 or not all(char in LOOKALIKES for char in foreign):
        return False
    if _LATIN.search(word):
        return True
    return all(char in CYRILLIC for char in word) and not _reads_cyrillic(used)


def _reads_cyrillic(used: str) -> bool:
    return any("\u0400" <= char <= "\u052f" and char not in CYRILLIC for char in used)


def _mixed(lines: Lines, match: Found) -> Finding:
    word = match.group()
    looks = "".join(LOOKALIKES.get(char, char) for char in word)
    script = "Cyrillic" if any(char in CYRILLIC for char in word) else "Greek"
    message = f"Hidden: a word that looks like “{looks[:40]}” has {script} letters in it, so it is another word."
    return Finding(CODE, "high", match.start(), match.end(), lines.number(match.start()), message, "lookalike")


def _styled(lines: Lines, match: Found) -> Finding:
    plain = unicodedata.normalize("NFKC", match.group()).strip()
    message = f"Hidden: mathematical letters that spell “{plain[:60]}”; searching for the word does not find it."
    return Finding(CODE, "mid", match.start(), match.end(), lines.number(match.start()), message, "styled")
