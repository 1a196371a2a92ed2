"""Advice without an object, and lines that are concrete."""

from __future__ import annotations

from tests.cases import for_each
from tests.detectors import findings_of


@for_each(["- Follow best practices", "- Be careful with that", "Do it properly", "- handle things as usual"])
def test_advice_without_an_object_is_vague(line: str) -> None:
    assert findings_of("vague", line)


@for_each(["- Run `make test-fast` as usual", "## Best practices", "- Card refunds take five to ten days"])
def test_concrete_lines_are_not_vague(line: str) -> None:
    assert findings_of("vague", line) == []
