"""The web processes: one that watches, and under it the workers, each with one thread (`server/http`)."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from memoryhub.db import hang
from memoryhub.errors import HubError
from memoryhub.server import processes, supervise
from memoryhub.server.datadir import DataDirError
from memoryhub.server.http import watchdog
from memoryhub.server.http.http1 import Environ

BACKLOG = 1024  # connections that wait for a worker
MAX_FILES = 8192
SEND_BUFFER = 128 * 1024  # else the system keeps megabytes for a slow reader, and for long nothing seems to move
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
class Workers:
    """The web workers of one hub: started again when they end, and ended when they hang in a request."""

    listener: socket.socket
    application: Callable[..., Any]
    allowed_bytes: Callable[[Environ], int]
    data_dir: Path
    request_seconds: float
    stranger_requests: int = 0
    children: list[supervise.Child] = field(default_factory=list)
    heartbeats: list[watchdog.Heartbeat] = field(default_factory=list)

    def run(self, count: int) -> None:
        """Serve until SIGTERM; the process that calls this becomes the parent of the workers."""
        supervise.stop_on_signals()
        _allow_many_files()
        for number in range(1, count + 1):
            heartbeat = watchdog.Heartbeat()
            self.heartbeats.append(heartbeat)
            self.children.append(supervise.Child(f"web worker {number}", partial(self._serve, heartbeat), vital=True))
        supervisor = supervise.Supervisor(self.children, lambda: None, self._end_stuck, SECONDS_TO_STOP)
        try:
            supervisor.run(lambda: True)
        except supervise.Stop:
            pass
        except HubError as error:
            sys.exit(error.message)
        finally:
            supervise.ignore_signals()
            supervisor.stop()

    def _serve(self, heartbeat: watchdog.Heartbeat) -> None:
        # Inside: the commands need no web server.
        from memoryhub.server.http.loop import Limits
        from memoryhub.server.http.turns import Strangers
        from memoryhub.server.http.worker import Worker

        with contextlib.suppress(OSError):  # a full disk is no reason not to serve
            processes.write_note(self.data_dir)
        hang.watch()
        others = [other for other in self.heartbeats if other is not heartbeat]
        limits = Limits(connections=min(Limits.connections, open_files() - 100))
        strangers = Strangers(self.stranger_requests)
        Worker(self.listener, self.application, self.allowed_bytes, heartbeat, others, limits, strangers).run(
            os.getppid()
        )

    def _end_stuck(self) -> None:
        for child, heartbeat in zip(self.children, self.heartbeats, strict=True):
            if child.process is None or not child.process.is_alive() or child.process.pid is None:
                heartbeat.clear()  # what its worker was in ended with it
            elif watchdog.end_if_stuck(heartbeat, child.process.pid, self.request_seconds, self.data_dir):
                child.started = 0.0  # a request was at fault: the next worker starts at once


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
    from django.conf import settings

    from memoryhub.server.http.senders import allowed_bytes

    processes.write_note(data_dir)
    Workers(listener, load(), allowed_bytes, data_dir, settings.REQUEST_SECONDS, settings.STRANGER_REQUESTS).run(
        workers
    )


def load() -> Any:
    """The WSGI application, with its URLs imported."""
    # Inside: both need Django to be set up, which this module does not.
    import memoryhub.urls  # noqa: F401
    from memoryhub.wsgi import application

    return application
