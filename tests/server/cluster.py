"""Several hubs on one PostgreSQL that none of them started, for tests."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

from memoryhub.server import postgres
from tests.running import Hub, command, copy, own_place


class Cluster:
    """A server, and the nodes that were started on it."""

    def __init__(self, place: Path) -> None:
        self.place, self.server = place, place / "server"
        self.nodes: dict[str, Hub] = {}

    @property
    def url(self) -> str:
        return f"postgresql://memoryhub@/memoryhub?host={postgres.socket_dir(self.server)}"

    def start(self, name: str, *arguments: str, wait: bool = True, **environment: str) -> Hub:
        self.nodes[name] = Hub(self.place / name, *arguments, **self.environment(name), **environment)
        return self.nodes[name].wait_ready() if wait else self.nodes[name]

    def environment(self, name: str) -> dict[str, str]:
        return {"DATABASE_URL": self.url, "MEMORYHUB_NODE": name}

    def command(self, name: str, *arguments: str) -> str:
        """What a command says that runs beside a node."""
        done = command(*arguments, "--data-dir", str(self.place / name), **self.environment(name))
        assert (done.returncode, done.stderr) == (0, ""), (done.stdout, done.stderr)
        return done.stdout

    def json(self, name: str, *arguments: str) -> Any:
        return json.loads(self.command(name, *arguments, "--json"))

    def client(self, name: str, token: str) -> httpx.Client:
        base = f"{self.nodes[name].url}/api/v1"
        return httpx.Client(base_url=base, headers={"Authorization": f"Bearer {token}"}, timeout=30)

    def keep_copy(self, to: str) -> None:
        """A copy of the database as it is now."""
        postgres.stop(self.server)
        copy(self.server / "postgres", self.place / to)
        postgres.start(self.server, {"fsync": "off"})

    def fall_back_to(self, kept: str) -> None:
        """The server is gone, and another takes its place that lagged behind."""
        postgres.stop(self.server)
        shutil.rmtree(self.server / "postgres")
        (self.place / kept).rename(self.server / "postgres")
        postgres.start(self.server, {"fsync": "off"})

    def stop(self) -> None:
        for hub in self.nodes.values():
            if hub.process.poll() is None:
                hub.process.kill()
                hub.process.wait()


@contextlib.contextmanager
def cluster_from(cluster_once: Path) -> Iterator[Cluster]:
    with own_place() as place:
        made = Cluster(place)
        with postgres.ensure_running(copy(cluster_once, made.server), {"fsync": "off"}):
            try:
                yield made
            finally:
                made.stop()


def soon(holds: Callable[[], Any], seconds: float = 15) -> Any:
    """What a condition answers once it holds, or at last."""
    until = time.monotonic() + seconds
    while not (found := holds()) and time.monotonic() < until:
        time.sleep(0.1)
    return found
