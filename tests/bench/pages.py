"""How quick the pages are: against a bare Django view with one indexed query, same server, same machine, same run.

    python -m tests.bench.pages [--seconds 1.5] [--rounds 3]

Prints requests per second and the 95th percentile at 1, 8 and 32 connections, what each page weighs on its first visit,
and the memory of each worker.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from tests.bench import load

CONNECTIONS = (1, 8, 32)
PAGES = {
    "overview": "/s/demo/",
    "a file": "/s/demo/files/memories/AGENTS.md",
    "proposals": "/s/demo/proposals/",
    "quarantine": "/s/demo/quarantine/",
    "working memory": "/s/demo/working/",
    "long-term": "/s/demo/longterm/",
    "prompt": "/s/demo/prompt/forge/",
    "agents": "/s/demo/agents/",
    "activity": "/s/demo/activity/",
    "list of files (API)": "/api/v1/files?prefix=/memories/",
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.pages")
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-", dir="/tmp") as place, serving(Path(place)) as hub:
        print(f"{'':<22}" + "".join(f"{f'{n} connections':>27}" for n in CONNECTIONS) + f"{'processor':>20}")
        print(
            f"{'':<22}" + f"{'per s':>9}{'p95 ms':>9}{'of bare':>9}" * len(CONNECTIONS) + f"{'ms each':>11}{'bares':>9}"
        )
        missing = [row(hub, name, path, options) for name, path in PAGES.items()]
        print("\nweight of a first visit, as sent (page, styles, scripts; compressed)")
        for name, path in PAGES.items():
            if path.startswith("/s/"):
                print(f"  {name:<22}{weight(hub, path):>8,} bytes")
        print("\nmemory of each process (its own part, in MB)")
        for process in [hub.process, *hub.process.children(recursive=True)]:
            print(f"  {process.pid:<8}{process.memory_full_info().uss / 2**20:>7.0f}")
    return 1 if any(missing) else 0


class Served:
    """The address of a server with a demo in it, and how a signed-in browser asks."""

    def __init__(self, port: int, process: psutil.Process, database: psutil.Process) -> None:
        self.address = ("127.0.0.1", port)
        self.process, self.database = process, database
        self.cookie = ""
        self.token = ""

    def processor(self) -> float:
        """Seconds of processor that web and database have had so far."""
        found = [*self.process.children(recursive=True), *self.database.children()]
        return sum(sum(process.cpu_times()[:2]) for process in found)

    def ask(self, path: str) -> bytes:
        headers = {"Accept_Encoding": "br, gzip"}
        if path.startswith("/api/"):
            headers["Authorization"] = f"Bearer {self.token}"
        return load.request(path, Cookie=self.cookie, **headers)


def row(hub: Served, name: str, path: str, options: argparse.Namespace) -> bool:
    """One line of the table: bare view and page by turns, so that both see the same weather."""
    cells, costs = [], []
    warm(hub, path)
    for lines in CONNECTIONS:
        rates, ratios, slow = [], [], []
        for _ in range(options.rounds):
            bare, bare_cost = measured(hub, "/bare?space=1", lines, options.seconds / 2)
            page, page_cost = measured(hub, path, lines, options.seconds)
            if page.wrong or bare.wrong or not (page.took and bare.took):
                print(f"{name:<22} answers {(page.first_wrong or bare.first_wrong)[:60]!r} within {options.seconds} s")
                return True
            rates.append(page.rate)
            ratios.append(page.rate / bare.rate)
            slow.append(page.percentile(0.95) * 1000)
            costs.append((page_cost, page_cost / bare_cost))
        middle = [statistics.median(values) for values in (rates, slow, ratios)]
        cells.append(f"{middle[0]:>9.0f}{middle[1]:>9.1f}{middle[2]:>9.2f}")
    each, times = (statistics.median(values) for values in zip(*costs, strict=True))
    print(f"{name:<22}" + "".join(cells) + f"{each:>11.1f}{times:>9.1f}", flush=True)
    return False


def measured(hub: Served, path: str, lines: int, seconds: float) -> tuple[load.Told, float]:
    """What came back, and the processor's milliseconds that an answer took, web and database together."""
    before = hub.processor()
    told = load.run(hub.address, lambda: hub.ask(path), lines=lines, seconds=seconds)
    return told, (hub.processor() - before) * 1000 / max(1, len(told.took) + lines)


