"""`python -m tests.bench [name …]`: every measurement, or the named ones; each is a module here with `main(arguments)`.

Figures are ratios within one run on one machine: absolute numbers of two machines say little about each other.
"""

from __future__ import annotations

import ast
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def names() -> list[str]:
    """The modules that measure something by themselves."""
    return sorted(file.stem for file in HERE.glob("*.py") if not file.stem.startswith("_") and has_main(file))


def has_main(file: Path) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in ast.parse(file.read_text()).body)


def main(wanted: list[str]) -> int:
    worst = 0
    for name in wanted or names():
        print(f"\n== {name}\n", flush=True)
        worst = max(worst, abs(run(name)))
    return worst


def run(name: str) -> int:
    """One measurement; told to stop, it takes its database and servers away before it ends."""
    # A session of its own: what the terminal or `timeout` sends to everybody must not end it before it has cleaned up.
    process = subprocess.Popen([sys.executable, "-m", f"tests.bench.{name}"], start_new_session=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return process.wait()
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait()


if __name__ == "__main__":
    unknown = [name for name in sys.argv[1:] if name not in names()]
    sys.exit(f"There is: {', '.join(names())}." if unknown else main(sys.argv[1:]))
