"""What an agent's calls cost: processor time of web and database, against a bare Django view, in turns, on the demo.

python -m tests.bench.calls [--seconds 1] [--rounds 5]
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable
from typing import NamedTuple

from tests.bench.demo import Demo, served_demo
from tests.bench.served import cost_row
from tests.bench.table import finish


class Call(NamedTuple):
    what: str
    at_most: float
    warm: str
    ask: Callable[[], bytes]
    status: int = 200


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.calls")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    with served_demo() as demo:
        calls = calls_on(demo)
        asks = {call.what: (call.ask, call.status) for call in calls}
        rates = demo.rates(asks, options.seconds, options.rounds)
    return finish([cost_row(call.what, call.what, rates, call.warm, call.at_most) for call in calls])


def calls_on(demo: Demo) -> list[Call]:
    """The log comes last: it adds to working memory and to the activity log, which the others read."""
    number = itertools.count()

    def reads(path: str) -> Callable[[], bytes]:
        return lambda: demo.call(path)

    return [
        Call("one file over REST", 1.6, "the answer", reads("/files/memories/AGENTS.md")),
        Call("list of files", 4, "no answer", reads("/files?prefix=/memories/")),
        Call("`GET /working`", 4, "no answer", reads("/working")),
        Call("`GET /retrieve`, a query asked before", 5, "query vector, chunks", reads("/retrieve?query=refund")),
        Call(
            "`GET /retrieve`, a query never asked", 5, "chunks",
            lambda: demo.call(f"/retrieve?query=refund+of+invoice+{next(number)}"),
        ),
        Call("list of proposals", 15, "no answer", reads("/proposals")),
        Call("glob", 10, "no answer", reads("/glob?pattern=**/*.md")),
        Call("grep", 10, "no answer", reads("/grep?pattern=refund")),
        Call("log, a text never seen", 8, "names, sources", lambda: demo.post("/quarantine", output(next(number))), 201),
    ]  # fmt: skip


def output(number: int) -> bytes:
    text = f"Invoice {number} was paid by card on the 13th; the customer was told of it."
    return json.dumps({"content": text, "session_id": "s", "node_id": "n", "node_kind": "agent"}).encode()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
