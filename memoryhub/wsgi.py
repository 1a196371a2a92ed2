"""What granian serves: Django, and beside it a lean way to the calls that agents make all the time."""

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
pages = get_wsgi_application()

from memoryhub.api import quick  # noqa: E402  needs the apps that the line above loads
from memoryhub.api.ground import BODY_LIMIT  # noqa: E402
from memoryhub.api.prompts import Handler  # noqa: E402  needs the apps that the line above loads
from memoryhub.middleware import BROKEN_PATH  # noqa: E402

prompt = Handler()
PIECE = 1 << 20


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Prompts and files go past the middleware that only pages need: measured, it doubles what an agent can ask."""
    if "HTTP_TRANSFER_ENCODING" in environ and not environ.get("CONTENT_LENGTH"):
        measure(environ)
    if not is_allowed(environ.get("HTTP_HOST", "")) or is_broken(environ):
        return pages(environ, start_response)  # which refuse it
    if environ.get("PATH_INFO") == "/api/v1/prompt":
        return prompt(environ, start_response)
    quickly = quick.application(environ, start_response)
    return pages(environ, start_response) if quickly is None else quickly


@lru_cache(maxsize=256)
def is_allowed(host: str) -> bool:
    """Whether this hub answers to that name; the ways past the middleware ask it themselves."""
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)


def is_broken(environ: dict[str, Any]) -> bool:
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


def measure(environ: dict[str, Any]) -> None:
    """A body sent in pieces names no length, and Django reads none then: read here, one byte past the limit at most."""
    source = environ["wsgi.input"]
    body = source.read(BODY_LIMIT + 1)
    for _ in range(BODY_LIMIT // PIECE if len(body) > BODY_LIMIT else 0):
        if not source.read(PIECE):  # a client that still sends would miss the refusal
            break
    environ["CONTENT_LENGTH"], environ["wsgi.input"] = str(len(body)), io.BytesIO(body)
