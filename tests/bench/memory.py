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
from pathlib import Path
from urllib.parse import quote, urlencode

import psutil

from tests.bench.pages import PAGES
from tests.bench.table import Row, finish, row
from tests.running import CSRF_FIELD, Hub, command, own_place, running_in

WARM = "every page and five calls"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.memory")
    parser.add_argument("--calls", type=int, default=150, help="how often each call is made before memory is read")
    options = parser.parse_args(arguments)
    with own_place() as place, running_in(place / "data", "--demo") as hub:
        make_calls(hub, options.calls)
        time.sleep(3)
        rows = memory(hub)
        hub.stop()
    return finish(rows)


def make_calls(hub: Hub, times: int) -> None:
    made = command("agent", "add", "bench", "--space", "demo", "--json", "--data-dir", str(hub.data_dir))
    token = {"Authorization": f"Bearer {json.loads(made.stdout)['token']}"}
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    field = CSRF_FIELD.search(browser.open(hub.link, timeout=60).read().decode())
    assert field, "the one-time link shows no form"
    browser.open(hub.link, urlencode({"csrfmiddlewaretoken": field[1]}).encode(), timeout=60).read()
    for number in range(times):
        for path in ("/files?prefix=/memories/", "/files/memories/AGENTS.md", f"/retrieve?query=refund{number % 15}"):
            call(hub, path, token)
        call(hub, f"/prompt?dialect=hub&query={quote(f'refund of invoice {number % 20}')}", token)
        call(hub, "/quarantine", token, output(number))
        if number % 10 == 0:
            for path in PAGES.values():
                browser.open(hub.url + path, timeout=60).read()


def output(number: int) -> dict[str, str]:
    text = f"Invoice number {number} was paid on the 13th by card, and the customer was told."
    return {"content": text, "session_id": "s", "node_id": "n", "node_kind": "agent"}


def call(hub: Hub, path: str, headers: dict[str, str], body: dict[str, str] | None = None) -> None:
    data = json.dumps(body).encode() if body else None
    asked = urllib.request.Request(
        f"{hub.url}/api/v1{path}", data=data, headers={**headers, "Content-Type": "application/json"}
    )
    urllib.request.urlopen(asked, timeout=60).read()


def memory(hub: Hub) -> list[Row]:
    """All together, then each process: `up`, the parent of the web processes, the workers and what runs beside them."""
    parent = psutil.Process(hub.process.pid)
    found = [one for one in [parent, *parent.children(recursive=True)] if one.name() != "postgres"]
    shares = {one: share(one) for one in found}
    each = ", ".join(f"{role(hub, one)} {size:.0f}" for one, size in shares.items())
    return [
        row(
            "memory after load, all but PostgreSQL",
            sum(shares.values()),
            unit=" MB",
            at_most=260,
            warm=WARM,
            detail=each,
        )
    ]


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
