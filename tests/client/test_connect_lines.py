"""The lines of the Connect page, run as they stand there (but for `pip install`) against a hub process of its own."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import playwright
import pytest
from django.template.loader import render_to_string

from memoryhub.client import MemoryHub
from memoryhub.client.example import scripted
from tests.running import TREE, clean, command, copied, running_in

AGENTS = "/memories/AGENTS.md"
TEXT = "# Memory\n\n- Refunds need a second person.\n"


@pytest.fixture(scope="module")
def running(started_once):
    """One hub for all of them: its address, the token of an agent, and of a person who decides."""
    with copied(started_once) as data_dir, running_in(data_dir) as hub:
        data = ("--data-dir", str(data_dir))
        person = json.loads(command("user", "add", "rk", "--role", "reviewer", "--json", *data).stdout)["token"]
        token = json.loads(command("agent", "add", "scout", "--json", *data).stdout)["token"]
        with MemoryHub(hub.url, person) as reviewer:
            reviewer.write(AGENTS, TEXT)
        yield hub.url, token, person


@pytest.fixture
def scout(running, tmp_path, monkeypatch):
    """An agent whose memory is there: its client, its settings, and what the page would show."""
    url, token, person = running
    monkeypatch.setenv("MEMORYHUB_CACHE_DIR", str(tmp_path / "copies"))
    monkeypatch.setenv("MEMORYHUB_URL", url)
    monkeypatch.setenv("MEMORYHUB_TOKEN", token)
    with MemoryHub(url, token) as client:
        yield SimpleNamespace(client=client, url=url, token=token, waiting=lambda: client.proposals("pending"))
        with MemoryHub(url, person) as reviewer:
            for one in client.proposals("pending"):
                reviewer.reject(one.number, note="The next test begins anew.")


def lines(scout, key):
    values = {"url": scout.url, "token": scout.token, "agent": SimpleNamespace(name="scout", slug="scout")}
    text = render_to_string(f"connect/snippets/{key}.txt", values)
    return "\n".join(line for line in text.splitlines() if not line.startswith("pip install"))


def run_python(scout, key, **names):
    exec(compile(lines(scout, key), key, "exec"), names)
    return names


def shell(script, *program, **more):
    return subprocess.run(program or ["bash", "-e", "-c", script], capture_output=True, text=True, timeout=60, **more)


def test_curl(scout):
    done = shell(lines(scout, "curl"))
    assert done.returncode == 0, done.stderr
    assert "Refunds need a second person." in done.stdout and '"state": "admitted"' in done.stdout


def test_typescript(scout):
    node = shutil.which("node") or Path(playwright.__file__).parent / "driver/node"  # Playwright brings one
    names = 'const before = "a second person", after = "two more people";\n'
    script = names + lines(scout, "typescript") + "\nconsole.log(system, status, proposal.number);"
    done = shell("", node, "--input-type=module", "-e", script)
    assert done.returncode == 0, done.stderr
    (asked,) = scout.waiting()
    assert asked.path == AGENTS
    assert "Refunds need a second person." in done.stdout and done.stdout.rstrip().endswith(f"pending {asked.number}")


def test_python(scout):
    names = {"question": "refunds?", "answer": "Two people look.", "thread": "t-1", "old": "second", "new": "third"}
    found = run_python(scout, "python", **names)
    assert "Refunds need a second person." in found["system"]
    assert [one.reason for one in scout.waiting()] == ["the user asked twice"]


def test_deepagents(scout):
    found = run_python(scout, "deepagents", model=scripted("Invoices go out on Mondays."))
    said = found["agent"].invoke({"messages": [("user", "Remember this.")]})["messages"]
    (asked,) = scout.waiting()
    assert any(f"proposal {asked.number}" in message.text for message in said)


def test_langgraph(scout):
    from langgraph.graph import END, START, StateGraph

    builder = StateGraph(dict)
    builder.add_node("check", lambda state: {"found": "The invoice of March was paid twice."})
    builder.add_edge(START, "check")
    builder.add_edge("check", END)
    found = run_python(scout, "langgraph", builder=builder, question={"asked": "paid?"}, thread="t-1")
    found["hub"].close()
    assert any("paid twice" in entry.content for entry in scout.client.working())


def test_anthropic(scout, monkeypatch):
    turns = [
        [{"type": "tool_use", "id": "t1", "name": "memory", "input": {"command": "view", "path": AGENTS}}],
        [{"type": "text", "text": "I have read it."}],
    ]
    asked = []

    class Model(BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            content = turns[len(asked) - 1]
            reason = "tool_use" if content[0]["type"] == "tool_use" else "end_turn"
            body = json.dumps({
                "id": "m", "type": "message", "role": "assistant", "model": "x", "content": content, "stop_reason": reason,
                "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
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
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    try:
        run_python(scout, "anthropic", model="x", question="What do you know?")
    finally:
        server.shutdown()
        server.server_close()
    assert "Refunds need a second person." in json.dumps(asked[0]["system"])
    assert "Refunds need a second person." in json.dumps(asked[1]["messages"])


def test_mcp(scout):
    from mcp import Client, StdioServerParameters

    text = lines(scout, "mcp")
    (named,) = json.loads(text[text.index("{") :])["mcpServers"].values()
    assert (named["command"], named["args"]) == ("memoryhub", ["mcp"])
    started = StdioServerParameters(
        command=sys.executable, args=["-m", "memoryhub", *named["args"]], env=clean(**named["env"]), cwd=TREE
    )

    async def read():
        async with Client(started, mode="legacy") as session:
            return await session.call_tool("memory_read", {"path": AGENTS})

    assert "Refunds need a second person." in asyncio.run(read()).content[0].text


def test_agents_md_on_disk(scout, tmp_path):
    script = lines(scout, "sync").replace("memoryhub sync", f"exec {sys.executable} -m memoryhub sync")
    folder = tmp_path / "project"
    folder.mkdir()
    script = f"cd {folder}\n{script}"
    running = subprocess.Popen(["bash", "-e", "-c", script], env=clean(PYTHONPATH=str(TREE)), stdout=subprocess.DEVNULL)
    try:
        copy = folder / ".memory" / "AGENTS.md"
        until(lambda: copy.exists() and copy.read_text() == TEXT)
        copy.write_text(TEXT + "- Invoices go out on Mondays.\n")
        until(scout.waiting)
    finally:
        running.terminate()
        running.wait(10)


def until(holds):
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.1)
