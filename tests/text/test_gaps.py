"""Lines that go on for long and then end otherwise than they began: nothing that reads a text takes their square."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from memoryhub import detectors
from memoryhub.detectors import secrets
from memoryhub.domain.proposals.reviewing import HEADING
from memoryhub.templatetags.hidden_characters import drawn, label_hidden_in_page, line_html
from memoryhub.text import comments, diff, diff_rows, edits, markdown, needles, split, unseen
from tests.fixtures.shapes import GAPS, gap

SIZE = 1 << 18
SECONDS = 2.0
READERS: dict[str, Callable[[str], object]] = {
    "line": line_html,
    "text": drawn,
    "page": label_hidden_in_page,
    "spelled out": unseen.spelled_out,
    "heading": HEADING.match,
    "comments": comments.without,
    "protected": lambda text: edits.check_protected(text.encode(), b""),
    "pieces": split.split,
    "diff": lambda text: diff.compare(text, text[: SIZE // 2] + "x" + text[SIZE // 2 :]).hunks,
    "word diff": lambda text: diff_rows.word_marks(text, text[: SIZE // 2] + "x" + text[SIZE // 2 :]),
    "edit": lambda text: edits.string_not_found(text, text[: SIZE // 2] + "x"),
    "needles": needles.pieces_of,
    "secrets": secrets.redact,
    "detectors": lambda text: detectors.find(text, only=(*detectors.PROPOSAL, "coherence")),
}


@pytest.mark.sampled(60)
@pytest.mark.parametrize(("around", "unit"), GAPS)
def test_no_reader_takes_long(around, unit):
    slow, text = [], gap(around, unit, SIZE)
    for name, read in READERS.items():
        began = time.thread_time()
        read(text)
        if (taken := time.thread_time() - began) > SECONDS:
            slow.append((name, round(taken, 1)))
    assert slow == []


@pytest.mark.sampled(50)
@pytest.mark.parametrize(("around", "unit"), GAPS)
def test_what_is_rendered_is_rendered_soon(around, unit):
    text = gap(around, unit, 240_000)[-markdown.MAX_CHARACTERS :]
    began = time.thread_time()
    markdown.render(text)
    assert time.thread_time() - began <= SECONDS


OPEN = [
    "<div>", "<b>", "<p><b>", "<b></p>", "<div><table><td></div></td></table>", "<ul><li>", "<i title={}><p>",
    "<div><i title={}></div>\n\n", "<a title={}></div>", "<p><u title={}></p>", "<i title={}>\n\n- a\n\n",
    "<td><i title={}></td>", "</b><b title={}><p></p>",
]  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("unit", OPEN)
def test_html_that_is_not_closed_costs_no_more_than_it_says(unit):
    """What is opened in one element and not closed there is opened again in the next, by browsers and by html5lib."""
    for size in (20_000, 240_000):
        text = "".join(unit.format(number) for number in range(size // len(unit)))[:size]
        began = time.thread_time()
        found = markdown.render(text)
        assert time.thread_time() - began < 3 and len(found.html) < 20 * size


def test_html_that_is_nearly_in_order_is_rendered():
    text = "<b>bold <i>both</b>\n\n" + "<p>one<p>two\n\n" * 150 + "<ul>" + "<li>a" * 300 + "</ul>\n\n" + "- a\n" * 300
    assert "<li>" in markdown.render(text).html and markdown.TANGLED not in markdown.render(text).html
