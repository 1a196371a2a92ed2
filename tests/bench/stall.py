"""What one slow thing costs the agents beside it: prompts of four agents while an export, slow readers, a page of 300 ms or
a stopped worker is there, against the same agents alone.

    python -m tests.bench.stall [--seconds 2] [--rounds 3] [--lines 1000000]

Starts a database and two web workers of its own, and takes all of it away again.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import select
import signal
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

from tests.bench import load
from tests.bench.prompts import Scene, furnish
from tests.bench.served import Address, database, serving
from tests.bench.table import Row, finish, row
from tests.bench.turns import ratios

AGENTS = 4
EVERY = 0.02  # seconds between two requests of an agent
END_WITHIN = 2.0  # seconds for the connections of a stopped worker
fork = multiprocessing.get_context("fork")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.stall")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lines", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-", dir="/tmp") as place:
        return finish(measure(Path(place), options.seconds, options.rounds, options.lines))


def measure(place: Path, seconds: float, rounds: int, lines: int) -> list[Row]:
    with database(place, MEMORYHUB_EMBEDDER="hashing"):
        scene = furnish(place, 10)
        (scene.folder / "large.md").write_text("A line of a large file.\n" * 40_000)
        asks = [load.request("/api/v1/prompt", Authorization=f"Bearer {one}") for one in tokens(scene)]
        cookie = session(scene)
        write_lines(scene, lines)
        with serving() as (address, server):
            beside = {
                f"a CSV export of {lines:,} lines": lambda: reading(
                    address, "/s/bench/activity/export.csv", Cookie=cookie
                ),
                "20 readers that take their time": lambda: slow_readers(address, scene.tokens["forge"]),
                "a page of 300 ms, one after the other": lambda: reading(address, "/page-of-300-ms"),
                "a stopped worker": lambda: stopped(server),
            }
            agents(address, asks, 1.0)
            return [one for name, slow in beside.items() for one in rows_of(name, slow, address, asks, seconds, rounds)]


def rows_of(
    name: str, slow: Callable[[], Any], address: Address, asks: list[bytes], seconds: float, rounds: int
) -> Iterator[Row]:
    quiet, stalled, all_ended, longest = list[float](), list[float](), list[float](), 0.0
    for _ in range(rounds):
        quiet.append(percentile(agents(address, asks, seconds)[0]))
        with slow():
            took, ended = agents(address, asks, seconds)
        stalled.append(percentile(took))
        longest = max(longest, *took)
        all_ended += [max(ended)] if ended else []
    detail = (
        f"{statistics.median(stalled) * 1e3:.2f} ms against {statistics.median(quiet) * 1e3:.2f}, "
        f"at most {longest * 1e3:.0f}"
    )
    what = f"95th percentile of prompts of {AGENTS} agents beside {name}"
    each = ratios(stalled, quiet)
    yield row(what, each, baseline="without it", unit="x", warm="the prompt", at_most=2.0, detail=detail)
    if all_ended:
        yield row(
            f"own connections of {name} end, the last of each round", all_ended, unit=" s", warm="", at_most=END_WITHIN
        )


def percentile(took: list[float]) -> float:
    return sorted(took)[int(0.95 * (len(took) - 1))]


# ---- the agents


def agents(address: Address, asks: list[bytes], seconds: float) -> tuple[list[float], list[float]]:
    """How long answers take, from the moment at which each was to be asked: who waits for one asks the next ones late. And
    how long it took until connections ended that were not answered."""
    lines = [load.Line(address, lambda ask=ask: ask, b"200") for ask in asks]
    by_number = {line.socket.fileno(): at for at, line in enumerate(lines)}
    began = time.perf_counter()
    due = [began + EVERY * at / len(lines) for at in range(len(lines))]
    waiting = [False] * len(lines)
    took: list[float] = []
    ended: list[float] = []
    poll = select.epoll()
    for number in by_number:
        poll.register(number, select.EPOLLIN)
    while (now := time.perf_counter()) - began < seconds or any(waiting):
        for at, line in enumerate(lines):
            if not waiting[at] and due[at] <= now and now - began < seconds:
                waiting[at] = True
                line.send()
        idle = [one for at, one in enumerate(due) if not waiting[at]]
        for number, _ in poll.poll(max(0.0, min(idle, default=now + 1) - time.perf_counter())):
            at = by_number[number]
            try:
                whole = lines[at].is_whole()
            except ConnectionError:  # its worker was stopped and has ended
                ended.append(time.perf_counter() - lines[at].sent)
                poll.unregister(number)
                lines[at].socket.close()
                lines[at] = load.Line(address, lines[at].ask, b"200")
                by_number = {line.socket.fileno(): at for at, line in enumerate(lines)}
                poll.register(lines[at].socket.fileno(), select.EPOLLIN)
                waiting[at], due[at] = False, time.perf_counter()
                continue
            if whole:
                assert not lines[at].is_wrong(), lines[at].got[:300]
                took.append(time.perf_counter() - due[at])
                waiting[at], due[at] = False, due[at] + EVERY
    for line in lines:
        line.socket.close()
    poll.close()
    return took, ended


def tokens(scene: Scene) -> list[str]:
    from memoryhub.domain import accounts, prompts
    from memoryhub.models import HUB

    made = []
    for number in range(AGENTS):
        agent = prompts.create_agent(
            scene.space, HUB, f"agent-{number}", system_prompt="You work.", dialect="deepagents"
        )
        made.append(accounts.create_token(scene.space, HUB, agent=agent)[1])
    return made


# ---- what is slow


@contextlib.contextmanager
def beside(act: Callable[..., None], *arguments: Any) -> Iterator[None]:
    """A process that does it until it is ended."""
    process = fork.Process(target=act, args=arguments, daemon=True)
    process.start()
    try:
        time.sleep(0.3)  # it is under way by then
        yield
    finally:
        process.kill()
        process.join()


def reading(address: Address, path: str, **headers: str) -> contextlib.AbstractContextManager[None]:
    return beside(read_again_and_again, address, load.request(path, Connection="close", **headers))


def read_again_and_again(address: Address, ask: bytes) -> None:
    while True:
        with socket.create_connection(address) as one:
            one.sendall(ask)
            first = one.recv(1 << 20)
            assert first.startswith(b"HTTP/1.1 200"), first[:300]
            while one.recv(1 << 20):
                pass


def slow_readers(address: Address, token: str) -> contextlib.AbstractContextManager[None]:
    return beside(
        read_slowly, address, load.request("/api/v1/files/memories/large.md", Authorization=f"Bearer {token}") * 4
    )


def read_slowly(address: Address, ask: bytes) -> None:
    readers = []
    for _ in range(20):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.connect(address)
        one.sendall(ask)
        readers.append(one)
    while True:
        for one in readers:
            one.recv(2048)
        time.sleep(0.1)


def stopped(server: int) -> contextlib.AbstractContextManager[None]:
    """A worker that gets no processor any more, in the midst of its connections."""
    return beside(stop_soon, psutil.Process(server).children()[0].pid)


def stop_soon(worker: int) -> None:
    time.sleep(0.5)
    os.kill(worker, signal.SIGSTOP)


def session(scene: Scene) -> str:
    """The cookie of somebody who may read the space."""
    from django.conf import settings
    from django.test import Client

    from memoryhub.domain import accounts, spaces
    from memoryhub.models import HUB

    settings.ALLOWED_HOSTS = ["*"]
    person = accounts.create_person(HUB, "reader")
    spaces.add_member(scene.space, HUB, person, "viewer")
    client = Client()
    client.force_login(person)
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


def write_lines(scene: Scene, lines: int) -> None:
    """So many lines of activity, copied from one by the database."""
    from django.db import connection

    from memoryhub.models import ActivityLine

    columns = ", ".join(
        field.column for field in ActivityLine._meta.concrete_fields if field.column not in ("id", "thing")
    )
    table = connection.ops.quote_name(ActivityLine._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({columns}, thing) SELECT {columns}, 'thing ' || n FROM generate_series(1, %s) n, "
            f"(SELECT * FROM {table} WHERE space_id = %s ORDER BY id LIMIT 1) line",
            [lines, scene.space.pk],
        )
        cursor.execute("ANALYZE")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
