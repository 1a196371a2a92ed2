"""HTML comments in one pass: what the library's own pattern finds, however a text is made."""

from __future__ import annotations

import random
import re
import time

from memoryhub.dialects import Ingredients, Source, render
from memoryhub.text import comments
from tests.cases import for_each

PATTERN = re.compile(r"<!--.*?-->", re.DOTALL)
PIECES = (
    "<!--",
    "-->",
    "<",
    "!",
    "-",
    "--",
    ">",
    "<!-",
    "->",
    "a",
    "\n",
    " ",
    "é",
    "\r\n",
    "<!-->",
    "<!--->",
    "protected",
    "\x00",
)


def texts(count: int) -> list[str]:
    chance = random.Random(20261119)
    return ["".join(chance.choices(PIECES, k=chance.randint(0, 30))) for _ in range(count)]


def test_comments_are_those_of_the_pattern() -> None:
    for text in texts(20_000):
        assert comments.without(text) == PATTERN.sub("", text), text
        assert comments.found(text) == PATTERN.findall(text), text
        assert comments.has_comment(text) == bool(PATTERN.search(text)), text


@for_each(["deepagents/0.6.3", "deepagents", "hub"])
def test_dialects_print_what_the_pattern_leaves(dialect: str) -> None:
    for text in texts(400):
        plain = PATTERN.sub("", text)
        ours, theirs = (
            render(dialect, Ingredients(template="{agent_memory}", sources=(Source("/a", one),))).fragment
            for one in (text, plain)
        )
        assert ours == theirs or "<!--" in plain, text


@for_each(["<!--", "<!-- -", "--><!--", "<!-- a -->", "<!--\n"])
def test_a_megabyte_of_comments_is_no_work(unit: str) -> None:
    text = unit * ((1 << 20) // len(unit))
    start = time.process_time()
    comments.without(text), comments.found(text)
    render("deepagents", Ingredients(template="{agent_memory}", sources=(Source("/a", text),)))
    assert time.process_time() - start < 2
