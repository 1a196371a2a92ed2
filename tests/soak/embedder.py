"""An embedder behind HTTP whose answers can be made slow."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.bench.stub import vector


class Embedder:
    """Serves `/v1/embeddings` on a port of its own; every answer takes `delay` seconds."""

    def __init__(self) -> None:
        self.delay = 0.0
        embedder = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                time.sleep(embedder.delay)
                texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
                found = [{"index": n, "embedding": vector(text).tolist()} for n, text in enumerate(texts)]
                body = json.dumps({"data": found, "model": asked["model"]}).encode()
                try:
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    pass  # whoever asked waits no longer

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/v1"
