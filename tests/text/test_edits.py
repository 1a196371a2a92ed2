"""Edits by old and new string: counted as deepagents counts, refused in its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryhub.errors import HubError
from memoryhub.text.edits import apply_edit
from tests.cases import for_each


def refusal(*args, **options) -> HubError:
    with pytest.raises(HubError) as caught:
        apply_edit(*args, **options)
    return caught.value


def test_one_place_is_replaced():
    assert apply_edit("a b c", "b", "B") == "a B c"


def test_every_place_is_replaced_when_asked():
    assert apply_edit("aXbX", "X", "y", replace_all=True) == "ayby"


def test_a_string_that_is_not_there():
    error = refusal("text", "gone", "x")
    assert (error.status, error.code) == (422, "string_not_found")
    assert error.message == "Error: String not found in file: 'gone'"


def test_a_string_that_is_there_twice_counts_without_overlap():
    error = refusal("aaaa", "aa", "b")
    assert (error.status, error.code, error.details["occurrences"]) == (422, "string_not_unique", 2)
    assert error.message == (
        "Error: String 'aa' appears 2 times in file. Use replace_all=True to replace all instances, "
        "or provide a more specific string with surrounding context."
    )


def test_an_empty_old_string_is_refused():
    message = "Error: old_string cannot be empty. Provide the exact text to replace."
    assert refusal("text", "", "x").message == refusal("", "", "x").message == message


def test_a_newline_too_many_at_the_end_is_named():
    error = refusal("first\nlast", "last\n", "x\n")
    assert error.code == "string_not_found"
    assert "trailing newline" in error.message


def test_other_line_ends_are_hinted_at():
    assert "CR LF" in refusal("a\r\nb\r\n", "a\nb", "x").details["hint"]


@given(st.text("ab\n", max_size=30), st.text("ab\n", min_size=1, max_size=3), st.text("ab", max_size=3))
def test_an_edit_is_what_str_replace_does_or_nothing(text, old, new):
    count = text.count(old)
    if count == 1:
        assert apply_edit(text, old, new) == text.replace(old, new)
    elif count:
        assert apply_edit(text, old, new, replace_all=True) == text.replace(old, new)
        assert refusal(text, old, new).details["occurrences"] == count
    else:
        assert refusal(text, old, new).code == "string_not_found"


@for_each(["bb", "x" * 5_000_000, "é" * 70_000])
def test_a_text_that_would_be_too_large_is_not_made(new):
    error = refusal("a" * (1 << 20), "a", new, replace_all=True)
    assert (error.status, error.code, error.details["limit"]) == (413, "too_large", 1 << 20)
    assert len(apply_edit("ab" * (1 << 19), "ab", "é", replace_all=True)) == 1 << 19
