"""Texts survive a browser's text field byte for byte where nobody touched them."""

from hypothesis import given
from hypothesis import strategies as st

from memoryhub.text.lines import bytes_of, describe_ends, for_editor, keep_ends, text_of

texts = st.lists(st.sampled_from(["a", "b", "", " c", "\n", "\r\n", "\r", "\ufeff", "\x0c", "\u2028"])).map("".join)


@given(texts)
def test_an_edit_that_touches_nothing_changes_nothing(text):
    sent = for_editor(text).replace("\n", "\r\n")
    assert keep_ends(text, sent) == text


@given(st.binary())
def test_bytes_survive(content):
    assert bytes_of(text_of(content)) == content


def test_a_touched_line_keeps_its_kind_of_end():
    assert keep_ends("a\r\nb\r\nc", "a\nB\nnew\nc\n") == "a\r\nB\r\nnew\r\nc\r\n"
    assert keep_ends("\ufeffa\n", "b\n") == "\ufeffb\n"
    assert keep_ends("", "a\r\nb") == "a\nb"
    assert keep_ends("a\nb\r\nc\n", "a\nb\nX\nc\n") == "a\nb\r\nX\r\nc\n"
    assert keep_ends("a\nb\r\nc\nd\n", "a\nb\nC\nd\n") == "a\nb\r\nC\nd\n"


def test_ends_in_words():
    assert describe_ends("a\nb\n") == "LF, no BOM"
    assert describe_ends("\ufeffa\r\nb") == "CR LF, BOM, no newline at the end"
    assert describe_ends("a\nb\r\n") == "LF and CR LF mixed, no BOM"
