"""Comparing texts: the result is always the true text, and it stays quick."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings

from memoryhub.text import diff as diffs
from memoryhub.text import lines
from memoryhub.text.diff_rows import Fold, Row, word_marks
from tests.cases import for_each
from tests.text.samples import clock, texts


def shown(diff: diffs.Diff, side: str) -> str:
    kinds = ("ctx", "del") if side == "old" else ("ctx", "add")
    rows = [r for r in diff.rows if isinstance(r, Row) and r.kind in kinds]
    return "".join(r.text + ("\n" if r.ends else "") for r in rows)


@given(texts, texts)
@settings(max_examples=300)
def test_a_diff_shows_both_texts_whole(old, new):
    diff = diffs.compare(old, new, context=None)
    assert shown(diff, "old") == old
    assert shown(diff, "new") == new
    assert bool(diff) == (old != new)


@given(texts, texts)
@settings(max_examples=300)
def test_all_hunks_make_the_new_text_and_none_the_old(old, new):
    numbers = [h.number for h in diffs.compare(old, new).hunks]
    assert diffs.take(old, new, numbers) == new
    assert diffs.take(old, new, []) == old


def test_one_hunk_of_two_is_taken():
    old = "one\n" + "same\n" * 5 + "two\n"
    new = "ONE\n" + "same\n" * 5 + "TWO\n"
    assert diffs.take(old, new, [2]) == "one\n" + "same\n" * 5 + "TWO\n"


def test_a_line_taken_from_the_end_gets_its_newline_when_others_follow():
    assert diffs.take("a\nx\nb", "A\nx\nb\nc", [1]) == "A\nx\nb"


@given(texts, texts)
@settings(max_examples=200)
def test_side_by_side_keeps_every_line_on_its_side(old, new):
    diff = diffs.compare(old, new, context=None)
    pairs = [p for p in diff.pairs if not isinstance(p, Fold)]
    assert "".join(p[0].text + "\n" * p[0].ends for p in pairs if p[0]) == old
    assert "".join(p[1].text + "\n" * p[1].ends for p in pairs if p[1]) == new


def test_unchanged_lines_fold_and_say_how_many():
    old = "".join(f"line {n}\n" for n in range(40))
    diff = diffs.compare(old, old.replace("line 20\n", "changed\n"))
    folds = [r for r in diff.rows if isinstance(r, Fold)]
    assert [(f.old, f.count) for f in folds] == [(1, 17), (25, 16)]
    assert (diff.added, diff.removed) == (1, 1)


def test_word_marks_close_small_gaps():
    old, new = word_marks("Run the tests with `pytest -q`.", "Run the tests with `make test-fast`.")
    assert ["Run the tests with `pytest -q`."[a:b] for a, b in old] == ["pytest -q"]
    assert ["Run the tests with `make test-fast`."[a:b] for a, b in new] == ["make test-fast"]


def test_an_inserted_word_marks_only_itself():
    old, new = word_marks("Run the tests.", "Run all the tests.")
    assert old == ()
    assert len(new) == 1
    assert "Run all the tests."[slice(*new[0])].strip() == "all"


def test_blanks_are_ignored_when_asked():
    old, new = "a b\nc\n", "a   b\nc\n"
    assert diffs.compare(old, new)
    diff = diffs.compare(old, new, ignore_blanks=True)
    assert not diff
    assert shown(diffs.compare(old, new, ignore_blanks=True, context=None), "new") == new
    pairs = diffs.compare(old, new + "d\n", ignore_blanks=True).pairs
    assert pairs[0][0].text == "a b"
    assert pairs[0][1].text == "a   b"


def test_moved_lines_know_their_partner():
    line = "A line long enough to be known again\n"
    keep = "".join(f"keep number {n}\n" for n in range(12))
    diff = diffs.compare(line + keep, keep + line)
    moved = {r.kind: (r.old or r.new, r.moved) for r in diff.rows if isinstance(r, Row) and r.moved}
    assert moved == {"del": (1, 13), "add": (13, 1)}


# ---- quick


def test_five_thousand_lines_are_compared_quickly():
    rng = random.Random(1)
    old = [f"line {n} {rng.random()}\n" if rng.random() < 0.7 else "\n" for n in range(5000)]
    new = [x for x in old if rng.random() > 0.05]
    for at in rng.sample(range(len(new)), 300):
        new[at] = f"changed {at} {new[at]}"
    assert clock(lambda: diffs.compare("".join(old), "".join(new)).rows) < 3.0


def test_many_equal_lines_do_not_make_it_slow():
    rng = random.Random(2)
    old = "".join(rng.choice(["}\n", "\n", "{\n", "a\n"]) for _ in range(5000))
    new = "".join(rng.choice(["}\n", "\n", "{\n", "a\n"]) for _ in range(5000))
    assert clock(lambda: diffs.compare(old, new).rows) < 2.0


@pytest.mark.attack
def test_lines_that_stand_countless_times_are_paired_in_time():
    """Every line stands a quarter of a million times on both sides: taking partners off a list's head would be quadratic."""
    old, new = (random.Random(seed).choices("ab", k=600_000) for seed in (1, 2))
    assert clock(lambda: lines._anchors(old, new)) < 4.0


def test_only_what_is_drawn_is_made() -> None:
    long = "".join(f"{n}\n" for n in range(300_000))
    diff = diffs.compare("", long)
    assert [one.new for one in diff.first_rows(3)] == [1, 2, 3]
    assert len(diff.first_pairs(5)) == 5
    changed = diffs.compare(long, long + "more\n")
    assert [type(row).__name__ for row in changed.first_rows(9)] == ["Fold", "Row", "Row", "Row", "Row"]


