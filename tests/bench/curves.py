"""Curves as SVG, for light and dark pages: panels beside each other, with a logarithmic height."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, HEIGHT, TOP, LEFT, BOTTOM, RIGHT = 420, 300, 44, 50, 34, 150
STYLE = """
svg { font: 12px system-ui, sans-serif; background: #fff; color: #1f2328 }
text { fill: currentColor } .axis { stroke: currentColor; opacity: .25 } .small { font-size: 11px; opacity: .7 }
.title { font-weight: 600; font-size: 13px }
.limit { stroke: #cf222e; stroke-dasharray: 4 3 } .limit-label { fill: #cf222e; font-size: 11px }
polyline { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) { svg { background: #0d1117; color: #e6edf3 }
  .limit { stroke: #ff7b72 } .limit-label { fill: #ff7b72 } }
"""
COLOURS = ("#0969da", "#1a7f37", "#9a6700", "#8250df", "#bf3989", "#0a7e8c", "#bc4c00", "#57606a")


@dataclass(frozen=True)
class Panel:
    """One picture: how high each series stands at each of the points below it. A limit is a dashed line."""

    title: str
    points: Sequence[str]
    series: dict[str, Sequence[float]]
    unit: str = " ms"
    limit: float | None = None


def draw(panels: Sequence[Panel], columns: int = 2) -> str:
    """All panels in one document, so many in a row."""
    columns = min(columns, len(panels))
    size = (columns * (WIDTH + LEFT + RIGHT), -(-len(panels) // columns) * (HEIGHT + TOP + BOTTOM))
    drawn = [
        f'<g transform="translate({at % columns * (WIDTH + LEFT + RIGHT) + LEFT} {at // columns * (HEIGHT + TOP + BOTTOM) + TOP})">'
        f"{draw_panel(panel)}</g>"
        for at, panel in enumerate(panels)
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" role="img">'
    title = "<title>" + escape("; ".join(panel.title for panel in panels)) + "</title>"
    return "\n".join([head, title, f"<style>{STYLE}</style>", *drawn, "</svg>\n"])


def draw_panel(panel: Panel) -> str:
    values = [value for line in panel.series.values() for value in line] + ([panel.limit] if panel.limit else [])
    low, high = min(values) / 1.3, max(values) * 1.3

    def y(value: float) -> float:
        return round(HEIGHT - HEIGHT * math.log(value / low) / math.log(high / low), 1)

    def x(at: int) -> float:
        return round(WIDTH * at / max(1, len(panel.points) - 1), 1)

    parts = [f'<text class="title" x="0" y="-18">{escape(panel.title)}</text>']
    for step in steps(low, high):
        parts.append(f'<line class="axis" x1="0" x2="{WIDTH}" y1="{y(step)}" y2="{y(step)}"/>')
        parts.append(
            f'<text class="small" x="-6" y="{y(step) + 4}" text-anchor="end">{step:g}{escape(panel.unit)}</text>'
        )
    for at, point in enumerate(panel.points):
        parts.append(f'<text class="small" x="{x(at)}" y="{HEIGHT + 20}" text-anchor="middle">{escape(point)}</text>')
    if panel.limit:
        parts.append(
            f'<line class="limit" x1="0" x2="{WIDTH}" y1="{y(panel.limit)}" y2="{y(panel.limit)}"/>'
            f'<text class="limit-label" x="4" y="{y(panel.limit) - 5}">at most {panel.limit:g}{escape(panel.unit)}</text>'
        )
    ends = apart([y(line[-1]) for line in panel.series.values()])
    for (name, line), end, colour in zip(panel.series.items(), ends, COLOURS, strict=False):
        dots = " ".join(f"{x(at)},{y(value)}" for at, value in enumerate(line))
        parts.append(f'<polyline stroke="{colour}" points="{dots}"/>')
        parts += [
            f'<circle cx="{x(at)}" cy="{y(value)}" r="3" fill="{colour}">'
            f"<title>{escape(name)}: {value:.3g}{escape(panel.unit)}</title></circle>"
            for at, value in enumerate(line)
        ]
        parts.append(f'<text x="{WIDTH + 8}" y="{end + 4}"><tspan fill="{colour}">●</tspan> {escape(name)}</text>')
    return "".join(parts)


def steps(low: float, high: float) -> list[float]:
    """Round numbers between the two: 1, 2, 5, 10 …"""
    tens = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [one * 10.0**ten for ten in tens for one in (1, 2, 5) if low <= one * 10.0**ten <= high]


def apart(heights: list[float], least: float = 16) -> list[float]:
    """The heights of labels, moved down where they would stand on each other."""
    moved = dict.fromkeys(range(len(heights)), 0.0)
    before = -math.inf
    for at in sorted(moved, key=lambda at: heights[at]):
        before = moved[at] = max(heights[at], before + least)
    return [round(one, 1) for one in moved.values()]
