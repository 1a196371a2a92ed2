"""Keeps the hub's processes running while `memoryhub up` runs, and ends them with it."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

from memoryhub.errors import HubError, Unavailable
from memoryhub.server import processes

# Forked from this process, which has loaded everything: children start in milliseconds and share its memory.
fork = multiprocessing.get_context("fork")
log = logging.getLogger("memoryhub")

SECONDS_TO_STOP = 12
SHORT_LIFE = 5.0  # seconds; a child that ends sooner than this is started again with a pause
MAX_SHORT_LIVES = 5
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Stop(Exception):
    """SIGTERM, Ctrl-C or a closed terminal."""


@dataclass
class Child:
    """One process of the hub, how to start it, and when it may be started again."""

    name: str
    target: Callable[[], None]
    vital: bool = False  # the hub ends when it cannot be kept alive
    on_demand: bool = False  # somebody else starts it, and it ends by itself
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
        _fork(self.process)

    def note_end(self) -> None:
        """Set when it may start again: at once the first time, later each time it ended soon after its start."""
        assert self.process is not None
        if self.on_demand:
            if self.process.exitcode:
                log.warning("the %s process ended (%s)", self.name, _exit_reason(self.process.exitcode))
            self.process = None
            return
        was_short = time.monotonic() - self.started < SHORT_LIFE
        self.short_lives = self.short_lives + 1 if was_short else 0
        self.not_before = time.monotonic() + (min(0.5 * 2**self.short_lives, 30) if self.short_lives > 1 else 0)
        log.warning("the %s process ended (%s); it is started again", self.name, _exit_reason(self.process.exitcode))
        self.process = None
        if self.vital and self.short_lives >= MAX_SHORT_LIVES:
            raise Unavailable(f"The {self.name} process ends as soon as it starts; the lines above say why.")


def _exit_reason(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        return f"by {signal.Signals(-exitcode).name}"
    return f"with status {exitcode}"


def _fork(process: multiprocessing.process.BaseProcess) -> None:
    """Starts a process; signals to stop wait meanwhile. Python ignores what a handler raises while it forks, and the child forgets
    what came before it was ready. The child has to unblock them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


def _set_in_child(handler: signal.Handlers) -> None:
    for number in STOP_SIGNALS:
        signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


def _run_child(target: Callable[[], None], before: Callable[[], None], parent: int) -> None:
    # A process group of its own: Ctrl-C reaches only the hub, which then stops its children in order.
    os.setpgid(0, 0)
    _set_in_child(signal.SIG_DFL)
    processes.die_with_parent(parent)
    before()
    target()


@dataclass
class Supervisor:
    """Starts the children, restarts those that die, and stops all of them."""

    children: Sequence[Child]
    in_child: Callable[[], None]  # what each child calls first: it releases locks and sockets of the hub
    look: Callable[[], None] = lambda: None
    seconds_to_stop: float = SECONDS_TO_STOP
    look_seconds: float = 1.0  # between two calls of `look`

    def run(self, ready: Callable[[], bool]) -> None:
        """Start and restart the children until Stop is raised; `ready` is called until it answers True."""
        for child in self.children:
            if not child.on_demand:
                child.start(self.in_child)
        is_ready, last_look = False, 0.0
        while True:
            is_ready = is_ready or ready()
            self._wait(self.look_seconds if is_ready else 0.02)
            if time.monotonic() - last_look >= self.look_seconds:
                self.look()
                last_look = time.monotonic()
            self._restart_ended()

    def _wait(self, seconds: float) -> None:
        alive = [child.process.sentinel for child in self.children if child.process is not None]
        if alive:
            wait(alive, seconds)
        else:
            time.sleep(seconds)

    def _restart_ended(self) -> None:
        for child in self.children:
            if child.process is not None and not child.process.is_alive():
                child.note_end()
            if child.process is None and not child.on_demand and time.monotonic() >= child.not_before:
                child.start(self.in_child)

    def stop(self) -> None:
        """Ask every child to stop, and kill those that do not in time."""
        running = [child.process for child in self.children if child.process is not None]
        for process in running:
            process.terminate()
        deadline = time.monotonic() + self.seconds_to_stop
        for process in running:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()


def run_in_child(act: Callable[[], object]) -> None:
    """Call a function in a forked process, whose memory and threads end with it; its HubError is raised here as Unavailable."""
    receive, send = fork.Pipe(duplex=False)
    process = fork.Process(target=_run_and_report, args=(act, send, os.getpid()))
    _fork(process)
    send.close()
    try:
        error = receive.recv()
    except EOFError:
        process.join()
        error = f"A process that was needed to start ended {_exit_reason(process.exitcode)}; the lines above say why."
    finally:
        process.kill()  # it has answered, or this process is being stopped
        process.join()
    if error:
        raise Unavailable(error)


def _run_and_report(act: Callable[[], object], send: Connection, parent: int) -> None:
    processes.die_with_parent(parent)
    _set_in_child(signal.SIG_IGN)  # the hub hears them too, and ends this process
    gc.enable()  # a hub that starts has it off until it has loaded all, and this may be long
    try:
        act()
    except HubError as error:
        send.send(error.message)
    else:
        send.send("")


def raise_stop(*_: object) -> None:
    """A signal handler that raises Stop."""
    raise Stop


def stop_on_signals() -> None:
    """Let SIGTERM, Ctrl-C and a closed terminal raise Stop from now on."""
    for number in STOP_SIGNALS:
        if (
            number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN
        ):  # under nohup a closed terminal is ignored
            signal.signal(number, raise_stop)


def ignore_signals() -> None:
    """Ignore the signals that stop the hub: a second Ctrl-C must not interrupt stopping."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
