"""Notices that a worker hangs in one request, from outside the worker: even one that is stuck in C and holds the
interpreter, or is stopped. The worker notes in shared memory what it does; its parent looks twice a second."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import logging
import mmap
import os
import signal
import struct
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from memoryhub.requests import Lines, hide_secrets

log = logging.getLogger("memoryhub")

_HEAD = struct.Struct("=dHxxxxxx")
_COUNT = struct.Struct("=Ixxxx")
_DOUBLE = struct.Struct("=d")
_TURN = _HEAD.size + _COUNT.size  # when the worker had its last turn
_SLOW = _TURN + _DOUBLE.size  # when it was last in a request that may take long
_WHAT = _SLOW + _DOUBLE.size
MAX_WHAT = 400  # bytes of method and path
MAX_STACK = 16 * 1024
SECONDS_FOR_STACK = 1.0
MAX_KEPT = 50  # ended requests in the file
LONG_TURN = 1.5  # seconds; a worker that waits turns once a second
REST_SECONDS = 1.0  # without a request that may take long


class Heartbeat:
    """Which request a worker is in, and since when; made before the worker is forked."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)
        self._stack = tempfile.TemporaryFile()  # noqa: SIM115  it lives as long as the worker's place

    def install(self) -> None:
        """In the worker: on SIGUSR1 its stack is written where the parent reads it."""
        faulthandler.register(signal.SIGUSR1, file=self._stack, all_threads=True)

    def begin(self, method: str, path: str) -> None:
        what = f"{method} {path}".encode("utf-8", "replace")[:MAX_WHAT]
        self._memory[_WHAT : _WHAT + len(what)] = what
        _HEAD.pack_into(self._memory, 0, time.monotonic(), len(what))

    def end(self) -> None:
        _HEAD.pack_into(self._memory, 0, 0.0, 0)

    def clear(self) -> None:
        """Its worker is gone."""
        self.end()
        self.connections = 0
        self.turn(0.0)

    @property
    def connections(self) -> int:
        """How many connections the worker has."""
        return _COUNT.unpack_from(self._memory, _HEAD.size)[0]

    @connections.setter
    def connections(self, count: int) -> None:
        _COUNT.pack_into(self._memory, _HEAD.size, count)

    def turn(self, now: float) -> None:
        """The worker goes on: it is neither stopped nor in one request for long."""
        _DOUBLE.pack_into(self._memory, _TURN, now)

    def is_well(self, now: float) -> bool:
        """Whether the worker runs, and has had a turn lately."""
        return bool(now - _DOUBLE.unpack_from(self._memory, _TURN)[0] < LONG_TURN)

    def note_slow(self, now: float) -> None:
        """The worker is about to answer what may take long, or has done so."""
        _DOUBLE.pack_into(self._memory, _SLOW, now)

    def rests(self, now: float, seconds: float = REST_SECONDS) -> bool:
        """Whether it has answered nothing of that kind for a while."""
        return bool(now - _DOUBLE.unpack_from(self._memory, _SLOW)[0] > seconds)

    def busy(self) -> tuple[float, str] | None:
        """Since when (`time.monotonic`) and with what the worker is busy; None between requests."""
        since, length = _HEAD.unpack_from(self._memory, 0)
        if not since:
            return None
        what = self._memory[_WHAT : _WHAT + min(length, MAX_WHAT)]
        return since, what.decode("utf-8", "replace")

    def stack_of(self, pid: int) -> str:
        """Where the worker is now; "" if it does not say. Functions and lines, no values."""
        file = self._stack.fileno()
        os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)  # the worker writes at the same place: it has the file from this process
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGUSR1)
        deadline, size = time.monotonic() + SECONDS_FOR_STACK, 0
        while time.monotonic() < deadline:
            time.sleep(0.05)
            before, size = size, os.fstat(file).st_size
            if size and size == before:
                break
        return os.pread(file, MAX_STACK, 0).decode("utf-8", "replace")


def is_stopped(pid: int) -> bool:
    """Whether something stopped the process (SIGSTOP); one that only waits for a processor is not."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    except psutil.Error:
        return False


@dataclass(frozen=True)
class EndedRequest:
    """A request that took too long and was ended with its worker."""

    at: str
    request: str  # method and path, without its query
    seconds: int
    worker: int


def end_if_stuck(heartbeat: Heartbeat, pid: int, limit: float, data_dir: Path) -> bool:
    """Kill the worker if it has been in one request for longer than the limit; log it and keep it for `memoryhub doctor`."""
    busy = heartbeat.busy()
    if busy is None or time.monotonic() - busy[0] <= limit:
        return False
    stack = heartbeat.stack_of(pid)
    if heartbeat.busy() != busy:  # it came to its end while its stack was written
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    heartbeat.clear()
    ended = EndedRequest(
        datetime.now(UTC).isoformat(timespec="seconds"), _printable(busy[1]), round(time.monotonic() - busy[0]), pid
    )
    log.error(
        "%s took over %g seconds: its worker (process %d) was ended and another one starts. It was here:\n%s",
        ended.request, limit, pid, Lines(stack.rstrip()),
    )  # fmt: skip
    _keep(ended, data_dir)
    return True


def _printable(what: str) -> str:
    return hide_secrets("".join(sign if sign.isprintable() else "?" for sign in what))


def _file(data_dir: Path) -> Path:
    return data_dir / "ended_requests.jsonl"


def _keep(ended: EndedRequest, data_dir: Path) -> None:
    """Add it to the file, which holds the newest few."""
    kept = [*ended_requests(data_dir), asdict(ended)][-MAX_KEPT:]
    with contextlib.suppress(OSError):  # the log has it; a full disk must not end the one who watches
        new = _file(data_dir).with_suffix(".new")
        new.write_text("".join(f"{json.dumps(one)}\n" for one in kept))
        new.replace(_file(data_dir))


def ended_requests(data_dir: Path) -> list[dict[str, Any]]:
    """The requests that were ended lately, oldest first."""
    try:
        return [json.loads(line) for line in _file(data_dir).read_text().splitlines()]
    except (OSError, ValueError):
        return []
