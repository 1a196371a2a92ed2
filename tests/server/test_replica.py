"""A hub that reads from a streaming replica: nobody misses a change, whether the replica follows, lags, is away or was promoted."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections.abc import Iterator

import httpx
import psutil
import pytest

from memoryhub.server import postgres
from tests.cluster import Cluster, cluster_from, soon
from tests.running import command, refused, sign_in_by_link

READS = "SELECT xact_commit FROM pg_stat_database WHERE datname = 'memoryhub'"


@pytest.fixture(scope="module")
def shared(migrated_once) -> Iterator[Cluster]:
    """One node with one worker, so that each request meets the same connections."""
    with cluster_from(migrated_once) as made:
        made.start_replica(synchronous=False)
        hub = made.start("a", "--workers", "1", MEMORYHUB_REPLICA_URL=made.replica_url)
        told = made.outputs(
            "a", ["user", "add", "olga", "--role", "owner", "--json"], ["agent", "add", "forge", "--dialect", "hub", "--json"],
        )  # fmt: skip
        made.owner, made.agent = (json.loads(one)["token"] for one in told)
        made.browser = httpx.Client(base_url=hub.url, follow_redirects=True, timeout=60)
        sign_in_by_link(made.browser, hub.link)
        yield made
        made.browser.close()


def write(made: Cluster, text: str) -> None:
    with made.client("a", made.owner) as client:
        assert client.put("/files/memories/AGENTS.md", json={"content": f"# Notes\n{text}\n"}).status_code in (200, 201)


def prompt(made: Cluster) -> str:
    with made.client("a", made.agent) as client:
        answer = client.get("/prompt")
    assert answer.status_code == 200, answer.text
    return answer.text


def retrieved(made: Cluster) -> str:
    with made.client("a", made.agent) as client:
        return client.get("/retrieve", params={"query": "invoice"}).text


def page(made: Cluster) -> str:
    return made.browser.get("/s/main/files/memories/AGENTS.md").text


def log(made: Cluster, text: str) -> None:
    said = {"content": text, "session_id": "s", "node_id": "n", "node_kind": "agent"}
    with made.client("a", made.agent) as client:
        assert client.post("/quarantine", json=said).json()["state"] == "admitted"


def everything_shows(made: Cluster, word: str) -> None:
    """What was written a moment ago is in the prompt, in retrieval, in the search and on a page."""
    write(made, f"Written as {word}.")
    log(made, f"The invoice {word} was sent to the customer on Tuesday.")
    assert word in prompt(made)
    assert word in retrieved(made)
    with made.client("a", made.agent) as client:
        assert word in client.get("/search", params={"q": word, "layers": "working"}).text
    assert word in page(made)


def is_read(made: Cluster) -> bool:
    """Whether the replica is asked: after some moment without a write there is nothing that it could miss."""
    prompt(made)
    time.sleep(0.3)
    before = int(made.at_replica(READS))
    page(made)
    retrieved(made)
    time.sleep(0.1)
    return int(made.at_replica(READS)) > before + 5


def doctor(made: Cluster) -> str:
    place, environment = str(made.place / "a"), made.environment("a")
    return command("doctor", "--data-dir", place, **environment, MEMORYHUB_REPLICA_URL=made.replica_url).stdout


def test_prompts_retrieval_search_and_pages_are_read_from_the_replica(shared):
    everything_shows(shared, "alpha")
    assert soon(lambda: is_read(shared))


def test_who_wrote_sees_it_also_while_the_replica_lags(shared):
    shared.at_replica("SELECT pg_wal_replay_pause()")
    try:
        for word in ("bravo", "charlie"):
            everything_shows(shared, word)
        assert "charlie" not in shared.at_replica("SELECT coalesce(string_agg(convert_from(content, 'UTF8'), ''), '') "
                                                  "FROM memoryhub_revision")  # fmt: skip
    finally:
        shared.at_replica("SELECT pg_wal_replay_resume()")
    everything_shows(shared, "delta")
    assert soon(lambda: is_read(shared), 40)


@contextlib.contextmanager
def stopped(made: Cluster) -> Iterator[None]:
    server = psutil.Process(postgres.postmaster_pid(made.place / "replica"))
    family = [server, *server.children(recursive=True)]
    for process in family:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in reversed(family):
            with contextlib.suppress(psutil.Error):
                process.send_signal(signal.SIGCONT)


def test_a_replica_that_hangs_or_is_away_is_not_missed(shared):
    assert soon(lambda: is_read(shared))
    with stopped(shared):
        everything_shows(shared, "echo")
    postgres.stop(shared.place / "replica")
    everything_shows(shared, "foxtrot")
    said = doctor(shared)
    assert "read replica: It cannot be reached, so the primary is read." in said
    postgres.start(shared.place / "replica", {"fsync": "off", "hot_standby": "on"})
    assert soon(lambda: is_read(shared), 60)


def test_doctor_says_that_the_replica_follows(shared):
    assert "ok     read replica: " in doctor(shared)


def test_a_promoted_replica_is_no_replica_any_more(shared):
    """The other server goes on as the primary: what is written there is what everybody sees."""
    shared.at_replica("SELECT pg_promote()")
    for word in ("golf", "hotel"):
        everything_shows(shared, word)
    assert "It is no replica any more" in doctor(shared)


def test_an_address_that_is_none_is_refused():
    said = refused("doctor", MEMORYHUB_REPLICA_URL="replica.example.org")
    assert said.startswith("MEMORYHUB_REPLICA_URL is not understood")
