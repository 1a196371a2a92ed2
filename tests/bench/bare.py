"""What the prompt is measured against: a bare Django view with one prepared query, in the same server, in the same run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest, HttpResponse
from django.urls import path

from memoryhub.domain import hot
from memoryhub.wsgi import application as hub


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


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    handler = bare_handler if environ.get("PATH_INFO") == "/bare" else hub
    return handler(environ, start_response)
