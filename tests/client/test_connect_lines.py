"""The lines that the pages print, run as they stand there: in an environment without the hub, in a shell, against a hub process.

What pip would fetch from an index it finds in a folder of wheels, packed from this environment's own packages: `PIP_NO_INDEX`
and `PIP_FIND_LINKS` say so, the lines themselves are not touched.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import re
import shlex
import shutil
import site
import subprocess
import sys
import threading
import time
import venv
import zipfile
from html import unescape
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import distribution
from pathlib import Path
from types import SimpleNamespace

import httpx
import playwright
import pytest
from packaging.requirements import Requirement

from memoryhub.client import MemoryHub
from tests.running import CSRF_FIELD, clean, command, copied, running_in, sign_in_by_link

AGENTS = "/memories/AGENTS.md"
TEXT = "# Memory\n\n- Refunds need a second person.\n"
FACT = "The bakery closes at 18:00."
BLOCK = re.compile(r'<pre[^>]*\sid="lines-([\w-]+)"[^>]*>(.*?)</pre>', re.DOTALL)


@pytest.fixture(scope="module")
def running(started_once):
    """One hub for all of them: its address, a browser signed in as its owner, and a person's token that decides."""
    with copied(started_once) as data_dir, running_in(data_dir) as hub, httpx.Client(follow_redirects=True) as browser:
        sign_in_by_link(browser, hub.link)
        data = ("--data-dir", str(data_dir))
        person = json.loads(command("user", "add", "rk", "--role", "reviewer", "--json", *data).stdout)["token"]
        with MemoryHub(hub.url, person) as reviewer:
            reviewer.write(AGENTS, TEXT)
            yield SimpleNamespace(url=hub.url, browser=browser, reviewer=reviewer)


@pytest.fixture
def connected(running, request):
    """A function that makes an agent on the page, as a person does: its blocks by key, and its own client."""
    made = []

    def make(framework: str) -> SimpleNamespace:
        form = f"{running.url}/s/main/agents/new/?framework={framework}"
        token = CSRF_FIELD.search(running.browser.get(form).text)[1]
        values = {"name": f"{framework} {len(made)} {request.node.name}"[:60], "framework": framework}
        page = running.browser.post(form, data=values | {"csrfmiddlewaretoken": token})
        assert page.status_code == 200, page.text
        blocks = {key: unescape(text) for key, text in BLOCK.findall(page.text) if key.startswith(f"{framework}-")}
        secret = re.search(r'id="secret"[^>]*>(mh_[\w-]+)<', page.text)[1]
        client = MemoryHub(running.url, secret)
        made.append(client)
        return SimpleNamespace(blocks=blocks, client=client, waiting=lambda: client.proposals("pending"))

    yield make
    for client in made:
        for one in client.proposals("pending"):
            running.reviewer.reject(one.number, note="The next test begins anew.")
        client.close()


# ---- environments without the hub ----


