"""How long a hub takes until it answers and until it is gone, its own database included; its first start is not counted.

python -m tests.bench.starts [--rounds 5]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.bench.served import end_in_order
from tests.bench.table import finish, row
from tests.running import own_place, running_in

WARM = "files of the program"


def main(arguments: list[str]) -> int:
    end_in_order()
    parser = argparse.ArgumentParser(prog="python -m tests.bench.starts")
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args(arguments).rounds
    with own_place() as place:
        taken = [start_and_stop(place / "data") for _ in range(rounds + 1)][1:]
    starts, stops = zip(*taken, strict=True)
    return finish(
        [
            row("a second start until it answers", starts, unit=" s", warm=WARM),
            row("a stop, with the database", stops, unit=" s", warm=""),
        ]
    )


def start_and_stop(data_dir: Path) -> tuple[float, float]:
    """Seconds of both."""
    began = time.perf_counter()
    with running_in(data_dir) as hub:
        answers = time.perf_counter()
        hub.stop()
        return answers - began, time.perf_counter() - answers


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
