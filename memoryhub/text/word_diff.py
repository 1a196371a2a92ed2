"""Which words changed inside a pair of lines, and which removed line became which added line (pure)."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher

from memoryhub.text.match import Span, changes

Marks = tuple[tuple[int, int], ...]

_TOKEN = re.compile(r"\w+|\s+|.", re.DOTALL)
_MAX_GAP = 2  # characters; a gap no longer than this between two changes is marked with them
_MIN_SIMILARITY = 0.4  # two lines less alike than this are no pair
_MAX_LINE_LENGTH = 4000  # characters; in longer lines no words are marked
_MAX_COMPARISONS = 40 * 40
_MAX_FOR_DIFFLIB = 200 * 200  # tokens of one line by those of the other


def word_marks(old: str, new: str) -> tuple[Marks, Marks]:
    """The parts of both lines to highlight, as (start, end) in characters."""
    if max(len(old), len(new)) > _MAX_LINE_LENGTH:
        return (), ()
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    at_old, at_new = _starts(before), _starts(after)
    old_marks: list[tuple[int, int]] = []
    new_marks: list[tuple[int, int]] = []
    for i1, i2, j1, j2 in _changed_tokens(before, after):
        old_marks.append((at_old[i1], at_old[i2]))
        new_marks.append((at_new[j1], at_new[j2]))
    return _join(old_marks, new_marks)


def _changed_tokens(before: list[str], after: list[str]) -> list[Span]:
    """What differs: difflib reads best, and takes seconds for a line of very many short words."""
    if len(before) * len(after) > _MAX_FOR_DIFFLIB:
        return changes(before, after)
    opcodes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [(i1, i2, j1, j2) for tag, i1, i2, j1, j2 in opcodes if tag != "equal"]


def _starts(tokens: list[str]) -> list[int]:
    starts = [0]
    for token in tokens:
        starts.append(starts[-1] + len(token))
    return starts


def _join(old: list[tuple[int, int]], new: list[tuple[int, int]]) -> tuple[Marks, Marks]:
    """Close gaps that are too small to see, on both sides together."""
    joined_old: list[tuple[int, int]] = []
    joined_new: list[tuple[int, int]] = []
    for (i1, i2), (j1, j2) in zip(old, new, strict=True):
        if joined_old and i1 - joined_old[-1][1] <= _MAX_GAP:
            joined_old[-1] = joined_old[-1][0], i2
            joined_new[-1] = joined_new[-1][0], j2
        else:
            joined_old.append((i1, i2))
            joined_new.append((j1, j2))
    return tuple(m for m in joined_old if m[1] > m[0]), tuple(m for m in joined_new if m[1] > m[0])


def similarity(old: str, new: str) -> float:
    """The share of two lines that is equal words, from 0 to 1; of long lines, of their beginnings."""
    return _share(_words_of(old), _words_of(new))


def _words_of(line: str) -> Counter[str]:
    return Counter(_TOKEN.findall(line.strip()[:_MAX_LINE_LENGTH]))


def _share(before: Counter[str], after: Counter[str]) -> float:
    size = sum(len(t) * n for t, n in before.items()) + sum(len(t) * n for t, n in after.items())
    if not size:
        return 1.0
    return 2 * sum(len(t) * n for t, n in (before & after).items()) / size


def pair_lines(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Which removed line became which added line, as places in `old` and `new`: the pairs in order that are most alike."""
    if not old or not new:
        return []
    if len(old) * len(new) > _MAX_COMPARISONS:
        return [(i, i) for i, (a, b) in enumerate(zip(old, new, strict=False)) if similarity(a, b) >= _MIN_SIMILARITY]
    if len(old) == len(new) == 1:
        return [(0, 0)] if similarity(old[0], new[0]) >= _MIN_SIMILARITY / 2 else []
    words = [_words_of(line) for line in new]
    return _best_pairs([[_share(before, one) for one in words] for before in map(_words_of, old)])


def _best_pairs(alike: list[list[float]]) -> list[tuple[int, int]]:
    """The pairs in order with the highest sum of similarities."""
    height, width = len(alike), len(alike[0])
    best = [[0.0] * (width + 1) for _ in range(height + 1)]
    for i in range(height - 1, -1, -1):
        for j in range(width - 1, -1, -1):
            score = alike[i][j] if alike[i][j] >= _MIN_SIMILARITY else -1.0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + score)
    pairs = []
    i = j = 0
    while i < height and j < width:
        if alike[i][j] >= _MIN_SIMILARITY and best[i][j] == best[i + 1][j + 1] + alike[i][j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs
