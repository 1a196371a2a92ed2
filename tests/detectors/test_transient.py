"""Lines that are true for now only, and rules that are not."""

from __future__ import annotations

from tests.cases import for_each
from tests.detectors import findings_of


@for_each(
    [
        "- The staging database is away until Thursday.",
        "CI is currently broken",
        "We deploy tomorrow",
        "The office is closed until Monday",
        "Review due by March 3",
        "rk is on vacation",
        "Working on this task for now",
    ]
)
def test_moments_are_transient(line: str) -> None:
    assert [one.code for one in findings_of("transient", line)] == ["transient"]


@for_each(
    [
        "- Backups run every day at 02:00.",
        "- Always ask before tomorrow's freeze ends",
        "- Tokens expire in 15 minutes",
        "- The API retries for 2 hours",
    ]
)
def test_rules_are_not_transient(line: str) -> None:
    assert findings_of("transient", line) == []
