"""A backup of the cluster under load, restored elsewhere: what was acknowledged before it is in it, what is live stays as it is."""

from __future__ import annotations

import shutil
import time

import httpx

from tests.running import Hub
from tests.soak import ledger
from tests.soak.check import OwnFiles
from tests.soak.scene import KEY, Scene, run_command

LATE = 5.0  # seconds around the backup in which a change may be in it or not


def restore_drill(scene: Scene) -> str:
    place = scene.cluster.place / "drill"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    data = str(place / "data")
    began = time.time()
    run_command(
        scene, "backup", str(place / "hub.tar"), "--data-dir", str(scene.cluster.place / "a"), **scene.cluster.direct()
    )
    ended = time.time()
    run_command(scene, "restore", str(place / "hub.tar"), "--data-dir", data, SECRET_KEY=KEY)
    hub = Hub(place / "data", SECRET_KEY=KEY, MEMORYHUB_EMBEDDER="hashing").wait_ready()
    try:
        found = compare(scene, hub, began, ended)
    finally:
        hub.stop()
        shutil.rmtree(place, ignore_errors=True)
    return f"{found} files compared"


def compare(scene: Scene, hub: Hub, began: float, ended: float) -> int:
    """Every file that was last changed well before the backup is there with its bytes."""
    entries = [one for one in ledger.read_all(scene.logs) if one["at"] < ended + LATE]
    recent = {one.get("path") for one in entries if one["at"] + one["took"] > began - LATE}
    wanted = {path: states for path, states in OwnFiles(entries).states.items() if path not in recent}
    token = {"Authorization": f"Bearer {scene.cluster.tokens['olga']}"}
    with httpx.Client(base_url=f"{hub.url}/api/v1", headers=token, timeout=30) as client:
        for path, states in wanted.items():
            answer = client.get(f"/files{path}", headers={"Accept": "text/plain"})
            sha = ledger.sha_of(answer.text) if answer.status_code == 200 else None
            assert sha in states, f"the restored {path} is {sha}, not {states}"
    return len(wanted)