@for_each([0, 1, 3])
def test_folds_stand_where_nothing_near_changed(context: int) -> None:
    """Against the plain rule: a line is shown if a change is at most `context` lines away, or if it is a gap of one."""
    old = [f"{n}\n" for n in range(40)]
    new = [*old[:3], "x\n", *old[3:9], *old[10:18], "y\n", *old[19:], "z\n"]
    whole = diffs.compare("".join(old), "".join(new), context=None).rows
    near = {k + step for k, row in enumerate(whole) if row.kind != "ctx" for step in range(-context, context + 1)}
    shown = [k for k in range(len(whole)) if k in near or {k - 1, k + 1} & set(range(len(whole))) <= near]
    folded = diffs.compare("".join(old), "".join(new), context=context).rows
    assert [row for row in folded if row.kind != "fold"] == [whole[k] for k in shown]
    assert sum(row.count for row in folded if row.kind == "fold") == len(whole) - len(shown)


def test_counting_lines_alone_gives_what_a_whole_diff_gives():
    rng = random.Random(11)
    pieces = ["a\n", "b\n", "ab\n", "\n", "c", "\r\n", "é\n"]
    for _ in range(1500):
        old = new = "".join(rng.choices(pieces, k=rng.randint(0, 30)))
        for _ in range(rng.randint(0, 3)):
            at = rng.randint(0, len(new))
            new = new[:at] + rng.choice(["", "x\n", "a\n", "\n", "zz"]) + new[at + rng.randint(0, 6) :]
        whole = diffs.compare(old, new)
        assert lines.added_and_removed(old, new) == (whole.added, whole.removed), (old, new)


@pytest.mark.attack
def test_a_change_of_very_many_lines_is_coarse_and_says_so():
    old = "first\n" + "".join(f"{number}\n" for number in range(150_000)) + "last\n"
    new = "first\n" + "".join(f"{number}\n" for number in range(150_000, 0, -1)) + "last\n"
    diff = diffs.compare(old, new)
    assert diff.is_coarse and len(diff.hunks) == 1 and diff.rows[0].text == "first"
    assert not diffs.compare(old, old + "one more\n").is_coarse
    assert not diffs.compare("", new).is_coarse, "nothing was there to compare with"
    assert diffs.take(old, new, [1]) == new and diffs.take(old, new, []) == old
    assert diffs.unified(old, new, "a").startswith("--- a/a\n+++ b/a\n@@ -1,150002 +1,150002 @@\n first\n")


def test_long_changes_stand_side_by_side_in_their_order():
    diff = diffs.compare("".join(f"old {n}\n" for n in range(1_200)), "".join(f"new {n}\n" for n in range(1_200)))
    assert [(old.text, new.text) for old, new in diff.pairs[:2]] == [("old 0", "new 0"), ("old 1", "new 1")]


def stretches(signs: str) -> str:
    """Six hundred stretches of 150 lines of these signs, each with an end that is found in both texts."""
    lines = "".join(f"{signs[at % len(signs)]}\n" for at in range(150))
    return "".join(f"{lines}end {number}\n" for number in range(600))


def costly(name: str) -> tuple[str, str]:
    """Two texts that differ in so many places, or in lines so much alike, that looking into all of them takes minutes."""
    match name:
        case "one line of the same sign":
            return "." * 3990, "".join("." if at % 3 else "," for at in range(3990))
        case "one line of the same word":
            return "a|" * 1990, "".join("a|" if at % 3 else "b|" for at in range(1990))
        case "lines of the same sign":
            lines = ["." * 500 + str(at) for at in range(1500)]
            return "\n".join(lines), "\n".join(",".join(line[at : at + 2] for at in range(0, 500, 2)) for line in lines)
        case "stretches of the same line":
            return stretches("..."), stretches("..,")
        case "stretches of two lines":
            return stretches("..,"), stretches(",.")
        case "a wide table":
            lines = ("a|" * 500 + "\n" + "-|" * 500 + "\n") * 500
            return lines, "\n".join(line if at % 3 else f"x{line}" for at, line in enumerate(lines.split("\n")))
        case "forty long lines":
            return tuple("\n".join(f"a b {word} {at} " * 3000 for at in range(40)) for word in "cd")
        case "many changes of forty lines":
            ends = ("e f g h", "e x y z")
            return tuple("\n".join(["k", *(f"word {at} a b c d {end}" for at in range(39))] * 400) for end in ends)
        case _:
            words = [f"w{at}" for at in range(150_000)]
            return " ".join(words), " ".join(word if at % 5 else "x" for at, word in enumerate(words))


@pytest.mark.parametrize("name", [
    "one line of the same sign", "one line of the same word", "lines of the same sign", "a wide table", "forty long lines",
    "many changes of forty lines", "many words", "stretches of the same line", "stretches of two lines",
])  # fmt: skip
@pytest.mark.sampled(6)
def test_no_diff_takes_long_to_draw(name):
    old, new = costly(name)
    began = time.thread_time()
    found = diffs.compare(old, new)
    rows = found.first_rows(5000)
    assert time.thread_time() - began < 3
    assert "\n".join(row.text for row in rows if isinstance(row, Row) and row.kind != "del")[:1000] == new[:1000]
    found.first_pairs(5000)
    assert time.thread_time() - began < 6


def test_words_of_a_long_paragraph_are_marked_still():
    """A line that `difflib` would take long for is looked into by its rare words."""
    old = [f"word{at}" for at in range(300)]
    new = [*old[:100], "changed", *old[101:250], "again", *old[251:]]
    before, after = word_marks(" ".join(old), " ".join(new))
    assert [" ".join(old)[start:end] for start, end in before] == ["word100", "word250"]
    assert [" ".join(new)[start:end] for start, end in after] == ["changed", "again"]
