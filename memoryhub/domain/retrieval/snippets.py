"""Words of a query in a text: how often it has them, and the stretch of it that shows them (pure)."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import pairwise

from memoryhub.detectors.cjk import CJK
from memoryhub.domain.retrieval import word_rank

MAX_WEIGHED = 4000  # characters of a text that are looked at
AROUND = 90  # characters beside a hit
SNIPPET = 240


@lru_cache(maxsize=512)
def word_counts(text: str) -> Counter[str]:
    """How often a text has each word; nobody changes what comes back."""
    return Counter(word_rank.split_words(text))


def times(word: str, counts: Counter[str]) -> int:
    """How often a text has a word, also in another form of it (pure)."""
    exact = counts.get(word, 0)
    if exact or len(word) < 3:
        return exact
    return sum(count for other, count in counts.items() if _are_forms(word, other))


def has_all(text: str, words: list[str]) -> bool:
    """Whether a text has each of these words in some form, as far as it is weighed."""
    counts = Counter(word_rank.split_words(text[:MAX_WEIGHED]))
    return all(times(word, counts) for word in words)


def _are_forms(word: str, other: str) -> bool:
    """Whether two words are forms of one: the same beginning, another ending (pure)."""
    if other.startswith(word):
        return True
    common = max(4, len(word) - 2)
    return len(word) > 4 and word[:common] == other[:common] and abs(len(word) - len(other)) <= 3


def snippet(text: str, asked: list[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The stretch of a text around its first hits, and where in it the hits stand (pure)."""
    places = _places(text[:MAX_WEIGHED], asked)
    start = max(0, places[0][0] - AROUND) if places else 0
    if start:
        start = next((at + 1 for at in range(start, min(start + 20, len(text))) if text[at].isspace()), start)
    lead = "…" if start else ""
    body = text[start : start + SNIPPET]
    tail = "…" if start + SNIPPET < len(text) else ""
    marks = [(a - start + len(lead), b - start + len(lead)) for a, b in places if start <= a and b <= start + len(body)]
    return lead + body + tail, tuple(marks)


def _places(text: str, asked: list[str]) -> list[tuple[int, int]]:
    """Where a text holds the words that were asked for, as far as one snippet can show, in order (pure)."""
    wanted = tuple(dict.fromkeys(asked))  # a query may say a word two hundred times
    places: list[tuple[int, int]] = []
    for match in word_rank.WORD.finditer(text):
        start = match.start()
        if places and start > places[0][0] + SNIPPET:
            break
        places += [(start + a, start + b) for a, b in _places_in_word(match.group(), wanted)]
    return _joined(sorted(places))


@lru_cache(maxsize=4096)
def _places_in_word(word: str, wanted: tuple[str, ...]) -> list[tuple[int, int]]:
    """The stretches of one word that were asked for: all of it, or, in a script without blanks, some (pure).

    Texts say most of their words many times, and the texts found for one query say the same ones.
    """
    folded = word.casefold()
    if any(folded == one or (len(one) >= 3 and _are_forms(one, folded)) for one in wanted):
        return [(0, len(word))]
    if not CJK.search(folded):
        return []
    return [(at, at + len(one)) for one in wanted for at in _find_all(folded, one)]


def _find_all(text: str, word: str) -> list[int]:
    found, at = [], text.find(word) if word else -1
    while at >= 0:
        found.append(at)
        at = text.find(word, at + 1)
    return found


def _joined(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in places:
        if out and start <= out[-1][1]:
            out[-1] = out[-1][0], max(end, out[-1][1])
        else:
            out.append((start, end))
    return out


def marked_pieces(snippet: str, marks: tuple[tuple[int, int], ...]) -> list[tuple[str, bool]]:
    """A snippet cut at its marks, for templates: text and whether it is marked (pure)."""
    cuts = sorted({0, len(snippet), *(at for mark in marks for at in mark)})
    starts = {start for start, _ in marks}
    return [(snippet[a:b], a in starts) for a, b in pairwise(cuts)]
