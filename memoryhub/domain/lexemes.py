"""What people type, as a question to the words of stored texts."""

from __future__ import annotations

from django.contrib.postgres.search import SearchQuery

from memoryhub.domain import hot, ranking

LEXEMES = f"SELECT DISTINCT lexeme FROM unnest({ranking.TSVECTOR}) ORDER BY lexeme"  # noqa: S608 (names of configurations)
EACH = """
SELECT name, word, tsvector_to_array(to_tsvector(('pg_catalog.' || name)::regconfig, word))
FROM unnest(%s::text[], %s::text[]) AS given(name, word)
"""
NOTHING = ""
MOST_KNOWN = 20_000
_known: dict[tuple[str, str], tuple[str, ...]] = {}


def of(text: str) -> list[str]:
    """The lexemes of a text, as the database's dictionaries cut them."""
    return [row[0] for row in hot.rows(LEXEMES, ranking.by_configuration(text))]


def cached(text: str) -> list[str]:
    """The same, each word asked for once per process: what a dictionary makes of a word does not change."""
    wanted = ranking.with_configuration(text)
    if new := [pair for pair in wanted if pair not in _known and not is_number(pair[1])]:
        if len(_known) > MOST_KNOWN:
            _known.clear()
        names, words = [name for name, _ in new], [word for _, word in new]
        for name, word, found in hot.rows(EACH, [names, words]):
            _known[name, word] = tuple(found)
    found = [(pair[1],) if is_number(pair[1]) else _known.get(pair, ()) for pair in wanted]
    return list(dict.fromkeys(lexeme for one in found for lexeme in one))


def is_number(word: str) -> bool:
    """Whether every dictionary leaves this word as it is."""
    return word.isdecimal() and word.isascii() and len(word) <= 100


def query(typed: str) -> str:
    """A tsquery for texts that hold every word; the last word may be half typed."""
    typed = typed[:500]
    found = ranking.words(typed)
    if not found:
        return ""
    *whole, last = found
    half = [] if typed[-1:].isspace() else [last]
    wanted = [quoted(one) for one in cached(" ".join(whole if half else found))]
    wanted += [" | ".join([f"{quoted(one)}:*", *(quoted(stem) for stem in cached(one))]) for one in half]
    return " & ".join(f"({one})" for one in wanted)


def quoted(lexeme: str) -> str:
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def matching(typed: str) -> SearchQuery:
    """For `.filter(words=…)`."""
    return SearchQuery(query(typed) or NOTHING, config="simple", search_type="raw")
