"""How much memory all processes but PostgreSQL's take after load: their proportional share (PSS), as Linux counts it.

python -m tests.bench.memory [--calls 150]
"""

from __future__ import annotations

import argparse
import http.cookiejar
import json
import re
import sys
import time
import urllib.request
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import quote, urlencode

import psutil

from tests.bench.pages import PAGES
from tests.bench.served import end_in_order
from tests.bench.table import Row, finish, row
from tests.running import CSRF_FIELD, Hub, command, own_place, running_in

WARM = "every page and five calls"
ROUNDS = 5


def main(arguments: list[str]) -> int:
    end_in_order()
    parser = argparse.ArgumentParser(prog="python -m tests.bench.memory")
    parser.add_argument("--calls", type=int, default=150, help="how often each call is made before memory is read")
    options = parser.parse_args(arguments)
    with own_place() as place, running_in(place / "data", "--demo") as hub:
        ask = caller(hub)
        ask(range(options.calls))
        time.sleep(3)
        taken = [shares(hub)]
        for _ in range(ROUNDS - 1):
            ask(range(options.calls, options.calls + options.calls // 10))
            taken.append(shares(hub))
        hub.stop()
    return finish([memory(taken)])


def caller(hub: Hub) -> Callable[[Iterable[int]], None]:
    """Makes five calls as an agent for each number, and opens every page in a browser for every tenth."""
    made = command("agent", "add", "bench", "--space", "demo", "--json", "--data-dir", str(hub.data_dir))
    token = {"Authorization": f"Bearer {json.loads(made.stdout)['token']}"}
    browser = signed_in(hub)

    def ask(numbers: Iterable[int]) -> None:
        for number in numbers:
            for path in (
                "/files?prefix=/memories/",
                "/files/memories/AGENTS.md",
                f"/retrieve?query=refund{number % 15}",
            ):
                call(hub, path, token)
            call(hub, f"/prompt?dialect=hub&query={quote(f'refund of invoice {number % 20}')}", token)
            call(hub, "/quarantine", token, output(number))
            for path in PAGES.values() if number % 10 == 0 else ():
                browser.open(hub.url + path, timeout=60).read()

    return ask


def signed_in(hub: Hub) -> urllib.request.OpenerDirector:
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    field = CSRF_FIELD.search(browser.open(hub.link, timeout=60).read().decode())
    assert field, "the one-time link shows no form"
    browser.open(hub.link, urlencode({"csrfmiddlewaretoken": field[1]}).encode(), timeout=60).read()
    return browser


def output(number: int) -> dict[str, str]:
    text = f"Invoice number {number} was paid on the 13th by card, and the customer was told."
    return {"content": text, "session_id": "s", "node_id": "n", "node_kind": "agent"}


def call(hub: Hub, path: str, headers: dict[str, str], body: dict[str, str] | None = None) -> None:
    data = json.dumps(body).encode() if body else None
    asked = urllib.request.Request(
        f"{hub.url}/api/v1{path}", data=data, headers={**headers, "Content-Type": "application/json"}
    )
    urllib.request.urlopen(asked, timeout=60).read()


def memory(taken: list[list[tuple[str, float]]]) -> Row:
    """All together, each time after a tenth of the load more; in brackets each process the first time."""
    totals = [sum(size for _, size in one) for one in taken]
    each = ", ".join(f"{role} {size:.0f}" for role, size in taken[0])
    return row("memory after load, all but PostgreSQL", totals, unit=" MB", at_most=260, warm=WARM, detail=each)


def shares(hub: Hub) -> list[tuple[str, float]]:
    """Of `up`, the parent of the web processes, the workers and what runs beside them."""
    parent = psutil.Process(hub.process.pid)
    found = [one for one in [parent, *parent.children(recursive=True)] if one.name() != "postgres"]
    return [(role(hub, one), share(one)) for one in found]


def role(hub: Hub, process: psutil.Process) -> str:
    if process.pid == hub.process.pid:
        return "`up`"
    web = hub.web()
    return "web parent" if process == web else "worker" if process.ppid() == web.pid else "background"


def share(process: psutil.Process) -> float:
    """Megabytes: what is the process's own, and its part of what it shares with others."""
    rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    return int(re.search(r"^Pss:\s+(\d+)", rollup, re.MULTILINE)[1]) / 1024


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
