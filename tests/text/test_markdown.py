"""Markdown reads as on a code host, and nothing in it runs or fetches anything."""

from __future__ import annotations

import itertools
import json
import re
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memoryhub.text.markdown import TOO_LARGE, render
from tests.cases import for_each
from tests.markdown_files import blocks, files

REFERENCE = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
COUNT = 481


@pytest.mark.attack
def test_the_same_blocks_as_a_code_host_on_nearly_all_files():
    same = sum(blocks(render(text).html) == blocks(REFERENCE.render(text)) for text in files(COUNT))
    assert same / COUNT >= 0.95, f"{same} of {COUNT}"


@for_each([
        "Text\n- a list right after\n- b\n", "- a\n  - nested by two\n    - deep\n", "1. a\n   ```sh\n   x\n   ```\n2. b\n",
        "| a | b |\n|---|:-:|\n| `x\\|y` |\n", "para\n| a | b |\n|--|--|\n| 1 | 2 |\n", "- a\n\n- b\n", "- a\n\n  b\n- c\n", "a\n---\n",
        "> q\nlazy\n\n> r\n", "```\nunclosed\n\n- x\n", "    code\n", "* a\n* b\n\n\n- c\n", "text\n2. no list\n",
        "<div>\n*x*\n</div>\n\ny\n",
        "- [ ] a\n- [x] b\n", "#no\n\n####### no\n\n## yes ##\n", "- - a\n", "10) a\n11) b\n", "-\n\n  a\n", "+ a\n\n      code\n",
    ])  # fmt: skip
def test_constructs_that_real_files_have(text):
    assert blocks(render(text).html) == blocks(REFERENCE.render(text))


def html(text: str) -> str:
    return render(text).html


def test_inline_text():
    assert "<em>em</em>" in html("*em* and snake_case_words and __init__.py")
    assert "snake_case_words" in html("snake_case_words")
    assert "<del>gone</del>" in html("~~gone~~")
    assert "<code>a&lt;b</code>" in html("`a<b`")
    assert '<a href="https://a.example/x_(y)" rel="noopener nofollow">https://a.example/x_(y)</a>.' in html(
        "See https://a.example/x_(y)."
    )
    assert '<a href="https://www.a.example"' in html("www.a.example")
    assert 'href="docs/a.md"' in html("[a][r]\n\n[r]: docs/a.md")
    assert "☑" in html("- [x] done")
    assert "<br" in html("one  \ntwo")


def test_comments_are_drawn_for_people():
    assert '<span class="comment"><span class="sr">Comment, people only: </span>note</span>' in html(
        "<!-- note -->\n\ntext"
    )
    assert "note" in html("text <!-- note --> more")
    assert "the model sees it" in html("a\n\n<!-- never ends\n\nmore")


def test_front_matter_is_a_small_table():
    shown = html("---\nname: forge\ntags:\n  - a\n---\n# Title\n")
    assert '<table class="front-matter">' in shown
    assert "<th>name</th><td>forge</td>" in shown
    assert "front-matter" not in html("---\n\ntext\n\n---\n")


def test_headings_make_an_outline_with_names_of_their_own():
    found = render("# Main\n\n## Main\n\n## `nav` & more\n")
    assert [(h.level, h.anchor, h.text) for h in found.headings] == [
        (1, "h-main", "Main"), (2, "h-main-1", "Main"), (2, "h-nav-more", "nav & more"),
    ]  # fmt: skip
    assert 'href="#h-main"' in html("[up](#main)")


# ---- nothing runs, nothing is fetched

DANGEROUS = json.loads((Path(__file__).parent.parent / "fixtures" / "markdown_tricks.json").read_text())
FETCHES = {
    "audio", "base", "body", "button", "embed", "form", "frame", "frameset", "head", "html",
    "iframe", "image", "img", "input", "link", "math", "meta", "object", "picture", "portal",
    "script", "select", "source", "style", "svg", "template", "textarea", "title", "track", "video",
}  # fmt: skip
ALLOWED = {"href", "rel", "title", "class", "id", "start", "align", "colspan", "rowspan", "open", "aria-level"}


