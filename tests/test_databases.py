"""DATABASE_URL: the same hub on a PostgreSQL of the user's own, as an ordinary role, also behind PgBouncer."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psycopg
import pytest
from django.db import connections

from memoryhub.server import postgres
from memoryhub.server.migrate import require_vector
from tests import pgbouncer
from tests.running import Hub, command, copy, give_static_files, refused, several, sign_in_by_link


@pytest.fixture
def server(place, cluster_once) -> Iterator[Path]:
    """A server that the hub did not start; its role `memoryhub` is an ordinary one."""
    with postgres.ensure_running(copy(cluster_once, place / "server"), {"fsync": "off"}) as found:
        yield found


@pytest.fixture
def migrated_server(place, migrated_once) -> Iterator[Path]:
    """As `server`, with our tables: first starts are tested there."""
    with postgres.ensure_running(copy(migrated_once, place / "server"), {"fsync": "off"}) as found:
        yield found


def as_superuser(server: Path, database: str = "postgres") -> psycopg.Connection:
    return psycopg.connect(host=str(postgres.socket_dir(server)), user="postgres", dbname=database, autocommit=True)


def url(server: Path, name: str = "memoryhub") -> str:
    return f"postgresql://memoryhub@/{name}?host={postgres.socket_dir(server)}"


def sessions(server: Path) -> list[int]:
    with as_superuser(server) as connection:
        rows = connection.execute("SELECT pid FROM pg_stat_activity WHERE usename = 'memoryhub' ORDER BY pid")
        return [row[0] for row in rows]


def use_it(hub: Hub, token: str) -> None:
    """Many calls at once that read, write, list and assemble prompts."""
    client = httpx.Client(base_url=f"{hub.url}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=30)

    def one(number: int) -> None:
        path = f"/files/memories/note-{number % 5}.md"
        assert client.put(path, json={"content": f"# {number}\n"}).status_code == 202
        assert client.get("/prompt").status_code == 200
        assert client.get("/proposals").status_code == 200
        record = {
            "content": f"seen {number}",
            "session_id": "s",
            "node_id": "n",
            "node_kind": "agent",
            "scope": "group",
        }
        assert client.post("/quarantine", json=record).status_code == 201
        assert client.get("/retrieve", params={"query": "seen"}).status_code == 200

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(one, range(12)))


def agent_token(**environment: str) -> str:
    done = command("agent", "add", "forge", "--json", **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["token"]


def test_it_runs_on_a_server_of_the_users_own(server, place):
    environment = {"DATABASE_URL": url(server), "MEMORYHUB_DATA_DIR": str(place / "data")}
    give_static_files(place / "data")
    hub = Hub(place / "data", DATABASE_URL=url(server)).wait_ready()
    assert not (place / "data/postgres").exists()
    token = agent_token(**environment)
    use_it(hub, token)
    before = sessions(server)
    use_it(hub, token)
    after = sessions(server)
    assert set(before) <= set(after), "connections last"
    # Two workers, and the spare one where those are slow; two lanes, one that sends, a watcher and the background itself.
    assert len(after) <= 9
    assert hub.stop() == 0
    assert postgres.is_accepting(server), "the server is not ours to stop"
    deadline = time.monotonic() + 5
    while sessions(server) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert sessions(server) == []


def test_behind_pgbouncer_in_transaction_mode(migrated_server, place):
    server = migrated_server
    program = pgbouncer.find()
    if not program:
        pytest.skip("PgBouncer is not installed (apt install pgbouncer)")
    with bouncer(program, server, place) as port:
        through = f"postgresql://memoryhub@127.0.0.1:{port}/memoryhub"
        environment = {"DATABASE_URL": through, "MEMORYHUB_PGBOUNCER": "true"}
        give_static_files(place / "data")
        hub = Hub(place / "data", **environment).wait_ready()
        token = agent_token(**environment, MEMORYHUB_DATA_DIR=str(place / "data"))
        use_it(hub, token)
        with httpx.Client(base_url=hub.url, follow_redirects=True) as browser:
            assert sign_in_by_link(browser, hub.link).status_code == 200
            assert browser.get("/s/main/activity/").status_code == 200
        with_node = {**environment, "MEMORYHUB_DATA_DIR": str(place / "data")}
        kept = str(place / "hub.tar")
        for status, said, told in several(["backup", kept], ["restore", kept], **with_node):
            assert (status, said, told.count("\n")) == (1, "", 1)
            assert "DATABASE_URL that leads to PostgreSQL itself" in told
        use_it(hub, token)  # those programs leave settings in connections, which others get
        elsewhere = {"DATABASE_URL": url(server), "MEMORYHUB_DATA_DIR": str(place / "elsewhere")}
        assert "has another SECRET_KEY" in refused("backup", kept, **elsewhere)
        (done,) = several(["backup", kept], **elsewhere | {"MEMORYHUB_DATA_DIR": str(place / "data")})
        assert (done[0], done[2]) == (0, "")
        assert hub.stop() == 0
        assert "rror" not in hub.stderr()


@contextlib.contextmanager
def bouncer(program: str, server: Path, place: Path) -> Iterator[int]:
    """Two connections to the server for everybody: whoever relied on their own would notice at once."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    configuration = place / "pgbouncer.ini"
    configuration.write_text(
        f"[databases]\nmemoryhub = host={postgres.socket_dir(server)} port=5432\n[pgbouncer]\npool_mode = transaction\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
        "default_pool_size = 2\nmax_client_conn = 50\nserver_reset_query_always = 0\nignore_startup_parameters = options\n"
    )
    configuration.write_text(configuration.read_text().replace("memoryhub = host", "memoryhub = user=memoryhub host"))
    who = postgres.account(server)
    as_user = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []} if who else {}
    log = (place / "pgbouncer.log").open("w")
    running = subprocess.Popen([program, str(configuration)], stdout=log, stderr=log, **as_user)
    try:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield port
    finally:
        running.terminate()
        running.wait(10)
        log.close()


