"""Our list of what Hermes blocks, against the module of the fetched package: `python -m tests.conformance.coding_agents.hermes_words`."""

from __future__ import annotations

import importlib.util
import random
import sys

from memoryhub.dialects.coding.hermes_words import WORDINGS, findings_in
from tests.conformance.coding_agents.programs import install

BETWEEN = (" ", " ", " ", " ", " ", "  ", "\n", "\t", " \n ", "", "\u00a0", "\u2003")
MORE = [
    "<!--",
    "-->",
    ">",
    "<",
    "div",
    "style",
    '="',
    "display",
    ":",
    "none",
    "check-in",
    "check",
    "in",
    "with",
    "tasks",
    "network",
    "one-liners",
    "unset",
    "CLAUDE_X",
    "cobalt",
    "strike",
    "c2",
    "server",
    "channel",
    "command",
    "control",
    "$KEY",
    "${TOKEN}",
    "$MY_API_X",
    ".env",
    ".netrc",
    "https://x",
    "http://",
    "authorized_keys",
    "$HOME/.ssh",
    "~/.ssh",
    "~/.hermes/.env",
    "AGENTS.md",
    ".cursorrules",
    ".hermes/config.yaml",
    "token",
    "=",
    ":",
    "'abcdefghijklmnopqrstuvwx'",
    "register",
    "as",
    "a",
    "node",
    "name",
    "yourself",
    "foo",
    "é",
    "ｃａｔ",
]


def words_of(phrase: str) -> list[list[str]]:
    return [token.split("|") for token in phrase.split() if not token.startswith("%")]


EVERY = [
    word.replace("_", " ") for one in WORDINGS for phrase in one.phrases for words in words_of(phrase) for word in words
]


def text(chance: random.Random) -> str:
    """Words of the list in some order, or one of its wordings with others between."""
    words, pool = [], [*EVERY, *MORE]
    for phrase in chance.choice(WORDINGS).phrases if chance.random() < 0.6 else ():
        for choices in words_of(phrase):
            count = chance.choice((0, 0, 1, 3, 8, 9)) if choices == ["…"] else 0
            words += chance.choices(pool, k=count) if choices == ["…"] else [chance.choice(choices).replace("_", " ")]
        words += chance.choices(pool, k=chance.choice((0, 0, 1, 4)))
    words = words or chance.choices(pool, k=chance.choice((3, 8, 40)))
    said = "".join(word + chance.choice(BETWEEN) for word in words)
    return said.upper() if chance.random() < 0.2 else said


def main() -> int:
    count, wrong = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000, 0
    (path,) = install("hermes").parents[1].glob("lib/python3*/site-packages/tools/threat_patterns.py")
    spec = importlib.util.spec_from_file_location("threat_patterns", path)
    assert spec and spec.loader
    theirs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(theirs)
    for seed in range(count):
        said = text(random.Random(seed))
        for scope in ("context", "strict"):
            if sorted(theirs.scan_for_threats(said, scope)) != sorted(findings_in(said, is_strict=scope == "strict")):
                wrong += 1
                print(f"{scope}, {said!r}: theirs {theirs.scan_for_threats(said, scope)}")
    print(f"hermes, wordings: {count - wrong} of {count} texts equal")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
