"""Letta's archival memory over REST, in an environment of its own: the other end of `tests.bench.peer`.

Its server runs beside this process, on the same PostgreSQL; what embeds is a stub here that speaks OpenAI's protocol, and no model
is asked anything.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import httpx
import peer_side
import stub

TABLES = [sys.executable, str(Path(__file__).parent / "letta_tables.py")]
STARTS_WITHIN = 180  # seconds


class Embedder(BaseHTTPRequestHandler):
    """Answers POST …/embeddings."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        data = [
            {"object": "embedding", "index": at, "embedding": stub.vector(one).tolist()} for at, one in enumerate(texts)
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        body = json.dumps({"object": "list", "model": "stub", "data": data, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def prepare(told: dict[str, Any]) -> peer_side.Acts:
    embedder = ThreadingHTTPServer(("127.0.0.1", 0), Embedder)
    threading.Thread(target=embedder.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{embedder.server_address[1]}/v1"
    os.environ.update(variables(told["address"], endpoint))
    subprocess.run(TABLES, check=True, stdout=sys.stderr)
    server = Server(Path(told["place"]))
    memory = f"/agents/{server.ask('POST', '/agents/', json=agent(endpoint))['id']}/archival-memory"
    first, *texts = told["texts"]
    made = server.ask("POST", memory, json={"text": first})
    subprocess.run([*TABLES, made[0]["id"]], input=json.dumps(texts), text=True, check=True, stdout=sys.stderr)
    return {
        "search": lambda text: server.ask("GET", f"{memory}/search", params={"query": text, "top_k": 5})["results"],
        "list": lambda text: server.ask("GET", memory, params={"limit": 20}),
        "add": lambda text: server.ask("POST", memory, json={"text": text}),
    }


def variables(address: dict[str, Any], endpoint: str) -> dict[str, str]:
    """Letta loses the user of an address that names a socket, so its driver is told by PGUSER."""
    place = f"host={address['host']}&port={address['port']}&ssl=disable"
    return {
        "PGUSER": address["user"], "LETTA_PG_URI": f"postgresql://{address['user']}@/{address['dbname']}?{place}",
        "OPENAI_API_KEY": "nobody asks for it", "OPENAI_API_BASE": endpoint,
    }  # fmt: skip


def agent(endpoint: str) -> dict[str, Any]:
    return {
        "name": "bench", "include_base_tools": False,
        "llm_config": {
            "model": "stub", "model_endpoint_type": "openai", "model_endpoint": endpoint, "context_window": 8000,
        },
        "embedding_config": {
            "embedding_model": "stub", "embedding_endpoint_type": "openai", "embedding_endpoint": endpoint,
            "embedding_dim": stub.DIMENSIONS, "embedding_chunk_size": 300,
        },
    }  # fmt: skip


class Server:
    """`letta server` and a client with a connection that is kept; it ends with this process."""

    def __init__(self, place: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [str(Path(sys.executable).parent / "letta"), "server", "--port", str(port)]
        with (place / "letta.log").open("w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        self.client = httpx.Client(base_url=f"http://localhost:{port}/v1", timeout=60)
        until = time.monotonic() + STARTS_WITHIN
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"letta did not start: {(place / 'letta.log').read_text()[-2000:]}")
            time.sleep(0.5)

    def answers(self) -> bool:
        try:
            return self.client.get("/health/").is_success
        except httpx.HTTPError:
            return False

    def ask(self, method: str, path: str, **more: Any) -> Any:
        answer = self.client.request(method, path, **more)
        if not answer.is_success:
            raise RuntimeError(f"{answer.status_code}: {answer.text[:1000]}")
        return answer.json()


if __name__ == "__main__":
    peer_side.serve(prepare)
