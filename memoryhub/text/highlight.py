"""Colours for code: the pieces of a text in a known language, each with the class of what it is. The text itself stays as it is."""

from __future__ import annotations

import contextlib
import time
from functools import cache

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token, _TokenType
from pygments.util import ClassNotFound

from memoryhub.text import engine

# Lexers that are quick on any text. A language that is not here is shown without colours.
LANGUAGES = frozenset(
    """
    bash c cpp csharp css diff docker dockerfile go html ini java javascript js json jsx kotlin make makefile php powershell
    py python rb rs ruby rust scala sh shell sql swift toml ts tsx typescript xml yaml yml zsh console
    """.split()  # noqa: SIM905  a table
)
ENDINGS = {
    "mdc": "md",
    "mdx": "md",
    "markdown": "md",
    "h": "c",
    "hpp": "cpp",
    "cs": "csharp",
    "kt": "kotlin",
    "cfg": "ini",
}
MARKDOWN = "md"
FENCES = ("```", "~~~")
LIST_MARKER = engine.compile(r"\s*(?:[-*+]|\d{1,9}[.)])(?:\s|$)|\s*>")
INLINE = engine.compile(
    r"(?P<code>`[^`]+`)|(?P<strong>\*\*[^*]+\*\*)|(?P<link>\[[^\]]*\]\([^)]*\))|(?P<comment><!--.*?-->)"
)
INLINE_CLASSES = {"code": "hl-s", "strong": "hl-k", "link": "hl-f", "comment": "hl-c"}
MAX_CODE = 20_000  # characters of one block
MAX_LINE = 1_000  # characters of a line: the rules of some languages take long on longer ones
MAX_PIECES = 4_000
MAX_SECONDS = 0.25  # of a processor for one block: Java's rules look for a method's name behind every word
# What a reader tells apart; inner kinds are of the kind around them.
CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Token.Comment, "hl-c"), (Token.Keyword, "hl-k"), (Token.Operator.Word, "hl-k"), (Token.Literal.String, "hl-s"),
    (Token.Literal.Number, "hl-n"), (Token.Name.Function, "hl-f"), (Token.Name.Class, "hl-f"), (Token.Name.Tag, "hl-k"),
    (Token.Name.Builtin, "hl-b"), (Token.Name.Attribute, "hl-b"), (Token.Name.Decorator, "hl-b"), (Token.Name.Variable, "hl-b"),
    (Token.Generic.Inserted, "hl-i"), (Token.Generic.Deleted, "hl-d"), (Token.Generic.Heading, "hl-k"), (Token.Generic.Prompt, "hl-c"),
)  # fmt: skip


def pieces(code: str, language: str) -> list[tuple[str, str]]:
    """The code in pieces, each with its class or none; one piece without a class where it is not coloured."""
    plain = [(code, "")]
    if language.lower() == MARKDOWN:
        with contextlib.suppress(TimeoutError):  # never of RE2
            return _markdown(code) if len(code) <= MAX_CODE else plain
        return plain
    if (
        language.lower() not in LANGUAGES
        or len(code) > MAX_CODE
        or any(len(line) > MAX_LINE for line in code.split("\n"))
    ):
        return plain
    lexer = _lexer(language.lower())
    found: list[tuple[str, str]] = []
    began = time.thread_time()
    for kind, text in lexer.get_tokens(code) if lexer else ():
        css = _class_of(kind)
        if found and found[-1][1] == css:
            found[-1] = found[-1][0] + text, css
        else:
            found.append((text, css))
        if len(found) > MAX_PIECES or time.thread_time() - began > MAX_SECONDS:
            return plain
    return found if "".join(text for text, _ in found) == code else plain


def lines(text: str, language: str) -> list[list[tuple[str, str]]]:
    """The lines of a text without their ends, each in pieces as `pieces` gives them."""
    found: list[list[tuple[str, str]]] = [[]]
    for piece, css in pieces(text, language):
        head, *more = piece.split("\n")
        found[-1].append((head, css))
        found += [[(line, css)] for line in more]
    return found


def language_of(path: str) -> str:
    """The language of a file by the ending of its name; "" for one without colours."""
    ending = path.rpartition("/")[2].rpartition(".")[2].lower()
    named = ENDINGS.get(ending, ending)
    return named if named in LANGUAGES or named == MARKDOWN else ""


def _markdown(code: str) -> list[tuple[str, str]]:
    """Headings, markers of lists, code, links and comments of Markdown, line by line."""
    # Not a lexer of the library: that one takes seconds for some texts of 20,000 characters.
    found: list[tuple[str, str]] = []
    is_code = False
    for number, line in enumerate(code.split("\n")):
        if number:
            found.append(("\n", ""))
        if line.lstrip().startswith(FENCES):
            is_code = not is_code
            found.append((line, "hl-c"))
        elif is_code or line.startswith("#"):
            found.append((line, "hl-s" if is_code else "hl-k"))
        else:
            found += _markdown_line(line)
    return [one for one in found if one[0]]


def _markdown_line(line: str) -> list[tuple[str, str]]:
    marker = LIST_MARKER.match(line)
    at = marker.end() if marker else 0
    found = [(line[:at], "hl-n")]
    for match in INLINE.finditer(line, at):
        found += [(line[at : match.start()], ""), (match.group(), INLINE_CLASSES[match.lastgroup or ""])]
        at = match.end()
    return [*found, (line[at:], "")]


@cache
def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@cache
def _class_of(kind: _TokenType) -> str:
    return next((css for outer, css in CLASSES if kind in outer), "")
