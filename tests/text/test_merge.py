"""Merging two changes of one text: what touches is a conflict, everything else is put together."""

from __future__ import annotations

from hypothesis import given, settings

from memoryhub.text import merge
from tests.text.samples import texts


def test_changes_that_do_not_touch_are_merged():
    base = "a\nb\nc\nd\ne\n"
    merged = merge.merge3(base, base.replace("a", "A"), base.replace("e", "E"))
    assert merged.conflicts == 0
    assert merged.text == "A\nb\nc\nd\nE\n"


def test_changes_that_touch_are_a_conflict_with_all_three_versions():
    merged = merge.merge3("a\nb\nc\n", "a\nours\nc\n", "a\ntheirs\nc\n")
    assert merged.conflicts == 1
    part = next(p for p in merged.parts if p.conflict)
    assert (part.base, part.ours, part.theirs) == ("b\n", "ours\n", "theirs\n")
    assert merged.marked("yours", "revision 4") == "a\n<<<<<<< yours\nours\n=======\ntheirs\n>>>>>>> revision 4\nc\n"


def test_the_same_change_twice_is_no_conflict():
    assert merge.merge3("a\nb\n", "a\nB\n", "a\nB\n").text == "a\nB\n"


@given(texts, texts)
@settings(max_examples=200)
def test_a_merge_with_an_unchanged_side_is_the_other_side(base, other):
    assert merge.merge3(base, other, base).text == other
    assert merge.merge3(base, base, other).text == other


@given(texts, texts, texts)
@settings(max_examples=400)
def test_the_parts_of_a_merge_hold_all_three_texts_whole(base, ours, theirs):
    parts = merge.merge3(base, ours, theirs).parts
    assert "".join(p.base for p in parts) == base
    assert "".join(p.ours for p in parts) == ours
    assert "".join(p.theirs for p in parts) == theirs
    for part in parts:
        assert part.conflict == (part.base not in (part.ours, part.theirs) and part.ours != part.theirs)
        assert part.conflict or part.text in (part.ours, part.theirs)


# ---- blame
