"""Recall, false alarms and speed of every detector; run with `-s` to read the table."""

from __future__ import annotations

import time

import pytest

from memoryhub import detectors
from tests.fixtures.coherence_texts import COHERENT, COHERENT_HELD_OUT, INCOHERENT, INCOHERENT_HELD_OUT
from tests.fixtures.held_out import GOOD, INJECTIONS, hidden_held_out, secrets_held_out
from tests.fixtures.injection_texts import ATTACKS, PLAIN
from tests.fixtures.secret_texts import CLEAN_LINES, secret_lines

LABELLED = {
    "secrets": ([line for line, _ in secret_lines()], [*CLEAN_LINES, *PLAIN], 0.75),
    "injection": (ATTACKS, [*PLAIN, *CLEAN_LINES], 0.5),
    "hidden": (
        [f"web{char}hook" for char in "\u200b\u200c\u2060\u202e\u2066\u00ad\U000e0041\ufe05\x1b"],
        [*PLAIN, *CLEAN_LINES],
        1.0,
    ),
    "coherence": ([text for _, text in INCOHERENT], [*COHERENT, *PLAIN], 0.75),
}


HELD_OUT = {
    "secrets": (secrets_held_out(), GOOD, 0.75),
    "injection": (INJECTIONS, GOOD, 0.5),
    "hidden": (hidden_held_out(), GOOD, 1.0),
    "coherence": ([text for _, text in INCOHERENT_HELD_OUT], [*COHERENT_HELD_OUT, *GOOD], 0.75),
}


@pytest.mark.parametrize("cases", [LABELLED, HELD_OUT], ids=["labelled", "held out"])
def test_recall_and_false_alarms(cases) -> None:
    print(f"\n{'detector':<12}{'recall':>8}{'false alarms':>14}")
    for code, (bad, good, aim) in cases.items():
        recall = sum(bool(detectors.find(text, only=(code,))) for text in bad) / len(bad)
        alarms = sum(bool(detectors.find(text, only=(code,))) for text in good) / len(good)
        print(f"{code:<12}{recall:>8.0%}{alarms:>14.1%}   ({len(bad)} bad, {len(good)} good)")
        assert recall >= aim
        assert alarms <= 0.01


def test_a_hundred_kilobytes_under_thirty_milliseconds() -> None:
    code = [
        "```python",
        "def total(rows: list[Row]) -> Decimal:",
        "    return sum(row.amount for row in rows)",
        "```",
        "",
    ]
    prose = [
        "The ledger service keeps the books of small shops. Every amount is an integer in cents, rounded once, at the end."
    ] * 20
    paragraph = "\n".join([*PLAIN, *CLEAN_LINES[:8], "", *code, *prose, ""])
    text = (paragraph * (100_000 // len(paragraph) + 1))[:100_000]
    best = min(_seconds(text) for _ in range(7))
    print(f"\n100 kB through all detectors of a proposal: {best * 1000:.1f} ms of a processor")
    assert best < 0.030 * 3  # three times the aim, so that a busy machine does not make the suite red


def _seconds(text: str) -> float:
    start = time.process_time()
    detectors.find(text)
    return time.process_time() - start
