"""What is hidden in a text is drawn, and nothing of it becomes markup."""

from __future__ import annotations

import pytest

from memoryhub.templatetags.hidden_characters import diff, drawn
from memoryhub.templatetags.reviewing import rendered
from memoryhub.text.diff import compare


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\u200bb", 'a<span class="inv" title="zero-width space">U+200B</span>b'),
        ("\u202e", '<span class="inv" title="right-to-left override">U+202E</span>'),
        ("\ufeffx", '<span class="inv" title="byte order mark">U+FEFF</span>x'),
        ("\U000e0041", '<span class="inv" title="tag latin capital letter a">U+E0041</span>'),
        ("one\r\ntwo", 'one<span class="inv" title="carriage return">CR</span>\ntwo'),
        ("one  ", 'one<span class="blank" title="trailing blanks">  </span>'),
        ("a\tb", "a\tb"),
        ("<b>&", "&lt;b&gt;&amp;"),
        ("👩\u200d💻 ❤\ufe0f ok", "👩\u200d💻 ❤\ufe0f ok"),
        ("x\ufe0fy", 'x<span class="inv" title="variation selector-16">U+FE0F</span>y'),
    ],
)
def test_what_is_hidden_is_drawn(text, expected):
    assert drawn(text) == expected


def test_blanks_before_a_carriage_return_are_trailing_too():
    assert drawn("a \r\nb").startswith('a<span class="blank" title="trailing blanks"> </span><span class="inv"')


def test_a_diff_is_a_table_with_words_for_those_who_do_not_see_colour():
    html = diff(compare("say <two> words here\n", "say <three>\u200b words here\n").rows)
    assert '<span class="sr">removed </span>say &lt;<del>two&gt;</del>' in html
    assert "U+200B" in html
    assert "<two>" not in html


def test_what_a_rendered_text_hides_by_its_number_or_name_is_drawn():
    page = rendered("Tills&#8203; close &#x202E;at&zwnj; nine &amp; `&#8203;`, &eacute;.")
    assert [one.split("<")[0] for one in page.split('class="inv"')[1:]] == [
        ' title="zero-width space">U+200B',
        ' title="right-to-left override">U+202E',
        ' title="zero-width non-joiner">U+200C',
    ]
    assert "nine &amp; <code>&amp;#8203;</code>, &eacute;." in page
