"""Several hubs on one database: starts, keys, caches, directories of one node, restore under running nodes."""

from __future__ import annotations

import contextlib
import json
import random

import httpx
import pytest

from tests.cluster import Cluster, cluster_from, soon
from tests.running import command, several, sign_in_by_link

AGENTS = "/memories/AGENTS.md"


@pytest.fixture(scope="module")
def shared(cluster_once):
    """Two nodes, started at the same moment on an empty database."""
    with cluster_from(cluster_once) as made:
        (made.place / "notes").mkdir()
        for name in "ab":
            made.start(name, wait=False)
        for name in "ab":
            made.nodes[name].wait_ready()
        told = made.outputs(
            "a", ["user", "add", "olga", "--role", "owner", "--json"], ["agent", "add", "forge", "--dialect", "hub", "--json"],
        )  # fmt: skip
        made.owner, made.agent = (json.loads(one)["token"] for one in told)
        yield made


def prompt(made: Cluster, name: str, **params: str) -> str:
    with made.client(name, made.agent) as client:
        answer = client.get("/prompt", params=params)
        assert answer.status_code == 200, answer.text
        return answer.text


def fresh(made: Cluster, *queries: str) -> list[str]:
    """The prompts of a process that has cached nothing."""
    return made.outputs("a", *(["prompt", "--agent", "forge", f"--query={query}"] for query in queries))


def write(made: Cluster, name: str, path: str, text: str) -> dict:
    with made.client(name, made.owner) as client:
        answer = client.put(f"/files{path}", json={"content": text})
        assert answer.status_code in (200, 201), answer.text
        return answer.json()


def read(made: Cluster, name: str, path: str) -> str:
    with made.client(name, made.agent) as client:
        return client.get(f"/files{path}", headers={"Accept": "text/plain"}).text


def note(made: Cluster, name: str, text: str) -> None:
    with made.client(name, made.agent) as client:
        assert client.post("/quarantine", json={"content": text}).status_code == 201


def all_agree(made: Cluster, *queries: str) -> str:
    """The prompts that a fresh process makes, without and with these queries, after they were compared with those of each
    node."""
    expected = fresh(made, "", *queries)
    for query, text in zip(["", *queries], expected, strict=True):
        for name in "ab":
            assert prompt(made, name, **({"query": query} if query else {})) == text, (name, query)
    return "".join(expected)


class TestStart:
    def test_links_of_all_nodes_work_and_sessions_hold_on_each(self, shared):
        hubs = [shared.nodes["a"], shared.nodes["b"]]
        for hub in hubs:
            with httpx.Client(follow_redirects=True) as browser:
                assert sign_in_by_link(browser, hub.link).status_code == 200
                for other in hubs:
                    page = browser.get(f"{other.url}/s/main/activity/")
                    assert page.url.path == "/s/main/activity/", "signed in"
                assert "running" in browser.get(f"{hubs[0].url}/nodes/").text

    def test_another_key_is_refused_by_name(self, shared):
        done = command(
            "up", "--port", "0", "--data-dir", str(shared.place / "d"), **shared.environment("d"),
            SECRET_KEY="another-key-of-more-than-32-characters",
        )  # fmt: skip
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "SECRET_KEY" in done.stderr

    def test_nodes_are_listed_with_state_and_version(self, shared):
        listed = {one["name"]: one for one in shared.json("a", "nodes")["nodes"]}
        assert [listed[name]["state"] for name in "ab"] == ["running", "running"]
        assert all(one["version"] for one in listed.values())

    def test_an_older_version_refuses_a_newer_database(self, shared):
        with postgres_of(shared) as connection:
            connection.execute(
                "INSERT INTO django_migrations (app, name, applied) VALUES ('memoryhub', '0999_later', now())"
            )
        try:
            done = command("up", "--port", "0", "--data-dir", str(shared.place / "d"), **shared.environment("d"))
            assert (done.returncode, done.stderr.count("\n")) == (1, 1)
            assert "schema 999, created by a newer memoryhub" in done.stderr
        finally:
            with postgres_of(shared) as connection:
                connection.execute("DELETE FROM django_migrations WHERE name = '0999_later'")


@contextlib.contextmanager
def postgres_of(made: Cluster):
    import psycopg

    with psycopg.connect(made.url, autocommit=True) as connection:
        yield connection


