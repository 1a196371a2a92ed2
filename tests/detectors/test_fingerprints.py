"""Fingerprints: what `duplicate` would find is found by a few keys among very many lines."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryhub import detectors
from memoryhub.detectors import KnownText, fingerprints

WORDS = ["a", "to", "day", "bank", "café", "refund", "invoice", "payment", "退款", "שלום", "gateway", "chargeback", "ledger",
         "x" * 30, "2024", "20931", "reconciliation", "statement"]  # fmt: skip


@st.composite
def two_alike(draw):
    """A line and what became of it: words that went, came, or changed their places."""
    one = draw(st.lists(st.sampled_from(WORDS), min_size=4, max_size=14, unique=draw(st.booleans())))
    other = list(one)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(other)))
        if draw(st.booleans()) and at < len(other):
            del other[at]
        else:
            other.insert(at, draw(st.sampled_from(WORDS)))
    return " ".join(one), " ".join(draw(st.permutations(other)) if draw(st.booleans()) else other)


def is_found(asked, kept):
    """As the database looks (`repeats.NEAR`)."""
    return any(
        one.code == other.code
        and (4 * one.size + 4) // 5 <= other.size <= 5 * one.size // 4
        and ((one.mask ^ other.mask) & (1 << 64) - 1).bit_count() <= one.size // 4
        for one in fingerprints.to_look_up(asked)
        for other in fingerprints.to_store(kept)
    )


@settings(max_examples=400, deadline=None)
@given(two_alike())
def test_whatever_says_the_same_or_nearly_is_found(pair):
    line, stored = pair
    if detectors.find(line, only=["duplicate"], context=[KnownText("L-1", stored)]) and len(set(stored.split())) < 15:
        assert is_found(line, f"Before it.\n{stored}\nAnd after it came more.")


@pytest.mark.parametrize("size", range(4, 15))
def test_a_line_is_found_without_its_longest_words(size):
    stored = [chr(97 + n) * (30 - n) for n in range(size)]
    line = " ".join(stored[size // 5 :])
    assert detectors.find(line, only=["duplicate"], context=[KnownText("L-1", " ".join(stored))])
    assert is_found(line, " ".join(stored))
    assert is_found(" ".join(stored), line)


def test_what_says_something_else_is_seldom_found():
    lines = [
        f"Customer {n} of shop {n * 7919 % 1000} asks why the refund of {n % 28} May took {n % 17} days."
        for n in range(300)
    ]
    other = "Deploys of the payment gateway are announced in the channel before they run on Thursday."
    assert not any(is_found(line, other) for line in lines)


def test_a_line_without_end_is_no_line_of_a_chunk():
    assert fingerprints.to_look_up(" ".join(f"word{n}" for n in range(100_000))) == []
    assert (
        len(fingerprints.to_look_up("\n".join(f"this is line {n} of very many lines" for n in range(20_000))))
        <= fingerprints.MAX_LOOKED_UP
    )


def test_numbers_fit_into_the_table():
    for one in fingerprints.to_store("\n".join(" ".join(WORDS[at:] + WORDS[:at]) for at in range(len(WORDS)))):
        assert -(2**31) <= one.code < 2**31 and 0 < one.size < 2**15 and -(2**63) <= one.mask < 2**63


def test_what_was_stored_before_is_still_found():
    """If this fails, what stands in the table is not what is asked for: a migration has to make it anew, as 0013 does."""
    text = "Card refunds take 5 to 10 days.\n退款需要五到十天才能到账。\nThe café of Zoë is closed on Sundays."
    assert [(one.code, one.size) for one in fingerprints.to_store(text)] == PINNED


PINNED = [
    (1879069972, 7),
    (1372169148, 7),
    (-1438190784, 7),
    (-63660352, 11),
    (-800800546, 11),
    (900630074, 11),
    (-1190580650, 11),
    (1558407346, 11),
    (-1200331285, 11),
    (2123333813, 8),
    (1599959211, 8),
    (1544283787, 8),
]


def test_they_are_written_as_json_reads_them():
    found = fingerprints.to_store("Refunds of cards take ten days.\nAnd transfers of banks take two of them.")
    beside = '"position": 3, '
    written = json.loads(f"[{fingerprints.as_json(found, beside)}]")
    assert written == [{"position": 3, **one._asdict()} for one in found] and len(written) > 2
    assert fingerprints.as_json([]) == ""
