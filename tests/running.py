"""Real hubs and commands in processes of their own, for tests."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from memoryhub.client import MemoryHub
from memoryhub.server import postgres
from tests import forking, places

TREE = Path(__file__).parents[1]
READY = re.compile(r"memoryhub ready: (http://[^/]+)(/login/once/[\w-]+/)\n")


COMMAND = [sys.executable, "-m", "memoryhub"]


class Hub:
    """A running hub and what it said."""

    def __init__(
        self,
        data_dir: Path,
        *arguments: str,
        command: list[str] | None = None,
        cwd: Path = TREE,
        start_new_session: bool = False,
        **environment: str,
    ) -> None:
        """`command`: it is started as a new program, as it also is in another folder or session."""
        self.data_dir = data_dir
        self.said: list[str] = []
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        line, own = ["up", "--port", "0", "--data-dir", str(data_dir), *arguments], clean(**environment)
        self.process: forking.Process | subprocess.Popen[str]
        if command is None and cwd == TREE and not start_new_session and forking.can_fork(own):
            self.process = forking.start(line, own, None, self.errors)
            return
        self.process = subprocess.Popen(
            [*(command or COMMAND), *line],
            stdout=subprocess.PIPE, stderr=self.errors, text=True, cwd=cwd, env=own, start_new_session=start_new_session,
        )  # fmt: skip

    def wait_ready(self) -> Hub:
        for line in self.process.stdout:
            self.said.append(line)
            if found := READY.fullmatch(line):
                self.url, self.link = found[1], found[1] + found[2]
                return self
        raise AssertionError(f"the hub ended with {self.process.wait()}: {self.said} {self.stderr()}")

    def stderr(self) -> str:
        self.errors.seek(0)
        return self.errors.read()

    def family(self) -> list[psutil.Process]:
        """Every process of this hub, its database's server included."""
        found = [psutil.Process(self.process.pid)]
        found += found[0].children(recursive=True)
        if pid := postgres.postmaster_pid(self.data_dir):
            found.append(psutil.Process(pid))
        return found

    def web(self) -> psutil.Process:
        """The parent of the web workers: the child of the hub that has children."""
        return next(child for child in psutil.Process(self.process.pid).children() if child.children())

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


CSRF_FIELD = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')


def sign_in_by_link(browser: httpx.Client, link: str) -> httpx.Response:
    """Opens a one-time link and clicks its button; the page that it leads to."""
    page = browser.get(link)
    found = CSRF_FIELD.search(page.text)
    assert found, page.text
    return browser.post(link, data={"csrfmiddlewaretoken": found[1]})


def statuses(hub: MemoryHub) -> list[int]:
    """What this client hears from now on, one status for each request."""
    heard, exchange = [], hub._exchange

    def listening(request: Any) -> Any:
        answer = exchange(request)
        if isinstance(answer, tuple):
            heard.append(answer[0])
        return answer

    hub._exchange = listening  # type: ignore[method-assign]
    return heard


def clean(**environment: str) -> dict[str, str]:
    """The environment of somebody who never heard of this test run."""
    unwanted = ("MEMORYHUB_", "DJANGO_", "PYT", "DATABASE_URL", "SECRET_KEY", "ALLOWED_HOSTS", "DEBUG")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return {"MEMORYHUB_LANGUAGE": "en", **kept, **environment}


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    own = clean(**environment)
    if not forking.can_fork(own):
        return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, cwd=TREE, env=own, timeout=180)
    return ended(list(arguments), own)


def script(code: str, **environment: str) -> str:
    """What a program prints that uses the hub's modules and settings."""
    done = ended(["-c", code], clean(DJANGO_SETTINGS_MODULE="memoryhub.settings", **environment))
    assert done.returncode == 0, done.stderr
    return done.stdout


