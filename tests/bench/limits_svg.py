"""Every figure that has a limit, as a share of it: a dot for the median, a line for the range over rounds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from xml.sax.saxutils import escape

from tests.bench.table import Row

NAMES, WIDTH, LINE, TOP, RIGHT = 520, 420, 16, 46, 20
LEAST, MOST = 0.05, 8.0  # what is further out stands at the edge
TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5)
STYLE = """
svg { font: 11px system-ui, sans-serif; background: #fff; color: #1f2328 }
text { fill: currentColor } .axis { stroke: currentColor; opacity: .15 } .limit { stroke: currentColor; stroke-dasharray: 4 3 }
.met { fill: #1a7f37; stroke: #1a7f37 } .missed { fill: #cf222e; stroke: #cf222e } .title { font-weight: 600; font-size: 13px }
@media (prefers-color-scheme: dark) { svg { background: #0d1117; color: #e6edf3 }
  .met { fill: #3fb950; stroke: #3fb950 } .missed { fill: #ff7b72; stroke: #ff7b72 } }
"""


def draw(rows: Iterable[Row]) -> str:
    judged = [one for one in rows if one.shares]
    height, width = TOP + LINE * len(judged) + 10, NAMES + WIDTH + RIGHT
    ticks = "".join(
        f'<line class="{"limit" if tick == 1 else "axis"}" x1="{x(tick)}" x2="{x(tick)}" y1="{TOP - 6}" y2="{height - 8}"/>'
        f'<text x="{x(tick)}" y="{TOP - 12}" text-anchor="middle">{tick:g}</text>'
        for tick in TICKS
    )
    title = "What was measured as a share of its limit: 1 is the limit, less is better"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n"
        f'<text class="title" x="8" y="16">{title}</text>{ticks}\n'
        + "\n".join(drawn(one, TOP + LINE * at) for at, one in enumerate(judged))
        + "\n</svg>\n"
    )


def drawn(row: Row, y: int) -> str:
    least, middle, most = row.shares
    kind = "met" if row.met else "missed"
    name = row.what.replace("`", "")
    name = name if len(name) < 90 else name[:88] + "…"
    return (
        f'<text x="{NAMES - 8}" y="{y + 12}" text-anchor="end">{escape(name)}</text>'
        f'<line class="{kind}" x1="{x(least)}" x2="{x(most)}" y1="{y + 8}" y2="{y + 8}"/>'
        f'<circle class="{kind}" cx="{x(middle)}" cy="{y + 8}" r="3.5"><title>{middle:.2f} of the limit</title></circle>'
    )


def x(share: float) -> float:
    """Where a share of a limit stands, on a logarithmic axis."""
    inside = min(max(share, LEAST), MOST)
    return round(NAMES + WIDTH * math.log(inside / LEAST) / math.log(MOST / LEAST), 1)
