"""Long-term memory as JSON lines, out and in again without loss; a line is `entry_lines`."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator
from typing import Any

from memoryhub.domain import spaces
from memoryhub.domain.longterm import conflicts, entries
from memoryhub.domain.longterm.entry_lines import NAMES, as_line, clean_line, insert_entry, parse_entry, parse_json
from memoryhub.errors import Invalid, TooLarge
from memoryhub.models import Actor, Space

MAX_ENTRIES = 50_000  # of one file
MAX_BYTES = 32 * 1024 * 1024
READ_AT_ONCE = 200
MAX_NAMED = 20  # wrong lines that a refusal names
REFUSALS = (Invalid, TooLarge)
FAULTS = (*REFUSALS, AttributeError, KeyError, TypeError, ValueError)  # what a line that Export did not write may cause


def export_entries(space: Space) -> Iterator[str]:
    """Every entry with its history, one JSON object a line, oldest first."""
    settled = conflicts.settled_pairs(space)
    rows = entries.entries_of(space).select_related("agent").order_by("number")
    number = -1
    # No cursor: over all entries the database would copy all of them first, and others would wait for that.
    while found := rows.filter(number__gt=number)[:READ_AT_ONCE]:
        for entry in found:
            yield json.dumps(as_line(entry, settled.get(entry.number, [])), ensure_ascii=False) + "\n"
            number = entry.number


def check_import(space: Space, actor: Actor, data: bytes) -> list[dict[str, Any]]:
    """The lines of a file without secrets, each looked at; nothing is stored, and a refusal names each line that is wrong."""
    return _check_lines(space, actor, _lines(data), set(range(1, MAX_ENTRIES + 1)))


def import_without_secrets(space: Space, actor: Actor, data: bytes) -> list[dict[str, Any]]:
    """The lines of a file, of which only those that may hold a secret are looked at: the others are for a job to check."""
    lines = _lines(data)
    return _check_lines(space, actor, lines, {at + 1 for at in spaces.secret_suspects(map(_text_in, lines))})


def check_lines(space: Space, actor: Actor, lines: list[dict[str, Any]], progress: Callable[[int, int], None]) -> None:
    """Refuses lines that are wrong, as `checked_import` does."""
    wrong = {}
    for at, line in enumerate(lines, 1):
        try:
            parse_entry(space, actor, line)
        except FAULTS as refusal:
            wrong[at] = _explain(refusal)
        progress(0, len(lines))
    if wrong:
        raise _refusal(wrong)


def _check_lines(space: Space, actor: Actor, lines: list[str], closely: Container[int]) -> list[dict[str, Any]]:
    found, wrong = [], {}
    for at, text in enumerate(lines, 1):
        try:
            line = parse_json(text)
            if at in closely:
                line = clean_line(line)
                parse_entry(space, actor, line)
            found.append(line)
        except FAULTS as refusal:
            wrong[at] = _explain(refusal)
    if wrong:
        raise _refusal(wrong)
    return found


def _text_in(line: str) -> str:
    """All that a line says, each on lines of its own, so that it can be looked through for secrets."""
    try:
        return "\n".join(_texts(parse_json(line)))
    except (Invalid, RecursionError):
        return line


def _texts(value: Any, lead: str = "") -> Iterator[str]:
    if isinstance(value, str):
        yield from (value, lead + value) if lead else (value,)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in NAMES:
                yield key
            yield from _texts(inner, "" if key in NAMES else f"{key}: ")


def _lines(data: bytes) -> list[str]:
    if len(data) > MAX_BYTES:
        raise Invalid("This is more than 32 MiB. Bring it in in parts.", code="too_large")
    lines = [line for line in _decode(data).split("\n") if line.strip()]
    if not lines or len(lines) > MAX_ENTRIES:
        raise Invalid(
            f"The file has {len(lines):,} entries; 1 to {MAX_ENTRIES:,} can come in at once.", code="invalid_content"
        )
    return lines


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid("The file is not UTF-8 text.", code="invalid_content") from None


def _refusal(wrong: dict[int, str], so: str = "Nothing was brought in.") -> Invalid:
    named = [f"Line {at}: {says}" for at, says in list(wrong.items())[:MAX_NAMED]]
    more = [f"and {len(wrong) - MAX_NAMED:,} more lines"] if len(wrong) > MAX_NAMED else []
    return Invalid(
        f"{'; '.join(named + more)}. {so}", code="invalid_content", line=next(iter(wrong)), lines=named + more, so=so
    )


def _explain(wrong: Exception) -> str:
    """What is wrong with a line, for whoever has to mend it."""
    if isinstance(wrong, REFUSALS):
        return wrong.message.removesuffix(".")
    return f"it lacks {wrong}" if isinstance(wrong, KeyError) else "a value in it has another form than Export gives it"


def import_lines(space: Space, actor: Actor, lines: list[dict[str, Any]], first: int, some: range) -> None:
    """Stores some lines of a file, its first one under this number (in the caller's transaction, under the space's lock)."""
    numbers = {one["number"]: number for number, one in enumerate(lines, first) if one.get("number")}
    for at in some:
        try:
            insert_entry(actor, parse_entry(space, actor, lines[at]), first + at, numbers)
        except FAULTS as refusal:
            raise _refusal({at + 1: _explain(refusal)}, f"{some.start:,} entries are in.") from None
