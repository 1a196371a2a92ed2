"""The page of results: what one run measured, with its day, machine and versions, and every miss."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

from memoryhub.server import postgres
from tests.bench import environments, limits_svg, table

TREE = Path(__file__).parents[2]
PAGE, DRAWING = TREE / "docs/develop/results.md", TREE / "docs/img/limits.svg"
MEASURED_WITH = ("django", "psycopg", "numpy", "granian", "deepagents", "mcp")
SECTION = re.compile(r"^## (\w+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
HEAD = """# Results

What `make bench` measured last, group by group; `make bench GROWTH=1` and `python -m tests.bench NAME …` replace their groups alone.
[Performance](performance.md) says what the rows mean and how to read them. Figures of two machines, and of two loads of one
machine, say little about each other: each stands beside its baseline of the same run.
"""
DRAWN = """
![Figures as a share of what is asked, with the range over rounds](../img/limits.svg)
"""


@dataclass
class Group:
    """The rows of one measurement, and the seconds it took."""

    rows: list[table.Row]
    seconds: float

    @property
    def is_missed(self) -> bool:
        return any(one.met is False for one in self.rows)


def write(groups: dict[str, Group], page: Path = PAGE) -> None:
    """Puts these groups into the page; others stay as they are."""
    found = dict(SECTION.findall(page.read_text())) if page.exists() else {}
    found |= {name: section(group) for name, group in groups.items()}
    head = HEAD + (DRAWN if DRAWING.exists() else "")
    page.write_text(head + "".join(f"\n## {name}\n\n{found[name].strip()}\n" for name in sorted(found)))


def draw(groups: dict[str, Group], drawing: Path = DRAWING) -> None:
    """Everything with a limit as a share of it."""
    drawing.write_text(limits_svg.draw([one for group in groups.values() for one in group.rows]))


def section(group: Group) -> str:
    missed = sum(one.met is False for one in group.rows)
    judged = sum(one.met is not None for one in group.rows)
    said = f"{conditions()} {missed} of {judged} limits missed, in {group.seconds:.0f} s."
    return f"{said}\n\n{table.markdown(group.rows)}"


def took(groups: dict[str, Group]) -> str:
    """The seconds of each measurement and of all."""
    each = ", ".join(f"{name} {group.seconds:.0f}" for name, group in groups.items())
    return f"{sum(group.seconds for group in groups.values()) / 60:.1f} minutes; seconds: {each}."


def conditions() -> str:
    """The day, the machine with its load, and the versions."""
    return (
        f"{datetime.now(UTC):%d %B %Y}, {machine()} under a load of {os.getloadavg()[2]:.1f}, memoryhub {version('memoryhub')}, "
        f"Python {platform.python_version()}, {postgres_version()}, pgvector {pgvector_version()}, "
        f"{', '.join(f'{name} {version(name)}' for name in MEASURED_WITH)}; "
        f"beside it {', '.join(map(environments.shown, environments.PROGRAMS))}."
    )


def machine() -> str:
    """System, cores and memory, without a name."""
    cores = f"{os.cpu_count()} cores{of_processor()}"
    memory = round(psutil.virtual_memory().total / (1 << 30))
    return f"{platform.system()} {platform.machine()} with {cores} and {memory} GB"


def of_processor() -> str:
    told = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.+)$", told.read_text(), re.MULTILINE) if told.exists() else None
    return f" of {found[1].strip()}" if found else ""


def postgres_version() -> str:
    asked = subprocess.run([postgres.binaries() / "postgres", "--version"], capture_output=True, text=True, check=True)
    return asked.stdout.strip().replace("postgres (PostgreSQL)", "PostgreSQL")


def pgvector_version() -> str:
    """Of the extension that the hub brings."""
    control = postgres.binaries().parent / "share/postgresql/extension/vector.control"
    return re.search(r"default_version = '(.+)'", control.read_text())[1]