class TestCaches:
    """A prompt or file of every node is that of a process which cached nothing."""

    @pytest.mark.parametrize("changes", [60, pytest.param(200, marks=pytest.mark.attack)])
    def test_after_random_changes(self, shared, changes):
        dice = random.Random(7)
        for count in range(changes):
            name, text = dice.choice("ab"), f"text {dice.randrange(40)}"
            if dice.random() < 0.7:
                write(shared, name, dice.choice([AGENTS, "/memories/GUIDELINES.md", "/memories/x.md"]), text)
            else:
                note(shared, name, f"We saw {text} of the deployment today, in build {count}.")
            if count % 20 == 0:
                assert prompt(shared, "a", query="text") == prompt(shared, "b", query="text")
        all_agree(shared, "text of the deployment")

    def test_after_a_fail_over_to_a_server_that_lagged(self, shared):
        write(shared, "a", AGENTS, "before")
        note(shared, "a", "The deployment of Monday went to the first region, as planned.")
        all_agree(shared, "deployment")
        shared.keep_copy("older")
        for name in "ab":  # the connections are new ones
            soon(lambda name=name: httpx.get(f"{shared.nodes[name].url}/readyz").status_code == 200)
        write(shared, "a", AGENTS, "lost one")
        write(shared, "b", AGENTS, "lost two")
        note(shared, "a", "The deployment of Tuesday was lost with its server in the second region.")
        assert "lost two" in all_agree(shared, "deployment")
        assert "Tuesday" in prompt(shared, "a", query="deployment")
        shared.fall_back_to("older")
        for name in "ab":
            assert soon(lambda name=name: httpx.get(f"{shared.nodes[name].url}/readyz").status_code == 200)
        assert "before" in all_agree(shared, "deployment")
        write(shared, "a", AGENTS, "kept one")
        write(shared, "b", AGENTS, "kept two")
        note(shared, "b", "The deployment of Wednesday went to the third region after all that.")
        now = all_agree(shared, "deployment")
        assert "kept two" in now
        assert "Wednesday" in now
        assert "lost" not in now
        assert {read(shared, name, AGENTS) for name in "ab"} == {"kept two"}


class TestDirectories:
    """A mounted directory belongs to one node."""

    @pytest.fixture
    def mounted(self, shared):
        """A directory of node a, which node b could reach as well."""
        if (shared.place / "notes/plan.md").exists():
            return shared.place / "notes"
        folder = shared.place / "notes"
        (folder / "plan.md").write_text("first\n")
        shared.command("a", "mount", "add", "/notes/", "--dir", str(folder), "--policy", "trusted")
        assert soon(lambda: read(shared, "b", "/notes/plan.md") == "first\n")
        return folder

    def test_the_others_leave_writes_to_it(self, shared, mounted):
        said = write(shared, "b", "/notes/plan.md", "second\n")
        assert said["on_disk"] == "waiting"
        assert "node a" in said["why"]
        assert read(shared, "b", "/notes/plan.md") == "second\n"
        assert soon(lambda: (mounted / "plan.md").read_text() == "second\n")
        new = write(shared, "b", "/notes/new.md", "made by b\n")
        assert new["on_disk"] == "waiting"
        assert soon(lambda: (mounted / "new.md").exists())
        assert "on_disk" not in {k: v for k, v in write(shared, "a", "/notes/plan.md", "third\n").items() if v}
        assert read(shared, "b", "/notes/plan.md") == "third\n"

    def test_away_reads_go_on_and_writes_wait_until_another_is_in_charge(self, shared, mounted):
        shared.nodes["a"].stop()
        listed = {one["name"]: one for one in shared.json("b", "nodes")["nodes"]}
        assert [one["prefix"] for one in listed["a"]["mounts"]] == ["/notes/"]
        assert (listed["a"]["state"], listed["b"]["state"]) == ("stopped", "running")
        (mounted / "plan.md").write_text("nobody looks\n")
        assert read(shared, "b", "/notes/plan.md") == "third\n"
        said = write(shared, "b", "/notes/other.md", "waits\n")
        assert said["on_disk"] == "waiting"
        assert "away" in said["why"]
        assert not (mounted / "other.md").exists()
        assert "takes over /notes/" in shared.command("b", "mount", "assign", "/notes/", "--node", "b")
        assert soon(lambda: (mounted / "other.md").exists(), 45), "b looks every half a minute"
        assert soon(lambda: (mounted / "plan.md").read_text() == "third\n")
        shared.start("a")
        (mounted / "plan.md").write_text("seen by b\n")
        assert soon(lambda: read(shared, "a", "/notes/plan.md") == "seen by b\n")


class TestRestore:
    def test_it_is_refused_under_running_nodes_unless_they_stop(self, shared):
        write(shared, "a", AGENTS, "in the backup")
        backup = str(shared.place / "hub.tar")
        shared.command("a", "backup", backup)
        write(shared, "a", AGENTS, "after the backup")
        all_agree(shared)
        line = ["restore", backup, "--data-dir", str(shared.place / "drill")]
        (status, _, why), done = several(line, [*line, "--while-running"], **shared.environment("drill"))
        assert (status, why.count("\n")) == (1, 1)
        assert "2 nodes run on this database: a, b." in why
        assert done[0] == 0, done
        assert "in the backup" in all_agree(shared)
        write(shared, "b", AGENTS, "after the restore")
        assert "after the restore" in all_agree(shared)
        told = command(
            "restore",
            backup,
            "--stop-nodes",
            "--json",
            "--data-dir",
            str(shared.place / "a"),
            **shared.environment("a"),
        )
        assert sorted(json.loads(told.stdout)["stopped"]) == ["a", "b"]
        assert [shared.nodes[name].process.wait(10) for name in "ab"] == [0, 0]
