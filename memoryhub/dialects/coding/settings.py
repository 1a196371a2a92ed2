"""Settings files of coding agents: JSON with or without comments, TOML. What cannot be read counts as empty."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from .tree import Tree

MAX_COMMENTS = 1_000  # each that never closes is looked for to the end
JSON_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)


def read_json(tree: Tree, path: str) -> dict[str, Any]:
    """A JSON object; comments and trailing commas are allowed."""
    data = tree.read_settings(path)
    if data is None:
        return {}
    text = data.decode("utf-8-sig", "replace")
    try:
        found = json.loads(text)
    except ValueError:
        if text.count("/*") > MAX_COMMENTS:
            return {}
        try:
            found = json.loads(TRAILING_COMMA.sub(_string_only, JSON_COMMENT.sub(_string_only, text)))
        except ValueError:
            return {}
    return found if isinstance(found, dict) else {}


def _string_only(match: re.Match[str]) -> str:
    return match[1] or ""


def read_toml(tree: Tree, path: str) -> dict[str, Any]:
    data = tree.read_settings(path)
    try:
        return tomllib.loads((data or b"").decode("utf-8-sig"))
    except (ValueError, UnicodeDecodeError):
        return {}


def at(settings: Any, *keys: str) -> Any:
    """The value under nested keys; None where there is none."""
    for key in keys:
        if not isinstance(settings, dict):
            return None
        settings = settings.get(key)
    return settings
