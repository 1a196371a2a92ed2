"""The web processes: granian in front of `wsgi.application`, one thread per worker."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import socket
import sys
from pathlib import Path
from typing import Any

from memoryhub.server import processes
from memoryhub.server.datadir import DataDirError

SECONDS_TO_STOP = 5  # for requests under way
PARENT = "MEMORYHUB_PARENT"


class PortError(DataDirError):
    """The port cannot be used; the sentence says why and what to do."""

    code = "port_taken"


def reserve_port(host: str, port: int) -> tuple[int, socket.socket | None]:
    """Refuse a taken port before anything is started; return the port and a socket that reserves it until granian binds.

    granian binds with SO_REUSEPORT, so a second hub on the port would start without an error and take every other
    request. A plain bind fails then; the socket that is returned, bound as granian binds but never listening, keeps others out.
    """
    try:
        family, kind, proto, _, to = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise PortError(f"--host {host}: this name has no address here.") from error
    try:
        with socket.socket(family, kind, proto) as plain:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # else closed connections count as taken
            plain.bind(to)
            port = plain.getsockname()[1]
    except OSError as error:
        raise PortError(_bind_problem(host, port, error)) from error
    return port, _reserve(family, kind, proto, (to[0], port, *to[2:]))


def _reserve(family: int, kind: int, proto: int, to: tuple[Any, ...]) -> socket.socket | None:
    reserved = socket.socket(family, kind, proto)
    try:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reserved.bind(to)
    except (OSError, AttributeError):
        reserved.close()
        return None
    return reserved


def _bind_problem(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is taken by another program: choose another with --port."
    if error.errno == errno.EACCES:
        return f"Port {port} is reserved for root: choose one from 1024 on with --port."
    return f"{host} is not an address of this machine ({error.strerror}): choose another with --host."


def run(host: str, port: int, workers: int, data_dir: Path) -> None:
    """Serve until SIGTERM; the process that calls this becomes granian's parent."""
    # Inside: the background process and the commands need no web server, and its import takes a tenth of a second.
    from granian import Granian
    from granian.constants import Interfaces
    from granian.log import LogLevels

    if sys.platform == "linux":
        # Workers are forked from this process, which has loaded the hub: they start at once and share its memory.
        multiprocessing.set_start_method("fork", force=True)
    os.environ[PARENT] = f"{os.getpid()}:{data_dir}"  # by environment: on other systems workers are not forked
    server = Granian(
        "memoryhub.server.serve:worker",
        factory=True,
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        workers=workers,
        blocking_threads=1,
        runtime_threads=1,
        respawn_failed_workers=True,
        workers_kill_timeout=SECONDS_TO_STOP,
        log_level=LogLevels.warning,
        websockets=False,
    )
    processes.write_note(data_dir)
    server.serve()


def load() -> Any:
    """The WSGI application, with its URLs imported."""
    # Inside: both need Django to be set up, which this module does not.
    import memoryhub.urls  # noqa: F401
    from memoryhub.wsgi import application

    return application


def worker() -> Any:
    """The factory that granian calls in each worker: it makes the worker end with its parent, then loads the application."""
    parent, _, data_dir = os.environ[PARENT].partition(":")
    processes.die_with_parent(int(parent))
    with contextlib.suppress(OSError):  # a full disk is no reason not to serve
        processes.write_note(Path(data_dir))
    return load()
