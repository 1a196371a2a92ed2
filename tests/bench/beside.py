"""What the layers are measured beside: mem0 with pgvector, and Redis; each in the same run, on the same machine.

Both live in an environment of the bench's own (`ENVIRONMENT`), which is made on the first use, and never in the hub's.
"""

from __future__ import annotations

import json
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ENVIRONMENT = Path(tempfile.gettempdir()) / "memoryhub-bench-mem0"
NEEDED = ["mem0ai", "psycopg[binary,pool]", "numpy", "redis[hiredis]"]
BLOCK = 10  # calls of one side before the other has its turn


def make_environment() -> Path:
    """The Python that has mem0 and the client of Redis."""
    python = ENVIRONMENT / "bin" / "python"
    made = ENVIRONMENT / "made"
    if not made.exists() or made.read_text() != str(NEEDED):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *NEEDED], check=True)
        made.write_text(str(NEEDED))
    return python


# ---- mem0 ----


class Mem0:
    """mem0 in a process of its own, holding the given texts."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def ask(self, act: str, texts: list[str]) -> tuple[list[float], int]:
        """How long each call took, in seconds, and how many results the last one gave."""
        answer = self._say({"act": act, "texts": texts})
        return answer["taken"], answer["count"]

    def _say(self, asked: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("mem0 ended early; its own words stand above")
        return json.loads(line)


@contextmanager
def mem0(texts: list[str], place: Path) -> Iterator[Mem0]:
    """mem0 on a database of its own in the same PostgreSQL server, filled with these texts."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("DROP DATABASE IF EXISTS mem0 WITH (FORCE)")
        cursor.execute("CREATE DATABASE mem0")
    told = connection.settings_dict
    address = f"host={told['HOST']} port={told['PORT']} user={told['USER']} dbname=mem0"
    home = Path(tempfile.mkdtemp(prefix="mem0-", dir=place))
    process = subprocess.Popen(
        [str(make_environment()), str(Path(__file__).parent / "mem0_side.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"HOME": str(home), "MEM0_DIR": str(home)},
    )  # fmt: skip
    one = Mem0(process)
    try:
        one._say({"address": address, "place": str(home), "texts": texts})
        yield one
    finally:
        process.stdin.close()  # type: ignore[union-attr]
        process.wait(30)
        with connection.cursor() as cursor:
            cursor.execute("DROP DATABASE IF EXISTS mem0 WITH (FORCE)")
        shutil.rmtree(home, ignore_errors=True)


def in_turns(
    other: Mem0, act: str, ours: dict[str, Callable[[str], object]], texts: list[str]
) -> tuple[float, dict[str, float]]:
    """Medians in milliseconds of mem0 and of ours, by turns of a few calls, the first turn of each not counted."""
    theirs: list[float] = []
    mine: dict[str, list[float]] = {name: [] for name in ours}
    for at in range(0, len(texts), BLOCK):
        block = texts[at : at + BLOCK]
        taken, _ = other.ask(act, block)
        theirs += taken if at else []
        for name, call in ours.items():
            for text in block:
                start = time.perf_counter()
                call(text)
                if at:
                    mine[name].append(time.perf_counter() - start)
    return statistics.median(theirs) * 1000, {name: statistics.median(one) * 1000 for name, one in mine.items()}


# ---- Redis ----


@contextmanager
def redis() -> Iterator[dict[str, Any]]:
    """A Redis of our own and its Python client, by TCP and by socket; nothing where there is no redis-server."""
    server = shutil.which("redis-server")
    if server is None:
        yield {}
        return
    make_environment()
    sys.path.append(str(next(ENVIRONMENT.glob("lib/python3.*/site-packages"))))
    import redis as client  # type: ignore[import-not-found]

    with socket.socket() as free, tempfile.TemporaryDirectory(prefix="bench-redis-", dir="/tmp") as place:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        process = subprocess.Popen(
            [server, "--port", str(port), "--unixsocket", f"{place}/socket", "--save", "", "--appendonly", "no"],
            stdout=subprocess.DEVNULL,
        )
        try:
            made = {"TCP": client.Redis(port=port), "socket": client.Redis(unix_socket_path=f"{place}/socket")}
            for _ in range(100):
                try:
                    made["socket"].ping()
                    break
                except client.ConnectionError:
                    time.sleep(0.05)
            yield made
        finally:
            process.terminate()
            process.wait()
            sys.path.pop()
