"""The disk of the database is full: writes are refused in words, prompts are served, and `/readyz` says so."""

from __future__ import annotations

import base64
import os
import secrets
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest

from memoryhub.server import postgres
from tests.cluster import FAST, Cluster, soon
from tests.running import copy, own_place


@pytest.fixture
def small_disk():
    """A folder on a disk of its own, which only root can make."""
    with own_place() as place:
        (place / "server").mkdir()
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=160m,mode=0755", "tmpfs", place / "server"], capture_output=True
        )
        if made.returncode:
            pytest.skip("a disk of its own can be made by root alone")
        try:
            yield place
        finally:
            postgres.stop(place / "server")
            subprocess.run(["umount", "-l", place / "server"], check=False)


def fill(disk: Path) -> Path:
    """Takes what is free, but for nothing."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError:
            pass
    return filler


@pytest.mark.skipif(os.geteuid() != 0, reason="a disk of its own can be made by root alone")
def test_it_is_said_and_prompts_go_on(small_disk, migrated_once):
    made = Cluster(small_disk)
    copy(migrated_once / "postgres", made.server / "postgres")
    # A server that cannot write its log of changes ends; on a disk of its own it goes on to be read.
    wal = made.server / "postgres/pg_wal"
    subprocess.run(["cp", "-a", wal, small_disk / "wal"], check=True)
    shutil.rmtree(wal)
    wal.symlink_to(small_disk / "wal")
    try:
        postgres.start(made.server, {**FAST, "max_wal_size": "48MB", "min_wal_size": "32MB"})
        hub = made.start("a")
        agent = made.json("a", "agent", "add", "forge", "--dialect", "hub")["token"]
        owner = made.json("a", "user", "add", "olga", "--role", "owner")["token"]
        with made.client("a", owner) as client, made.client("a", agent) as forge:
            assert client.put("/files/memories/AGENTS.md", json={"content": "before"}).status_code == 201
            assert "before" in forge.get("/prompt").text
            filler = fill(made.server)

            def refused() -> httpx.Response | None:
                picture = base64.b64encode(b"\x89PNG\r\n\x1a\n" + secrets.token_bytes(300_000)).decode()
                body = {"content": picture, "encoding": "base64"}
                answer = client.put(f"/files/memories/{secrets.token_hex(4)}.png", json=body)
                return answer if answer.status_code == 503 else None

            answer = soon(refused, 30)
            assert answer.json()["error"]["code"] == "database_full"
            assert "disk of the database is full" in answer.json()["error"]["message"]
            assert forge.get("/prompt").status_code == 200
            assert forge.get("/prompt", params={"thread": "another"}).status_code == 200
            ready = httpx.get(f"{hub.url}/readyz")
            assert (ready.status_code, ready.json()["status"]) == (503, "database disk full")
            filler.unlink()
            assert soon(lambda: httpx.get(f"{hub.url}/readyz").status_code == 200)
            assert client.put("/files/memories/AGENTS.md", json={"content": "after"}).status_code == 200
            assert "after" in forge.get("/prompt").text
    finally:
        made.stop()
