"""What a group of texts is about, in words that stand in them: the key phrase, which most of them have and few others (pure)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

LONGEST = 4  # words of a phrase
MIN_SHARE_OF_A_WORD, MIN_LETTERS = 0.6, 5  # a word alone says enough only where it is long and most texts have it
LONGEST_CHINESE = 8  # characters of a phrase without blanks
MIN_SHARE = 0.25  # of a group's texts have the phrase, and two at least: else it says nothing of the group
_CLAUSE = re.compile(r"[.,;:!?()\[\]{}\"“”„«»|\n\r\t、。，；：！？（）《》「」…–—]+|\s[-*/]\s")
_WORD = re.compile(r"[^\W_](?:[^\W_]|[-_'’./#](?=[^\W_]))*")
_HAN_RUN = re.compile(r"[\u3400-\u9fff]+")
_WORDS_BETWEEN = (
    "a an the and or but nor so if then than that this these those it its he she they them their his her we us our "
    "you your i me my is are was were be been  being am do does did done has have had having will would shall should "
    "can could may might must not no never always only just also too very more most  much many any all each every "
    "some such same other another of to in on at by for from with without into onto over under after before between "
    "during  until till since about above below up down out off as per via there here where when while who whom whose "
    "which what how why because though within  again once new old one two three get gets got go goes use uses used "
    "using make makes made take takes need needs say says said tell tells keep keeps run runs day days week weeks "
)
_STOP = frozenset(_WORDS_BETWEEN.split())
_STOP_HAN = frozenset(
    "的了是在和与或一二三四五六七八九十两几需及被把将就都而且也很要会可请从到对为以于其这那此该每各个不没有上下中里后前时我你他她它们吗呢吧"
)


def phrases(text: str) -> dict[str, str]:
    """The phrases of a text that could name it: as they are compared, with how they stand there."""
    found: dict[str, str] = {}
    for clause in _CLAUSE.split(text):
        for phrase in (*_phrases_of_words(clause), *_phrases_of_han(clause)):
            found.setdefault(phrase.casefold(), phrase)
    return found


def _phrases_of_words(clause: str) -> Iterator[str]:
    words = [] if _HAN_RUN.search(clause) else list(_WORD.finditer(clause))
    for start, first in enumerate(words):
        if _is_weak(first.group()):
            continue
        for last in words[start : start + LONGEST]:
            if not _is_weak(last.group()) and (last is not first or len(first.group()) >= MIN_LETTERS):
                yield " ".join(clause[first.start() : last.end()].split())


def _is_weak(word: str) -> bool:
    return word.casefold() in _STOP or word.isdigit() or len(word) < 2


def _phrases_of_han(clause: str) -> Iterator[str]:
    for run in _HAN_RUN.findall(clause):
        for start in range(len(run) - 1):
            for end in range(start + 2, min(len(run), start + LONGEST_CHINESE) + 1):
                if run[start] not in _STOP_HAN and run[end - 1] not in _STOP_HAN:
                    yield run[start:end]


def key_phrase(mine: Sequence[Mapping[str, str]], everywhere: Counter[str], size: int) -> str:
    """The phrase that most of these texts have and few others, as it stands in the first of them; "" where none says enough."""
    here = Counter(key for one in mine for key in one)
    least = max(2, math.ceil(len(mine) * MIN_SHARE))
    weights = {
        key: (count / len(mine)) ** 1.5 * math.log(1 + size / everywhere[key]) * _length_weight(key)
        for key, count in here.items()
        if count >= least
        and (_is_phrase(key) or count >= len(mine) * MIN_SHARE_OF_A_WORD)
        and everywhere[key] - count <= (size - len(mine)) / 3
    }
    if not weights:
        return ""
    place = {key: (at, len(key)) for at, one in reversed(list(enumerate(mine))) for key in one}
    best = min(weights, key=lambda key: (-round(weights[key], 3), place[key], key))
    return next(one[best] for one in mine if best in one)


def _is_phrase(key: str) -> bool:
    return " " in key or bool(_HAN_RUN.search(key))


def _length_weight(phrase: str) -> float:
    """A phrase says more than its words, as long as as many texts have it."""
    words = len(phrase.split()) if not _HAN_RUN.search(phrase) else len(phrase) / 2
    return 1 + 0.5 * math.log2(max(1.0, words))