def packed(name: str, into: Path) -> None:
    """An installed package as a wheel again, without its scripts."""
    found = distribution(name)
    tag = re.search(r"^Tag: (.+)$", found.read_text("WHEEL"), re.MULTILINE)[1]
    stem = f"{found.metadata['Name'].replace('-', '_').replace('.', '_')}-{found.version}"
    record = []
    with zipfile.ZipFile(into / f"{stem}-{tag}.whl", "w") as wheel:
        for file in found.files or ():
            if ".." in file.parts or file.name == "RECORD" or "__pycache__" in file.parts:
                continue
            content = Path(found.locate_file(file)).read_bytes()
            wheel.writestr(str(file), content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{file},sha256={digest},{len(content)}")
        info = next(str(file.parent) for file in found.files or () if file.name == "METADATA")
        wheel.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,", ""]))


def with_what_it_needs(*wanted: str) -> set[str]:
    """The names of these packages and of all that they need here."""
    seen: set[tuple[str, str]] = set()  # a package, and an extra of it
    waiting = [(name, "") for name in wanted]
    while waiting:
        name, extra = one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        for needed in map(Requirement, distribution(name).requires or ()):
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                canonical = needed.name.lower().replace("_", "-")
                waiting += [(canonical, extra) for extra in ("", *needed.extras)]
    return {name for name, _ in seen}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """What pip is given in place of a package index: httpx and the MCP SDK, with what they need."""
    folder = tmp_path_factory.mktemp("wheels")
    for name in with_what_it_needs("httpx", "mcp"):
        packed(name, folder)
    return folder


@pytest.fixture(scope="module")
def environments(tmp_path_factory):
    """A fresh environment, where only pip is, for each line that installs something: made when a test first has that line."""
    made: dict[tuple[str, str], Path] = {}

    def environment(kind: str, line: str) -> tuple[Path, bool]:
        is_new = (kind, line) not in made
        if is_new:
            made[kind, line] = tmp_path_factory.mktemp("environment") / "env"
            venv.create(made[kind, line], with_pip=False)
            pip = made[kind, line] / "bin/pip"
            pip.write_text(f'#!/bin/sh\nexec {sys.executable} -m pip --python {pip.parent}/python "$@"\n')
            pip.chmod(0o755)
        return made[kind, line], is_new

    return environment


@pytest.fixture
def empty(environments, tmp_path, wheels):
    """`empty(line)`: a function that runs another line in the shell of an environment where that one was run."""

    def with_line(line: str):
        folder, is_new = environments("empty", line)
        run = in_environment(folder, tmp_path, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(wheels))
        if is_new:
            run(line)
        return run

    return with_line


@pytest.fixture
def with_frameworks(environments, tmp_path):
    """As `empty`, but the frameworks are there already, from this environment; pip fetches the client alone."""

    def with_line(line: str):
        folder, is_new = environments("with frameworks", line)
        run = in_environment(folder, tmp_path, PIP_NO_INDEX="1", PIP_NO_DEPS="1")
        if is_new:
            (packages,) = folder.glob("lib/python*/site-packages")
            (packages / "frameworks.pth").write_text("\n".join(site.getsitepackages()))
            run(line)
        return run

    return with_line


def in_environment(folder: Path, tmp_path: Path, **settings: str):
    place = tmp_path / "work"
    place.mkdir()
    path = f"{folder}/bin{os.pathsep}{os.environ['PATH']}"
    settings["PIP_COMPILE"] = "0"  # most of what is installed is never imported
    environment = clean(PATH=path, HOME=str(place), MEMORYHUB_CACHE_DIR=str(place / "copies"), **settings)

    def run(script: str, **more: str) -> str:
        done = subprocess.run(
            ["bash", "-e", "-c", script], capture_output=True, text=True, cwd=place, env=environment | more, timeout=120
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    run.place, run.environment, run.programs = place, environment, folder / "bin"
    return run


def test_python_in_an_empty_environment(connected, empty):
    made = connected("other")
    run = empty(made.blocks["other-install"])
    (run.place / "agent.py").write_text(made.blocks["other-python"])
    told = run(f"{made.blocks['other-token']}\npython agent.py")
    assert "Refunds need a second person." in told
    (asked,) = made.waiting()
    assert asked.path == "/memories/bakery.md"
    assert any(FACT in entry.content for entry in made.client.working())
    nothing_else = run(
        'python -c \'import importlib.util as u; print(u.find_spec("django"), u.find_spec("memoryhub.domain"))\''
    )
    assert nothing_else.split() == ["None", "None"]


@pytest.mark.parametrize("framework", ["claude-code", pytest.param("codex", marks=pytest.mark.attack)])
def test_a_coding_agent_registers_the_server(connected, empty, framework):
    """The program itself is played by a script that starts what is to be registered, as the real one does later."""
    made = connected(framework)
    run = empty(made.blocks[f"{framework}-install"])
    program = run.programs / framework.partition("-")[0]
    program.write_text('#!/bin/sh\nfor given in "$@"; do echo "$given"; done\n')
    program.chmod(0o755)
    told = run(made.blocks[f"{framework}-{framework}"]).splitlines()
    assert told[:3] == ["mcp", "add", "memoryhub"]
    at = told.index("--")
    settings = dict(one.split("=", 1) for flag, one in zip(told[3:at:2], told[4:at:2], strict=True) if flag == "--env")
    assert "Refunds need a second person." in read_over_mcp(run, told[at + 1 :], settings)


@pytest.mark.parametrize("framework", ["cursor", pytest.param("mcp", marks=pytest.mark.attack)])
def test_an_mcp_client_with_the_settings(connected, empty, framework):
    made = connected(framework)
    run = empty(made.blocks[f"{framework}-install"])
    (named,) = json.loads(made.blocks[f"{framework}-mcp"])["mcpServers"].values()
    assert "Refunds need a second person." in read_over_mcp(run, [named["command"], *named["args"]], named["env"])


def read_over_mcp(run, server: list[str], settings: dict[str, str]) -> str:
    from mcp import Client, StdioServerParameters

    program = shutil.which(server[0], path=run.environment["PATH"])
    started = StdioServerParameters(
        command=program, args=server[1:], env=run.environment | settings, cwd=str(run.place)
    )

    async def read() -> str:
        async with Client(started, mode="legacy") as session:
            return (await session.call_tool("memory_read", {"path": AGENTS})).content[0].text

    return asyncio.run(read())


def test_deepagents(connected, with_frameworks, model):
    made = connected("deepagents")
    run = with_frameworks(made.blocks["deepagents-install"])
    (run.place / "agent.py").write_text(made.blocks["deepagents-deepagents"])
    told = run(f"{made.blocks['deepagents-token']}\npython agent.py", **model.settings)
    assert "I have read it." in told
    assert "Refunds need a second person." in json.dumps(model.asked[0]["system"])
    assert "Refunds need a second person." in json.dumps(model.asked[1]["messages"])


def test_the_first_call_of_deepagents_needs_no_model(connected, with_frameworks):
    made = connected("deepagents")
    run = with_frameworks(made.blocks["deepagents-install"])
    told = run(f"{made.blocks['deepagents-token']}\n" + f'python -m memoryhub.client.example "{FACT}"')
    (asked,) = made.waiting()
    assert f"proposal {asked.number}" in told


def test_langgraph(connected, with_frameworks):
    made = connected("langgraph")
    run = with_frameworks(made.blocks["langgraph-install"])
    (run.place / "agent.py").write_text(made.blocks["langgraph-langgraph"])
    told = run(f"{made.blocks['langgraph-token']}\npython agent.py")
    assert FACT in told
    assert any(FACT in entry.content for entry in made.client.working())
    (asked,) = made.waiting()
    assert asked.path == "/memories/bakery.md"


def test_anthropic(connected, with_frameworks, model):
    made = connected("anthropic")
    run = with_frameworks(made.blocks["anthropic-install"])
    (run.place / "agent.py").write_text(made.blocks["anthropic-anthropic"])
    told = run(f"{made.blocks['anthropic-token']}\npython agent.py", **model.settings)
    assert "I have read it." in told
    assert "Refunds need a second person." in json.dumps(model.asked[0]["system"])
    assert "Refunds need a second person." in json.dumps(model.asked[1]["messages"])


@pytest.fixture
def model():
    """A model that reads the memory with whatever tool it is given, then answers: its requests, and where it is."""
    asked = []

    class Model(BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            names = [tool["name"] for tool in asked[-1].get("tools", ())]
            look = {"name": "memory", "input": {"command": "view", "path": AGENTS}}
            if "read_file" in names:
                look = {"name": "read_file", "input": {"file_path": AGENTS}}
            reads = len(asked) == 1
            content = {"type": "tool_use", "id": "t1", **look} if reads else {"type": "text", "text": "I have read it."}
            body = json.dumps({
                "id": "m", "type": "message", "role": "assistant", "model": "x", "content": [content],
                "stop_reason": "tool_use" if reads else "end_turn", "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }).encode()  # fmt: skip
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    yield SimpleNamespace(asked=asked, settings={"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none"})
    server.shutdown()
    server.server_close()


def test_curl(connected, with_frameworks):
    made = connected("other")
    run = with_frameworks("")
    told = run(f"{made.blocks['other-token']}\n{made.blocks['other-curl']}")
    assert "Refunds need a second person." in told and '"state": "admitted"' in told
    assert '"status": "pending"' in told


def test_typescript(connected, with_frameworks):
    made = connected("other")
    node = shutil.which("node") or Path(playwright.__file__).parent / "driver/node"  # Playwright brings one
    run = with_frameworks("")
    (run.place / "agent.mjs").write_text(made.blocks["other-typescript"])
    told = run(f"{made.blocks['other-token']}\n{shlex.quote(str(node))} agent.mjs")
    (asked,) = made.waiting()
    assert asked.path == "/memories/bakery.md"
    assert "Refunds need a second person." in told and "202" in told


def test_agents_md_on_disk(connected, empty):
    made = connected("other")
    run = empty(made.blocks["other-install"])
    script = f"{made.blocks['other-token']}\nexec {made.blocks['other-sync']}"
    running = subprocess.Popen(
        ["bash", "-e", "-c", script], cwd=run.place, env=run.environment, stdout=subprocess.DEVNULL
    )
    try:
        copy = run.place / ".memory/AGENTS.md"
        until(lambda: copy.exists() and copy.read_text() == TEXT)
        copy.write_text(TEXT + "- Invoices go out on Mondays.\n")
        until(made.waiting)
    finally:
        running.terminate()
        running.wait(10)


def until(holds):
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.1)
