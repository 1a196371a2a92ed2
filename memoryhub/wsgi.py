"""What granian serves: Django, and beside it a lean way to the one call that agents make all the time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
pages = get_wsgi_application()

from memoryhub.api.prompts import Handler  # noqa: E402  needs the apps that the line above loads

prompt = Handler()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """The prompt goes past the middleware that only pages need: measured, it doubles what an agent can ask."""
    handler = prompt if environ.get("PATH_INFO") == "/api/v1/prompt" else pages
    return handler(environ, start_response)
