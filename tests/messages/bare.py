"""Finds words that people read and that no gettext function gets: in templates, and in Python that pages are made of."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser

from django.template.base import Token, TokenType
from django.utils.text import smart_split

from tests.messages import in_python, in_templates
from tests.messages.in_templates import MARKED, literal, tokens_of
from tests.messages.prose import like_a_sentence, prose

VALUE = "\ufffc"  # where a tag or a variable stood
COMMA = re.compile(rf"(?:^|{VALUE})\s*,")  # behind a value or an element; Chinese has another
CSS_BLOCKS = ("_css", "_class")  # blocks that hold classes
READ_OUT = {"title", "placeholder", "aria-label", "aria-description", "aria-roledescription", "alt", "label", "summary"}
LITERAL = {"code", "kbd", "pre", "samp", "script", "style", "var"}  # elements whose text is no prose
NO_PROSE = {
    "include", "extends", "load", "url", "static", "if", "elif", "for", "block", "endblock", "ifchanged", "csrf_token",
    "cycle", "group_styles", "query",
    "current",
    "get_current_language", "get_available_languages", "now", "regroup", "spaceless", "autoescape", "plural",
}  # fmt: skip
SAYING_FILTERS = re.compile(r"\|(default|default_if_none|yesno|pluralize|join|add)(?::(?P<text>\"[^\"]*\"|'[^']*'))?")


# ---- templates ----


class Page(HTMLParser):
    """Collects the words between tags and in attributes that are read."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[tuple[int, str]] = []
        self.inside: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in LITERAL:
            self.inside.append(tag)
        kinds = dict(attrs)
        for name, value in attrs:
            says = (
                name in READ_OUT
                or name.startswith("data-say")
                or (name.startswith("data-") and like_a_sentence(value or ""))
            )
            says = says or (name == "value" and kinds.get("type") in ("submit", "button") and tag == "input")
            if says and value and prose(value):
                self.note(value)

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag: str) -> None:
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        if not self.inside and (prose(data) or COMMA.search(data)):
            self.note(data)

    def note(self, text: str) -> None:
        self.found.append((self.getpos()[0], " ".join(text.replace(VALUE, "…").split())))


CLASSES = re.compile(r"{% block (?:main_class|body_css) %}[\w -]*{% endblock %}")


def in_template(source: str) -> list[tuple[int, str]]:
    """Lines and words that are not marked for translation."""
    html, found, skipping = "", [], ""
    for token in tokens_of(CLASSES.sub("", source)):
        name = token.contents.split()[0] if token.contents.split() else ""
        if skipping:
            html += "\n" * token.contents.count("\n")
            skipping = "" if token.token_type == TokenType.BLOCK and name == skipping else skipping
        elif token.token_type == TokenType.BLOCK and name in ("blocktranslate", "blocktrans", "comment"):
            skipping = f"end{name}"
        elif token.token_type == TokenType.BLOCK and name == "block" and token.contents.endswith(CSS_BLOCKS):
            skipping = "endblock"
        elif token.token_type == TokenType.TEXT:
            html += token.contents
        else:
            html += ("" if token.token_type == TokenType.COMMENT else VALUE) + "\n" * token.contents.count("\n")
            found += [(token.lineno, text) for text in in_tag(token, name)]
    return sorted([*Page(html).found, *found])


def in_tag(token: Token, name: str) -> Iterator[str]:
    """Words in the quoted arguments of a tag or of filters."""
    if token.token_type == TokenType.COMMENT or name in ("translate", "trans"):
        return
    contents = MARKED.sub(VALUE, token.contents)
    for found in SAYING_FILTERS.finditer(contents):
        if found[1] == "pluralize" or (found["text"] and prose(found["text"])):
            yield found[0]
    if token.token_type == TokenType.BLOCK:
        words = list(smart_split(contents))[1:]
        given = [word.partition("=") for word in words]
        literals = [literal(value if equals else word) for word, (_, equals, value) in zip(words, given, strict=True)]
        skipped = 1 if name in ("g", "include", "with") else 0
        if name not in NO_PROSE - {"include"}:
            yield from (text for text in literals[skipped:] if text and like_a_sentence(text))


# ---- Python ----


def in_module(source: str) -> list[tuple[int, str]]:
    """Lines and literals that read like words for people and go neither through gettext nor into the catalogue as they are."""
    tree = ast.parse(source)
    names = in_python.gettext_names(tree)
    return sorted(
        (line, " ".join(text.split()))
        for line, text in bare_literals(tree, names)
        if like_a_sentence(text) and in_python.is_said(text)
    )


def bare_literals(node: ast.AST, names: dict[str, str]) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.lineno, node.value
    unread = {id(part) for part in in_python.unread_parts(node, names)}
    for child in ast.iter_child_nodes(node):
        if id(child) not in unread:
            yield from bare_literals(child, names)


# ---- all of it ----

PYTHON = ("web", "templatetags", "forms.py", "passwords.py")


def everywhere() -> dict[str, list[tuple[int, str]]]:
    """Lines and words of every file that has bare ones, by its name from the root of the tree."""
    root = in_python.PACKAGE.parent
    templates = [file for file in in_templates.files() if file.parent.name != "snippets"]  # those are code to copy
    found = {file: in_template(file.read_text()) for file in templates}
    for file in in_python.files():
        name = file.relative_to(in_python.PACKAGE)
        if name.parts[0] in PYTHON and not in_python.speaks(file):
            found[file] = in_module(file.read_text())
    return {file.relative_to(root).as_posix(): lines for file, lines in found.items() if lines}


if __name__ == "__main__":  # python -m tests.messages.bare templates/files memoryhub/web/files.py
    for file, lines in everywhere().items():
        for line, words in lines if file.startswith(tuple(sys.argv[1:] or ("",))) else ():
            print(f"{file}:{line}: {words}")
