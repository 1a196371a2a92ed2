"""The README's four lines against a hub process of its own, and what an agent does when that hub is killed."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from memoryhub.client import HubUnavailable, MemoryHub
from tests.running import TREE, clean, command, copied, running_in, several

AGENTS = "/memories/AGENTS.md"


@pytest.fixture(scope="module")
def hub(started_once):
    """A hub of its own, whose processes the last test kills."""
    with copied(started_once) as data_dir, running_in(data_dir) as running:
        yield running


@pytest.fixture(scope="module")
def scout(hub):
    """What `memoryhub agent add scout --json` prints: the settings of an agent."""
    made = command("agent", "add", "scout", "--json", "--data-dir", str(hub.data_dir))
    assert made.returncode == 0, made.stderr
    return {"MEMORYHUB_URL": hub.url, "MEMORYHUB_TOKEN": json.loads(made.stdout)["token"]}


def example(settings, *words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "memoryhub.client.example", *words],
        env=clean(**settings, **environment), cwd=TREE, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def test_the_readme_names_these_four_lines():
    section = Path(TREE, "README.md").read_text().partition("## Connect an agent")[2].partition("\n## ")[0]
    lines = re.search(r"```sh\n(.*?)```", section, re.DOTALL)[1].strip().splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("make run")
    assert "memoryhub agent add" in " ".join(lines)
    assert "memoryhub.client.example" in lines[-1]


# A slim environment: httpx alone


@pytest.fixture(scope="module")
def slim(tmp_path_factory, wheel):
    """A fresh environment with httpx, and this project's client without its dependencies."""
    folder = tmp_path_factory.mktemp("slim")
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python"
    (packages,) = folder.glob("env/lib/python*/site-packages")
    for name in with_requirements("httpx", set()):
        for file in metadata.files(name) or ():
            if ".." not in file.parts:  # a script in bin
                (packages / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file.locate(), packages / file)
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile"]
    subprocess.run([*install, "--no-deps", "--no-index", wheel], check=True, timeout=300)
    return python


def with_requirements(name, found):
    """The distribution and all that it needs here, as they are installed: no index has to be reached."""
    if name not in found:
        found.add(name)
        for one in map(Requirement, metadata.requires(name) or ()):
            if one.marker is None or one.marker.evaluate({"extra": ""}):
                with_requirements(one.name, found)
    return found


def test_a_slim_environment_is_enough(slim, hub, scout, tmp_path):
    code = (
        "import sys; from memoryhub.client import MemoryHub, AsyncMemoryHub\n"
        "hub = MemoryHub.from_env()\n"
        "outcome = hub.write('/memories/slim.md', 'from a slim place', reason='test')\n"
        "print(outcome.status, hub.proposal(1).state, 'django' in sys.modules)\n"
    )
    env = {"PATH": os.environ["PATH"], **scout}
    done = subprocess.run([slim, "-c", code], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout == "pending pending False\n", done.stderr
    script = slim.parent / "memoryhub"
    synced = subprocess.run(
        [script, "sync", tmp_path / "copy"], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert synced.returncode == 0, synced.stderr
    told = subprocess.run([script, "mcp"], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (told.returncode, "pip install 'mcp" in told.stderr) == (1, True)


def test_four_lines_to_a_proposal_and_on_to_the_next_run(hub, scout, tmp_path):
    """And on from its copies while the hub is away, until it is found again where it was."""
    copies = {"MEMORYHUB_CACHE_DIR": str(tmp_path / "copies")}
    done = example(scout, "Refunds need a second person.", **copies)
    assert done.returncode == 0, done.stderr
    number = int(re.search(r"proposal (\d+)", done.stdout)[1])
    assert "do not retry" in done.stdout
    data = ["--data-dir", str(hub.data_dir)]
    listed, approved = several(["proposals", "--json", *data], ["approve", str(number), *data])
    assert (listed[0], approved[0]) == (0, 0), (listed, approved)
    (waiting,) = [one for one in json.loads(listed[1])["items"] if one["number"] == number]
    assert (waiting["state"], waiting["path"], waiting["agent"]) == ("pending", AGENTS, "scout")
    with MemoryHub(scout["MEMORYHUB_URL"], scout["MEMORYHUB_TOKEN"], cache_dir=tmp_path / "copies") as client:
        assert "Refunds need a second person." in client.read(AGENTS)
        prompt = client.prompt(dialect="deepagents", thread="t-1")
        assert "Refunds need a second person." in prompt

        again = example(scout, "Invoices go out on Mondays.", **copies)
        assert f"proposal {number + 1}" in again.stdout

        for process in hub.family():
            process.send_signal(signal.SIGKILL)
        hub.process.wait(30)
        assert client.read(AGENTS).stale
        assert client.prompt(dialect="deepagents", thread="t-1").stale
        for call in (lambda: client.write(AGENTS, "x"), client.working):
            with pytest.raises(HubUnavailable, match="cannot be reached"):
                call()
        away = example(scout, "Too late.", **copies)
        assert (away.returncode, "cannot be reached" in away.stderr) == (1, True)
        with running_in(hub.data_dir, "--port", hub.url.rsplit(":", 1)[1]) as again:
            assert again.url == hub.url
            assert client.proposal(number).state == "approved"
            assert not client.read(AGENTS).stale
