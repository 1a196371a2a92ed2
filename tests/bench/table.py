"""The one table that the measurements end in: what, baseline, asked, measured, warm, and whether it was met."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

ROWS_FILE = "BENCH_ROWS"  # where a measurement leaves its rows when `python -m tests.bench` has started it
HEADINGS = ("what", "baseline", "asked", "measured", "warm", "result")


@dataclass
class Row:
    """One line; `warm` says what was in a cache when the clock ran, `met` is None where nothing is asked."""

    what: str
    baseline: str
    asked: str
    measured: str
    warm: str
    met: bool | None = None

    def cells(self) -> tuple[str, ...]:
        result = {True: "met", False: "MISSED", None: ""}[self.met]
        return self.what, self.baseline, self.asked, self.measured, self.warm, result


def row(
    what: str,
    value: float,
    *,
    warm: str,
    baseline: str = "",
    unit: str = "",
    detail: str = "",
    at_least: float | None = None,
    at_most: float | None = None,
) -> Row:
    """A figure and the one limit that it is held to, if any; `detail` stands in brackets behind it."""
    value = float(f"{value:.3g}")  # what is judged is what is shown
    measured = f"{value:g}{unit}" + (f" ({detail})" if detail else "")
    if at_least is not None:
        return Row(what, baseline, f"at least {at_least:g}{unit}", measured, warm, value >= at_least)
    if at_most is not None:
        return Row(what, baseline, f"at most {at_most:g}{unit}", measured, warm, value <= at_most)
    return Row(what, baseline, "", measured, warm)


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
