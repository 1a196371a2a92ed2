"""What the prompt is measured against: a bare Django view with one prepared query, in the same server, in the same run."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest, HttpResponse
from django.urls import path

from memoryhub.wsgi import application as hub

# isort: split
from memoryhub.domain import gathering, handing, hot


def bare(request: HttpRequest) -> HttpResponse:
    rows = hot.rows("SELECT id, revision, slug FROM memoryhub_space WHERE id = %s", [int(request.GET["space"])])
    body = str(rows[0][1])
    return HttpResponse(body, content_type="text/plain", headers={"Content-Length": str(len(body))})


urlpatterns = [path("bare", bare)]


class Bare(WSGIHandler):
    """Django without middleware: it finds the view among the addresses and calls it."""

    def load_middleware(self, is_async: bool = False) -> None:
        def view(request: HttpRequest) -> HttpResponse:
            request.urlconf = __name__  # type: ignore[attr-defined]
            return self._get_response(request)

        self._view_middleware, self._template_response_middleware, self._exception_middleware = [], [], []
        self._middleware_chain = view


bare_handler = Bare()


class Moved:
    """As if memory had changed just before this call, at no cost: the numbers that tell of a change are new ones.

    `file` moves the revision of the space, as a change of a file does; `longterm` the mark of long-term memory as well.
    """

    what = ""
    numbers = itertools.count(1 << 40)

    @classmethod
    def apply(cls) -> None:
        enter, now = handing.enter, gathering.now

        def changed_enter(*args: Any, **more: Any) -> handing.AtTheDoor | None:
            door = enter(*args, **more)
            return replace(door, revision=next(cls.numbers)) if door and cls.what else door

        def changed_now(*args: Any, **more: Any) -> gathering.Gathered:
            found = now(*args, **more)
            return replace(found, mark=next(cls.numbers)) if cls.what == "longterm" else found

        handing.enter, gathering.now = changed_enter, changed_now


Moved.apply()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    Moved.what = environ.get("HTTP_X_BENCH_MOVED", "")
    handler = bare_handler if environ.get("PATH_INFO") == "/bare" else hub
    return handler(environ, start_response)
