"""Blame names the revision that wrote each line, also after a restore, and stays quick."""

from __future__ import annotations

import random
from collections import Counter
from hashlib import sha256

from hypothesis import given, settings
from hypothesis import strategies as st

from memoryhub.text.blame import Blame
from tests.text.samples import clock, texts


def blame(revisions: list[tuple[int, bytes]]) -> list[int]:
    """The key of the revision that wrote each line of the last text."""
    shas = [sha256(text).hexdigest() for _, text in revisions]
    state = Blame(repeated=frozenset(sha for sha, count in Counter(shas).items() if count > 1))
    for (key, text), sha in zip(revisions, shas, strict=True):
        state.add(key, text, sha)
    return state.lines


def test_blame_names_who_wrote_each_line():
    assert blame([(1, b"a\nb\n"), (2, b"a\nB\n"), (3, b"a\nB\nc")]) == [1, 2, 3]


def test_blame_gives_restored_lines_back_to_their_authors():
    assert blame([(1, b"a\nb\n"), (2, b"x\n"), (3, b"a\nb\n")]) == [1, 1]


@given(st.lists(texts, min_size=1, max_size=6))
@settings(max_examples=300)
def test_blame_has_one_key_per_line_and_only_keys_whose_revision_had_the_line(history):
    revisions = [(n, t.encode("utf-8", "surrogatepass")) for n, t in enumerate(history)]
    keys = blame(revisions)
    final = revisions[-1][1].split(b"\n")
    final = final if final[-1] else final[:-1]
    assert len(keys) == len(final)
    for key, line in zip(keys, final, strict=True):
        assert line in revisions[key][1].split(b"\n")


def test_blame_of_5000_lines_over_500_revisions_is_quick():
    rng = random.Random(3)
    text = [f"line number {n} of the file\n" for n in range(5000)]
    history = []
    for n in range(500):
        for _ in range(3):
            text[rng.randrange(5000)] = f"line by {n}, {rng.random()}\n"
        history.append((n, "".join(text).encode()))
    assert clock(lambda: blame(history)) < 2.0