class TestRefusals:
    def test_a_role_that_may_not_add_pgvector_is_told_what_to_run(self, server, place):
        with as_superuser(server) as connection:
            connection.execute("CREATE DATABASE bare TEMPLATE template0 OWNER memoryhub")
        told = refused("up", "--port", "0", "--data-dir", str(place / "data"), DATABASE_URL=url(server, "bare"))
        assert told == (
            "The database bare has no pgvector yet and this role may not add it: "
            "run CREATE EXTENSION vector there once as a superuser."
        )

    def test_another_node_may_add_pgvector_at_the_same_time(self, server, monkeypatch, django_db_blocker):
        with as_superuser(server) as connection:
            connection.execute("CREATE DATABASE bare TEMPLATE template0")
        where = {"NAME": "bare", "USER": "postgres", "HOST": str(postgres.socket_dir(server)), "PORT": ""}
        for name, value in where.items():
            monkeypatch.setitem(connections.settings["default"], name, value)

        def add() -> None:
            require_vector()
            connections.close_all()

        with as_superuser(server) as watch, ThreadPoolExecutor(1) as pool, django_db_blocker.unblock():
            with as_superuser(server, "bare") as other, other.transaction():
                other.execute("CREATE EXTENSION vector")
                added = pool.submit(add)
                deadline = time.monotonic() + 30
                while not watch.execute("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'").fetchall():
                    assert time.monotonic() < deadline and not added.done(), added
                    time.sleep(0.02)
            added.result()

    def test_a_server_without_pgvector(self, place):
        folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        without = [
            folder for folder in folders
            if not Path("/usr/share/postgresql", folder.parent.name, "extension/vector.control").exists()
        ]  # fmt: skip
        if not without:
            pytest.skip("no PostgreSQL without pgvector is installed (apt install postgresql)")
        with foreign_server(without[-1], place) as where:
            told = refused("up", "--port", "0", "--data-dir", str(place / "data"), DATABASE_URL=where)
        assert told.startswith("The PostgreSQL server has no pgvector: install it there")

    @pytest.mark.parametrize("wrong", ["mysql://x/y", "postgresql://x:port/y", "postgresql://x", "nonsense"])
    def test_a_wrong_address_is_explained(self, place, wrong):
        told = refused("up", "--data-dir", str(place / "data"), DATABASE_URL=wrong)
        assert told.startswith("DATABASE_URL is not understood; allowed is postgresql://")

    def test_a_database_that_is_not_there(self, server, place):
        told = refused("up", "--port", "0", "--data-dir", str(place / "data"), DATABASE_URL=url(server, "nothing"))
        assert 'database "nothing" does not exist' in told


@contextlib.contextmanager
def foreign_server(tools: Path, place: Path) -> Iterator[str]:
    folder = place / "foreign"
    folder.mkdir()
    who = postgres.account(place)
    options: dict = {"cwd": "/", "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True}
    if who:
        os.chown(folder, who.pw_uid, who.pw_gid)
        options |= {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
    subprocess.run([tools / "initdb", "-D", folder, "-U", "postgres", "-A", "trust", "--no-sync"], **options)
    sockets = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
    control = [tools / "pg_ctl", "-w", "-D", folder]
    subprocess.run([*control, "-l", folder / "log", "-o", sockets, "start"], **options)
    try:
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], **options)
