"""`memoryhub up` as its users meet it: real processes, started, refused, stopped and killed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import psutil
import pytest

from memoryhub.errors import HubError
from memoryhub.server import postgres, serve
from tests.running import (
    COMMAND,
    TREE,
    Hub,
    clean,
    command,
    copied,
    copy,
    give_static_files,
    refused,
    running_in,
    several,
    sign_in_by_link,
)


def gone(processes: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=10)
    return not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]


def whole_family(hub: Hub, seconds: float = 15) -> list[psutil.Process]:
    """All processes of a hub: it is ready before the last of them has begun."""
    deadline = time.monotonic() + seconds
    while len(family := hub.family()) < 6 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(family) >= 6
    return family


def serves(hub: Hub, seconds: float = 15) -> bool:
    """Whether every one of many new connections is answered, within a while."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.HTTPError):
            if all(httpx.get(f"{hub.url}/readyz").status_code == 200 for _ in range(8)):
                return True
        time.sleep(0.1)
    return False


@pytest.fixture(scope="module")
def steady(started_once):
    """A hub for all tests of this file that neither stop nor kill anything of it."""
    with copied(started_once) as data_dir, running_in(data_dir) as running:
        yield running


class TestStart:
    def test_the_printed_link_signs_in_once_and_leads_to_main(self, steady):
        hub = steady
        with httpx.Client(base_url=hub.url, follow_redirects=True) as browser:
            shown = browser.get(hub.link)
            assert (shown.status_code, shown.url.path) == (200, httpx.URL(hub.link).path)
            page = sign_in_by_link(browser, hub.link)
            assert (page.status_code, page.url.path) == (200, "/s/main/")
            assert browser.get("/").url.path == "/s/main/"
        assert httpx.get(hub.link).status_code == 404
        assert hub.said == [f"memoryhub ready: {hub.link}\n"]
        assert hub.stderr() == ""

    def test_static_files_are_compressed_and_may_be_kept(self, steady):
        page = httpx.get(f"{steady.url}/login/").text
        (style,) = re.findall(r'href="(/static/css/base\.[0-9a-f]+\.css)"', page)
        for coding in ("br", "gzip"):
            answer = httpx.get(steady.url + style, headers={"Accept-Encoding": coding})
            assert answer.headers["Content-Encoding"] == coding
            assert "immutable" in answer.headers["Cache-Control"]

    def test_commands_use_the_running_hubs_database_and_leave_it_running(self, steady):
        """A backup is made while it runs, and restored only while it does not. Nor does a second hub start there."""
        backup = str(steady.data_dir.parent / "hub.tar")
        lines = [
            [*line, "--data-dir", str(steady.data_dir)]
            for line in (
                ["user", "link", "owner", "--json"], ["doctor"], ["backup", backup], ["restore", backup], ["up", "--port", "0"],
            )
        ]  # fmt: skip
        (_, link, _), doctor, kept, (status, _, told), second = several(*lines)
        assert json.loads(link)["link"].startswith(f"{steady.url}/login/once/")
        assert (doctor[0], kept[0], kept[2], status) == (0, 0, "", 1)
        assert f"Another hub (process {steady.process.pid})" in told and told.count("\n") == 1
        assert second[0] == 1
        assert (
            f"Another hub (process {steady.process.pid}) is running on the data directory {steady.data_dir}"
            in second[2]
        )
        assert serves(steady)


def leftover_processes(data_dir: Path) -> tuple[subprocess.Popen[bytes], ...]:
    """A process that an earlier hub left, and another program that has the number of one."""
    notes = data_dir / "processes"
    notes.mkdir(exist_ok=True)
    ours, stranger = (subprocess.Popen(["sleep", "60"]) for _ in range(2))
    (notes / str(ours.pid)).write_text(repr(psutil.Process(ours.pid).create_time()))
    (notes / str(stranger.pid)).write_text("12345.0")  # its number, somebody else's birth
    threading.Thread(target=ours.wait).start()  # taken note of at once, as init does: a zombie would be waited for
    return ours, stranger


def starts_in_time(seconds: float) -> None:
    """A second start takes less than three seconds."""
    crowd = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))  # others that share the processors just now
    assert seconds < 3 * crowd


def answers_to_its_own_address(hub: Hub) -> None:
    local = hub.url.replace("0.0.0.0", "127.0.0.1")
    assert httpx.get(f"{local}/login/", headers={"Host": hub.url.removeprefix("http://")}).status_code == 200
    assert httpx.get(f"{local}/login/", headers={"Host": "hub.example.org"}).status_code == 400


