"""The WSGI application: Django, and beside it the short way to the calls that agents make all the time."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http.request import split_domain_port, validate_host

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
django_application = get_wsgi_application()

from memoryhub.api import wsgi as api  # noqa: E402  needs the apps that the line above loads
from memoryhub.api.base import BODY_LIMIT  # noqa: E402
from memoryhub.middleware import BROKEN_PATH  # noqa: E402
from memoryhub.requests import distrust_forwarded  # noqa: E402

CHUNK_BYTES = 1 << 20
ALIVE_HEADERS = [("Cache-Control", "private, no-store"), ("X-Content-Type-Options", "nosniff")]


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Prompts and files go past Django's middleware: measured, it doubles what an agent can ask."""
    if environ.get("PATH_INFO") == "/healthz" and environ["REQUEST_METHOD"] in ("GET", "HEAD"):
        return alive(environ, start_response)
    if "HTTP_TRANSFER_ENCODING" in environ and not environ.get("CONTENT_LENGTH"):
        read_chunked_body(environ)
    if settings.BEHIND_TLS:
        distrust_forwarded(environ)
    if not is_allowed(environ.get("HTTP_HOST", "")) or has_broken_path(environ):
        return django_application(environ, start_response)  # which refuses it
    answer = api.answer_for(environ)
    if answer is None:
        return django_application(environ, start_response)
    return api.respond(answer, environ, start_response)


ALIVE = b'{"status": "up"}'


def alive(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """That this process answers. Nothing else is looked at: neither the database nor who asks."""
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(ALIVE))), *ALIVE_HEADERS]
    start_response("200 OK", headers)
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [ALIVE]


@lru_cache(maxsize=256)
def is_allowed(host: str) -> bool:
    """Whether this hub answers to that name; the way past the middleware has to ask it itself."""
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)


def has_broken_path(environ: dict[str, Any]) -> bool:
    """Whether the address holds bytes that are no UTF-8. Django would repair them into another name, unseen."""
    path = environ.get("PATH_INFO", "")
    if path.isascii():
        return False
    try:
        path.encode("latin-1").decode()
    except UnicodeError:
        environ[BROKEN_PATH] = "1"
        return True
    return False


def read_chunked_body(environ: dict[str, Any]) -> None:
    """Reads a body without a length, one byte past the limit at most: Django would read nothing of it."""
    source = environ["wsgi.input"]
    body = source.read(BODY_LIMIT + 1)
    for _ in range(BODY_LIMIT // CHUNK_BYTES if len(body) > BODY_LIMIT else 0):
        if not source.read(CHUNK_BYTES):  # a client that still sends would miss the refusal
            break
    environ["CONTENT_LENGTH"], environ["wsgi.input"] = str(len(body)), io.BytesIO(body)
