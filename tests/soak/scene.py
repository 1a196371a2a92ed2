"""What a soak runs on: nodes behind links that can be cut, PgBouncer, a synchronous replica, small disks, a slow embedder."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from memoryhub.server import postgres
from tests.cluster import FAST, Cluster, free_port, soon
from tests.running import Hub, command, copy, own_place
from tests.soak.embedder import Embedder
from tests.soak.links import Link, Stream

DISK = "1200m"  # of each database server, where root can make disks
SERVER = {**FAST, "max_wal_size": "128MB", "wal_keep_size": "192MB", "max_connections": "90"}
KEY = "soak-0123456789-0123456789-0123456789"
AGENTS, PEOPLE = ("forge", "quill"), ("olga", "pavel")


class SoakCluster(Cluster):
    """A cluster each of whose nodes reaches the database by a link of its own, on a port that it keeps."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.settings = dict(SERVER)
        self.embedder = Embedder()
        self.links: dict[str, Link] = {}
        self.ports: dict[str, int] = {}
        self.disks: list[Path] = []
        self.hubs: list[Hub] = []  # all that were started, also those that were killed
        self.tokens: dict[str, str] = {}

    # ---- servers

    def make_folder(self, folder: Path) -> None:
        """On a disk of its own, where that can be had: so that it can be full alone."""
        folder.mkdir(exist_ok=True)
        options = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0755", "tmpfs", str(folder)]
        if os.geteuid() == 0 and subprocess.run(options, capture_output=True).returncode == 0:
            self.disks.append(folder)

    def remove_disk(self, folder: Path) -> None:
        if folder in self.disks:
            subprocess.run(["umount", "-l", str(folder)], check=False)
            self.disks.remove(folder)
        shutil.rmtree(folder, ignore_errors=True)

    # ---- nodes

    async def connect(self) -> Stream:
        """To PgBouncer, else to whichever server takes writes."""
        if self.bouncer:
            return await asyncio.open_connection("127.0.0.1", self.port)
        return await asyncio.open_unix_connection(str(postgres.socket_dir(self.server) / ".s.PGSQL.5432"))

    def environment(self, name: str) -> dict[str, str]:
        if name not in self.links:
            self.links[name], self.ports[name] = Link(self.connect), free_port()
        through = {"MEMORYHUB_PGBOUNCER": "true"} if self.bouncer else {}
        return {
            "DATABASE_URL": f"postgresql://memoryhub@127.0.0.1:{self.links[name].port}/memoryhub", "SECRET_KEY": KEY,
            "MEMORYHUB_NODE": name, "MEMORYHUB_OUTBOUND": "loopback", "MEMORYHUB_EMBEDDER": "openai_endpoint",
            "MEMORYHUB_EMBEDDER_URL": self.embedder.url, **through,
        }  # fmt: skip

    def direct(self) -> dict[str, str]:
        """The environment of a command that asks PostgreSQL itself."""
        direct = f"postgresql://memoryhub@/memoryhub?host={postgres.socket_dir(self.server)}"
        found = {**self.environment("a"), "DATABASE_URL": direct, "MEMORYHUB_NODE": "drill"}
        found.pop("MEMORYHUB_PGBOUNCER", None)
        return found

    def start_node(self, name: str, *, wait: bool = True) -> Hub:
        port = self.environment(name) and self.ports[name]
        clock = {"DJANGO_SETTINGS_MODULE": "tests.soak.clock_settings", "SOAK_CLOCK": str(self.clock(name))}
        hub = self.start(name, "--port", str(port), wait=False, **clock)
        self.hubs.append(hub)
        return hub.wait_ready() if wait else hub

    def keep_errors(self, folder: Path) -> None:
        """What each hub wrote on stderr, as a file each."""
        for number, hub in enumerate(self.hubs):
            (folder / f"{number}-{hub.data_dir.name}.log").write_text(hub.stderr())

    def clock(self, name: str) -> Path:
        """The file that says by how many seconds this node's clock is wrong."""
        return self.place / f"{name}.clock"

    def base(self, name: str) -> str:
        return f"http://127.0.0.1:{self.ports[name]}"

    def is_ready(self, name: str) -> bool:
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(f"{self.base(name)}/readyz", timeout=5).status_code == 200
        return False

    def families(self, name: str) -> list[psutil.Process]:
        hub = self.nodes[name]
        return hub.family() if hub.process.poll() is None else []

    def stop(self) -> None:
        for link in self.links.values():
            link.mend()
        super().stop()
        for folder in list(self.disks):
            self.remove_disk(folder)


@dataclass
class Scene:
    """A cluster with agents, people and mounts, and where the log of each actor lies."""

    cluster: SoakCluster
    names: list[str]
    links: dict[str, str] = field(default_factory=dict)  # by which people sign in

    @property
    def logs(self) -> Path:
        return self.cluster.place / "logs"


@contextlib.contextmanager
def made_scene(nodes: int, *, replica: bool = True, bouncer: bool = True) -> Iterator[Scene]:
    with own_place() as place:
        cluster = SoakCluster(place)
        (place / "logs").mkdir()
        try:
            start_servers(cluster, replica=replica, bouncer=bouncer)
            scene = Scene(cluster, [chr(ord("a") + number) for number in range(nodes)])
            for name in scene.names:
                cluster.start_node(name, wait=False)
            for name in scene.names:
                cluster.nodes[name].wait_ready()
            furnish(scene)
            yield scene
        finally:
            cluster.stop()


def start_servers(cluster: SoakCluster, *, replica: bool, bouncer: bool) -> None:
    fresh = cluster.place / "fresh"
    postgres.prepare(fresh)
    with postgres.ensure_running(fresh, FAST):
        pass
    cluster.make_folder(cluster.server)
    copy(fresh / "postgres", cluster.server / "postgres")
    shutil.rmtree(fresh)
    postgres.start(cluster.server, cluster.settings)
    if replica:
        cluster.start_replica()
    if bouncer:
        cluster.start_bouncer()


def furnish(scene: Scene) -> None:
    made, links = scene.cluster, [["user", "link", person, "--valid", "1h", "--json"] for person in PEOPLE]
    (made.place / "notes").mkdir()
    people = [["user", "add", person, "--role", "owner", "--json"] for person in PEOPLE]
    agents = [["agent", "add", agent, "--dialect", "hub", "--json"] for agent in AGENTS]
    told = made.outputs("a", *people, *agents, *links, *MOUNTS, [*ON_DISK, str(made.place / "notes")])
    for name, text in zip((*PEOPLE, *AGENTS), told, strict=False):
        made.tokens[name] = json.loads(text)["token"]
    for person, text in zip(PEOPLE, told[len(people) + len(agents) :], strict=False):
        scene.links[person] = json.loads(text)["link"]


MOUNTS = [
    ["mount", "add", "/own/", "--database", "--policy", "trusted"],
    ["mount", "add", "/fixed/", "--database", "--policy", "read_only"],
]
ON_DISK = ["mount", "add", "/notes/", "--policy", "trusted", "--dir"]


def wait_until_ready(scene: Scene, seconds: float) -> list[str]:
    """Waits for all nodes; names those that are not ready in time."""
    late = [name for name in scene.names if not soon(lambda name=name: scene.cluster.is_ready(name), seconds)]
    return late


def run_command(scene: Scene, *arguments: str, **environment: str) -> str:
    done = command(*arguments, **environment)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout
