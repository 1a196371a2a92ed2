"""`memoryhub up` as its users meet it: real processes, started, refused, stopped and killed."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time

import httpx
import psutil
import pytest

from memoryhub.server import postgres
from tests.running import (
    COMMAND,
    TREE,
    Hub,
    clean,
    command,
    copied,
    copy,
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

    def test_a_command_uses_the_running_hubs_database_and_leaves_it_running(self, steady):
        assert command("doctor", "--data-dir", str(steady.data_dir)).returncode == 0
        assert httpx.get(f"{steady.url}/readyz").status_code == 200

    def test_a_folder_is_mounted_and_another_one_later_moves_the_mount(self, place, cluster_once):
        """On a database that `migrate` made ready: it found the server stopped, and stopped it again."""
        data_dir = copy(cluster_once, place / "data")
        done = command("migrate", "--data-dir", str(data_dir))
        assert (done.returncode, done.stderr) == (0, "")
        assert "Applying memoryhub.0001_initial... OK" in done.stdout
        assert postgres.postmaster_pid(data_dir) is None
        for name in ("one", "two"):
            (place / name).mkdir()
        hub = Hub(place / "data", str(place / "one")).wait_ready()
        hub.stop()
        assert [line.split(maxsplit=1)[0] for line in hub.said] == ["memoryhub", "memoryhub"]
        assert hub.said[0] == f"memoryhub shows 0 files of {place / 'one'}, 0 left out\n"
        hub = Hub(place / "data", str(place / "two")).wait_ready()
        hub.stop()
        assert f"/memories/ moved from {place / 'one'} to {place / 'two'}.\n" in hub.said
        (place / "two").rmdir()
        hub = Hub(place / "data").wait_ready()
        hub.stop()
        assert len(hub.said) == 1
        told = f"mount /memories/ of main is skipped for now: {place / 'two'} does not exist. Make the folder,"
        assert told in hub.stderr()
        assert "Traceback" not in hub.stderr()


def ends_in_order(hub: Hub, number: int = signal.SIGTERM, said: str = "") -> None:
    """The signal ends it with 0, and no process is left; nothing else was said on stderr."""
    family = whole_family(hub)
    assert hub.stop(number) == 0
    assert gone(family)
    assert hub.stderr() == said


class TestStop:
    def test_a_signal_while_it_starts_leaves_no_process_either(self, place):
        for wait in (0.3, 0.6, 0.9):
            hub = Hub(place / "data")
            time.sleep(wait)
            family = hub.family()
            assert hub.stop() in (0, -signal.SIGTERM)  # the latter: Python itself was still starting
            assert gone(family)
            assert postgres.postmaster_pid(place / "data") is None

    def test_ctrl_c_in_a_terminal_goes_to_its_whole_group_and_ends_it_in_order(self, data_dir):
        """What has begun is answered; new connections are refused at once, so that a proxy asks another node."""
        hub = Hub(data_dir, start_new_session=True).wait_ready()
        family, port = hub.family(), httpx.URL(hub.url).port
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
        assert hub.stderr() == ""

    def test_under_nohup_a_closed_terminal_does_not_end_it(self, data_dir):
        hub = Hub(data_dir, command=["nohup", *COMMAND]).wait_ready()
        hub.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert serves(hub)
        assert hub.stop() == 0

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
    def test_whatever_is_killed_comes_back_or_the_next_start_works(self, hub):
        """One data directory for all of it: each part, then the hub, then everything; SIGINT ends the last start."""
        self.kill_a_worker(hub)
        self.kill_the_background_process(hub)
        self.kill_the_parent_of_the_workers(hub)
        os.kill(postgres.postmaster_pid(hub.data_dir), signal.SIGKILL)
        assert serves(hub, 20)
        assert "The database had stopped; it is started again." in hub.stderr()
        family = hub.family()
        hub.process.kill()
        hub.process.wait()
        assert gone(family[:-1])  # all but the database's server
        again = Hub(hub.data_dir).wait_ready()
        assert serves(again)
        assert again.stderr() == ""
        for process in (everything := whole_family(again)):
            process.kill()
        again.process.wait()
        assert gone([*family, *everything])
        last = Hub(hub.data_dir).wait_ready()
        assert serves(last)
        ends_in_order(last, signal.SIGINT)

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

    def test_workers_that_outlived_their_hub_are_ended_by_the_next_start(self, data_dir):
        notes = data_dir / "processes"
        notes.mkdir(exist_ok=True)
        ours, stranger = (subprocess.Popen(["sleep", "60"]) for _ in range(2))
        (notes / str(ours.pid)).write_text(repr(psutil.Process(ours.pid).create_time()))
        (notes / str(stranger.pid)).write_text("12345.0")  # its number, somebody else's birth
        hub = Hub(data_dir).wait_ready()
        assert ours.wait(5) == -signal.SIGKILL
        assert stranger.poll() is None
        stranger.kill()
        stranger.wait()
        ends_in_order(hub, signal.SIGHUP)
        assert not list(notes.iterdir())


class TestRefusals:
    def test_a_taken_port_before_the_database_starts(self, place):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = str(other.getsockname()[1])
            told = refused("up", "--port", port, "--data-dir", str(place / "data"))
        assert told == f"Port {port} on 127.0.0.1 is taken by another program: choose another with --port."
        assert not (place / "data" / "postgres").exists()

    def test_the_port_of_another_hub(self, steady, place):
        port = steady.url.rpartition(":")[2]
        assert f"Port {port}" in refused("up", "--port", port, "--data-dir", str(place / "other"))

    def test_two_hubs_on_one_data_directory(self, steady):
        told = refused("up", "--port", "0", "--data-dir", str(steady.data_dir))
        assert f"Another hub (process {steady.process.pid}) is running on the data directory {steady.data_dir}" in told
        assert serves(steady)

    def test_a_folder_that_does_not_exist(self, place):
        told = refused("up", str(place / "nowhere"), "--data-dir", str(place / "data"))
        assert told == f"The folder {place / 'nowhere'} does not exist: make it, or name another one."

    def test_a_file_instead_of_a_folder(self, place):
        (place / "AGENTS.md").write_text("")
        assert "is a file" in refused("up", str(place / "AGENTS.md"), "--data-dir", str(place / "data"))

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

    def test_an_address_of_another_machine(self, place):
        assert "not an address of this machine" in refused(
            "up", "--host", "192.0.2.1", "--port", "0", "--data-dir", str(place / "data")
        )

    def test_wrong_arguments_exit_with_2(self):
        wrong = ["up --port x", "up --port 70000", "up --workers 0", "up --nothing", "up one two"]
        for line, (status, said, told) in zip(wrong, several(*map(str.split, wrong)), strict=True):
            assert (status, said) == (2, "") and "usage:" in told, line

    def test_a_wrong_setting_is_named_with_what_is_allowed(self, place):
        told = refused("up", "--data-dir", str(place / "data"), MEMORYHUB_EMBEDDER="magic")
        assert "MEMORYHUB_EMBEDDER" in told
        assert "wordllama" in told

    def test_a_front_space_that_is_not_there_is_named_with_those_that_are(self, data_dir):
        told = refused("up", "--port", "0", "--data-dir", str(data_dir), MEMORYHUB_FRONT_SPACE="mian")
        assert told == "MEMORYHUB_FRONT_SPACE is 'mian'; allowed is a space that exists: main."


class TestCommandLine:
    def test_no_command_and_an_unknown_one_are_wrong_arguments(self):
        assert command().returncode == 2
        unknown = command("nothing")
        assert (unknown.returncode, unknown.stderr) == (
            2, "There is no command 'nothing'; `memoryhub --help` lists them.\n",
        )  # fmt: skip

    def test_help_lists_the_commands_with_what_they_do(self):
        done = command("--help")
        assert done.returncode == 0
        assert re.search(r"^  up +start the hub", done.stdout, re.MULTILINE)

    def test_manage_py_takes_the_same_commands(self):
        done = subprocess.run([sys.executable, "manage.py", "--help"], capture_output=True, text=True, cwd=TREE)
        assert done.stdout == command("--help").stdout

    def test_djangos_own_commands_find_the_database_started(self, data_dir):
        done = command("showmigrations", "memoryhub", "--data-dir", str(data_dir))
        assert done.returncode == 2, "--data-dir is ours alone"
        done = command("showmigrations", "memoryhub", MEMORYHUB_DATA_DIR=str(data_dir))
        assert done.returncode == 0, done.stderr
        assert " [X] 0001_initial" in done.stdout
        assert postgres.postmaster_pid(data_dir) is None


def test_a_second_start_is_quick_and_on_every_address_it_says_who_is_refused(data_dir):
    """Ready in under three seconds; it answers to the address that it prints."""
    began = time.monotonic()
    hub = Hub(data_dir, "--host", "0.0.0.0").wait_ready()
    took = time.monotonic() - began
    crowd = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))  # others that share the processors just now
    assert took < 3 * crowd
    local = hub.url.replace("0.0.0.0", "127.0.0.1")
    assert httpx.get(f"{local}/login/", headers={"Host": hub.url.removeprefix("http://")}).status_code == 200
    assert httpx.get(f"{local}/login/", headers={"Host": "hub.example.org"}).status_code == 400
    ends_in_order(hub, said="Other machines are refused until ALLOWED_HOSTS names how they call this one.\n")
