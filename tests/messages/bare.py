"""Finds words that people read and that no gettext function gets: in templates, and in Python that pages are made of."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser

from django.template.base import Token, TokenType
from django.utils.text import smart_split

from tests.messages import in_python, in_templates
from tests.messages.in_templates import MARKED, literal, tokens_of

VALUE = "\ufffc"  # where a tag or a variable stood
WORD = re.compile(r"[A-Za-z]{2,}")
# Names and terms that are written alike in every language.
SAME_EVERYWHERE = (
    "memoryhub", "Markdown", "JSON", "CSV", "YAML", "API", "MCP", "URL", "ETag", "SHA-256", "sha256", "UTF-8", "LF",
    "CRLF", "BOM", "HTML", "ZIP", "Zip", "deepagents-code", "deepagents", "LangGraph", "Anthropic SDK", "Anthropic",
    "Claude Code", "Claude", "Codex", "Cursor", "Gemini CLI", "OpenCode", "Copilot CLI", "Copilot", "Hermes",
    "Windsurf", "Zed", "Amp", "Aider", "Cline", "OpenClaw", "Ollama", "OpenAI", "Slack", "GitHub", "Git", "Python",
    "JavaScript", "PostgreSQL", "OpenID Connect", "OIDC", "Ctrl", "Cmd", "Alt", "Shift", "Enter", "Esc", "Tab",
    "cosine", "kB", "MB", "GB", "min", "ms", "BM25", "HNSW", "English", "rk", "AGENTS.md", "CLAUDE.md", "GEMINI.md",
    "MEMORY.md", "SKILL.md", "Codex CLI", "Edge", "Opera", "Firefox", "Chrome", "Safari", "Android", "Windows",
    "Mac OS", "Linux", "curl", "pip", "npm", "vim", "Django", "htmx", "CodeMirror", "text-embedding-3-small", "TOTP", "QR",
)  # fmt: skip
NAMES = re.compile(
    "|".join(rf"(?<![A-Za-z]){re.escape(one)}(?![A-Za-z])" for one in sorted(SAME_EVERYWHERE, key=len, reverse=True))
)
READ_OUT = {"title", "placeholder", "aria-label", "aria-description", "aria-roledescription", "alt", "label", "summary"}
CSS_BLOCKS = ("_css", "_class")  # blocks that hold classes
LITERAL = {"code", "kbd", "pre", "samp", "script", "style", "var"}  # elements whose text is no prose
NO_PROSE = {
    "include", "extends", "load", "url", "static", "if", "elif", "for", "block", "endblock", "ifchanged", "csrf_token",
    "cycle", "group_styles", "query",
    "current",
    "get_current_language", "get_available_languages", "now", "regroup", "spaceless", "autoescape", "plural",
}  # fmt: skip
SAYING_FILTERS = re.compile(r"\|(default|default_if_none|yesno|pluralize|join|add)(?::(?P<text>\"[^\"]*\"|'[^']*'))?")


def prose(text: str) -> bool:
    """Whether a text has words that would have to be translated."""
    text = NAMES.sub(" ", text)
    text = re.sub(
        r"&\w+;|https?://\S+|\S*[/_@]\S*|\{[^}]*\}|--?[a-z-]+|\S+\.(md|py|json|toml|yaml|txt|jsonl|zip|css|js)\b",
        " ",
        text,
    )
    return bool(WORD.search(NAMES.sub(" ", text)))


def like_a_sentence(text: str) -> bool:
    """Whether a literal, which may be a name of something, reads like words for people."""
    bare = re.sub(r"<[^>]*>|%\(\w+\)s|%[sd]|\{[^}]*\}", " ", text).strip()
    if not prose(bare) or re.search(r"[<>=;{}\\|^$]|::|\(\?|\bSELECT\b", bare):
        return False
    words = bare.split()
    if len(words) > 1 and sum(1 for word in words if WORD.search(word)) > 1:
        return not all(word in css_classes() for word in words)
    return bool(re.fullmatch(r"[A-Z][a-z]{2,}[.:…]?", bare))


@cache
def css_classes() -> set[str]:
    styles = " ".join(file.read_text() for file in (in_python.PACKAGE.parent / "static/css").rglob("*.css"))
    return set(re.findall(r"\.([a-zA-Z][\w-]*)", styles)) | {"g", "split"}


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
        if not self.inside and prose(data):
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

QUIET = {
    "getLogger",
    "Cache",
    "info",
    "warning",
    "error",
    "exception",
    "debug",
    "compile",
    "RuntimeError",
    "TypeError",
    "ValueError",
    "KeyError",
    "AssertionError",
    "ImproperlyConfigured",
    "Cache",  # its words are for docs/develop
    "JsonResponse",
    "removeprefix",
    "removesuffix",
    "startswith",
}
# Codes of two words: what a page asks for, classes of CSS, what a shell takes.
CODES = {"signed in", "found mild", 'pip install "', "Referer", "Lax"}


def in_module(source: str, tables: tuple[str, ...] = ()) -> list[tuple[int, str]]:
    """Lines and literals that read like words for people and go neither through gettext nor into the catalogue as they are."""
    tree = ast.parse(source)
    said = {one for message in in_python.messages_of(source, tables) for one in message}
    quiet = set(silent_nodes(tree, in_python.gettext_names(tree)))
    found = []
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in quiet
            and node.value.strip() not in CODES
            and like_a_sentence(node.value)
        ):
            known = node.value.strip() in said or any(node.value.replace("%", "%%").strip() in one for one in said)
            if not known:
                found.append((node.lineno, " ".join(node.value.split())))
    return sorted(found)


def silent_nodes(tree: ast.Module, names: dict[str, str]) -> Iterator[int]:
    """Literals that nobody reads on a page: docstrings, what gettext gets, log lines, mistakes of programmers, keys and subscripts."""
    for node in ast.walk(tree):
        parts: list[ast.AST] = []
        if (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) or (
            isinstance(node, ast.Call)
            and (in_python.called(node) in names or in_python.called(node) in {*QUIET, *in_python.TOLD, "plural"})
        ):
            parts = [node]
        elif isinstance(node, ast.Dict):
            parts = [key for key in node.keys if key]
        elif isinstance(node, ast.Subscript):
            parts = [node.slice]
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            parts = [node.value]  # headers of answers
        elif isinstance(node, ast.Compare):
            parts = [node]
        for part in parts:
            yield from (id(one) for one in ast.walk(part))


# ---- all of it ----

PYTHON = ("web", "templatetags", "management", "forms.py", "middleware.py", "passwords.py", "refusals.py")


def everywhere() -> dict[str, list[tuple[int, str]]]:
    """Lines and words of every file that has bare ones, by its name from the root of the tree."""
    root = in_python.PACKAGE.parent
    templates = [file for file in in_templates.files() if file.parent.name != "snippets"]  # those are code to copy
    found = {file: in_template(file.read_text()) for file in templates}
    for file in in_python.files():
        name = file.relative_to(in_python.PACKAGE)
        if name.parts[0] in PYTHON:
            found[file] = in_module(file.read_text(), in_python.TABLES.get(name.as_posix(), ()))
    return {file.relative_to(root).as_posix(): lines for file, lines in found.items() if lines}


if __name__ == "__main__":  # python -m tests.messages.bare templates/files memoryhub/web/files.py
    for file, lines in everywhere().items():
        for line, words in lines if file.startswith(tuple(sys.argv[1:] or ("",))) else ():
            print(f"{file}:{line}: {words}")
