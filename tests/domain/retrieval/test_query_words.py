"""What people type, as a question to the words of stored texts."""

import pytest

from memoryhub.db import statements
from memoryhub.domain.retrieval import query_words

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("number", ["0", "7", "007", "1999", "9" * 30, "1" * 100, "1" * 101])
def test_a_number_is_its_own_lexeme(number):
    cut = statements.rows(query_words.LEXEMES, {"names": ["english"], "words": [number]})
    assert cut == [("english", number, query_words.lexemes_of(number))]


def test_words_that_were_asked_for_and_numbers_cost_no_statement(monkeypatch):
    query_words.lexemes.clear()
    assert query_words.tsquery("refunds of customer 12 ") == "('refund') & ('custom') & ('12')"
    monkeypatch.setattr(statements, "rows", None)
    assert query_words.tsquery("customer refunds 7") == "('custom') & ('refund') & ('7':* | '7')"
