"""The other program's end of `tests.bench.peer`: one JSON a line comes in and goes out. It imports nothing of the hub."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

Acts = dict[str, Callable[[str], Any]]


def serve(prepare: Callable[[dict[str, Any]], Acts]) -> None:
    """`prepare` gets the address of a database and the texts to hold, and gives what can be asked; each answer is a list or nothing."""
    out = sys.stdout
    sys.stdout = sys.stderr  # what the program prints must not stand among the answers
    acts = prepare(json.loads(sys.stdin.readline()))
    say(out, {"ready": True})
    for line in sys.stdin:
        asked = json.loads(line)
        say(out, timed(acts[asked["act"]], asked["texts"]))


def timed(act: Callable[[str], Any], texts: list[str]) -> dict[str, Any]:
    """Milliseconds of each call, and how many results the last one gave."""
    taken, answer = [], None
    for text in texts:
        start = time.perf_counter()
        answer = act(text)
        taken.append((time.perf_counter() - start) * 1e3)
    return {"taken": taken, "count": len(answer) if isinstance(answer, list) else 0}


def say(out: Any, answer: dict[str, Any]) -> None:
    out.write(json.dumps(answer) + "\n")
    out.flush()
