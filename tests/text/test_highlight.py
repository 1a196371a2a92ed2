"""Colours of code change nothing of its text, whatever the text."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryhub.text import highlight, markdown
from tests.cases import for_each

PYTHON = 'def total(lines: list[int]) -> int:\n    """Cents."""\n    return sum(lines)  # never 1.5\n'


def test_each_kind_has_its_class():
    found = {text.strip(): css for text, css in highlight.pieces(PYTHON, "python")}
    assert found["def"] == "hl-k" and found["total"] == "hl-f" and found["# never 1.5"] == "hl-c"
    assert found['"""Cents."""'] == "hl-s"


@pytest.mark.sampled(6)
@pytest.mark.parametrize("language", sorted(highlight.LANGUAGES))
def test_every_language_is_known_and_keeps_the_text(language):
    for code in (PYTHON, "", "\n\n a\r\n\x00\u200b<b>\n", "x" * 30_000, "'" * 500, "/*" * 900 + "\n" + "(" * 900):
        assert "".join(text for text, _ in highlight.pieces(code, language)) == code
    assert highlight._lexer(language) is not None


@given(st.text(max_size=300), st.sampled_from(sorted(highlight.LANGUAGES)))
def test_any_text_is_kept(code, language):
    assert "".join(text for text, _ in highlight.pieces(code, language)) == code


def test_what_is_not_known_or_too_long_has_no_colours():
    assert highlight.pieces("x = 1", "brainfuck") == [("x = 1", "")]
    assert len(highlight.pieces("x = 1\n" * 9_000, "python")) == 1


def test_a_block_that_its_rules_take_long_for_has_no_colours():
    code = "a b\n" * 4_900
    began = time.thread_time()
    assert highlight.pieces(code, "java") == [(code, "")]
    assert time.thread_time() - began < 1


def test_rendered_code_is_the_same_text():
    shown = markdown.render(f"```python\n{PYTHON}```\n").html
    assert '<span class="hl-k">def</span>' in shown
    plain = re.sub(r"<[^>]+>", "", shown).replace("&gt;", ">").replace("&quot;", '"').strip("\n")
    assert plain == PYTHON.strip("\n")


def test_a_class_that_somebody_writes_stays_out():
    assert "hl-zzz" not in markdown.render('<span class="hl-zzz">x</span>').html


@pytest.mark.attack
def test_very_much_code_is_rendered_in_time():
    block = "```js\n" + "a(b, 'c', `d${e}`) // f\n" * 300 + "```\n\n"
    start = time.thread_time()
    shown = markdown.render(block * 30).html
    assert time.thread_time() - start < 4
    assert 0 < shown.count("hl-s") < 20_000


def test_markdown_is_coloured_line_by_line():
    text = "# Rules\n\n- Run `pytest -q`, **always**. <!-- why -->\n```\nmake `it`\n```\n"
    lines = highlight.lines(text, highlight.language_of("/memories/AGENTS.md"))
    assert "\n".join("".join(piece for piece, _css in line) for line in lines) == text
    coloured = [{piece: css for piece, css in line if css} for line in lines]
    assert coloured[0] == {"# Rules": "hl-k"} and coloured[4] == {"make `it`": "hl-s"}
    assert coloured[2] == {"- ": "hl-n", "`pytest -q`": "hl-s", "**always**": "hl-k", "<!-- why -->": "hl-c"}


@for_each(["[", "*", "`", "<!--", "```py\n", "- [ ", "  "])
def test_no_markdown_takes_long(sign):
    text = (sign * 20_000)[:20_000]
    began = time.perf_counter()
    assert "\n".join("".join(piece for piece, _css in line) for line in highlight.lines(text, "md")) == text
    assert time.perf_counter() - began < 2


@for_each([("/a/b.py", "py"), ("/x.MDX", "md"), ("/Makefile", "makefile"), ("/x.bin", ""), ("/md", "md")])
def test_the_language_of_a_file(path, language):
    assert highlight.language_of(path) == language
