"""Calls that need nothing of Django's request and response: who asks, and what goes back, from WSGI to WSGI."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.client import responses
from typing import Any

from django.conf import settings
from django.http import HttpResponse

from memoryhub.domain import accounts
from memoryhub.errors import Unauthenticated
from memoryhub.requests import begin, client_address

# What the middleware of pages says elsewhere is said here.
ALWAYS = {
    "Cache-Control": "private, no-cache",
    "Vary": "Accept, Authorization",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back, whichever handler asked."""

    status: int
    headers: dict[str, str]
    body: bytes = b""

    @classmethod
    def of(cls, response: HttpResponse) -> Answer:
        return cls(response.status_code, dict(response.items()), response.content)

    def response(self) -> HttpResponse:
        response = HttpResponse(self.body, status=self.status, headers=self.headers)
        if "Content-Type" not in self.headers:
            del response["Content-Type"]
        return response


def bearer(meta: dict[str, Any]) -> str:
    kind, _, secret = meta.get("HTTP_AUTHORIZATION", "").partition(" ")
    if kind.lower() != "bearer" or not secret.strip():
        raise Unauthenticated(accounts.NO_VALID_TOKEN)
    return secret.strip()


def address_in(meta: dict[str, Any]) -> str | None:
    return client_address(meta, trust_proxy=settings.BEHIND_TLS)


def served(
    ask: Callable[[dict[str, Any]], Answer], environ: dict[str, Any], start_response: Callable[..., Any]
) -> Iterable[bytes]:
    """Asks with a request id, and answers with it."""
    request_id = begin(environ.get("HTTP_X_REQUEST_ID"))
    found = ask(environ)
    headers = [*found.headers.items(), ("X-Request-Id", request_id)]
    start_response(f"{found.status} {responses[found.status]}", headers)
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [found.body]
