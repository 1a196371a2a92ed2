"""A small HTTP server that does what a test scripts, good or bad, and remembers what it was asked."""

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


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
