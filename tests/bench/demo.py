"""The demo, served, with a browser that is signed in and an agent's token."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.bench import load
from tests.bench.served import Address, Asks, Rates, database, processor_time, rates_of, serving
from tests.running import CSRF_FIELD

LINES = 4
BARE: Asks = {"bare": (lambda: BARE_REQUEST, 200)}
BARE_REQUEST = load.request("/bare?space=1")


@dataclass
class Demo:
    address: Address
    cookie: str
    token: str
    used: Callable[[], float]  # seconds of processor of web and database so far

    def page(self, path: str) -> bytes:
        return load.request(path, Cookie=self.cookie, Accept_Encoding="br, gzip")

    def call(self, path: str) -> bytes:
        return load.request(f"/api/v1{path}", Authorization=f"Bearer {self.token}")

    def post(self, path: str, body: bytes) -> bytes:
        lines = ["Host: localhost", "Content-Type: application/json", f"Authorization: Bearer {self.token}"]
        head = "\r\n".join([f"POST /api/v1{path} HTTP/1.1", *lines, f"Content-Length: {len(body)}"])
        return f"{head}\r\n\r\n".encode() + body

    def rates(self, asks: Asks, seconds: float, rounds: int) -> Rates:
        """Answers per second of processor, the bare view's among them."""
        return rates_of(self.address, BARE | asks, seconds, rounds, self.used, LINES)[0]


@contextlib.contextmanager
def served_demo() -> Iterator[Demo]:
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-", dir="/tmp") as name:
        place = Path(name)
        with database(place, MEMORYHUB_COLLECTED="true"):
            link, token = furnish()
            with serving() as (address, server):
                yield Demo(address, sign_in(address, link), token, lambda: processor_time(server, place))


def furnish() -> tuple[str, str]:
    """The demo, a link that signs its owner in, and the token of an agent."""
    from django.db import connections

    from memoryhub.domain import accounts, demo, prompts
    from memoryhub.models import HUB
    from memoryhub.server import static_files

    static_files.collect()
    space = demo.make(accounts.hub_owner())
    secret = accounts.make_sign_in_link(HUB, accounts.hub_owner())
    _, token = accounts.create_token(space, HUB, agent=prompts.agent_by_slug(space, "forge"))
    connections.close_all()
    return f"/login/once/{secret}/", token


def sign_in(address: Address, link: str) -> str:
    """The cookies of whoever opens the link and clicks its button."""
    shown = httpx.get(f"http://{address[0]}:{address[1]}{link}", headers={"Host": "localhost"}, timeout=60)
    field = CSRF_FIELD.search(shown.text)
    assert field, "the one-time link shows no form"
    sent = {"csrfmiddlewaretoken": field[1]}
    answer = httpx.post(shown.url, data=sent, headers={"Host": "localhost"}, cookies=shown.cookies, timeout=60)
    return "; ".join(f"{name}={value}" for name, value in {**shown.cookies, **answer.cookies}.items())
