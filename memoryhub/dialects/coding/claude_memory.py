"""The index of Claude Code's own memory: the folder it lies in, and how much of it is loaded."""

from __future__ import annotations

from . import front_matter
from .markdown_imports import without_block_comments

MEMORY_LINES, MEMORY_UNITS = 200, 25_000
JS_WHITE_SPACE = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))


def trimmed(text: str) -> str:
    """Without white space around it, as JavaScript trims: a byte order mark counts, some control characters do not."""
    return text.strip(JS_WHITE_SPACE)


def project_slug(path: str) -> str:
    """The folder name under which Claude Code keeps what belongs to a project."""
    units = _utf16(path)
    slug = "".join(chr(unit) if chr(unit).isascii() and chr(unit).isalnum() else "-" for unit in units)
    if len(slug) <= 200:
        return slug
    total = 0
    for unit in units:
        total = (total * 31 + unit) & 0xFFFFFFFF
    total = abs(total - (1 << 32) if total >= 1 << 31 else total)
    return f"{slug[:200]}-{_base36(total)}"


def _utf16(text: str) -> list[int]:
    data = text.encode("utf-16-le", "surrogatepass")
    return [data[at] | data[at + 1] << 8 for at in range(0, len(data), 2)]


def _base36(number: int) -> str:
    digits = ""
    while True:
        number, rest = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[rest] + digits
        if not number:
            return digits


def cut_memory(raw: str) -> tuple[str, int | None]:
    """The part of an index that is loaded, with the program's warning where it was cut, and the first line that is lost."""
    text = trimmed(without_block_comments(front_matter.split(raw)[1]))
    lines, units = text.split("\n"), len(_utf16(text))
    if len(lines) <= MEMORY_LINES and units <= MEMORY_UNITS:
        return text, None
    kept = "\n".join(lines[:MEMORY_LINES])
    if len(_utf16(kept)) > MEMORY_UNITS:
        head = _first_units(kept, MEMORY_UNITS)
        kept = head[:at_newline] if (at_newline := head.rfind("\n")) > 0 else head
    count = kept.count("\n") + 1
    return kept + _warning(lines, units, count), _line_in_file(raw, text, count) if count < len(lines) else None


def _first_units(text: str, limit: int) -> str:
    return text.encode("utf-16-le", "surrogatepass")[: 2 * limit].decode("utf-16-le", "replace")


def _line_in_file(raw: str, text: str, count: int) -> int:
    """The number, in the file, of the line behind the first `count` of the loaded text."""
    offset = len(raw.replace("\r\n", "\n").split("\n")) - len(raw.replace("\r\n", "\n").lstrip().split("\n"))
    shift = max(0, raw.count("\n") + 1 - len(raw[len(raw) - len(raw.lstrip()) :].split("\n"))) or offset
    front = raw.count("\n") - front_matter.split(raw)[1].count("\n")
    return max(shift, front) + count + 1


def _warning(lines: list[str], units: int, count: int) -> str:
    many, large = len(lines) > MEMORY_LINES, units > MEMORY_UNITS
    size, limit = f"{_kilobytes(units)}", f"{_kilobytes(MEMORY_UNITS)}"
    if many and large:
        what = f"{len(lines)} lines and {size} (limits: {MEMORY_LINES} lines, {limit})"
    elif many:
        what = f"{len(lines)} lines (limit: {MEMORY_LINES})"
    else:
        what = f"{size} (limit: {limit})"
    lost = len(lines) - count
    first = lines[count] if count < len(lines) else ""
    return (
        f"\n\n> WARNING: MEMORY.md is {what}. Only part of it was loaded: {lost} of {len(lines)} lines were cut off,"
        f' starting at line {count + 1} ("{first}"). Keep index entries to one line under ~200 chars; move detail into topic files.'
    )


def _kilobytes(units: int) -> str:
    return f"{units / 1024:.1f}".removesuffix(".0") + "KB"