class TestStop:
    def test_a_signal_while_it_starts_leaves_no_process_either(self, place):
        for wait in (0.3, 0.6, 0.9):
            hub = Hub(place / "data", command=COMMAND)
            time.sleep(wait)
            family = hub.family()
            assert hub.stop() in (0, -signal.SIGTERM)  # the latter: Python itself was still starting
            assert gone(family)
            assert postgres.postmaster_pid(place / "data") is None

    def test_under_nohup_it_outlives_the_terminal_and_ctrl_c_ends_its_whole_group_in_order(self, data_dir):
        """One start, on every address: what an earlier hub left is ended first, and it says who is refused. What has begun before
        the end is answered; new connections are refused at once, so that a proxy asks another node."""
        ours, stranger = leftover_processes(data_dir)
        began = time.monotonic()
        every_address = ["nohup", *COMMAND]
        hub = Hub(data_dir, "--host", "0.0.0.0", command=every_address, start_new_session=True).wait_ready()
        starts_in_time(time.monotonic() - began)
        assert (ours.wait(5), stranger.poll()) == (-signal.SIGKILL, None)
        stranger.kill()
        stranger.wait()
        answers_to_its_own_address(hub)
        hub.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        family, port = whole_family(hub), httpx.URL(hub.url).port
        assert serves(hub)
        with socket.create_connection(("127.0.0.1", port), 10) as begun:
            begun.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
            time.sleep(0.3)
            os.killpg(hub.process.pid, signal.SIGINT)
            time.sleep(0.7)
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port), 5)
            assert hub.process.poll() is None
            begun.sendall(b"\r\n")
            assert begun.recv(1000).startswith(b"HTTP/1.1 200")
        assert hub.process.wait(20) == 0
        assert gone(family)
        assert not list((data_dir / "processes").iterdir())
        assert hub.stderr() == "Other machines are refused until ALLOWED_HOSTS names how they call this one.\n"

    def test_a_command_that_is_told_to_stop_stops_the_database_it_started(self, data_dir):
        working = subprocess.Popen([*COMMAND, "work", "--data-dir", str(data_dir)], cwd=TREE, env=clean())
        deadline = time.monotonic() + 30
        while not postgres.is_accepting(data_dir) and time.monotonic() < deadline:
            time.sleep(0.05)
        working.send_signal(signal.SIGTERM)
        assert working.wait(30) in (0, 143)
        assert postgres.postmaster_pid(data_dir) is None


STOPPED_WHILE_IT_FORKS = """
import os, signal, time
from memoryhub.server import supervise

os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGTERM))
supervise.stop_on_signals()
supervisor = supervise.Supervisor([supervise.Child("sleeper", lambda: time.sleep(60))], lambda: None)
try:
    supervisor.run(lambda: True)
except supervise.Stop:
    supervise.ignore_signals()
    supervisor.stop()
    print("stopped")
"""


def test_a_signal_that_comes_while_it_forks_is_not_lost():
    done = subprocess.run(
        [sys.executable, "-c", STOPPED_WHILE_IT_FORKS], capture_output=True, text=True, cwd=TREE, timeout=10
    )
    assert done.stdout == "stopped\n", done.stderr


class TestKilled:
    def test_whatever_is_killed_comes_back_or_the_next_start_works(self, place, migrated_once):
        """One data directory for all of it: each part, then the hub, then everything; SIGHUP ends the last start. Each start has
        another folder: the first is mounted, another one later moves the mount, and one that is gone is skipped."""
        data_dir = copy(migrated_once, place / "data")
        give_static_files(data_dir)
        for name in ("one", "two"):
            (place / name).mkdir()
        hub = Hub(data_dir, str(place / "one")).wait_ready()
        assert hub.said == [
            f"memoryhub shows 0 files of {place / 'one'}, 0 left out\n",
            f"memoryhub ready: {hub.link}\n",
        ]
        self.kill_a_worker(hub)
        self.kill_the_background_process(hub)
        self.kill_the_parent_of_the_workers(hub)
        os.kill(postgres.postmaster_pid(data_dir), signal.SIGKILL)
        assert serves(hub, 20)
        assert "The database had stopped; it is started again." in hub.stderr()
        family = hub.family()
        hub.process.kill()
        hub.process.wait()
        assert gone(family[:-1])  # all but the database's server
        again = Hub(data_dir, str(place / "two")).wait_ready()
        assert f"/memories/ moved from {place / 'one'} to {place / 'two'}.\n" in again.said
        assert serves(again)
        assert again.stderr() == ""
        for process in (everything := whole_family(again)):
            process.kill()
        again.process.wait()
        assert gone([*family, *everything])
        (place / "two").rmdir()
        last = Hub(data_dir).wait_ready()
        assert len(last.said) == 1
        assert serves(last)
        skipped, family = f"“{place / 'two'}” is not there", whole_family(last)
        deadline = time.monotonic() + 30  # the first look of the background process says so
        while skipped not in last.stderr() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert last.stop(signal.SIGHUP) == 0
        assert gone(family)
        assert "Traceback" not in last.stderr()
        assert last.stderr().count(str(place / "two")) == 1, "once, in one wording"

    def kill_the_parent_of_the_workers(self, hub):
        web = hub.web()
        workers = web.children()
        web.kill()
        assert gone(workers)
        assert serves(hub)
        assert "the web process ended (by SIGKILL); it is started again" in hub.stderr()

    def kill_a_worker(self, hub):
        hub.web().children()[0].kill()
        assert serves(hub)
        time.sleep(0.5)
        assert len(hub.web().children()) == 2

    def kill_the_background_process(self, hub):
        web = hub.web()
        others = [p for p in psutil.Process(hub.process.pid).children() if p.pid != web.pid]
        assert len(others) == 1
        others[0].kill()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            now = [p.pid for p in psutil.Process(hub.process.pid).children() if p.pid != web.pid]
            if now and now != [others[0].pid]:
                break
            time.sleep(0.1)
        assert now
        assert now != [others[0].pid]


