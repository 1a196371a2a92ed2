"""What detectors find and what they raise by mistake in labelled lines, and how long they take for 100 kB.

python -m tests.bench.detectors

Lines of our own, which the rules know, and lines written before anybody looked at the rules; public texts are not in this tree.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator

from memoryhub import detectors
from tests.bench.table import Row, finish, row
from tests.fixtures.coherence_texts import COHERENT, COHERENT_HELD_OUT, INCOHERENT, INCOHERENT_HELD_OUT
from tests.fixtures.held_out import GOOD, INJECTIONS, hidden_held_out, secrets_held_out
from tests.fixtures.injection_texts import ATTACKS, PLAIN
from tests.fixtures.secret_texts import CLEAN_LINES, secret_lines

HIDDEN = [f"web{char}hook" for char in "\u200b\u200c\u2060\u202e\u2066\u00ad\U000e0041\ufe05\x1b"]
LABELLED = {  # what is bad, what is good, and which share of the bad is to be found
    "secrets": ([line for line, _ in secret_lines()], [*CLEAN_LINES, *PLAIN], 0.75),
    "injection": (ATTACKS, [*PLAIN, *CLEAN_LINES], 0.5),
    "hidden": (HIDDEN, [*PLAIN, *CLEAN_LINES], 1.0),
    "coherence": ([text for _, text in INCOHERENT], [*COHERENT, *PLAIN], 0.75),
}
HELD_OUT = {
    "secrets": (secrets_held_out(), GOOD, 0.75),
    "injection": (INJECTIONS, GOOD, 0.5),
    "hidden": (hidden_held_out(), GOOD, 1.0),
    "coherence": ([text for _, text in INCOHERENT_HELD_OUT], [*COHERENT_HELD_OUT, *GOOD], 0.75),
}
MOST_ALARMS = 1  # % of good lines


def main(arguments: list[str]) -> int:
    argparse.ArgumentParser(prog="python -m tests.bench.detectors").parse_args(arguments)
    rows = [*labelled("lines of our own", LABELLED), *labelled("lines written unseen", HELD_OUT), quickness()]
    return finish(rows)


def labelled(name: str, cases: dict[str, tuple[list[str], list[str], float]]) -> Iterator[Row]:
    """Shares in percent; they come out the same each time."""
    for code, (bad, good, least) in cases.items():
        recall, alarms = share_with(code, bad), share_with(code, good)
        what = f"{code} in {name}"
        yield row(f"{what}: found", recall, unit=" %", warm="", at_least=100 * least, detail=f"of {len(bad)}")
        yield row(f"{what}: false alarms", alarms, unit=" %", warm="", at_most=MOST_ALARMS, detail=f"of {len(good)}")


def share_with(code: str, texts: list[str]) -> float:
    """The percentage in which this detector finds something."""
    return 100 * sum(bool(detectors.find(text, only=(code,))) for text in texts) / len(texts)


def quickness() -> Row:
    text = document(100_000)
    took = [processor_time(text) * 1e3 for _ in range(7)]
    what = "100 kB through every detector of a proposal, processor time"
    return row(what, took, unit=" ms", warm="the rules", at_most=30)


def document(size: int) -> str:
    """Prose, lists and code, as memory files have them."""
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
    return (paragraph * (size // len(paragraph) + 1))[:size]


def processor_time(text: str) -> float:
    start = time.process_time()
    detectors.find(text)
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
