"""A Redis of the bench's own, which working memory is measured beside, and its client for Python."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests import apt
from tests.bench import environments
from tests.bench.served import end


def find() -> str | None:
    """The server. Debian's redis-tools have the same program under another name, and start no service."""
    return shutil.which("redis-server") or shutil.which("redis-check-rdb")


def ensure() -> None:
    """Gets it where that asks nobody."""
    if not find():
        apt.install("redis-tools", "to measure working memory beside Redis")


@contextmanager
def redis() -> Iterator[dict[str, Any]]:
    """Clients of one server, by TCP and by socket."""
    server = find()
    if server is None:
        raise environments.Unavailable("there is no redis-server")
    packages = next(environments.program("redis").parents[1].glob("lib/python3.*/site-packages"))
    sys.path.append(str(packages))
    import redis as client  # type: ignore[import-not-found]

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-", dir="/tmp") as place:
        path = f"{place}/socket"
        command = ["redis-server", "--port", str(port), "--unixsocket", path, "--save", "", "--appendonly", "no"]
        process = subprocess.Popen(command, executable=server, stdout=subprocess.DEVNULL)
        try:
            made = {"TCP": client.Redis(port=port), "socket": client.Redis(unix_socket_path=path)}
            wait_for(made["socket"], client.ConnectionError)
            yield made
        finally:
            end(process)
            sys.path.remove(str(packages))


def wait_for(client: Any, refused: type[Exception]) -> None:
    for _ in range(100):
        try:
            client.ping()
            return
        except refused:
            time.sleep(0.05)
