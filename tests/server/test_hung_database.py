"""A database that hangs, comes back, or has no room left: what a hub answers meanwhile."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import psutil
import pytest

from memoryhub.server import postgres
from tests.cluster import Cluster, cluster_from, soon


@pytest.fixture(scope="module")
def shared(migrated_once):
    """Two nodes: the first hands out cached prompts while the database is away, the second asks it through PgBouncer, where that
    is installed."""
    key = {"SECRET_KEY": "hung-0123456789-0123456789-0123456789"}
    with cluster_from(migrated_once) as made:
        made.start("a", MEMORYHUB_STALE_PROMPT_SECONDS="600", **key)
        made.start_bouncer()
        made.start("b", **key)
        made.agent = made.json("a", "agent", "add", "forge", "--dialect", "hub")["token"]
        yield made


@contextlib.contextmanager
def stopped(made: Cluster) -> Iterator[None]:
    """The server and all its processes stand still, and keep their connections."""
    server = psutil.Process(postgres.postmaster_pid(made.server))
    family = [server, *server.children(recursive=True)]
    for process in family:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in reversed(family):
            with contextlib.suppress(psutil.Error):
                process.send_signal(signal.SIGCONT)


def timed(made: Cluster, name: str, path: str, **headers: str) -> tuple[httpx.Response, float]:
    began = time.monotonic()
    answer = httpx.get(made.nodes[name].url + path, headers=headers, timeout=60)
    return answer, time.monotonic() - began


def test_a_hung_database_silences_nothing(shared):
    token = {"Authorization": f"Bearer {shared.agent}"}
    prompt = "/api/v1/prompt"
    for name in "ab":
        for _ in range(8):  # every worker of both has it
            assert httpx.get(shared.nodes[name].url + prompt, headers=token).status_code == 200

    def answers_while_it_hangs(name: str) -> None:
        assert timed(shared, name, "/healthz")[0].json() == {"status": "up"}
        answer, took = timed(shared, name, "/readyz")
        assert (answer.status_code, took < 15) == (503, True), took
        answer, took = timed(shared, name, prompt, **token)
        assert took < 15
        if name == "a":
            assert (answer.status_code, answer.headers["Warning"]) == (200, '110 - "Response is Stale"')
            assert answer.headers["ETag"]
        else:
            assert answer.status_code == 503
            assert answer.json()["error"]["code"] == "database_away"
        for path in ("/healthz", "/readyz", prompt):  # by now it knows
            assert timed(shared, name, path, **token)[1] < 10, path

    def is_current(name: str) -> bool:  # of every worker: each tries again by itself
        found = [timed(shared, name, prompt, **token)[0] for _ in range(8)]
        return all(one.status_code == 200 and "Warning" not in one.headers for one in found)

    def comes_back(name: str) -> bool:
        is_ready = soon(lambda: httpx.get(shared.nodes[name].url + "/readyz", timeout=30).status_code == 200, 30)
        return is_ready and soon(lambda: is_current(name), 30)

    with ThreadPoolExecutor(2) as both:  # each mostly waits
        with stopped(shared):
            list(both.map(answers_while_it_hangs, "ab"))
            stranger = {"Authorization": "Bearer mh_x"}
            assert httpx.get(shared.nodes["a"].url + prompt, headers=stranger).status_code == 503
        assert list(both.map(comes_back, "ab")) == [True, True]


def test_a_server_that_ended_is_found_again_by_all_nodes(shared):
    postgres.stop(shared.server)
    assert timed(shared, "b", "/readyz")[0].status_code == 503
    assert timed(shared, "b", "/healthz")[0].status_code == 200
    postgres.start(shared.server, {"fsync": "off"})
    for name in "ab":
        assert soon(lambda name=name: httpx.get(shared.nodes[name].url + "/readyz").status_code == 200, 30)
