"""Chunk cuts are the cuts that people know from langchain-text-splitters, in every script."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_text_splitters import RecursiveCharacterTextSplitter

from memoryhub.text.split import split

SCRIPTS = {
    "latin": "abcdefghij éüß.",
    "arabic": "ابتثجحخدذرزسشصض،",
    "cyrillic": "абвгдежзийклмноп—",
    "han": "记忆网关代理提示词审核长期工作",
    "devanagari": "कखगघङचछजझञािीुू।",
}
BLANKS = [" ", "\n", "\n\n", "\n\n\n", "  ", "\t", "\r\n", "\u3000", "\u00a0", "\x1c", "\x85"]


def reference(text, size=500, overlap=50):
    return RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap).split_text(text)


def texts(alphabet):
    word = st.text(alphabet=alphabet, min_size=1, max_size=30)
    long_word = st.builds(lambda w, n: w * n, word, st.integers(20, 90))
    token = st.one_of(word, word, word, st.sampled_from(BLANKS), st.sampled_from(BLANKS), long_word)
    return st.lists(token, max_size=120).map("".join)


@pytest.mark.parametrize("script", SCRIPTS)
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_cuts_equal_the_reference(script, data):
    text = data.draw(texts(SCRIPTS[script]))
    pieces = split(text)
    assert [piece.text for piece in pieces] == reference(text)
    assert all(text[piece.start : piece.end] == piece.text for piece in pieces)


@settings(max_examples=150, deadline=None)
@given(texts("ab ."), st.integers(2, 40), st.integers(0, 39))
def test_cuts_equal_the_reference_at_other_sizes(text, size, overlap):
    overlap = min(overlap, size - 1)
    assert [piece.text for piece in split(text, size, overlap)] == reference(text, size, overlap)


def test_shared_counts_the_characters_that_stand_in_both_neighbours():
    text = " ".join(f"word{n:03}" for n in range(120))
    first, second, *_ = split(text)
    assert second.shared == first.end - second.start > 0
    assert first.text.endswith(second.text[: second.shared])
    assert first.shared == 0


def test_nothing_to_keep_gives_no_chunks():
    assert split("") == [] == split(" \n\n ")


def test_a_short_text_is_one_chunk_without_its_outer_blanks():
    (only,) = split("  The desk closes at five.\n")
    assert (only.start, only.end, only.text) == (2, 26, "The desk closes at five.")


def test_impossible_sizes_are_refused():
    with pytest.raises(ValueError):
        split("x", size=50, overlap=50)


@pytest.mark.attack
def test_a_mebibyte_without_blanks_is_cut_quickly():
    assert len(split("x" * (1 << 20))) == len(range(0, (1 << 20) - 50, 450))
