"""A real provider of OpenID Connect in a thread, and a browser without scripts that signs in there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from wsgiref.simple_server import WSGIRequestHandler, make_server

import httpx
from oidc_provider_mock import User
from oidc_provider_mock import app as make_app

CLIENT = "memoryhub"


class Quiet(WSGIRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def serving(tamper: Any = None, **people: dict[str, Any]) -> Iterator[str]:
    """The provider's issuer. `people` are its users by name, with their claims; `tamper(app)` may change what it answers."""
    app = make_app(require_nonce=True, user_claims=[User(sub=name, claims=claims) for name, claims in people.items()])
    if tamper:
        tamper(app)
    server = make_server("127.0.0.1", 0, app, handler_class=Quiet)
    thread = threading.Thread(target=server.serve_forever, args=[0.02], daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def consent(address: str, who: str) -> str:
    """Signs `who` in at the provider and agrees; the address that it leads back to, with path and query alone."""
    answer = httpx.post(address, data={"sub": who}, follow_redirects=False)
    assert answer.status_code == 302, answer.text
    back = urlsplit(answer.headers["location"])
    return f"{back.path}?{back.query}"


def query(address: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(address).query))
