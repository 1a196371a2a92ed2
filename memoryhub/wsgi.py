"""What granian serves: Django, and beside it a lean way to the one call that agents make all the time."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
pages = get_wsgi_application()

from memoryhub.api.ground import BODY_LIMIT  # noqa: E402
from memoryhub.api.prompts import Handler  # noqa: E402  needs the apps that the line above loads

prompt = Handler()
PIECE = 1 << 20


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """The prompt goes past the middleware that only pages need: measured, it doubles what an agent can ask."""
    if "HTTP_TRANSFER_ENCODING" in environ and not environ.get("CONTENT_LENGTH"):
        measure(environ)
    handler = prompt if environ.get("PATH_INFO") == "/api/v1/prompt" else pages
    return handler(environ, start_response)


def measure(environ: dict[str, Any]) -> None:
    """A body sent in pieces names no length, and Django reads none then: read here, one byte past the limit at most."""
    source = environ["wsgi.input"]
    body = source.read(BODY_LIMIT + 1)
    for _ in range(BODY_LIMIT // PIECE if len(body) > BODY_LIMIT else 0):
        if not source.read(PIECE):  # a client that still sends would miss the refusal
            break
    environ["CONTENT_LENGTH"], environ["wsgi.input"] = str(len(body)), io.BytesIO(body)
