"""A decision and its database: what is under way when the server goes away is refused, and nothing of it happened."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from memoryhub.server import postgres
from tests.running import Hub, copy, give_static_files, several
from tests.test_databases import as_superuser, url

FAST = {"fsync": "off"}


@pytest.fixture
def server(place, migrated_once):
    """A server that the hub did not start."""
    with postgres.ensure_running(copy(migrated_once, place / "server"), FAST) as found:
        yield found


def test_the_database_stops_in_the_middle_of_a_decision(server, place):
    environment = {"DATABASE_URL": url(server), "MEMORYHUB_DATA_DIR": str(place / "data")}
    give_static_files(place / "data")
    hub = Hub(place / "data", DATABASE_URL=url(server)).wait_ready()
    add = ["agent add forge --json", "user add rk --role reviewer --json", "user add ed --role editor --json"]
    made = several(*map(str.split, add), **environment)
    as_agent, as_person, as_editor = (caller(hub, json.loads(said)["token"]) for _, said, _ in made)
    assert as_editor.put("/files/memories/a.md", json={"content": "# Notes\n"}).status_code == 201
    change = {"path": "/memories/a.md", "old_string": "Notes", "new_string": "News"}
    asked = as_agent.post("/edits", json=change).json()["proposal"]
    decision = {"seen": asked["result_sha256"]}

    holder = as_superuser(server, "memoryhub")
    holder.execute("BEGIN")
    holder.execute("SELECT FROM memoryhub_file WHERE path = '/memories/a.md' FOR UPDATE")
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(as_person.post, f"/proposals/{asked['number']}/approve", json=decision)
        until_somebody_waits(server)
        postgres.stop(server)
        refused = answer.result(30)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "database_away")
    assert as_person.get(f"/proposals/{asked['number']}").status_code == 503

    postgres.start(server, FAST)
    still = as_person.get(f"/proposals/{asked['number']}").json()
    assert (still["state"], still["result_sha256"]) == ("pending", asked["result_sha256"])
    assert as_agent.get("/files/memories/a.md").json()["content"] == "# Notes\n"
    done = as_person.post(f"/proposals/{asked['number']}/approve", json=decision)
    assert (done.status_code, done.json()["revision"]) == (200, 2)
    assert hub.stop() == 0


def caller(hub: Hub, token: str) -> httpx.Client:
    return httpx.Client(base_url=f"{hub.url}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=30)


def until_somebody_waits(server) -> None:
    with as_superuser(server) as watcher:
        for _ in range(200):
            if watcher.execute("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'").fetchone() is not None:
                return
            time.sleep(0.05)
    raise AssertionError("the decision never reached the file")
