"""Every embedder in the folder keeps one contract; each one's own habits follow."""

import contextlib
import importlib
import json
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from memoryhub import embedders
from memoryhub.errors import Invalid
from tests.running import TREE, clean

SCRIPTS = [
    "Refunds take 10 days",
    "الاسترداد يستغرق عشرة أيام",
    "退款需要十天",
    "Возврат занимает десять дней",
    "😀",
    "\x00",
    "",
]


class Endpoint:
    """A real HTTP server in OpenAI's shape that fails as it is told, and hangs unless it is awake."""

    def __init__(self):
        self.failures, self.dimensions, self.requests = [], 8, []
        self.awake = threading.Event()
        self.awake.set()
        self.drips, self.ended = False, threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append((self.path, self.headers.get("Authorization"), body))
                outer.awake.wait(10)
                status = outer.failures.pop(0) if outer.failures else 200
                rows = [
                    {"index": n, "embedding": [float(len(text) + d) for d in range(outer.dimensions)]}
                    for n, text in enumerate(body["input"])
                ]
                answer = json.dumps({"data": rows[::-1]} if status == 200 else {}).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                for at in range(len(answer) if outer.drips else 0):
                    if not outer.dripped(self.wfile, answer[at : at + 1]):
                        return
                self.wfile.write(b"" if outer.drips else answer)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def dripped(self, wire, byte):
        """One byte, and a while until the next; whether there is anybody left to send more to."""
        with contextlib.suppress(OSError):
            wire.write(byte)
            return not self.ended.wait(0.1)
        return False

    def embedder(self, model="tiny"):
        return embedders.load(
            f"openai_endpoint:{model}", {"MEMORYHUB_EMBEDDER_URL": self.url, "MEMORYHUB_EMBEDDER_KEY": "k-1"}
        )


@pytest.fixture
def endpoint():
    server = Endpoint()
    yield server
    server.awake.set()
    server.ended.set()
    server.server.shutdown()
    server.server.server_close()


def every(endpoint):
    return [embedders.load(name, {}) for name in ("wordllama", "hashing")] + [endpoint.embedder()]


def test_the_folder_is_the_list():
    assert embedders.names() == ["hashing", "openai_endpoint", "wordllama"]
    assert embedders.load(None, {}).name == "wordllama"


def test_every_embedder_gives_unit_rows_and_states_its_habits(endpoint):
    for embedder in every(endpoint):
        rows = embedder.embed(SCRIPTS)
        assert rows.shape == (len(SCRIPTS), embedder.dimensions)
        assert rows.dtype == np.float32
        assert np.isfinite(rows).all()
        lengths = np.linalg.norm(rows, axis=1)
        assert all(abs(length - 1) < 1e-5 or length == 0 for length in lengths)
        assert 0 < embedder.threshold < 1
        assert embedders.EMBEDDED_BY.fullmatch(embedder.embedded_by)
        assert len(embedder.embed([])) == 0
        assert (embedder.embed(SCRIPTS[:2]) == embedder.embed(SCRIPTS[:2])).all()


@pytest.mark.parametrize("name", ["wordllama", "hashing"])
def test_the_threshold_parts_kin_from_strangers(name):
    embedder = embedders.load(name, {})
    question, kin, stranger = embedder.embed(
        [
            "How long do card refunds take?",
            "Card refunds take 5 to 10 days to show at the bank.",
            "Anna loves teal above all other colours.",
        ]
    )
    assert question @ kin >= embedder.threshold > question @ stranger


def test_wordllama_gives_what_its_library_gives():
    library = importlib.import_module("wordllama")
    model = library.WordLlama.load(cache_dir=Path(library.__file__).parent, disable_download=True)
    texts = [
        "",
        " ",
        "Refunds leave by card.",
        "中文 🎉",
        "a" * 5000,
        *(f"Invoice {n}: " + "paid late " * n for n in range(150)),
    ]
    theirs = embedders.unit(model.embed(texts, norm=False))
    assert np.array_equal(embedders.load("wordllama", {}).embed(texts), theirs)


def test_wordllama_never_opens_a_socket(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "socket", refuse)
    embedders._loaded.cache_clear()
    assert embedders.load("wordllama", {}).embed(["hello"]).shape == (1, 256)


def test_an_endpoint_gets_batches_and_the_key(endpoint):
    rows = endpoint.embedder().embed([str(n) * (n + 1) for n in range(70)])
    assert rows.shape == (70, 8)
    assert [len(body["input"]) for _, _, body in endpoint.requests] == [64, 6]
    path, key, body = endpoint.requests[0]
    assert (path, key, body["model"]) == ("/v1/embeddings", "Bearer k-1", "tiny")


def test_an_endpoint_that_stumbles_is_asked_again(endpoint):
    endpoint.failures = [503, 429]
    assert endpoint.embedder("stumbles").embed(["x"]).shape == (1, 8)
    assert len(endpoint.requests) == 3


def test_an_endpoint_that_refuses_is_asked_once_and_named(endpoint):
    endpoint.failures = [401]
    with pytest.raises(embedders.EmbedderUnavailable, match="answers 401"):
        endpoint.embedder("refuses").embed(["x"])
    assert len(endpoint.requests) == 1


def test_an_endpoint_that_is_away_is_unavailable():
    embedder = embedders.load("openai_endpoint", {"MEMORYHUB_EMBEDDER_URL": "http://127.0.0.1:9"})
    with pytest.raises(embedders.EmbedderUnavailable, match="does not answer"):
        embedder.embed(["x"], seconds=0.3)


def test_an_answer_that_comes_a_byte_at_a_time_is_not_waited_for(endpoint):
    """Each byte comes soon enough; the whole would take half a minute."""
    endpoint.drips = True
    embedder, started = endpoint.embedder("drips"), time.monotonic()
    with pytest.raises(embedders.EmbedderUnavailable):
        embedder.embed(["x"] * 3, seconds=0.5)
    assert time.monotonic() - started < 5


def test_an_endpoint_says_the_dimensions_of_its_model_now(endpoint):
    embedder = endpoint.embedder("changes")
    assert embedder.dimensions == 8
    endpoint.dimensions = 9
    assert embedder.embed(["x"]).shape == (1, 9) and embedder.dimensions == 9


@pytest.mark.parametrize("choice", ["nosuch", "wordllama:large", "openai_endpoint", "hashing:x"])
def test_a_wrong_choice_is_refused_in_a_sentence(choice):
    with pytest.raises(Invalid) as refusal:
        embedders.load(choice, {})
    assert refusal.value.code == "unknown_embedder"


def test_a_model_name_that_could_break_sql_is_refused():
    with pytest.raises(Invalid):
        embedders.load("openai_endpoint:x' or '1", {"MEMORYHUB_EMBEDDER_URL": "http://127.0.0.1:9"})


def test_without_the_weights_of_wordllama_hashed_words_are_the_default(tmp_path):
    """As on a machine for which it has no wheel."""
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['wordllama'] = None\n")
    code = "from memoryhub import embedders, settings; print(settings.EMBEDDER, embedders.load().name)"
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=TREE, env=clean(PYTHONPATH=str(tmp_path))
    )
    assert told.stdout.split() == ["hashing", "hashing"], told.stderr


def test_without_its_weights_wordllama_is_unavailable_and_names_others(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(embedders.EmbedderUnavailable, match="hashing or openai_endpoint"):
        embedders.load("wordllama", {}).__class__().embed(["x"])
