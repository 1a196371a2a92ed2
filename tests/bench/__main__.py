"""`python -m tests.bench [--smoke] [name …]`: every measurement but that of growth, or the named ones; each is a module here
with `main(arguments)`.

Figures are ratios within one run on one machine: absolute numbers of two machines say little about each other. At the
end stands one table. `--smoke` takes the smallest sizes, to see that everything runs; its figures mean nothing.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench import environments, redis_server, results, table
from tests.bench.served import end_in_order

HERE = Path(__file__).parent
BESIDE = {
    "peers": ("mem0", "langgraph", "letta"),
    "doors": ("basic-memory",),
    "layers": ("redis",),
}  # programs, by group
SHORT = ["--seconds", "0.2", "--rounds", "1"]
APART = {"growth"}  # takes ten minutes and 20 GB: measured when it is named
SMOKE = {
    "calls": SHORT,
    "doors": ["--rounds", "1"],
    "files": [*SHORT, "--files", "1200"],
    "growth": [*SHORT, "--sizes", "100", "1000", "--others", "10", "--svg", os.devnull],
    "layers": ["--rows", "5000"],
    "memory": ["--calls", "10"],
    "pages": SHORT,
    "peers": ["--rows", "500", "--rounds", "1"],
    "partitions": ["--spaces", "100", "--rounds", "2"],
    "prompts": [*SHORT, "--chunks", "1000"],
    "proposals": [*SHORT, "--pending", "500"],
    "slow": [*SHORT, "--clients", "50"],
    "stall": [*SHORT, "--lines", "2000"],
    "starts": ["--rounds", "1"],
}


def names() -> list[str]:
    """The modules that measure something by themselves."""
    return sorted(file.stem for file in HERE.glob("*.py") if not file.stem.startswith("_") and has_main(file))


def has_main(file: Path) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in ast.parse(file.read_text()).body)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--smoke", action="store_true", help="the smallest sizes: does everything run?")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/develop/results.md")
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(names()))
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(names()):
        parser.error(f"no measurement is named {', '.join(sorted(unknown))}; there is: {', '.join(names())}")
    chosen = options.names or sorted(set(names()) - APART)
    if "layers" in chosen:
        redis_server.ensure()
    environments.make_all([one for name in chosen for one in BESIDE.get(name, ())])
    groups: dict[str, results.Group] = {}
    for name in chosen:
        print(f"measuring {name} …", flush=True)
        groups[name] = measured(name, SMOKE.get(name, []) if options.smoke else [])
    table.show([one for group in groups.values() for one in group.rows])
    print(f"\n{results.conditions()}\n{results.took(groups)}")
    if options.write and not options.names:
        results.draw(groups)
    if options.write:
        results.write(groups)
    return 1 if any(group.is_missed for group in groups.values()) else 0


def measured(name: str, arguments: list[str]) -> results.Group:
    began = time.monotonic()
    rows, code = run(name, arguments)
    return results.Group(rows or [table.Row(name, "", "", f"ended with {code}", "", False)], time.monotonic() - began)


def run(name: str, arguments: list[str]) -> tuple[list[table.Row], int]:
    """The rows of one measurement and its exit code; stopped, it takes its database and servers away before it ends."""
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-rows-") as place:
        rows = Path(place) / "rows.json"
        end_in_order()
        # A session of its own: what the terminal or `timeout` sends to everybody must not end it before it has cleaned up.
        process = subprocess.Popen(
            [sys.executable, "-m", f"tests.bench.{name}", *arguments],
            start_new_session=True,
            env={**os.environ, table.ROWS_FILE: str(rows)},
        )
        try:
            code = process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        return table.rows_in(rows), code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
