"""What `make` gets for itself on a new machine. Its tools are stand-ins on PATH: the real ones would change this machine."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import apt, chromium, pgbouncer
from tests.running import TREE

LIBRARIES_MISSING = "exit 127"


class Machine:
    """An empty home and a PATH with nothing but stand-ins, which write down how they were called."""

    def __init__(self, folder: Path) -> None:
        self.programs, self.home, self.calls = folder / "bin", folder / "home", folder / "calls"
        self.programs.mkdir()
        self.home.mkdir()
        self.calls.touch()

    def has(self, name: str, script: str = "", folder: Path | None = None) -> Path:
        program = (folder or self.programs) / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f'#!/bin/sh\necho "$(/usr/bin/basename "$0") $*" >> {self.calls}\n{script}\n')
        program.chmod(0o755)
        return program

    def has_apt(self, script: str = "") -> None:
        """apt-get, and a sudo that asks nobody: the tests may run as anybody."""
        self.has("apt-get", script)
        self.has("sudo", 'shift\n[ "$1" = true ] || exec "$@"')

    def has_playwright(self, script: str) -> None:
        package = self.home / "packages/playwright"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "__main__.py").write_text(
            f"import os, sys\nos.execv({str(self.has('playwright', script))!r}, sys.argv)"
        )

    def gives(self, place: Path | str, script: str = "") -> str:
        """A script that makes a program."""
        return (
            f"/bin/mkdir -p {Path(place).parent} && printf '#!/bin/sh\\n{script}\\n' > {place} && /bin/chmod +x {place}"
        )

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        given = {"PATH": str(self.programs), "HOME": str(self.home), "PYTHONPATH": f"{self.home}/packages:{TREE}"}
        return subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, env={**given, **environment}, timeout=60
        )

    @property
    def called(self) -> str:
        return self.calls.read_text()


@pytest.fixture
def machine(tmp_path, monkeypatch) -> Machine:
    found = Machine(tmp_path)
    monkeypatch.setenv("PATH", str(found.programs))
    monkeypatch.setenv("HOME", str(found.home))
    for name in ("CHROMIUM", "PLAYWRIGHT_BROWSERS_PATH"):
        monkeypatch.delenv(name, raising=False)
    return found


class TestApt:
    def test_root_installs_and_says_so_in_one_line(self, machine, capsys):
        machine.has("apt-get")
        assert apt.install("thing", "for a test", uid=0)
        assert capsys.readouterr().out == "Installing thing with apt-get, for a test …\n"
        update, install = machine.called.splitlines()
        assert update.endswith(" update")
        assert install.endswith(" install --yes --no-install-recommends thing")

    def test_another_user_goes_through_a_sudo_that_asks_nobody(self, machine):
        machine.has_apt()
        assert apt.install("thing", "for a test", uid=1000)
        assert "sudo -n true\n" in machine.called
        assert "install --yes --no-install-recommends thing\n" in machine.called

    def test_nothing_is_called_where_sudo_would_ask(self, machine, capsys):
        machine.has("apt-get")
        machine.has("sudo", "exit 1")
        assert not apt.install("thing", "for a test", uid=1000)
        assert capsys.readouterr().out == ""
        assert "apt-get" not in machine.called

    def test_a_system_without_apt(self, machine):
        machine.has("sudo")
        assert not apt.install("thing", "for a test", uid=0)
        assert not apt.install("thing", "for a test", uid=1000)

    def test_a_failure_says_why(self, machine, capsys):
        machine.has("apt-get", "echo 'E: Unable to locate package thing' >&2; exit 100")
        assert not apt.install("thing", "for a test", uid=0)
        assert capsys.readouterr().out.splitlines()[1:] == [
            "apt-get could not install thing: E: Unable to locate package thing"
        ]


@pytest.mark.skipif(sys.platform != "linux", reason="browsers and caches are elsewhere, and there is no apt-get")
class TestChromium:
    @pytest.fixture
    def downloaded(self, machine) -> Path:
        return machine.home / ".cache/ms-playwright/chromium-1/chrome-linux64/chrome"

    def test_one_that_is_there_is_taken(self, machine):
        machine.has("google-chrome")
        machine.has_playwright("exit 1")
        done = machine.run("-m", "tests.chromium")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert machine.called == "google-chrome --version\n"
        machine.has("chromium-headless-shell")
        assert machine.run("-m", "tests.chromium").returncode == 0
        assert machine.called.endswith("chromium-headless-shell --version\n")

    def test_else_playwrights_build_is_downloaded(self, machine, downloaded):
        machine.has("chromium-browser", "exit 1")  # Ubuntu's hint at a snap
        machine.has_playwright(machine.gives(downloaded))
        machine.has_apt()
        done = machine.run("-m", "tests.chromium")
        assert (done.returncode, done.stdout.count("\n"), done.stderr) == (0, 1, "")
        assert chromium.find() == str(downloaded)
        assert "apt-get" not in machine.called

    def test_its_libraries_come_from_the_distribution(self, machine, downloaded):
        better = machine.gives(downloaded)
        worse = machine.gives(downloaded, LIBRARIES_MISSING)
        machine.has_playwright(f'if [ "$1" = install-deps ]; then {better}; else {worse}; fi')
        machine.has_apt()
        done = machine.run("-m", "tests.chromium")
        assert (done.returncode, done.stdout.count("\n")) == (0, 2)
        assert "playwright install-deps chromium\n" in machine.called

    @pytest.mark.parametrize("has", ["chromium-headless-shell", "chromium"])
    def test_else_the_distributions_package_is_installed(self, machine, has):
        machine.has_playwright("exit 1")
        gets = machine.gives(machine.programs / has)
        machine.has_apt(f'case "$*" in *update) ;; *" {has}") {gets};; *) exit 100;; esac')
        done = machine.run("-m", "tests.chromium")
        assert (done.returncode, done.stderr) == (0, "")
        line = "Installing chromium-headless-shell or chromium with apt-get, for the browser tests …"
        assert done.stdout.splitlines()[1:] == [line]
        assert "install-deps" not in machine.called

    def test_without_any_it_says_how_to_get_one(self, machine):
        machine.has_playwright("exit 1")
        done = machine.run("-m", "tests.chromium")
        assert (done.returncode, done.stderr) == (1, chromium.ADVICE + "\n")

    def test_one_that_was_chosen_must_start_itself(self, machine):
        machine.has("chromium")
        chosen = str(machine.has("mine", LIBRARIES_MISSING))
        done = machine.run("-m", "tests.chromium", CHROMIUM=chosen)
        assert (done.returncode, done.stderr) == (1, f"CHROMIUM={chosen} does not start.\n")

    def test_a_download_that_hangs_is_ended_with_its_children(self, machine, monkeypatch):
        monkeypatch.setattr(chromium, "LONGEST_DOWNLOAD", 1)
        monkeypatch.setattr(chromium, "PLAYWRIGHT", [str(machine.has("playwright", "/bin/sleep 54.25 & wait"))])
        start = time.monotonic()
        chromium.download()
        assert time.monotonic() - start < 30
        assert "sleep 54.25" not in subprocess.run(["/bin/ps", "ax"], capture_output=True, text=True).stdout


class TestPgBouncer:
    @pytest.fixture(autouse=True)
    def _on_path_alone(self, monkeypatch):
        monkeypatch.setattr(pgbouncer, "SYSTEM_PROGRAMS", "")

    def test_one_that_is_there_is_taken(self, machine):
        machine.has("pgbouncer")
        machine.has_apt()
        pgbouncer.ensure()
        assert machine.called == ""

    def test_else_the_distributions_package_is_installed_and_its_service_stopped(self, machine):
        machine.has("systemctl")
        machine.has_apt(f'case "$*" in *pgbouncer) {machine.gives(machine.programs / "pgbouncer")};; esac')
        pgbouncer.ensure()
        assert pgbouncer.find() == str(machine.programs / "pgbouncer")
        assert machine.called.endswith("systemctl disable --now pgbouncer\n")

    def test_where_it_cannot_be_had_nothing_fails(self, machine):
        pgbouncer.ensure()
        assert pgbouncer.find() is None


class TestEnvironment:
    """The Makefile, where Python comes without what makes environments, as Debian's does."""

    @pytest.fixture
    def make(self, machine, tmp_path):
        tools = {name: shutil.which(name, path="/usr/bin:/bin") for name in ("make", "rm", "sed")}
        for name, program in tools.items():
            (machine.programs / name).symlink_to(program)
        shutil.copytree(
            TREE / "tests", tmp_path / "tree/tests", ignore=lambda _, names: {*names} - {"__init__.py", "apt.py"}
        )
        shutil.copy(TREE / "Makefile", tmp_path / "tree")
        machine.has("python3", f"""case "$*" in
            *ensurepip*) [ -e {tmp_path}/complete ];;
            *"-m venv"*) [ -e {tmp_path}/complete ] && /bin/mkdir -p .venv/bin && : > .venv/bin/python;;
            *) exec {sys.executable} "$@";;
        esac""")  # fmt: skip

        def make():
            return subprocess.run(
                [machine.programs / "make", ".venv/bin/python", "PYTHON=python3"],
                capture_output=True, text=True, cwd=tmp_path / "tree",
                env={"PATH": str(machine.programs)},  # nothing of the make that runs the tests
            )  # fmt: skip

        return make

    def test_the_distributions_package_is_installed(self, machine, make, tmp_path):
        machine.has_apt(f": > {tmp_path}/complete")
        done = make()
        package = "python{}.{}-venv".format(*sys.version_info)
        assert (done.returncode, done.stdout) == (0, f"Installing {package} with apt-get, for .venv …\n"), done.stderr
        assert machine.called.count("apt-get") == 2

    def test_where_it_cannot_be_had_one_line_says_what_to_do(self, machine, make, tmp_path):
        done = make()
        assert done.returncode == 2
        assert done.stderr.startswith("python3 cannot make virtual environments (Debian, Ubuntu: apt install python3.")
        assert not (tmp_path / "tree/.venv").exists()
