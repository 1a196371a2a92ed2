"""`python -m tests.bench [--smoke] [name …]`: every measurement but that of growth, or the named ones; each is a module here
with `main(arguments)`.

Figures are ratios within one run on one machine: absolute numbers of two machines say little about each other. At the
end stands one table. `--smoke` takes the smallest sizes, to see that everything runs; its figures mean nothing.
"""

from __future__ import annotations

import argparse
import ast
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench import results, table

HERE = Path(__file__).parent
SHORT = ["--seconds", "0.2", "--rounds", "1"]
APART = {"growth"}  # takes half an hour: measured when it is named
SMOKE = {
    "calls": SHORT,
    "doors": ["--rounds", "20"],
    "files": [*SHORT, "--files", "1200"],
    "growth": [*SHORT, "--sizes", "100", "1000", "--others", "10", "--svg", os.devnull],
    "layers": ["--rows", "5000"],
    "memory": ["--calls", "10"],
    "pages": SHORT,
    "partitions": ["--spaces", "100", "--rounds", "2"],
    "prompts": [*SHORT, "--chunks", "1000"],
    "proposals": [*SHORT, "--pending", "500"],
    "slow": [*SHORT, "--clients", "50"],
    "stall": [*SHORT, "--lines", "2000"],
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
    groups: dict[str, list[table.Row]] = {}
    failed = False
    for name in options.names or sorted(set(names()) - APART):
        print(f"measuring {name} …", flush=True)
        found, code = run(name, SMOKE.get(name, []) if options.smoke else [])
        groups[name] = found or [table.Row(name, "", "", f"ended with {code}", "", False)]
        failed = failed or code != 0
    print(
        f"\nload of the machine over the last quarter of an hour: {os.getloadavg()[2]:.1f} on {os.cpu_count()} cores\n"
    )
    table.show([one for rows in groups.values() for one in rows])
    if options.write:
        results.write(groups)
    return 1 if failed else 0


def run(name: str, arguments: list[str]) -> tuple[list[table.Row], int]:
    """The rows of one measurement and its exit code; stopped, it takes its database and servers away before it ends."""
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-rows-") as place:
        rows = Path(place) / "rows.json"
        # A session of its own: what the terminal or `timeout` sends to everybody must not end it before it has cleaned up.
        process = subprocess.Popen(
            [sys.executable, "-m", f"tests.bench.{name}", *arguments],
            start_new_session=True,
            env={**os.environ, table.ROWS_FILE: str(rows)},
        )
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        try:
            code = process.wait()
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait()
        return table.rows_in(rows), code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
