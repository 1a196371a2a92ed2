"""What people and agents type, as a question to the words of stored texts."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.postgres.search import SearchQuery
from django.db.models import Q

from memoryhub.db import statements
from memoryhub.db.cache import Cache
from memoryhub.domain.retrieval import word_rank

LEXEMES = """
SELECT name, word, tsvector_to_array(to_tsvector(('pg_catalog.' || name)::regconfig, word))
FROM unnest(%(names)s::text[], %(words)s::text[]) AS given(name, word)
"""
lexemes: Cache[list[str]] = Cache(
    "lexemes", key="text search configuration, word", max_items=20_000,
    invalidated_by="nothing: PostgreSQL's dictionaries do not change", saves="a statement for each query",
)  # fmt: skip


def lexemes_of(text: str) -> list[str]:
    """The lexemes of a text's words, as the database's dictionaries cut them; each once, in the order of the words."""
    words = word_rank.with_configuration(text)
    found = {word: [word[1]] if _is_number(word[1]) else lexemes.get(word) for word in words}
    if missing := [word for word, known in found.items() if known is None]:
        names, texts = (statements.as_array(word[at] for word in missing) for at in (0, 1))
        for name, word, cut in statements.rows(LEXEMES, {"names": names, "words": texts}, binary=True):
            found[name, word] = cut
            lexemes.put((name, word), cut)
    return list(dict.fromkeys(one for cut in found.values() for one in cut or ()))


def _is_number(word: str) -> bool:
    """Whether every dictionary leaves this word as it is."""
    return word.isdecimal() and word.isascii() and len(word) <= 100


def tsquery(typed: str) -> str:
    """A tsquery for texts that hold every word; the last word may be half typed."""
    typed = typed[:500]
    found = word_rank.split_words(typed)
    if not found:
        return ""
    *whole, last = found
    half = [] if typed[-1:].isspace() else [last]
    wanted = [_quoted(one) for one in lexemes_of(" ".join(whole if half else found))]
    wanted += [" | ".join([f"{_quoted(one)}:*", *(_quoted(stem) for stem in lexemes_of(one))]) for one in half]
    return " & ".join(f"({one})" for one in wanted)


def any_of(found: Iterable[str]) -> str:
    """A tsquery for texts that hold any of these lexemes."""
    return " | ".join(_quoted(one) for one in found)


def _quoted(lexeme: str) -> str:
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def words_matching(typed: str) -> SearchQuery:
    """For `.filter(words=…)`."""
    return SearchQuery(tsquery(typed), config="simple", search_type="raw")


def records_with(words: str) -> Q:
    """Quarantine records with all of these words, or of a session that is called so."""
    return Q(words=words_matching(words)) | Q(session_id=words.strip())
