"""A test of many cases fails with each that does not hold, and not with the first alone."""

from __future__ import annotations

import pytest

from tests.cases import for_each


def test_all_cases_that_do_not_hold_are_named():
    @for_each([1, 2, 3], [("a", "b"), ("c", "d")])
    def check(number: int, one: str, other: str) -> None:
        assert number < 2 and one + other == "ab"

    with pytest.raises(AssertionError) as failed:
        check()
    assert [line.partition(": ")[0] for line in str(failed.value).splitlines() if line.startswith("[")] == [
        "[1, 'c', 'd']", "[2, 'a', 'b']", "[2, 'c', 'd']", "[3, 'a', 'b']", "[3, 'c', 'd']",
    ]  # fmt: skip
    with pytest.raises(AssertionError, match="without a case"):
        for_each([])
