"""A database and two web workers of the bench's own, with a bare view beside the hub, and what answers cost there."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

from tests.bench import load
from tests.bench.table import Row, row
from tests.bench.turns import ratios

BARE = "bare view"
END = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Address = tuple[str, int]
Asks = dict[str, tuple[Callable[[], bytes], int]]  # by name: what is sent, and the status that is expected
Rates = dict[str, list[float]]


def end_in_order() -> None:
    """Being told to end by a signal is an exit like any other: servers, databases and folders are taken away first.

    A second signal does not cut that short: `timeout` sends two. A process that was started in the background would ignore Ctrl-C.
    """
    for number in END:
        signal.signal(number, told_to_end)


def told_to_end(number: int, _: object) -> None:
    for one in END:
        signal.signal(one, signal.SIG_IGN)
    sys.exit(128 + number)


@contextlib.contextmanager
def database(place: Path, **environment: str) -> Iterator[None]:
    """Sets Django up on an empty, migrated database in this folder."""
    os.environ.update(MEMORYHUB_DATA_DIR=str(place), DJANGO_SETTINGS_MODULE="memoryhub.settings", **environment)
    os.environ.pop("DATABASE_URL", None)
    end_in_order()
    (place / "static").mkdir(exist_ok=True)
    import django

    from memoryhub.server import postgres

    with postgres.ensure_running(place):
        django.setup()
        from django.db import connections

        from memoryhub.server.migrate import migrate_if_needed

        migrate_if_needed()
        yield
        connections.close_all()


@contextlib.contextmanager
def serving(*, by_granian: bool = False, **environment: str) -> Iterator[tuple[Address, int]]:
    """The address of two workers as `memoryhub up` runs them, or of granian's, and the pid of their parent."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.bench.bare", str(port)]
    if by_granian:
        command = [
            sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port), "--workers", "2",
            "--blocking-threads", "1", "--log-level", "warning", "--no-ws", "tests.bench.bare:application",
        ]  # fmt: skip
    server = subprocess.Popen(command, env={**os.environ, **environment})
    try:
        for _ in range(600):
            time.sleep(0.05)
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
        yield ("127.0.0.1", port), server.pid
    finally:
        end(server)


def end(process: subprocess.Popen[Any]) -> None:
    """Asked first, and killed where it does not listen."""
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def processor_time(server: int, place: Path) -> float:
    """Seconds of processor that the web workers and the database have used: what else the machine does is not in it."""
    return sum(sum(one.cpu_times()[:2]) for one in psutil.process_iter() if ours(one, server, place))


def ours(process: psutil.Process, server: int, place: Path) -> bool:
    with contextlib.suppress(psutil.Error):
        if process.name() == "postgres":
            return process.cwd().startswith(str(place))
        return server in (process.pid, process.ppid())
    return False


def rates_of(
    address: Address, asks: Asks, seconds: float, rounds: int, used: Callable[[], float], lines: int = 16
) -> tuple[Rates, Rates]:
    """Answers per second of processor, and per second, in turns."""
    for ask, status in asks.values():
        load.run(address, ask, status=status, lines=lines, seconds=min(seconds, 0.5))
    rates: Rates = {name: [] for name in asks}
    throughput: Rates = {name: [] for name in asks}
    for _ in range(rounds):
        for name, (ask, status) in asks.items():
            before = used()
            told = load.run(address, ask, status=status, lines=lines, seconds=seconds)
            assert not told.wrong, f"{told.wrong} answers of {name!r} were not {status}: {told.first_wrong!r}"
            rates[name].append((len(told.took) + lines) / (used() - before))  # each line has one under way at the end
            throughput[name].append(told.rate)
    return rates, throughput


def shares_of_bare(rates: Rates, name: str) -> list[float]:
    """How many times as many answers as the bare view's, round by round."""
    return ratios(rates[name], rates["bare"])


def costs_in_bares(rates: Rates, name: str) -> list[float]:
    return ratios(rates["bare"], rates[name])


def cost_row(what: str, name: str, rates: Rates, warm: str, at_most: float | None = None) -> Row:
    """A call by what it costs: processor time of web and database, in bare views."""
    detail = f"{1000 / statistics.median(rates[name]):.2f} ms of processor"
    return row(what, costs_in_bares(rates, name), baseline=BARE, unit="x", warm=warm, at_most=at_most, detail=detail)


def etag_of(address: Address, ask: bytes) -> str:
    line = load.Line(address, lambda: ask, b"200")
    line.send()
    while not line.is_whole():
        pass
    head = line.got.partition(b"\r\n\r\n")[0].decode()
    return next(row.partition(":")[2].strip() for row in head.splitlines() if row.lower().startswith("etag:"))
