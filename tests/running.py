"""Real hubs and commands in processes of their own, for tests."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from memoryhub import postgres
from memoryhub.client import MemoryHub

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
        self.data_dir = data_dir
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            [*(command or COMMAND), "up", "--port", "0", "--data-dir", str(data_dir), *arguments],
            stdout=subprocess.PIPE, stderr=self.errors, text=True, cwd=cwd, env=clean(**environment),
            start_new_session=start_new_session,
        )  # fmt: skip
        self.said: list[str] = []

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
        """granian's parent: the child of the hub that has children."""
        return next(child for child in psutil.Process(self.process.pid).children() if child.children())

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


def statuses(hub: MemoryHub) -> list[int]:
    """What this client hears from now on, one status for each request."""
    heard, once = [], hub._once

    def listening(exchange: Any) -> tuple[int, dict[str, str], bytes]:
        answer = once(exchange)
        heard.append(answer[0])
        return answer

    hub._once = listening  # type: ignore[method-assign]
    return heard


def clean(**environment: str) -> dict[str, str]:
    """The environment of somebody who never heard of this test run."""
    unwanted = ("MEMORYHUB_", "DJANGO_", "PYT", "DATABASE_URL", "SECRET_KEY", "ALLOWED_HOSTS", "DEBUG")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return {**kept, **environment}


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "memoryhub", *arguments],
        capture_output=True, text=True, cwd=TREE, env=clean(**environment), timeout=60,
    )  # fmt: skip


def refused(*arguments: str, **environment: str) -> str:
    """The one sentence with which a command ends that could not do its work."""
    done = command(*arguments, **environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.strip()


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty folder that the database's user can reach; whatever still runs there is ended."""
    folder = Path(tempfile.mkdtemp(prefix="memoryhub-up-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    for process in psutil.process_iter(["cmdline"]):
        if str(folder) in " ".join(process.info["cmdline"] or []):
            with contextlib.suppress(psutil.Error):
                process.kill()
    postgres.stop(folder / "data")
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def started_once() -> Iterator[Path]:
    """A data directory after one start and stop, to be copied: first starts are tested by themselves."""
    folder = Path(tempfile.mkdtemp(prefix="memoryhub-up-", dir="/tmp"))
    folder.chmod(0o755)
    Hub(folder / "data").wait_ready().stop()
    yield folder / "data"
    shutil.rmtree(folder)


@pytest.fixture
def hub(place, started_once) -> Iterator[Hub]:
    subprocess.run(["cp", "-a", started_once, place / "data"], check=True)
    running = Hub(place / "data").wait_ready()
    yield running
    if running.process.poll() is None:
        running.process.kill()
        running.process.wait()