class TestRefusals:
    def test_before_the_database_starts(self, steady, place):
        (place / "AGENTS.md").write_text("")
        port, nowhere = steady.url.rpartition(":")[2], place / "nowhere"
        wrong = {
            f"The folder {nowhere} does not exist: make it, or name another one.\n": [str(nowhere)],
            f"{place / 'AGENTS.md'} is a file": [str(place / "AGENTS.md")],
            f"Port {port} on 127.0.0.1 is taken by another program: choose another with --port.\n": ["--port", port],
        }
        lines = [["up", *line, "--data-dir", str(place / "data")] for line in wrong.values()]
        for begins, (status, said, told) in zip(wrong, several(*lines), strict=True):
            assert (status, said, told.count("\n"), told[: len(begins)]) == (1, "", 1, begins)
        assert not (place / "data" / "postgres").exists()

    def test_an_address_of_another_machine(self):
        with pytest.raises(HubError, match="not an address of this machine"):
            serve.bind("192.0.2.1", 0)

    def test_a_data_directory_that_cannot_be_written(self):
        assert "not writable" in refused("up", "--data-dir", "/proc/memoryhub")

    def test_a_folder_that_is_gone(self, place):
        gone = place / "gone"
        gone.mkdir()
        script = f"import os, sys; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); from memoryhub.__main__ import run"
        done = subprocess.run(
            [sys.executable, "-c", f"{script}; sys.exit(run(['up']))"],
            env={**os.environ, "PYTHONPATH": str(TREE)},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr.count("\n")) == (1, 1) and "is gone" in done.stderr

    def test_a_database_that_cannot_be_reached_without_its_password(self, place):
        url = "postgresql://me:hunter2@127.0.0.1:1/hub"
        told = refused("up", "--port", "0", "--data-dir", str(place / "data"), DATABASE_URL=url)
        assert told.startswith("The database of DATABASE_URL (127.0.0.1:1) cannot be reached: ")
        assert "hunter2" not in told

    def test_a_wrong_setting_is_named_with_what_is_allowed(self, place):
        told = refused("up", "--data-dir", str(place / "data"), MEMORYHUB_EMBEDDER="magic")
        assert "MEMORYHUB_EMBEDDER" in told
        assert "wordllama" in told

    def test_a_front_space_that_is_not_there_is_named_with_those_that_are(self, data_dir):
        told = refused("up", "--port", "0", "--data-dir", str(data_dir), MEMORYHUB_FRONT_SPACE="mian")
        assert told == "MEMORYHUB_FRONT_SPACE is 'mian'; allowed is a space that exists: main."


class TestCommandLine:
    def test_help_and_wrong_arguments(self):
        wrong = [
            "up --port x", "up --port 70000", "up --workers 0", "up --nothing", "up one two",
            "user add rk", "user add rk --role king", "agent", "space remove x",
            "template import deepagents --version 1 --wheel x",
        ]  # fmt: skip
        lines = [[], ["nothing"], ["--help"], *map(str.split, wrong)]
        none, unknown, helped, *others = several(*lines)
        assert none[0] == 2
        assert unknown == (2, "", "There is no command 'nothing'; `memoryhub --help` lists them.\n")
        assert helped[0] == 0 and re.search(r"^  up +Start the hub", helped[1], re.MULTILINE)
        for line, (status, said, told) in zip(wrong, others, strict=True):
            assert (status, said) == (2, "") and "usage:" in told, line
        done = subprocess.run([sys.executable, "manage.py", "--help"], capture_output=True, text=True, cwd=TREE)
        assert done.stdout == helped[1], "the same commands"

    def test_djangos_own_commands_find_the_database_started(self, place, migrated_once):
        """And stop it again, as `migrate` did when it made these tables (`migrated_once`)."""
        data_dir = copy(migrated_once, place / "data")
        done = command("showmigrations", "memoryhub", "--data-dir", str(data_dir))
        assert done.returncode == 2, "--data-dir is ours alone"
        done = command("showmigrations", "memoryhub", MEMORYHUB_DATA_DIR=str(data_dir))
        assert done.returncode == 0, done.stderr
        assert " [X] 0001_initial" in done.stdout
        assert postgres.postmaster_pid(data_dir) is None
