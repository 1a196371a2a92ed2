"""The one table that the measurements end in: each figure as the median of its rounds with their range, and whether it was met."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROWS_FILE = "BENCH_ROWS"  # where a measurement leaves its rows when `python -m tests.bench` has started it
HEADINGS = ("what", "baseline", "asked", "median", "range over rounds", "warm", "result")

NEVER = 1e6  # the share of a limit that nothing comes near to


@dataclass
class Row:
    """One line; `warm` says what was in a cache when the clock ran, `met` is None where nothing is asked."""

    what: str
    baseline: str
    asked: str
    measured: str
    warm: str
    met: bool | None = None
    rounds: str = ""  # the range, and over how many rounds
    shares: Sequence[float] = ()  # of the limit: the least, the median and the most; what is above 1 misses it

    def cells(self) -> tuple[str, ...]:
        result = {True: "met", False: "MISSED", None: ""}[self.met]
        return self.what, self.baseline, self.asked, self.measured, self.rounds, self.warm, result


def not_measured(what: str, baseline: str, why: str) -> Row:
    return Row(what, baseline, "", f"not measured: {why}", "")


def row(
    what: str,
    values: float | Sequence[float],
    *,
    warm: str,
    baseline: str = "",
    unit: str = "",
    detail: str = "",
    at_least: float | None = None,
    at_most: float | None = None,
) -> Row:
    """The median of the rounds and the one limit that it is held to, if any; `detail` stands in brackets behind it.

    A single number is what comes out the same each time.
    """
    each = [values] if isinstance(values, int | float) else values
    value = shortened(statistics.median(each))  # what is judged is what is shown
    measured = f"{value:g}{unit}" + (f" ({detail})" if detail else "")
    made = Row(what, baseline, "", measured, warm, rounds=spread(each))
    if at_least is not None:
        made.asked, made.met = f"at least {at_least:g}{unit}", value >= at_least
        made.shares = sorted(at_least / one if one > 0 else NEVER for one in (min(each), value, max(each)))
    if at_most is not None:
        made.asked, made.met = f"at most {at_most:g}{unit}", value <= at_most
        made.shares = [one / at_most for one in (min(each), value, max(each))]
    return made


def spread(each: Sequence[float]) -> str:
    """The least and the most of several rounds."""
    return f"{shortened(min(each)):g} to {shortened(max(each)):g}, {len(each)} rounds" if len(each) > 1 else ""


def shortened(value: float) -> float:
    return float(f"{value:.3g}")


def finish(rows: list[Row]) -> int:
    """Hands the rows to `python -m tests.bench`, or prints them where a module runs alone; 1 if one was missed."""
    if place := os.environ.get(ROWS_FILE):
        Path(place).write_text(json.dumps([asdict(one) for one in rows]))
    else:
        show(rows)
    return 1 if any(one.met is False for one in rows) else 0


def rows_in(place: Path) -> list[Row]:
    return [Row(**one) for one in json.loads(place.read_text())] if place.exists() else []


def show(rows: list[Row]) -> None:
    print(markdown(rows))


def markdown(rows: list[Row]) -> str:
    """A Markdown table whose columns are aligned."""
    cells = [HEADINGS, *(one.cells() for one in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(HEADINGS))]
    cells.insert(1, tuple("-" * width for width in widths))
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in cells
    )
