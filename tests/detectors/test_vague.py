"""Advice without an object, and lines that are concrete."""

from __future__ import annotations

import pytest

from tests.detectors import findings_of


@pytest.mark.parametrize(
    "line", ["- Follow best practices", "- Be careful with that", "Do it properly", "- handle things as usual"]
)
def test_advice_without_an_object_is_vague(line: str) -> None:
    assert findings_of("vague", line)


@pytest.mark.parametrize(
    "line", ["- Run `make test-fast` as usual", "## Best practices", "- Card refunds take five to ten days"]
)
def test_concrete_lines_are_not_vague(line: str) -> None:
    assert findings_of("vague", line) == []
