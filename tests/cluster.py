"""Several hubs on one PostgreSQL that none of them started, with a replica and PgBouncer: for tests, and as `make cluster`.

    python -m tests.cluster [--nodes 2] [--no-replica] [--place DIR]

prints the addresses of the hubs and the link that signs the owner in; Ctrl-C ends all of it and removes what it made.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil

from memoryhub.server import postgres
from tests import pgbouncer, places
from tests.running import Hub, command, copy, give_static_files, own_place

FAST = {"fsync": "off"}


class Cluster:
    """A server, its replica if there is one, and the nodes that were started on them."""

    def __init__(self, place: Path) -> None:
        self.place, self.server = place, place / "server"
        self.nodes: dict[str, Hub] = {}
        self.replica: Path | None = None
        self.bouncer: subprocess.Popen[bytes] | None = None
        self.port = 0
        self.settings, self.replicas = FAST, 0

    @property
    def url(self) -> str:
        """Through PgBouncer where it runs; else whichever of the two servers takes writes."""
        if self.bouncer:
            return f"postgresql://memoryhub@127.0.0.1:{self.port}/memoryhub"
        sockets = ",".join(str(postgres.socket_dir(one)) for one in (self.server, self.replica) if one)
        writes = "&target_session_attrs=read-write" if self.replica else ""
        return f"postgresql://memoryhub@/memoryhub?host={sockets}{writes}"

    # ---- nodes

    def start(self, name: str, *arguments: str, wait: bool = True, **environment: str) -> Hub:
        give_static_files(self.place / name)
        self.nodes[name] = Hub(self.place / name, *arguments, **self.environment(name), **environment)
        return self.nodes[name].wait_ready() if wait else self.nodes[name]

    def environment(self, name: str) -> dict[str, str]:
        through = {"MEMORYHUB_PGBOUNCER": "true"} if self.bouncer else {}
        return {"DATABASE_URL": self.url, "MEMORYHUB_NODE": name, **through}

    def command(self, name: str, *arguments: str) -> str:
        """What a command says that runs beside a node."""
        done = command(*arguments, "--data-dir", str(self.place / name), **self.environment(name))
        assert (done.returncode, done.stderr) == (0, ""), (done.stdout, done.stderr)
        return done.stdout

    def outputs(self, name: str, *lines: list[str]) -> list[str]:
        """What several commands print that run beside a node, one after another."""
        return [self.command(name, *line) for line in lines]

    def json(self, name: str, *arguments: str) -> Any:
        return json.loads(self.command(name, *arguments, "--json"))

    def client(self, name: str, token: str) -> httpx.Client:
        base = f"{self.nodes[name].url}/api/v1"
        return httpx.Client(base_url=base, headers={"Authorization": f"Bearer {token}"}, timeout=30)

    # ---- servers

    def keep_copy(self, to: str) -> None:
        """A copy of the database as it is now."""
        postgres.stop(self.server)
        copy(self.server / "postgres", self.server / to)
        postgres.start(self.server, self.settings)

    def fall_back_to(self, kept: str) -> None:
        """The server is gone, and another takes its place that lagged behind."""
        postgres.stop(self.server)
        shutil.rmtree(self.server / "postgres")
        (self.server / kept).rename(self.server / "postgres")
        postgres.start(self.server, self.settings)

    def start_replica(self, *, synchronous: bool = True) -> None:
        """A streaming replica; where it is synchronous, the server acknowledges no commit without it from now on."""
        replica = self.replica_folder()
        user = postgres.account(self.server)
        if user:
            os.chown(replica, user.pw_uid, user.pw_gid)
        socket_dir = str(postgres.socket_dir(self.server))
        tool = postgres.binaries(user) / "pg_basebackup"
        self._as_server(
            tool,
            "-h",
            socket_dir,
            "-U",
            "postgres",
            "-D",
            str(replica / "postgres"),
            "-R",
            "-X",
            "stream",
            "-c",
            "fast",
        )
        postgres.start(replica, {**self.settings, "hot_standby": "on"})
        self.replica = replica
        if synchronous:
            self._sql("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")

    @property
    def replica_url(self) -> str:
        """For reading alone."""
        return f"postgresql://memoryhub@/memoryhub?host={postgres.socket_dir(self.place / 'replica')}"

    def at_replica(self, statement: str) -> str:
        """What the replica answers to a statement."""
        folder = self.place / "replica"
        who = postgres.account(folder)
        line = [
            postgres.binaries(who) / "psql",
            "-X",
            "-q",
            "-t",
            "-A",
            "-h",
            postgres.socket_dir(folder),
            "-U",
            "postgres",
        ]
        done = postgres.run([*line, "-d", "memoryhub", "-c", statement], who, cwd=self.place)
        assert done.returncode == 0, done.stdout
        return done.stdout.strip()

    def replica_folder(self) -> Path:
        """An empty folder for the next replica: another one each time."""
        self.replicas += 1
        folder = self.place / (f"replica-{self.replicas}" if self.replicas > 1 else "replica")
        self.make_folder(folder)
        return folder

    def make_folder(self, folder: Path) -> None:
        """Makes the empty folder of a server."""
        places.make_in_memory(folder)

    def fail_over(self) -> None:
        """The server dies with its machine, and the replica takes its place."""
        assert self.replica is not None
        server = psutil.Process(postgres.postmaster_pid(self.server))
        for process in [server, *server.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                process.kill()
        self._as_server(
            postgres.binaries(postgres.account(self.replica)) / "pg_ctl",
            "promote",
            "-w",
            "-D",
            str(self.replica / "postgres"),
        )
        self.server, self.replica = self.replica, None
        self._sql("ALTER SYSTEM SET synchronous_standby_names = ''", "SELECT pg_reload_conf()")
        if self.bouncer:
            self._configure_bouncer()
            self.bouncer.send_signal(signal.SIGHUP)

    def _sql(self, *statements: str) -> None:
        tool = postgres.binaries(postgres.account(self.server)) / "psql"
        for statement in statements:
            self._as_server(
                tool,
                "-X",
                "-q",
                "-h",
                str(postgres.socket_dir(self.server)),
                "-U",
                "postgres",
                "-d",
                "postgres",
                "-c",
                statement,
            )

    def _as_server(self, *line: str | Path) -> None:
        done = postgres.run(list(line), postgres.account(self.server), cwd=self.place)
        assert done.returncode == 0, done.stdout

    # ---- PgBouncer

    def start_bouncer(self) -> bool:
        """PgBouncer in transaction mode, where it is installed."""
        program = pgbouncer.find()
        if not program:
            return False
        self.port = free_port()
        self._configure_bouncer()
        who = postgres.account(self.server)
        as_user: dict[str, Any] = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []} if who else {}
        log = (self.place / "pgbouncer.log").open("wb")
        self.bouncer = subprocess.Popen([program, str(self.place / "pgbouncer.ini")], stdout=log, stderr=log, **as_user)
        return bool(soon(lambda: answers(self.port)))

    def _configure_bouncer(self) -> None:
        (self.place / "pgbouncer.ini").write_text(
            f"[databases]\nmemoryhub = user=memoryhub host={postgres.socket_dir(self.server)} port=5432\n[pgbouncer]\n"
            f"pool_mode = transaction\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\n"
            "auth_type = any\ndefault_pool_size = 20\nmax_client_conn = 200\nserver_reset_query_always = 0\n"
            "ignore_startup_parameters = options\nserver_login_retry = 1\nserver_connect_timeout = 2\n"
        )

    def stop(self) -> None:
        for hub in self.nodes.values():
            if hub.process.poll() is None:
                hub.process.kill()
                hub.process.wait()
        if self.bouncer:
            self.bouncer.terminate()
            self.bouncer.wait(10)
        for server in (self.server, self.replica):
            if server:
                postgres.stop(server)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def soon(holds: Callable[[], Any], seconds: float = 15) -> Any:
    """What a condition answers once it holds, or at last."""
    until = time.monotonic() + seconds
    while not (found := holds()) and time.monotonic() < until:
        time.sleep(0.1)
    return found


@contextlib.contextmanager
def cluster_from(server: Path) -> Iterator[Cluster]:
    """A cluster without nodes, on a copy of a server that is stopped."""
    with own_place() as place:
        made = Cluster(place)
        copy(server, made.server)
        postgres.start(made.server, FAST)
        try:
            yield made
        finally:
            made.stop()


@contextlib.contextmanager
def fresh_cluster() -> Iterator[Cluster]:
    """A cluster without nodes, whose server is made now."""
    with own_place() as place:
        made = Cluster(place)
        postgres.prepare(made.server)
        postgres.start(made.server, FAST)
        try:
            yield made
        finally:
            made.stop()


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="make cluster", description="Several hubs on one PostgreSQL, for trying it.")
    parser.add_argument("--nodes", type=int, default=2, choices=range(1, 10), metavar="N")
    parser.add_argument("--no-replica", action="store_true")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with fresh_cluster() as made:
        say(f"PostgreSQL   {postgres.socket_dir(made.server)}")
        if not options.no_replica:
            made.start_replica()
            say(f"replica      {postgres.socket_dir(made.place / 'replica')}, synchronous")
        say(f"PgBouncer    {f'127.0.0.1:{made.port}' if made.start_bouncer() else 'is not installed'}")
        names = [f"web-{number}" for number in range(1, options.nodes + 1)]
        reads = {} if options.no_replica else {"MEMORYHUB_REPLICA_URL": made.replica_url}
        for name in names:  # all at the same moment
            made.start(name, wait=False, **reads)
        for name in names:
            say(f"{name}        {made.nodes[name].wait_ready().link}")
        say("Ctrl-C ends all of it.")
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