class Inert(HTMLParser):
    def handle_starttag(self, tag, attrs):
        assert tag not in FETCHES, tag
        for name, value in attrs:
            assert name in ALLOWED, f"{tag} {name}"
            if name == "href":
                bare = re.sub(r"[\x00-\x20]", "", value or "").lower()
                assert not re.match(r"[a-z][a-z0-9+.-]*:", bare) or bare.startswith(("http:", "https:", "mailto:")), (
                    value
                )
                assert dict(attrs).get("rel") == "noopener nofollow"
            if name == "id":
                assert value.startswith("h-")
            if name == "class":
                assert value in ("comment", "sr", "task", "box", "box done", "front-matter") or value.startswith(
                    ("language-", "hl-")
                )


@for_each(DANGEROUS)
def test_known_tricks_are_inert(text):
    for around in ("{}", "text {} text", "> {}", "- a\n\n  {}", "<b>{}", "{}</b>"):
        Inert().feed(html(around.format(text)))


@given(
    st.lists(
        st.sampled_from([*DANGEROUS, "<", ">", '"', "`", "\n", "\n\n", "[", "](", ")", "&", "<!--", "-->", "*", "a"]),
        max_size=6,
    )
)
@settings(max_examples=150, deadline=None)
def test_tricks_put_together_are_inert(pieces):
    Inert().feed(html("".join(pieces)))


@for_each([
        "[" * 20_000, "> " * 5_000 + "x", "- " * 5_000 + "x", "*a " * 20_000, "`" * 20_000 + "x", "<" * 20_000, "![" * 10_000,
        "[a](" * 8_000, "<!--" * 10_000, "~~" * 10_000, "_" * 20_000, "[a][" * 8_000, "&" * 20_000, "www." * 8_000, "\\" * 20_000,
        "<" * 1_000_000, "&" * 1_000_000, "<b>" * 300_000,
        "| a " * 8_000 + "\n" + "|-" * 8_000, "<a " * 8_000, "a\n" * 20_000, "#" * 20_000, "**a_b" * 5_000, "((" * 10_000,
    ])  # fmt: skip
def test_no_text_keeps_the_hub_busy(text):
    start = time.process_time()
    html(text)
    assert time.process_time() - start < 3


def test_a_text_of_four_times_the_length_takes_four_times_the_steps():
    text = "\n".join(files(40))[:10_000]
    render(f"{text}\n")  # lexers are loaded by then
    once, four = steps(text), steps("\n\n".join([text] * 4))
    assert 3 < four / once < 4.5, (once, four)


def steps(text):
    """How many functions are called to render it: the same on any machine, however busy."""
    count = itertools.count()
    sys.setprofile(lambda frame, event, arg: event in ("call", "c_call") and next(count))
    try:
        render(text)
    finally:
        sys.setprofile(None)
    return next(count)


def test_what_was_rendered_is_kept():
    text = "\n".join(files(10))
    assert render(text) is render(text)


@for_each(["# who reads this\nname: a\n", "\n# one\n# two\n\nname: a\nother: b\n", "#\nname: a\n"])
def test_front_matter_may_begin_with_a_comment(front):
    shown = html(f"---\n{front}---\n\n# Title\n")
    assert "front-matter" in shown and "<hr" not in shown and shown.count("<h1") == 1
    assert "<th>name</th>" in shown


def test_a_heading_between_two_rules_is_no_front_matter():
    assert "<h1" in html("---\n# Title\n---\n") and "front-matter" not in html("---\n# Title\n---\n")


def test_a_text_that_is_too_large_to_render_is_shown_as_source():
    text = "- <b>item</b>\n" * 20_000
    shown = html(text)
    assert TOO_LARGE in shown and "&lt;b&gt;item" in shown and "<li>" not in shown
