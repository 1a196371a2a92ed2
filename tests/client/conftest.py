"""A small HTTP server that does what a test scripts, good or bad, and remembers what it was asked."""

import contextlib
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from memoryhub.client import wire


class Asked:
    def __init__(self, method, path, headers, body):
        self.method, self.path, self.headers, self.body = method, path, headers, body

    def json(self):
        return json.loads(self.body)


class Scripted:
    """`server.next(...)` lines up one answer each; the last one repeats for ever."""

    def __init__(self):
        self.answers, self.asked, self.closed = [], [], False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                if outer.closed:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                    return
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                asked = Asked(self.command, self.path, dict(self.headers), body)
                outer.asked.append(asked)
                answer = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                answer(self, asked)

            do_GET = do_PUT = do_POST = do_DELETE = handle_any

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def next(self, answer):
        self.answers.append(answer)
        return self

    def json(self, value, status=200, **headers):
        return self.raw(json.dumps(value).encode(), status, "application/json", **headers)

    def raw(self, body, status=200, kind="text/plain; charset=utf-8", **headers):
        def answer(handler, asked):
            handler.send_response(status)
            if status != 304:
                handler.send_header("Content-Type", kind)
            handler.send_header("Content-Length", str(len(body)))
            for name, value in headers.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.end_headers()
            handler.wfile.write(body)

        return self.next(answer)

    def close(self):
        self.closed = True  # connections that are still open end at their next request
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    """Between the tries of a call, where no answer names the time: together 0.2 seconds at most in place of 2.8."""
    monkeypatch.setattr(wire, "FIRST_PAUSE", wire.FIRST_PAUSE / 14)


@pytest.fixture
def server():
    server = Scripted()
    yield server
    server.close()


@pytest.fixture
def cache_dir(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def hub(server, cache_dir):
    from memoryhub.client import MemoryHub

    with MemoryHub(server.url, "mh_secret-token", cache_dir=cache_dir, timeout=1, patience=3) as hub:
        yield hub


class Real:
    """A space on the real hub: `hub` is the agent's client, `person` the client of a reviewer."""

    def __init__(self, url, cache_dir, policy, directory=None):
        from memoryhub.domain import accounts, files, prompts, spaces
        from memoryhub.models import HUB, Actor

        self.url, self.cache_dir = url, cache_dir
        self.space = spaces.create(HUB, "books", "Books")
        place = {"store": "filesystem", "directory": str(directory)} if directory else {"store": "database"}
        files.add_mount(self.space, HUB, "/memories/", policy=policy, **place)
        files.add_mount(self.space, HUB, "/thread/", store="thread", policy="trusted")
        prompts.add_source(self.space, HUB, "/memories/AGENTS.md")
        self.agent = prompts.create_agent(self.space, HUB, "forge", dialect="deepagents")
        self.token = accounts.create_token(self.space, HUB, agent=self.agent)[1]
        rk = accounts.create_person(HUB, "rk")
        spaces.add_member(self.space, HUB, rk, "reviewer")
        self.rk = Actor.of_person(rk, "reviewer")
        self.persons_token = accounts.create_token(self.space, self.rk, person=rk)[1]
        self.hub, self.person = self.client(self.token), self.client(self.persons_token)

    def client(self, token, **options):
        from memoryhub.client import MemoryHub

        return MemoryHub(self.url, token, cache_dir=self.cache_dir / token[-8:], **options)

    def put(self, path, text):
        """A text that a person has published."""
        from memoryhub.domain import files

        content = text.encode() if isinstance(text, str) else text
        return files.write(self.space, self.rk, path, content)

    def text(self, path="/memories/AGENTS.md"):
        from memoryhub.domain import files

        return files.read(self.space, path).content.decode()

    def approve(self, number):
        seen = self.person.proposal(number).result_sha256
        return self.person.approve(number, seen=seen, note="fine")


@pytest.fixture
def review(live_server, cache_dir):
    """The real hub; what agents write to /memories/ waits for a person."""
    real = Real(live_server.url, cache_dir, "review")
    yield real
    real.hub.close()


@pytest.fixture(params=["database", "disk"])
def either(request, live_server, cache_dir, tmp_path):
    """As `trusted`, once with /memories/ in the database and once on disk."""
    directory = tmp_path / "disk" if request.param == "disk" else None
    if directory:
        directory.mkdir()
    real = Real(live_server.url, cache_dir, "trusted", directory=directory)
    yield real
    real.hub.close()


@pytest.fixture
def trusted(live_server, cache_dir):
    """The real hub; agents write to /memories/ at once."""
    real = Real(live_server.url, cache_dir, "trusted")
    yield real
    real.hub.close()


@contextlib.contextmanager
def away(hub):
    """Nobody listens any more: every connection of this client is refused."""

    def refuse(request):
        raise httpx.ConnectError("refused", request=request)

    before, hub._http = hub._http, httpx.MockTransport(refuse)
    try:
        yield
    finally:
        hub._http = before
