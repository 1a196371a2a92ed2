"""Settings files of coding agents: JSON with or without comments, TOML. What cannot be read counts as empty."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from .tree import Tree

MAX_TOML, MAX_DOTS = 1 << 20, 1_000  # dots in a line: a name of many parts takes their square to read
# What never closes goes to the end: were it looked for again behind each quotation mark, a text of marks alone would take hours.
JSON_COMMENT = re.compile(r'("(?:[^"\\]+|\\.)*"?)|//[^\n]*|/\*(?:.*?\*/|.*)', re.DOTALL)
TRAILING_COMMA = re.compile(r'("(?:[^"\\]+|\\.)*"?)|,(?=\s*[}\]])', re.DOTALL)


def read_json(tree: Tree, path: str) -> dict[str, Any]:
    """A JSON object; comments and trailing commas are allowed."""
    data = tree.read_settings(path)
    if data is None:
        return {}
    text = data.decode("utf-8-sig", "replace")
    try:
        found = json.loads(text)
    except RecursionError:  # brackets in brackets, of which no program has a thousand
        return {}
    except ValueError:
        try:
            found = json.loads(TRAILING_COMMA.sub(_string_only, JSON_COMMENT.sub(_string_only, text)))
        except (ValueError, RecursionError):
            return {}
    return found if isinstance(found, dict) else {}


def _string_only(match: re.Match[str]) -> str:
    return match[1] or ""


def read_toml(tree: Tree, path: str) -> dict[str, Any]:
    data = tree.read_settings(path) or b""
    if len(data) > MAX_TOML or any(line.count(b".") > MAX_DOTS for line in data.splitlines()):
        return {}
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}


def at(settings: Any, *keys: str) -> Any:
    """The value under nested keys; None where there is none."""
    for key in keys:
        if not isinstance(settings, dict):
            return None
        settings = settings.get(key)
    return settings
