"""What people type, as a question to the words of stored texts."""

import pytest

from memoryhub.domain import hot, lexemes

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("number", ["0", "7", "007", "1999", "9" * 30, "1" * 100, "1" * 101])
def test_a_number_is_its_own_lexeme(number):
    assert lexemes.cached(number) == lexemes.of(number) == [number]


def test_words_that_were_asked_for_and_numbers_cost_no_statement(monkeypatch):
    monkeypatch.setattr(lexemes, "_known", {})
    assert lexemes.query("refunds of customer 12 ") == "('refund') & ('custom') & ('12')"
    monkeypatch.setattr(hot, "rows", None)
    assert lexemes.query("customer refunds 7") == "('custom') & ('refund') & ('7':* | '7')"
