"""Commands of the hub in processes that have imported it already: forks of one process that each test process starts.

A new interpreter spends 0.6 to 1.1 s on importing Django and the hub before it does anything. A fork has them, reads settings and
environment anew, and runs `memoryhub.__main__.main` like any other. No module may keep what it read of settings while it was
imported (`tests/test_forking.py`). What a start imports and in which order is tested with new interpreters.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

import psutil

TREE = Path(__file__).parents[1]
# What a new interpreter would read before `main` begins, and what decides about addresses while they are imported.
READ_AT_START = ("LANG", "LC_", "PYTHON", "OPENBLAS", "DEBUG", "DJANGO_")
NOWHERE = {"DJANGO_SETTINGS_MODULE": "memoryhub.settings", "MEMORYHUB_DATA_DIR": "/dev/null/nowhere"}
started: list[Process] = []


class Process:
    """A command under way, with what tests use of `subprocess.Popen`."""

    def __init__(self, arguments: list[str], pid: int, ended: int, stdout: IO[str] | None) -> None:
        self.args, self.pid, self.stdout = arguments, pid, stdout
        self.returncode: int | None = None
        self._ended = open(ended, "rb", buffering=0)  # noqa: SIM115  closed with this object

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = int(self._ended.read(16) or -signal.SIGKILL)
            self._ended.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Preloaded:
    """The process that has imported the hub and forks for each command."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.channel, theirs = socket.socketpair()
        self.one_at_a_time = threading.Lock()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.preloaded", str(theirs.fileno())],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=TREE, env={**environment, **NOWHERE},
                pass_fds=[theirs.fileno()],
            )  # fmt: skip

    def start(self, arguments: list[str], environment: dict[str, str], files: list[int]) -> tuple[int, int]:
        """The number of the new process, and a pipe that tells its status when it ends. `files`: its stdin, stdout and stderr."""
        ended, telling = os.pipe()
        message = json.dumps([arguments, environment]).encode() + b"\n"
        with self.one_at_a_time:
            sent = socket.send_fds(self.channel, [message], [*files, telling])
            self.channel.sendall(message[sent:])
            os.close(telling)
            pid = int.from_bytes(self.channel.recv(4), "big")
        assert pid, f"the preloaded process ended with {self.process.wait()}"
        return pid, ended


@functools.cache
def preloaded(owner: int) -> Preloaded:
    """That of this process; a fork of it would need its own."""
    assert owner == os.getpid()
    return Preloaded(
        {name: value for name, value in os.environ.items() if not name.startswith(("PYT", "DATABASE_URL"))}
    )


def can_fork(environment: dict[str, str]) -> bool:
    """Whether a fork finds what a new interpreter with this environment would."""
    return all(environment.get(name) == os.environ.get(name) for name in environment if name.startswith(READ_AT_START))


def start(arguments: list[str], environment: dict[str, str], stdout: IO[Any] | None, stderr: IO[Any]) -> Process:
    """Starts a command of the hub; without `stdout` what it prints is read from the answer's."""
    printed, writing = (None, os.dup(stdout.fileno())) if stdout else os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        pid, ended = preloaded(os.getpid()).start(arguments, environment, [nothing, writing, stderr.fileno()])
    finally:
        os.close(nothing)
        os.close(writing)
    started.append(Process(arguments, pid, ended, None if printed is None else open(printed)))  # noqa: SIM115
    return started[-1]


def kill_all(word: str) -> None:
    """Kills what was started with this in its arguments, and the processes of it."""
    for process in [one for one in started if word in " ".join(one.args)]:
        if process.poll() is None:
            for child in psutil.Process(process.pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    child.kill()
            process.kill()
            process.wait()
        started.remove(process)
