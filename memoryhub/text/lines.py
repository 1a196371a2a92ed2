"""Texts as lines (pure). Bytes that are no UTF-8 survive: in through `text_of`, out through `bytes_of`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memoryhub.text.match import changes, matching_spans


def text_of(content: bytes) -> str:
    """Bytes as text; those that are no UTF-8 become lone surrogates."""
    return content.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """The bytes that `text_of` read."""
    return text.encode("utf-8", "surrogateescape")


def is_text(content: bytes) -> bool:
    """Whether a content can travel as text: valid UTF-8 without NUL."""
    try:
        return "\x00" not in content.decode()
    except UnicodeDecodeError:
        return False


def split(text: str) -> list[str]:
    """Lines with their LF; the last one may have none."""
    lines = text.split("\n")
    last = lines.pop()
    result = [line + "\n" for line in lines]
    return [*result, last] if last else result


# ---- texts that went through a browser's text field

_END = re.compile(r"\r\n|\r|\n")
BOM = "\ufeff"


def for_editor(text: str) -> str:
    """The text without BOM and with LF at every line end, as a text field shows it."""
    return _END.sub("\n", text.removeprefix(BOM))


def keep_ends(before: str, edited: str) -> str:
    """An edited text with the BOM and the line ends of the text before: unchanged lines keep their own, new lines get that of
    the line above. Browsers send every line end as CR LF, whatever the file had."""
    rows, ends = _lines_and_ends(before.removeprefix(BOM))
    new_rows, _ = _lines_and_ends(edited)
    old_ends: dict[int, str] = {}  # by the place of the line in the edited text
    spans = list(matching_spans(rows, new_rows))
    # Lines that were rewritten one for one keep their place, and with it their end.
    spans += [(i, j, i2 - i) for i, i2, j, j2 in changes(rows, new_rows) if i2 - i == j2 - j]
    for i, j, size in spans:
        old_ends.update({j + step: ends[i + step] for step in range(size) if i + step < len(ends)})
    new_ends, last = [], ends[0] if ends else "\n"
    for at in range(len(new_rows) - 1):
        last = old_ends.get(at, last)
        new_ends.append(last)
    pieces = [row + end for row, end in zip(new_rows, [*new_ends, ""], strict=True)]
    return (BOM if before.startswith(BOM) else "") + "".join(pieces)


def _lines_and_ends(text: str) -> tuple[list[str], list[str]]:
    return _END.split(text), _END.findall(text)


def describe_ends(text: str) -> str:
    """Which line ends, BOM and final newline a text has, in a few words for people."""
    kinds = {"\n": "LF", "\r\n": "CR LF", "\r": "CR"}
    found = [kinds[end] for end in dict.fromkeys(_END.findall(text))]
    parts = [" and ".join(found) + (" mixed" if len(found) > 1 else "") if found else "one line"]
    parts.append("BOM" if text.startswith(BOM) else "no BOM")
    if text and not _END.search(text[-1]):
        parts.append("no newline at the end")
    return ", ".join(parts)


def places_of(wanted: Sequence[str], lines: Sequence[str], start: int = 0) -> Iterator[int]:
    """Where all of the wanted lines follow each other, from `start` on, in time that grows with the lines alone (Knuth, Morris, Pratt)."""
    if not wanted:
        return
    back, known = [0], 0  # for each wanted line: how many of the first ones end there
    for line in wanted[1:]:
        while known and line != wanted[known]:
            known = back[known - 1]
        known += line == wanted[known]
        back.append(known)
    known = 0
    for at in range(start, len(lines)):
        while known and (known == len(wanted) or lines[at] != wanted[known]):
            known = back[known - 1]
        known += lines[at] == wanted[known]
        if known == len(wanted):
            yield at - known + 1