def warm(hub: Served, path: str) -> None:
    """Both workers have loaded what the page needs before anything is measured."""
    for address in ["/bare?space=1", path] * 6:
        asking = http.client.HTTPConnection(*hub.address, timeout=120)
        asking.request("GET", address, headers={"Cookie": hub.cookie, "Authorization": f"Bearer {hub.token}"})
        asking.getresponse().read()
        asking.close()


def weight(hub: Served, path: str) -> int:
    """The bytes that cross the wire when a browser with an empty cache opens a page."""
    total, seen = 0, set()
    wanted = [path]
    while wanted:
        address = wanted.pop()
        asking = http.client.HTTPConnection(*hub.address)
        asking.request("GET", address, headers={"Cookie": hub.cookie, "Accept-Encoding": "gzip"})
        answer = asking.getresponse()
        body = answer.read()
        total += len(body)
        if address == path:
            import gzip

            text = gzip.decompress(body).decode() if answer.headers.get("Content-Encoding") == "gzip" else body.decode()
            found = re.findall(r'(?:src|href)="(/static/[^"]+\.(?:css|js|svg|png|ico)[^"]*)"', text)
            wanted += [one for one in dict.fromkeys(found) if one not in seen]
            seen.update(found)
        asking.close()
    return total


@contextlib.contextmanager
def serving(place: Path) -> Iterator[Served]:
    """A database, the demo and two workers as `memoryhub up` runs them, with the bare view beside the hub."""
    os.environ.update(
        MEMORYHUB_DATA_DIR=str(place), DJANGO_SETTINGS_MODULE="memoryhub.settings", MEMORYHUB_COLLECTED="true"
    )
    os.environ.pop("DATABASE_URL", None)
    from memoryhub.server import postgres

    with postgres.ensure_running(place):
        link, token = furnish()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [
            sys.executable, "-m", "granian", "--interface", "wsgi", "--port", str(port), "--workers", "2",
            "--blocking-threads", "1", "--log-level", "warning", "tests.bench.bare:application",
        ]  # fmt: skip
        server = subprocess.Popen(command)
        try:
            hub = Served(port, psutil.Process(server.pid), psutil.Process(postgres.postmaster_pid(place)))
            hub.cookie, hub.token = sign_in(hub, link), token
            yield hub
        finally:
            server.terminate()
            server.wait(20)


def furnish() -> tuple[str, str]:
    """The demo, a link that signs its owner in, and the token of an agent."""
    import django

    django.setup()
    from django.db import connections

    from memoryhub.domain import accounts, demo, prompts
    from memoryhub.models import HUB
    from memoryhub.server import static_files
    from memoryhub.server.migrate import migrate_if_needed

    migrate_if_needed()
    static_files.collect_if_changed()
    space = demo.make(accounts.hub_owner())
    secret = accounts.make_sign_in_link(HUB, accounts.hub_owner())
    _, token = accounts.create_token(space, HUB, agent=prompts.agent_by_slug(space, "forge"))
    connections.close_all()
    return f"/login/once/{secret}/", token


def sign_in(hub: Served, link: str) -> str:
    deadline = time.monotonic() + 30
    while True:
        try:
            asking = http.client.HTTPConnection(*hub.address)
            asking.request("GET", link, headers={"Host": "localhost"})
            answer = asking.getresponse()
            cookies = [value.partition(";")[0] for name, value in answer.getheaders() if name.lower() == "set-cookie"]
            return "; ".join(cookies)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
