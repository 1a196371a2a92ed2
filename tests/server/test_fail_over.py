"""The server dies under load and its replica takes over: what was acknowledged is there, and nodes come back alone."""

from __future__ import annotations

import threading
import time

import httpx
import pytest

from tests.cluster import Cluster, cluster_from, soon


@pytest.fixture(scope="module")
def shared(migrated_once):
    with cluster_from(migrated_once) as made:
        made.start_replica()
        for name in ("a", "b"):
            made.start(name, wait=False)
        for name in ("a", "b"):
            made.nodes[name].wait_ready()
        made.owner = made.json("a", "user", "add", "olga", "--role", "owner")["token"]
        yield made


def write_on(made: Cluster, name: str, stop: threading.Event, acknowledged: dict[str, str], at: list[float]) -> None:
    """Writes one file after the other until it is told to stop; notes what was acknowledged, and when."""
    count = 0
    with made.client(name, made.owner) as client:
        while not stop.is_set():
            count += 1
            path, text = f"/memories/{name}-{count}.md", f"written by {name}, number {count}\n"
            try:
                answer = client.put(f"/files{path}", json={"content": text})
            except httpx.HTTPError:
                continue
            if answer.status_code == 201:
                acknowledged[path] = text
                at.append(time.monotonic())
            else:
                assert answer.status_code == 503, answer.text
                time.sleep(0.1)


def test_no_acknowledged_write_is_lost_and_nodes_are_back_alone(shared):
    stop, acknowledged, at = threading.Event(), {}, []
    writers = [
        threading.Thread(target=write_on, args=(shared, name, stop, acknowledged, at), daemon=True) for name in "ab"
    ]
    for writer in writers:
        writer.start()
    assert soon(lambda: len(acknowledged) > 20)
    began = time.monotonic()
    shared.fail_over()
    promoted = time.monotonic()
    assert soon(lambda: at[-1] > promoted + 1, 30), "writes go on"
    stop.set()
    for writer in writers:
        writer.join(30)
    first_after = min(moment for moment in at if moment > promoted)
    print(f"promoted after {promoted - began:.1f} s, writes again {first_after - promoted:.1f} s later")
    assert first_after - promoted < 15
    for name in "ab":
        with shared.client(name, shared.owner) as client:
            for path, text in acknowledged.items():
                found = client.get(f"/files{path}", headers={"Accept": "text/plain"})
                assert (found.status_code, found.text) == (200, text), path
