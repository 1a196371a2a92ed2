"""Copies of one text among what was found: in several layers, or said again in almost the same words (pure)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from memoryhub.domain.retrieval.search import Hit

T = TypeVar("T")
WORDS = re.compile(r"\w+")
MAX_COMPARED = 2000  # characters; longer texts are copies only of the same text
ALIKE = 0.85  # the share of their words that two copies have in common
FEWEST_WORDS = 4  # of shorter texts every word counts


@dataclass
class Joined(Generic[T]):
    """The first of several copies, and the others."""

    first: T
    copies: list[T] = field(default_factory=list)

    @property
    def count(self) -> int:
        return 1 + len(self.copies)


def join_copies(found: Iterable[T], text_of: Callable[[T], str]) -> list[Joined[T]]:
    """What was found in its order, each text once with its copies."""
    joined: list[tuple[tuple[str, ...], frozenset[str], Joined[T]]] = []
    known: dict[tuple[str, ...], Joined[T]] = {}
    for one in found:
        words = tuple(WORDS.findall(text_of(one).casefold()))
        same = known.get(words) or _alike(words, joined)
        if same is not None:
            same.copies.append(one)
        else:
            same = Joined(one)
            joined.append((words, frozenset(words), same))
        known.setdefault(words, same)
    return [one for _, _, one in joined]


def _alike(words: Sequence[str], joined: list[tuple[tuple[str, ...], frozenset[str], Joined[T]]]) -> Joined[T] | None:
    """The one that says almost the same. Another number makes another fact."""
    if not FEWEST_WORDS <= len(words) <= MAX_COMPARED // 5:
        return None
    mine = frozenset(words)
    for others, theirs, one in joined:
        if len(others) < FEWEST_WORDS or len(others) > MAX_COMPARED // 5:
            continue
        differ = mine ^ theirs
        if len(mine & theirs) >= ALIKE * len(mine | theirs) and not any(word[:1].isdigit() for word in differ):
            return one
    return None


# ---- hits of a search: each fact once, in the layer that lasts longest


LASTING = ("longterm", "files", "working", "proposals", "quarantine", "activity")
FAINT = 0.3  # of the best score; what fits by meaning alone and less than that is left out


def group_hits(hits: Sequence[Hit]) -> list[Joined[Hit]]:
    """The hits of a search with copies of one fact joined, and without noise: lines of activity about what was found itself,
    and what fits faintly by meaning alone."""
    best = max((hit.score for hit in hits), default=0.0)
    kept = [hit for hit in hits if hit.by != "meaning" or hit.score >= FAINT * best]
    things = [hit for hit in kept if hit.layer != "activity"]
    urls = {hit.url for hit in things}
    texts = [_words_of(text) for hit in things for text in (hit.title, _fact(hit))]
    shown = [hit for hit in kept if hit.layer != "activity" or not _is_about(hit, urls, texts)]
    first = {hit.url: hit for hit in reversed(shown)}  # of several pieces of one entry the best
    return [_most_lasting_first(one) for one in join_copies((hit for hit in shown if first[hit.url] is hit), _fact)]


def _fact(hit: Hit) -> str:
    return hit.fact or hit.text


def _words_of(text: str) -> str:
    return " ".join(WORDS.findall(text.casefold()))


def _is_about(line: Hit, urls: set[str], texts: list[str]) -> bool:
    """Whether a line of activity is about something that was found itself."""
    thing = _words_of(line.text.partition("…")[0])
    return line.url in urls or (
        len(thing) > 10 and any(text.startswith(thing) or thing.startswith(text) for text in texts if text)
    )


def _most_lasting_first(found: Joined[Hit]) -> Joined[Hit]:
    ordered = sorted([found.first, *found.copies], key=lambda hit: LASTING.index(hit.layer))
    return Joined(ordered[0], ordered[1:])
