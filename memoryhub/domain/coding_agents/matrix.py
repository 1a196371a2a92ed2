"""Which coding agent loads which file of a folder: rows are files, columns are agents (pure)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from memoryhub.dialects.coding import Context
from memoryhub.dialects.coding.tree import is_below

IN, CUT, LATER, IGNORED, NONE = "in", "cut", "later", "ignored", "none"


@dataclass(frozen=True)
class Cell:
    """What becomes of a file with one agent; `says` is the cause of what is ignored, the line of a cut, the trigger."""

    state: str
    says: str = ""
    line: int | None = None


@dataclass(frozen=True)
class Row:
    path: str
    cells: Mapping[str, Cell]  # by the agent's name

    def has(self, state: str) -> bool:
        return any(cell.state == state for cell in self.cells.values())

    @property
    def is_missed(self) -> bool:
        """Whether some agent gets it, and another one that looks for it does not get all of it."""
        return (self.has(IN) or self.has(CUT)) and (self.has(IGNORED) or self.has(CUT))


@dataclass(frozen=True)
class Group:
    """The files of one folder."""

    folder: str
    rows: tuple[Row, ...]


def matrix_of(contexts: Mapping[str, Context], directory: str) -> list[Group]:
    """The files that any of the agents meets: those of the folder and below it first, then of each folder above, then others."""
    cells: dict[str, dict[str, Cell]] = {}
    for name, context in contexts.items():
        for path, cell in _cells(context).items():
            cells.setdefault(path, {})[name] = cell
    rows = [Row(path, {name: found.get(name, Cell(NONE)) for name in contexts}) for path, found in cells.items()]
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda one: one.path):
        groups.setdefault(_group(row.path, directory), []).append(row)
    order = sorted(groups, key=lambda folder: _rank(folder, directory))
    return [Group(folder, tuple(groups[folder])) for folder in order]


def _cells(context: Context) -> dict[str, Cell]:
    """The cell of each file. What is loaded counts before what is said of a second mention."""
    found: dict[str, Cell] = {}
    for later in context.later:
        if not later.path.startswith(("http://", "https://")):
            found[later.path] = Cell(LATER, later.trigger)
    for ignored in context.ignored:
        if ignored.path not in found or found[ignored.path].state != IGNORED:  # the first cause says most
            found[ignored.path] = Cell(IGNORED, ignored.why)
    for inlined in context.inlined:
        found[inlined.path] = Cell(IN, f"inside {inlined.by}")
    for block in context.blocks:
        if block.path.startswith("/"):
            found[block.path] = Cell(CUT, f"at line {block.cut_at}", block.cut_at) if block.cut_at else Cell(IN)
    return found


def _group(path: str, directory: str) -> str:
    folder = os.path.dirname(path)
    if is_below(folder, directory):
        return directory
    above = [one for one in _folders_above(directory) if is_below(folder, one)]
    return above[0] if above and above[0] != "/" else folder


def _folders_above(directory: str) -> list[str]:
    """The folders above, nearest first."""
    found = []
    while directory not in ("", "/"):
        directory = os.path.dirname(directory)
        found.append(directory)
    return found


def _rank(folder: str, directory: str) -> tuple[int, int, str]:
    if folder == directory:
        return (0, 0, folder)
    above = is_below(directory, folder)
    return (1 if above else 2, -len(folder) if above else 0, folder)
