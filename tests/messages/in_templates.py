"""Sentences in templates: `{% translate %}`, `{% blocktranslate %}`, `_("…")` and `{% plural %}`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from django.template.base import Lexer, Token, TokenType
from django.utils.text import smart_split
from django.utils.translation import trim_whitespace

from tests.messages.in_python import PACKAGE, Message, counted

TEMPLATES = PACKAGE.parent / "templates"
MARKED = re.compile(r"""_\((?P<quote>["'])(?P<text>.*?)(?P=quote)\)""")


def files() -> list[Path]:
    return sorted(one for one in TEMPLATES.rglob("*.*") if one.suffix in (".html", ".txt"))


def tokens_of(source: str) -> list[Token]:
    return Lexer(source).tokenize()


def literal(word: str) -> str | None:
    """The text of a quoted word of a tag."""
    if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'":
        return word[1:-1].replace('\\"', '"').replace("\\'", "'")
    return None


def messages_of(source: str) -> Iterator[Message]:
    tokens = iter(tokens_of(source))
    for token in tokens:
        if token.token_type not in (TokenType.BLOCK, TokenType.VAR):
            continue
        yield from ((found["text"].replace("%", "%%"), "") for found in MARKED.finditer(token.contents))
        if token.token_type != TokenType.BLOCK:
            continue
        name, *words = smart_split(token.contents)
        text = literal(words[0]) if words else None
        if name in ("translate", "trans") and text is not None:
            yield text.replace("%", "%%"), ""
        elif name == "plural" and len(words) > 1:
            yield counted(*(found for word in words[1:3] if (found := literal(word)) is not None))
        elif name in ("blocktranslate", "blocktrans"):
            yield of_block(tokens, trimmed="trimmed" in words)


def of_block(tokens: Iterator[Token], *, trimmed: bool) -> Message:
    """The sentence up to the end of the block, and its plural."""
    texts = [""]
    for token in tokens:
        name = token.contents.split()[0] if token.contents.split() else ""
        if token.token_type == TokenType.BLOCK and name.startswith("endblocktrans"):
            break
        if token.token_type == TokenType.BLOCK and name == "plural":
            texts.append("")
        elif token.token_type == TokenType.VAR:
            texts[-1] += f"%({token.contents.strip()})s"
        elif token.token_type == TokenType.TEXT:
            texts[-1] += token.contents.replace("%", "%%")
    one, many = [trim_whitespace(text) if trimmed else text for text in [*texts, ""][:2]]
    return one, many
