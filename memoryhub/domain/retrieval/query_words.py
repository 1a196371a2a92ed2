"""What people type, as a question to the words of stored texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib.postgres.search import SearchQuery
from django.db.models import Q

from memoryhub.db import statements
from memoryhub.domain.retrieval import word_rank

LEXEMES = f"SELECT DISTINCT lexeme FROM unnest({word_rank.TSVECTOR}) ORDER BY lexeme"  # noqa: S608 (names of configurations)
EACH = """
SELECT name, word, tsvector_to_array(to_tsvector(('pg_catalog.' || name)::regconfig, word)) AS lexemes
FROM unnest(%(names)s::text[], %(words)s::text[]) AS given(name, word)
"""
NOTHING = ""
Word = tuple[str, str]  # with the configuration that understands it, which comes first
MOST_KNOWN = 20_000
_known: dict[Word, tuple[str, ...]] = {}


def of(text: str) -> list[str]:
    """The lexemes of a text, as the database's dictionaries cut them."""
    return [row[0] for row in statements.rows(LEXEMES, word_rank.words_by_configuration(text))]


def query_words_cached(text: str) -> list[str]:
    """The same, each word asked for once per process: what a dictionary makes of a word does not change."""
    if new := unknown(text):
        learn(statements.rows(EACH, as_given(new)))
    return known_words(text)


def unknown(text: str) -> list[Word]:
    """The words of a text whose lexemes this process has not asked for yet."""
    return [word for word in word_rank.with_configuration(text) if of_word(word) is None]


def as_given(words: list[Word]) -> dict[str, list[str]]:
    """Words as `EACH` takes them."""
    return {"names": [name for name, _ in words], "words": [word for _, word in words]}


def learn(found: Iterable[Sequence[Any]]) -> None:
    """Keeps what `EACH` told."""
    if len(_known) > MOST_KNOWN:
        _known.clear()
    _known.update({(name, word): tuple(lexemes) for name, word, lexemes in found})


def known_words(text: str) -> list[str]:
    """The lexemes of those words of a text that this process knows."""
    return together(of_word(word) or () for word in word_rank.with_configuration(text))


def all_known(text: str) -> list[str] | None:
    """The lexemes of a text, if this process knows each of its words."""
    found = [of_word(word) for word in word_rank.with_configuration(text)]
    return None if None in found else together(one for one in found if one)


def together(found: Iterable[tuple[str, ...]]) -> list[str]:
    return list(dict.fromkeys(lexeme for one in found for lexeme in one))


def of_word(word: Word) -> tuple[str, ...] | None:
    """The lexemes of a word, as far as this process knows."""
    return (word[1],) if is_number(word[1]) else _known.get(word)


def is_number(word: str) -> bool:
    """Whether every dictionary leaves this word as it is."""
    return word.isdecimal() and word.isascii() and len(word) <= 100


def query(typed: str) -> str:
    """A tsquery for texts that hold every word; the last word may be half typed."""
    typed = typed[:500]
    found = word_rank.split_words(typed)
    if not found:
        return ""
    *whole, last = found
    half = [] if typed[-1:].isspace() else [last]
    wanted = [quoted(one) for one in query_words_cached(" ".join(whole if half else found))]
    wanted += [" | ".join([f"{quoted(one)}:*", *(quoted(stem) for stem in query_words_cached(one))]) for one in half]
    return " & ".join(f"({one})" for one in wanted)


def quoted(lexeme: str) -> str:
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def words_matching(typed: str) -> SearchQuery:
    """For `.filter(words=…)`."""
    return SearchQuery(query(typed) or NOTHING, config="simple", search_type="raw")


def in_record(words: str) -> Q:
    """Quarantine records with all of these words, or of a session that is called so."""
    return Q(words=words_matching(words)) | Q(session_id=words.strip())
