"""A worker that hangs in a request is ended from outside and replaced; the other one goes on."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

import httpx
import pytest

from memoryhub.server.http.watchdog import Heartbeat, ended_requests
from tests.running import Hub, command

SECRET = "abcdefghijklmnop0123456789"


@pytest.fixture
def stuck_hub(data_dir) -> Iterator[Hub]:
    hub = Hub(
        data_dir, DJANGO_SETTINGS_MODULE="tests.server.stuck_settings", MEMORYHUB_REQUEST_SECONDS="2"
    ).wait_ready()
    try:
        yield hub
    finally:
        if hub.process.poll() is None:
            hub.stop()


def test_a_worker_that_hangs_in_c_is_replaced_and_the_other_answers_meanwhile(stuck_hub):
    hub, ended = stuck_hub, []
    before = {worker.pid for worker in hub.web().children()}

    def hang() -> None:
        try:
            httpx.get(f"{hub.url}/login/once/{SECRET}/?q=hidden", headers={"X-Hang": "1"}, timeout=60)
        except httpx.HTTPError as error:
            ended.append(error)

    asking = threading.Thread(target=hang)
    asking.start()
    deadline = time.monotonic() + 30
    answered = 0
    while not ended and time.monotonic() < deadline:
        with contextlib.suppress(httpx.ReadTimeout):  # this one waited for the worker that hangs
            assert httpx.get(f"{hub.url}/healthz", timeout=1).status_code == 200
            answered += 1
        time.sleep(0.1)
    asking.join(30)
    assert ended and answered
    time.sleep(1)
    after = {worker.pid for worker in hub.web().children()}
    # The hung one was replaced; while it hung, a spare one was started for other pages.
    assert len(after & before) == 1 and len(after - before) in (1, 2)
    assert all(httpx.get(f"{hub.url}/readyz").status_code == 200 for _ in range(8))

    said = hub.stderr()
    assert "GET /login/once/…/ took over 2 seconds" in said
    assert 'stuck_settings.py", line' in said and "in handle" in said
    assert "hidden" not in said and SECRET not in said
    (kept,) = ended_requests(hub.data_dir)
    assert kept["request"] == "GET /login/once/…/"

    told = command("doctor", "--data-dir", str(hub.data_dir))
    assert told.returncode == 1
    assert "WRONG  slow requests: 1 since yesterday took over" in told.stdout
    assert "GET /login/once/…/" in told.stdout
    assert hub.stop() == 0


def test_what_a_worker_does_is_seen_from_outside():
    heartbeat = Heartbeat()
    assert heartbeat.busy() is None
    heartbeat.begin("GET", "/ü" + "x" * 1000)
    since, what = heartbeat.busy()
    assert since <= time.monotonic() and what.startswith("GET /ü") and len(what) < 500
    heartbeat.connections = 7
    heartbeat.end()
    assert (heartbeat.busy(), heartbeat.connections) == (None, 7)
    heartbeat.clear()
    assert heartbeat.connections == 0
