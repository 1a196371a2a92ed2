"""Another program's memory in a process of its own, and our own calls beside it: blocks of calls in turns, round by round.

Both are timed by the clock and by processor time: the processes that answer, and the backends of PostgreSQL that work for them.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from tests.bench import environments
from tests.bench.table import Row, row
from tests.bench.turns import ROUNDS, clock, ratios

BLOCK = 10  # calls of one side before the other has its turn


class Block(NamedTuple):
    """What a few calls took, in milliseconds; `count` is how many results the last one gave."""

    taken: list[float]
    processor: float
    count: int = 0


Calls = Callable[[list[str]], Block]


class Peer:
    """The other program, which holds the given texts in a database of its own."""

    def __init__(self, process: subprocess.Popen[str], database: str) -> None:
        self.process, self.database = process, database

    def calls(self, act: str) -> Calls:
        return lambda texts: self.ask(act, texts)

    def ask(self, act: str, texts: list[str]) -> Block:
        with Spent(self.database, self.pids) as spent:
            answer = self.say({"act": act, "texts": texts})
        return Block(answer["taken"], spent.milliseconds, answer["count"])

    def pids(self) -> list[int]:
        family = psutil.Process(self.process.pid)
        return [one.pid for one in [family, *family.children(recursive=True)]]

    def say(self, asked: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(asked) + "\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise environments.Unavailable("it ended early; its own words stand in what the bench printed")
        return json.loads(line)


@contextlib.contextmanager
def running(name: str, texts: list[str], place: Path) -> Iterator[Peer]:
    """`NAME_side.py` in the environment of this name, on a database of its own in the same PostgreSQL server."""
    from django.db import connection

    python = environments.program(name)
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        cursor.execute(f"CREATE DATABASE {name}")
    told = connection.settings_dict
    home = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=place))
    process = subprocess.Popen(
        [str(python), str(Path(__file__).parent / f"{name}_side.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=home,
        env={"HOME": str(home), "PATH": os.environ.get("PATH", "")},
    )  # fmt: skip
    one = Peer(process, name)
    try:
        address = {"host": told["HOST"], "port": told["PORT"], "user": told["USER"], "dbname": name}
        one.say({"address": address, "place": str(home), "texts": texts})
        yield one
    finally:
        end_family(process)
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        shutil.rmtree(home, ignore_errors=True)


def end_family(process: subprocess.Popen[str]) -> None:
    """The other program with all that it has started."""
    with contextlib.suppress(psutil.Error):
        for one in psutil.Process(process.pid).children(recursive=True):
            one.kill()
    process.kill()
    process.communicate()


# ---- processor time


class Spent:
    """Milliseconds of processor of these processes and of the backends of this database, between entering and leaving."""

    def __init__(self, database: str, pids: Callable[[], list[int]]) -> None:
        self.database, self.pids, self.milliseconds = database, pids, 0.0

    def __enter__(self) -> Spent:
        self.counted = [*backends(self.database), *self.pids()]
        self.before = time_of(self.counted)
        return self

    def __exit__(self, *_: object) -> None:
        self.milliseconds = time_of(reversed(self.counted)) - self.before


def backends(database: str) -> list[int]:
    from memoryhub.db import statements

    asked = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND backend_type = 'client backend'"
    return [pid for (pid,) in statements.rows(asked, [database])]


def time_of(pids: Iterable[int]) -> float:
    """Milliseconds that all threads of these processes have had so far, as the scheduler counts them: to the nanosecond."""
    total = 0
    for pid in pids:
        for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):
                total += int(thread.read_text().split()[0])
    return total / 1e6


# ---- both sides


def ours(call: Callable[[str], object], database: str, pids: Callable[[], list[int]] = lambda: []) -> Calls:
    """Calls of this process, with the backends of the hub's database and what else answers."""

    def block(texts: list[str]) -> Block:
        results: list[object] = []
        with Spent(
            database, lambda: [*pids(), os.getpid()]
        ) as spent:  # this process last: reading the others is its work too
            taken = [clock(lambda text=text: results.append(call(text))) for text in texts]
        return Block(taken, spent.milliseconds, len(results[-1]) if isinstance(results[-1], list) else 0)

    return block


@dataclass
class Taken:
    """Milliseconds of a call: the median of each round by the clock, and the mean of each round by processor time."""

    clock: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def add(self, blocks: list[Block]) -> None:
        each = [one for block in blocks for one in block.taken]
        self.clock.append(statistics.median(each))
        self.processor.append(sum(block.processor for block in blocks) / len(each))

    def __str__(self) -> str:
        return f"{statistics.median(self.clock):.3g} ms, processor {statistics.median(self.processor):.3g}"


def compare(sides: dict[str, Calls], texts: list[str], rounds: int = ROUNDS) -> dict[str, Taken]:
    """The same texts to all sides, a block of each in turn; the first block of each is not counted."""
    for call in sides.values():
        call(texts[:BLOCK])
    counted, taken = texts[BLOCK:], {name: Taken() for name in sides}
    size = len(counted) // rounds
    for start in range(0, size * rounds, size):
        blocks: dict[str, list[Block]] = {name: [] for name in sides}
        for at in range(start, start + size, BLOCK):
            for name, call in sides.items():
                blocks[name].append(call(counted[at : min(at + BLOCK, start + size)]))
        for name, each in blocks.items():
            taken[name].add(each)
    return taken


def compared(what: str, theirs: Taken, mine: Taken, baseline: str, warm: str, at_least: float | None = None) -> Row:
    """How many times as fast as the other program, by the clock."""
    each = ratios(theirs.clock, mine.clock)
    return row(
        what, each, baseline=baseline, unit=" times", warm=warm, at_least=at_least, detail=f"{mine}; there {theirs}"
    )
