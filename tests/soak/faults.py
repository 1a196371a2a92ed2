"""What breaks in a soak, by a plan that a seed makes: each fault injures one part, waits, and repairs what nobody else does."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psutil

from memoryhub.server import postgres
from tests.cluster import soon
from tests.soak.drill import restore_drill
from tests.soak.scene import Scene

Injure = Callable[[Scene, str, random.Random], str]


@dataclass(frozen=True)
class Fault:
    """One line of the plan."""

    name: str
    node: str
    seed: int
    pause: float  # seconds of quiet before it

    def inject(self, scene: Scene) -> str:
        return KINDS[self.name](scene, self.node, random.Random(self.seed))


KINDS: dict[str, Injure] = {}


def kind(act: Injure) -> Injure:
    KINDS[act.__name__.replace("_", " ")] = act
    return act


def plan(seed: int, nodes: list[str], names: list[str] | None = None) -> Iterator[Fault]:
    """Without end: every kind once in each round, in another order each time."""
    dice = random.Random(seed)
    while True:
        for name in dice.sample(sorted(names or KINDS), len(names or KINDS)):
            yield Fault(name, dice.choice(nodes), dice.randrange(1 << 30), round(dice.uniform(4, 9), 1))


def send(processes: list[psutil.Process], number: int) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)


def children(scene: Scene, node: str) -> list[psutil.Process]:
    return psutil.Process(scene.cluster.nodes[node].process.pid).children()


def server_processes(scene: Scene) -> list[psutil.Process]:
    server = psutil.Process(postgres.postmaster_pid(scene.cluster.server))
    return [server, *server.children(recursive=True)]


def start_server(scene: Scene) -> None:
    """What systemd does after a crash."""
    postgres.start(scene.cluster.server, scene.cluster.settings)


# ---- processes of a node


@kind
def web_worker_killed(scene: Scene, node: str, dice: random.Random) -> str:
    worker = dice.choice(scene.cluster.nodes[node].web().children())
    worker.kill()
    return f"pid {worker.pid}"


@kind
def web_parent_killed(scene: Scene, node: str, dice: random.Random) -> str:
    parent = scene.cluster.nodes[node].web()
    parent.kill()
    return f"pid {parent.pid}"


@kind
def background_killed(scene: Scene, node: str, dice: random.Random) -> str:
    found = [child for child in children(scene, node) if not child.children()]
    send(found, signal.SIGKILL)
    return f"{len(found)} processes"


@kind
def parent_killed(scene: Scene, node: str, dice: random.Random) -> str:
    """Its children end with it; then it is started again."""
    made, family = scene.cluster, scene.cluster.families(node)
    made.nodes[node].process.kill()
    made.nodes[node].process.wait()
    assert soon(lambda: not any(is_running(one) for one in family), 15), "children end with their parent"
    made.start_node(node)
    return "started again"


def is_running(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


@kind
def node_killed(scene: Scene, node: str, dice: random.Random) -> str:
    """With its whole machine; back after some seconds."""
    send(scene.cluster.families(node), signal.SIGKILL)
    scene.cluster.nodes[node].process.wait()
    time.sleep(dice.uniform(1, 4))
    scene.cluster.start_node(node)
    return "started again"


@kind
def process_stopped(scene: Scene, node: str, dice: random.Random) -> str:
    chosen = dice.choice(scene.cluster.families(node))
    with stopped([chosen]):
        time.sleep(5)
    return f"pid {chosen.pid} for 5 s"


@kind
def node_stopped(scene: Scene, node: str, dice: random.Random) -> str:
    with stopped(scene.cluster.families(node)):
        time.sleep(5)
    return "for 5 s"


@contextlib.contextmanager
def stopped(processes: list[psutil.Process]) -> Iterator[None]:
    send(processes, signal.SIGSTOP)
    try:
        yield
    finally:
        send(processes[::-1], signal.SIGCONT)


@kind
def clock_ahead(scene: Scene, node: str, dice: random.Random) -> str:
    scene.cluster.clock(node).write_text(str(31 * 86400))
    time.sleep(8)
    scene.cluster.clock(node).write_text("0")
    return "31 days for 8 s"


# ---- the database


@kind
def postmaster_killed(scene: Scene, node: str, dice: random.Random) -> str:
    server_processes(scene)[0].kill()
    time.sleep(1)
    start_server(scene)
    return "started again after 1 s"


@kind
def database_restarted(scene: Scene, node: str, dice: random.Random) -> str:
    postgres.stop(scene.cluster.server)
    start_server(scene)
    return ""


@kind
def database_hung(scene: Scene, node: str, dice: random.Random) -> str:
    with stopped(server_processes(scene)):
        time.sleep(8)
    return "for 8 s"


@kind
def fail_over(scene: Scene, node: str, dice: random.Random) -> str:
    """To the replica, which gets a new one afterwards."""
    made = scene.cluster
    if made.replica is None:
        return "left out: no replica"
    gone, began = made.server, time.monotonic()
    made.fail_over()
    promoted = time.monotonic() - began
    made.remove_disk(gone)
    made.start_replica()
    return f"promoted after {promoted:.1f} s"


@kind
def disk_full(scene: Scene, node: str, dice: random.Random) -> str:
    made = scene.cluster
    if made.server not in made.disks:
        return "left out: only root makes a disk of its own"
    filler = made.server / "filler"
    try:
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):  # it is full
            os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(made.server).free - (1 << 16))
            file.seek(0, os.SEEK_END)
            while True:
                file.write(bytes(1 << 12))
        time.sleep(6)
    finally:
        filler.unlink(missing_ok=True)
    start_server(scene)  # where it had no room for its log, it ended
    return "for 6 s"


# ---- what lies between


@kind
def partition(scene: Scene, node: str, dice: random.Random) -> str:
    """A node no longer reaches the database: what it sends is lost without a word, or every connection is dropped."""
    link, is_silent = scene.cluster.links[node], dice.random() < 0.5
    link.hold() if is_silent else link.cut()
    time.sleep(6)
    link.mend()
    return "silent for 6 s" if is_silent else "connections dropped for 6 s"


@kind
def embedder_slow(scene: Scene, node: str, dice: random.Random) -> str:
    scene.cluster.embedder.delay = 20.0
    time.sleep(8)
    scene.cluster.embedder.delay = 0.0
    return "20 s an answer, for 8 s"


@kind
def restore_tried(scene: Scene, node: str, dice: random.Random) -> str:
    return restore_drill(scene)