def ended(arguments: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = forking.start(arguments, environment, out, errors)
        try:
            status = process.wait(180)
        finally:
            process.kill()
        said, complained = (file.seek(0) or file.read() for file in (out, errors))
        return subprocess.CompletedProcess(arguments, status, said, complained)


def several(*lines: list[str], **environment: str) -> list[tuple[int, str, str]]:
    """Status, output and errors of several commands, one after another."""
    done = [command(*line, **environment) for line in lines]
    return [(one.returncode, one.stdout, one.stderr) for one in done]


def refused(*arguments: str, **environment: str) -> str:
    """The one sentence with which a command ends that could not do its work."""
    done = command(*arguments, **environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.strip()


@contextlib.contextmanager
def own_place() -> Iterator[Path]:
    """An empty folder that the database's user can reach; whatever still runs there is ended."""
    folder = Path(tempfile.mkdtemp(prefix="memoryhub-up-", dir=places.TMP))
    folder.chmod(0o755)
    places.twin(folder).mkdir(mode=0o755, exist_ok=True)
    try:
        yield folder
    finally:
        for process in psutil.process_iter(["cmdline"]):
            if str(folder) in " ".join(process.info["cmdline"] or []):
                with contextlib.suppress(psutil.Error):
                    process.kill()
        forking.kill_all(str(folder))
        postgres.stop(folder / "data")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(places.twin(folder), ignore_errors=True)


@contextlib.contextmanager
def running_in(data_dir: Path, *arguments: str) -> Iterator[Hub]:
    """A hub that is gone afterwards, also where a test has killed it."""
    running = Hub(data_dir, *arguments).wait_ready()
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait()


@pytest.fixture
def place() -> Iterator[Path]:
    with own_place() as folder:
        yield folder


def made_in_this_run() -> Path:
    """Where workers keep what one of them makes for all; removed with the run (`conftest`)."""
    return Path(f"{os.environ['MEMORYHUB_TEST_RUN']}-made")


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """The data directory of this name, made by whichever worker asks first; everybody copies it."""
    folder = made_in_this_run()
    folder.mkdir(mode=0o755, exist_ok=True)
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / name).exists():
            make(folder / f"{name}.new")
            (folder / f"{name}.new").rename(folder / name)
    return folder / name


@pytest.fixture(scope="session")
def started_once() -> Path:
    """A data directory after one start and stop, to be copied: first starts are tested by themselves."""

    def start(data_dir: Path) -> None:
        assert Hub(data_dir).wait_ready().stop() == 0

    return made_once("hub", start)


@pytest.fixture(scope="session")
def cluster_once() -> Path:
    """A data directory whose server has run, with nothing in its database, to be copied as well."""

    def start(data_dir: Path) -> None:
        with postgres.ensure_running(data_dir, {"fsync": "off"}):
            pass

    return made_once("cluster", start)


@pytest.fixture(scope="session")
def migrated_once(cluster_once: Path) -> Path:
    """That data directory with all tables, and nothing in them but what migrations write: for tests of what comes later."""

    def migrate(data_dir: Path) -> None:
        done = command("migrate", "--data-dir", str(copy(cluster_once, data_dir)))
        assert (done.returncode, done.stderr) == (0, "")
        assert "Applying memoryhub.0001_initial... OK" in done.stdout
        assert postgres.postmaster_pid(data_dir) is None

    return made_once("migrated", migrate)


@pytest.fixture(scope="session")
def wheel() -> Path:
    """The wheel of this tree."""

    def build(folder: Path) -> None:
        options = ["build", "--target", "wheel", "--directory", str(folder)]
        subprocess.run([sys.executable, "-m", "hatchling", *options], cwd=TREE, check=True, capture_output=True)

    (found,) = made_once("wheel", build).glob("memoryhub-*.whl")
    return found


COLLECT = "import django; django.setup(); from memoryhub.server import static_files; static_files.collect()"


def give_static_files(data_dir: Path) -> None:
    """What each first start collects and compresses anew, for a data directory that has none: 0.6 s of processor. Without a
    run of tests (`make cluster`) it collects them itself."""
    if "MEMORYHUB_TEST_RUN" not in os.environ or (data_dir / "static").exists():
        return

    def collect(folder: Path) -> None:
        settings = {"DJANGO_SETTINGS_MODULE": "memoryhub.settings", "MEMORYHUB_COLLECTED": "true"}
        environment = clean(**settings, MEMORYHUB_DATA_DIR=str(folder))
        folder.mkdir()
        subprocess.run([sys.executable, "-c", COLLECT], cwd=TREE, env=environment, check=True)

    made = made_once("collected", collect)
    data_dir.mkdir(mode=0o700, exist_ok=True)
    subprocess.run(["cp", "-a", str(made / "static"), str(data_dir)], check=True)


def copy(made: Path, to: Path) -> Path:
    # Half of a fresh cluster is zeros that wait to be written over.
    holes = ["--sparse=always"] if sys.platform == "linux" else []
    subprocess.run(["cp", "-a", *holes, f"{made}/.", places.make_in_memory(to)], check=True)
    return to


@contextlib.contextmanager
def copied(made: Path) -> Iterator[Path]:
    """A copy for longer than one test."""
    with own_place() as folder:
        yield copy(made, folder / "data")


@pytest.fixture
def data_dir(place: Path, started_once: Path) -> Path:
    """The hub's data directory of this test alone."""
    return copy(started_once, place / "data")


@pytest.fixture
def hub(data_dir: Path) -> Iterator[Hub]:
    with running_in(data_dir) as running:
        yield running
