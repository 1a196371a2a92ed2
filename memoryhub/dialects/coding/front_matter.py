"""The YAML block at the head of a Markdown file: taken off, and the few keys that agents read from it."""

from __future__ import annotations

import re

BLOCK = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)(?:^---[ \t]*(?:\r?\n|\Z))", re.DOTALL | re.MULTILINE)
KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:[ \t]*(.*)$")
ITEM = re.compile(r"[ \t]*-[ \t]+(.*)$")


def split(text: str) -> tuple[dict[str, str | list[str]], str]:
    """The keys of the front matter with their text or list, and the rest of the file; nothing and the whole text without one."""
    match = BLOCK.match(text)
    if not match:
        return {}, text
    return _keys(match[1]), text[match.end() :]


def _keys(block: str) -> dict[str, str | list[str]]:
    found: dict[str, str | list[str]] = {}
    name = ""
    for line in block.splitlines():
        if key := KEY.match(line):
            name = key[1]
            found[name] = _flow(_without_comment(key[2]))
        elif name and (item := ITEM.match(line)):
            items = found[name] if isinstance(found[name], list) else []
            found[name] = [*items, _bare(_without_comment(item[1]))]  # type: ignore[misc]
    return found


def _flow(value: str) -> str | list[str]:
    """A value in brackets is a list."""
    if value.startswith("[") and value.endswith("]"):
        return [_bare(part) for part in value[1:-1].split(",") if part.strip()]
    return _bare(value)


def _without_comment(value: str) -> str:
    return re.sub(r"(?:^|\s)#.*$", "", value).strip() if value[:1] not in "'\"" else value.strip()


def _bare(value: str) -> str:
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
