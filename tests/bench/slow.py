"""What slow clients cost the others: prompts beside 200 connections that dribble, say nothing or do not read.

    python -m tests.bench.slow [--seconds 1] [--rounds 5] [--clients 200]

Starts a database and two web workers of its own, without a proxy, and takes all of it away again.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench import load
from tests.bench.prompts import furnish, token
from tests.bench.served import Address, database, processor_time, serving
from tests.bench.table import Row, finish, row
from tests.bench.turns import against, ratios

LARGE = "/api/v1/files/memories/large.md"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.slow")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", type=int, default=200)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-", dir="/tmp") as place:
        return finish(measure(Path(place), options.seconds, options.rounds, options.clients))


def measure(place: Path, seconds: float, rounds: int, clients: int) -> list[Row]:
    with database(place, MEMORYHUB_EMBEDDER="hashing"):
        scene = furnish(place, 10)
        (scene.folder / "large.md").write_text("A line of a large file.\n" * 40_000)
        ask = load.request("/api/v1/prompt", **token(scene, "forge"))
        cost = against_granian(ask, place, seconds, rounds)
        with serving() as (address, _):
            load.run(address, lambda: ask, seconds=1.0)
            quiet, crowded = [], []
            for _ in range(rounds):
                quiet.append(slowest(address, ask, seconds))
                with crowd(address, clients, scene.tokens["counter"]):
                    crowded.append(slowest(address, ask, seconds))
    what, each, detail = (
        f"95th percentile of prompts beside {clients} slow clients",
        ratios(crowded, quiet),
        against(crowded, quiet),
    )
    return [row(what, each, baseline="without them", unit="x", warm="the prompt", at_most=2.0, detail=detail), cost]


def against_granian(ask: bytes, place: Path, seconds: float, rounds: int) -> Row:
    """Processor time of a prompt, web and database, here and with granian as the server, in turns."""
    with serving() as ours, serving(by_granian=True) as theirs:
        took: dict[int, list[float]] = {ours[1]: [], theirs[1]: []}
        for address, _ in (ours, theirs):  # both warm up
            load.run(address, lambda: ask, seconds=max(seconds, 1.0))
        for _ in range(rounds):
            for address, pid in (ours, theirs):
                before = processor_time(pid, place)
                told = load.run(address, lambda: ask, seconds=seconds)
                took[pid].append((processor_time(pid, place) - before) / max(1, len(told.took)) * 1e3)
    both = took[ours[1]], took[theirs[1]]
    what, detail = "processor time of a prompt, with the hub's own web server", against(*both)
    return row(what, ratios(*both), baseline="granian", unit="x", warm="the prompt", at_most=1.1, detail=detail)


def slowest(address: Address, ask: bytes, seconds: float) -> float:
    """The 95th percentile of how long an answer takes, in milliseconds; every answer has to be the prompt."""
    told = load.run(address, lambda: ask, lines=8, seconds=seconds)
    assert not told.wrong, told.first_wrong
    if not told.took:  # nothing came in that time
        return slowest(address, ask, 4 * seconds)
    return told.percentile(0.95) * 1e3


@contextlib.contextmanager
def crowd(address: Address, clients: int, secret: str) -> Iterator[None]:
    """Slow clients in a process of their own."""
    command = [sys.executable, "-m", "tests.slow", address[0], str(address[1]), str(clients), secret, LARGE]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout and process.stdout.readline() == b"ready\n"
        yield
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
