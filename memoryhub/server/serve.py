"""The web processes: one that watches, and under it the workers, each with one thread (`server/http`)."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings

from memoryhub.db import hang
from memoryhub.errors import HubError
from memoryhub.server import frames, processes, supervise
from memoryhub.server.datadir import DataDirError
from memoryhub.server.http import handover, watchdog
from memoryhub.server.http.http1 import Environ
from memoryhub.server.http.loop import Limits
from memoryhub.server.http.senders import allowed_bytes
from memoryhub.server.http.turns import Strangers
from memoryhub.server.http.worker import Worker

log = logging.getLogger("memoryhub")

BACKLOG = 1024  # connections that wait for a worker
MAX_FILES = 8192
SEND_BUFFER = 128 * 1024  # else the system keeps megabytes for a slow reader, and for long nothing seems to move
LOOK_SECONDS = 0.5  # between two looks at the workers
PAGE_SECONDS = 1.0  # that a request for a page may take, before a spare worker answers the others
SECONDS_TO_STOP = 8  # for requests under way; less than the hub gives the web processes together


class PortError(DataDirError):
    """The port cannot be used; the sentence says why and what to do."""

    code = "port_taken"


def bind(host: str, port: int) -> socket.socket:
    """The socket of this address, before anything else is started; a taken port is refused. It does not listen yet."""
    try:
        family, kind, proto, _, to = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise PortError(f"--host {host}: this name has no address here.") from error
    bound = socket.socket(family, kind, proto)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # else closed connections count as taken
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)  # of every connection that is accepted on it
        bound.bind(to)
    except OSError as error:
        bound.close()
        raise PortError(_bind_problem(host, port, error)) from error
    return bound


def _bind_problem(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is taken by another program: choose another with --port."
    if error.errno == errno.EACCES:
        return f"Port {port} is reserved for root: choose one from 1024 on with --port."
    return f"{host} is not an address of this machine ({error.strerror}): choose another with --host."


@dataclass
class Place:
    """A web worker as its parent sees it."""

    child: supervise.Child
    among: handover.Place | None  # None: it is the only one
    heartbeat: watchdog.Heartbeat
    was_stopped: bool = False  # at the last look

    @property
    def pid(self) -> int | None:
        """None while no process runs here."""
        process = self.child.process
        return process.pid if process is not None and process.is_alive() else None

    def is_held_up(self) -> bool:
        """Whether it is in one request for so long that another worker should answer the next."""
        busy = self.heartbeat.busy()
        return self.pid is None or (busy is not None and time.monotonic() - busy[0] > PAGE_SECONDS)


@dataclass
class Workers:
    """The web workers of one hub: started again when they end, and ended when they hang in a request or are stopped."""

    listener: socket.socket
    application: Callable[..., Any]
    allowed_bytes: Callable[[Environ], int]
    data_dir: Path
    request_seconds: float
    stranger_requests: int = 0
    asks_elsewhere: bool = False  # whether queries wait for an embedder on another server
    places: list[Place] = field(default_factory=list)

    def run(self, count: int) -> None:
        """Serve until SIGTERM; the process that calls this becomes the parent of the workers."""
        supervise.stop_on_signals()
        _allow_many_files()
        self._make_places(count)
        children = [place.child for place in self.places]
        supervisor = supervise.Supervisor(children, lambda: None, self._check_workers, SECONDS_TO_STOP, LOOK_SECONDS)
        try:
            supervisor.run(lambda: True)
        except supervise.Stop:
            pass
        except HubError as error:
            sys.exit(error.message)
        finally:
            supervise.ignore_signals()
            supervisor.stop()

    def _make_places(self, count: int) -> None:
        """One for each worker; beside several a spare one, which runs while those for pages are held up."""
        heartbeats = [watchdog.Heartbeat() for _ in range(count)]
        among: list[handover.Place | None] = [None] * count
        if count > 1:
            heartbeats.append(watchdog.Heartbeat())
            among = [*handover.places(heartbeats[:-1], spare=heartbeats[-1], asks_elsewhere=self.asks_elsewhere)]
        for number, (heartbeat, place) in enumerate(zip(heartbeats, among, strict=True), 1):
            is_spare = place is not None and place.is_spare
            name = "spare web worker" if is_spare else f"web worker {number}"
            serve = partial(self._serve, heartbeat, place)
            child = supervise.Child(name, serve, vital=not is_spare, on_demand=is_spare)
            self.places.append(Place(child, place, heartbeat))

    def _serve(self, heartbeat: watchdog.Heartbeat, place: handover.Place | None) -> None:
        with contextlib.suppress(OSError):  # a full disk is no reason not to serve
            processes.write_note(self.data_dir)
        hang.watch()
        limits = Limits(connections=min(Limits.connections, open_files() - 100))
        strangers = Strangers(self.stranger_requests)
        worker = Worker(self.listener, self.application, self.allowed_bytes, heartbeat, place, limits, strangers)
        frames.with_room(partial(worker.run, os.getppid()))

    def _check_workers(self) -> None:
        for place in self.places:
            if place.pid is None:
                place.heartbeat.clear()  # what its worker was in ended with it
            elif watchdog.end_if_stuck(place.heartbeat, place.pid, self.request_seconds, self.data_dir):
                place.child.started = 0.0  # a request was at fault: the next worker starts at once
            else:
                self._end_if_stopped(place, place.pid)
        self._start_spare()

    def _end_if_stopped(self, place: Place, pid: int) -> None:
        """A worker that was stopped would keep its connections waiting. Two looks: the whole hub may be going on just now."""
        is_stopped = watchdog.is_stopped(pid)
        if is_stopped and place.was_stopped:
            log.warning("the %s (process %d) was stopped; it is ended and another one starts", place.child.name, pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            place.heartbeat.clear()
            place.child.started = 0.0
        place.was_stopped = is_stopped and not place.was_stopped

    def _start_spare(self) -> None:
        """While every worker for pages is held up, people who ask for another page get it from a spare one."""
        spare = next((one for one in self.places if one.child.on_demand), None)
        if spare is None or spare.child.process is not None:
            return
        pages = [one for one in self.places if one is not spare and one.among is not None and one.among.for_pages]
        if all(one.is_held_up() for one in pages):
            spare.child.start(lambda: None)


def _allow_many_files() -> None:
    """As many open connections as the system lets this process have; the usual limit is meant for other programs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def open_files() -> int:
    """How many files and sockets this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_FILES if soft == resource.RLIM_INFINITY else soft


def run(listener: socket.socket, workers: int, data_dir: Path) -> None:
    """Serve the hub on this socket until SIGTERM."""
    processes.write_note(data_dir)
    asks_elsewhere = settings.EMBEDDER.startswith("openai_endpoint")
    seconds, strangers = settings.REQUEST_SECONDS, settings.STRANGER_REQUESTS
    Workers(listener, load(), allowed_bytes, data_dir, seconds, strangers, asks_elsewhere).run(workers)


def load() -> Any:
    """The WSGI application, with its URLs imported."""
    # Inside: they are the whole of pages and calls, and what may refuse a start comes before.
    from memoryhub import urls, wsgi  # noqa: F401

    return wsgi.application
