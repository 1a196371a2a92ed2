"""Keeps the hub's processes alive while `memoryhub up` runs, and takes all of them along when it ends."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait

from memoryhub.errors import HubError, Unavailable
from memoryhub.server import processes

# Copies of this process, which has loaded everything: they start in milliseconds and share its memory.
fork = multiprocessing.get_context("fork")
log = logging.getLogger("memoryhub")

SECONDS_TO_STOP = 12
SHORT_LIFE = 5.0  # seconds; a child that lives shorter than this is waited for before it is started again
MAX_SHORT_LIVES = 5


class Stop(Exception):
    """SIGTERM, Ctrl-C or a closed terminal."""


@dataclass
class Child:
    """One process of the hub and how to start it (again)."""

    name: str
    target: Callable[[], None]
    vital: bool = False  # the hub ends when it cannot be kept alive
    process: multiprocessing.process.BaseProcess | None = None
    started: float = 0.0
    short_lives: int = 0
    not_before: float = 0.0

    @property
    def is_alive(self) -> bool:
        return self.process is not None and self.process.is_alive()

    def start(self, before: Callable[[], None]) -> None:
        self.process = fork.Process(target=_run_child, args=(self.target, before, os.getpid()), name=self.name)
        self.started = time.monotonic()
        self.process.start()

    def note_end(self) -> None:
        """Decide when it may start again: at once the first time, later each time it dies young."""
        assert self.process is not None
        young = time.monotonic() - self.started < SHORT_LIFE
        self.short_lives = self.short_lives + 1 if young else 0
        self.not_before = time.monotonic() + (min(0.5 * 2**self.short_lives, 30) if self.short_lives > 1 else 0)
        log.warning("the %s process ended (%s); it is started again", self.name, _exit_reason(self.process.exitcode))
        self.process = None
        if self.vital and self.short_lives >= MAX_SHORT_LIVES:
            raise Unavailable(f"The {self.name} process ends as soon as it starts; the lines above say why.")


def _exit_reason(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        return f"by {signal.Signals(-exitcode).name}"
    return f"with status {exitcode}"


def _run_child(target: Callable[[], None], before: Callable[[], None], parent: int) -> None:
    # A process group of its own: Ctrl-C reaches the hub alone, which then stops its children in order.
    os.setpgid(0, 0)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    processes.die_with_parent(parent)
    before()
    target()


@dataclass
class Supervisor:
    """Starts the children, restarts those that die, and stops all of them."""

    children: Sequence[Child]
    in_child: Callable[[], None]  # what each child does first: let go of what belongs to the hub alone
    each_second: Callable[[], None] = lambda: None
    stopping: bool = field(default=False, init=False)

    def run(self, ready: Callable[[], bool]) -> None:
        """Run until told to stop; `ready` is asked until it says yes."""
        for child in self.children:
            child.start(self.in_child)
        asked, looked = False, 0.0
        while True:
            asked = asked or ready()
            self._wait(1.0 if asked else 0.02)
            if time.monotonic() - looked > 1:
                self.each_second()
                looked = time.monotonic()
            self._revive()

    def _wait(self, seconds: float) -> None:
        alive = [child.process.sentinel for child in self.children if child.process is not None]
        if alive:
            wait(alive, seconds)
        else:
            time.sleep(seconds)

    def _revive(self) -> None:
        for child in self.children:
            if child.process is not None and not child.process.is_alive():
                child.note_end()
            if child.process is None and time.monotonic() >= child.not_before:
                child.start(self.in_child)

    def stop(self) -> None:
        """Ask every child to stop, one after the other as listed; end those that do not."""
        for child in self.children:
            if child.process is None:
                continue
            child.process.terminate()
            child.process.join(SECONDS_TO_STOP)
            if child.process.is_alive():
                child.process.kill()
                child.process.join()


def run_in_child(act: Callable[[], None]) -> None:
    """Do something in a copy of this process: the memory and the threads that it takes end with it."""
    receive, send = fork.Pipe(duplex=False)
    process = fork.Process(target=_run_and_report, args=(act, send, os.getpid()))
    process.start()
    send.close()
    try:
        error = receive.recv()
    except EOFError:
        process.join()
        error = f"A process that was needed to start ended {_exit_reason(process.exitcode)}; the lines above say why."
    finally:
        process.kill()  # it is done, or we were told to stop
        process.join()
    if error:
        raise Unavailable(error)


def _run_and_report(act: Callable[[], None], send: Connection, parent: int) -> None:
    processes.die_with_parent(parent)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the hub hears them too, and ends this process
    try:
        act()
    except HubError as error:
        send.send(error.message)
    else:
        send.send("")


def raise_stop(*_: object) -> None:
    raise Stop


def stop_on_signals() -> None:
    """From here on SIGTERM, Ctrl-C and a closed terminal raise Stop."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup means it
            signal.signal(number, raise_stop)


def ignore_signals() -> None:
    """While stopping: a second Ctrl-C must not leave half of it behind."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
