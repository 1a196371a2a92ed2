"""The page of results: what one run measured, with its day, machine and versions, and every miss."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from memoryhub.server import postgres
from tests.bench import table

PAGE = Path(__file__).parents[2] / "docs/develop/results.md"
MEASURED_WITH = ("django", "psycopg", "numpy", "deepagents", "mcp")
SECTION = re.compile(r"^## (\w+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
HEAD = """# Results

What `make bench` measured last, group by group; `make bench GROWTH=1` and `python -m tests.bench NAME …` replace their groups alone.
[Performance](performance.md) says what the rows mean and how to read them. Figures of two machines, and of two loads of one
machine, say little about each other: each stands beside its baseline of the same run.
"""


def write(groups: dict[str, list[table.Row]], page: Path = PAGE) -> None:
    """Puts these groups into the page; others stay as they are."""
    found = dict(SECTION.findall(page.read_text())) if page.exists() else {}
    found |= {name: section(rows) for name, rows in groups.items()}
    page.write_text(HEAD + "".join(f"\n## {name}\n\n{found[name].strip()}\n" for name in sorted(found)))


def section(rows: list[table.Row]) -> str:
    missed = sum(one.met is False for one in rows)
    judged = sum(one.met is not None for one in rows)
    return f"{conditions()} {missed} of {judged} limits missed.\n\n{table.markdown(rows)}"


def conditions() -> str:
    """The day, the machine with its load, and the versions."""
    versions = ", ".join(f"{name} {version(name)}" for name in MEASURED_WITH)
    return (
        f"{datetime.now(UTC):%d %B %Y}, {platform.system()} {platform.machine()} with {os.cpu_count()} cores under a load of "
        f"{os.getloadavg()[2]:.1f}, memoryhub {version('memoryhub')}, Python {platform.python_version()}, {postgres_version()}, {versions}."
    )


def postgres_version() -> str:
    asked = subprocess.run([postgres.binaries() / "postgres", "--version"], capture_output=True, text=True, check=True)
    return asked.stdout.strip().replace("postgres (PostgreSQL)", "PostgreSQL")
