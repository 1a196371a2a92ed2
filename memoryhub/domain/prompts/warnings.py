"""Warnings of a prompt that detectors give, and all of them as a header of answers in plain text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from memoryhub import detectors
from memoryhub.db.cache import Cache
from memoryhub.dialects import Part, Warn

WARNING_CODES = {"secrets": "secret_like", "hidden": "hidden_characters"}
ANYWHERE = {"hidden": "hidden_characters"}  # a secret stands in no other part: the gate redacts them
MAX_PLACES = 200  # of one kind in one file; more are counted, not marked
MAX_HEADER = 2048  # bytes

Found = tuple[tuple[str, str, tuple[tuple[int, int], ...]], ...]
_found_in: Cache[Found] = Cache(
    "findings in prompts", key="SHA-256 of a text, and how many detectors", invalidated_by="nothing: the text decides",
    saves="running detectors again", max_items=5_000,
)  # fmt: skip


def findings_in(data: bytes, parts: Iterable[Part]) -> tuple[Warn, ...]:
    """What detectors find in a prompt: hidden characters anywhere, in its sources also text like a secret."""
    return tuple(warn for part in parts if part.kind != "template" for warn in findings_in_part(data, part))


def findings_in_part(data: bytes, part: Part) -> list[Warn]:
    """One warning per detector for a part, with the byte spans of its findings."""
    is_source = part.kind == "source"
    name = part.label if is_source else (part.label or part.kind).capitalize()
    return [
        Warn(code, part.label if is_source else None, f"{name}: {message}", at=part.start + spans[0][0],
             places=tuple((part.start + start, part.start + end) for start, end in spans))
        for code, message, spans in findings_in_text(data[part.start : part.end], WARNING_CODES if is_source else ANYWHERE)
    ]  # fmt: skip


def findings_in_text(text: bytes, codes: Mapping[str, str]) -> Found:
    """The warning's code, message and byte spans for each of these detectors that finds something."""
    if codes is ANYWHERE and text.isascii() and text.decode().replace("\n", "").replace("\t", "").isprintable():
        return ()  # what a question finds differs with every call
    key = hashlib.sha256(text).digest() + bytes([len(codes)])
    found = _found_in.get(key)
    if found is None:
        found = look_for_findings(text.decode(), codes)
        _found_in.put(key, found)
    return found


def look_for_findings(text: str, codes: Mapping[str, str]) -> Found:
    found = detectors.find(text, only=codes)
    warned = []
    for name, code in codes.items():
        mine = [one for one in found if one.code == name]
        if mine:
            # A detector counts lines of this part, which are neither those of the prompt nor of the file.
            message = mine[0].message.replace(f" in line {mine[0].line}.", ".", 1)
            others = f" ({len(mine)} places)" if len(mine) > 1 else ""
            spans = tuple(byte_span(text, one.start, one.end) for one in mine[:MAX_PLACES])
            warned.append((code, message + others, spans))
    return tuple(warned)


def byte_span(text: str, start: int, end: int) -> tuple[int, int]:
    first = len(text[:start].encode())
    return first, first + len(text[start:end].encode())


def as_header(warns: Iterable[Warn]) -> str:
    """`code;path="…", …`, each once: paths are percent-encoded UTF-8, so that any of them is safe in a header.

    As many as 2 kB take, then `more` with their number; an empty string without any.
    """
    items = list(dict.fromkeys(header_item(one) for one in warns))
    room, kept = MAX_HEADER - len(", more;count=999999"), 0
    while kept < len(items) and (room := room - len(items[kept]) - 2) >= 0:
        kept += 1
    left = [f"more;count={len(items) - kept}"] if kept < len(items) else []
    return ", ".join([*items[:kept], *left])


def header_item(warn: Warn) -> str:
    return f'{warn.code};path="{quote(warn.path, safe="/", errors="replace")}"' if warn.path else warn.code
