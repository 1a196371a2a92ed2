"""Recall, false alarms and speed of every detector; `python -m tests.bench detectors` prints the table."""

from __future__ import annotations

import pytest

from tests.bench import detectors


@pytest.mark.parametrize("cases", [detectors.LABELLED, detectors.HELD_OUT], ids=["labelled", "held out"])
def test_recall_and_false_alarms(cases) -> None:
    missed = [one for one in detectors.labelled("lines", cases) if one.met is False]
    assert missed == []


def test_a_hundred_kilobytes_under_thirty_milliseconds() -> None:
    text = detectors.document(100_000)
    best = min(detectors.processor_time(text) for _ in range(7))
    assert best < 0.030 * 3  # three times the aim, so that a busy machine does not make the suite red
