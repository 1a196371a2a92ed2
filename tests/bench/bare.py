"""What the prompt is measured against: a bare Django view with one prepared query, in the same server, in the same run."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest, HttpResponse
from django.urls import path

from memoryhub.wsgi import application as hub

# isort: split
from memoryhub.db import statements
from memoryhub.domain import accounts
from memoryhub.domain.prompts import inputs, inputs_sql


def bare(request: HttpRequest) -> HttpResponse:
    rows = statements.rows("SELECT id, revision, slug FROM memoryhub_space WHERE id = %s", [int(request.GET["space"])])
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
    """As if memory had changed just before this call, at next to no cost.

    `file`: the revision of the space is another one, and so is the text of a source: it is sent again and ends in a comment
    that no text had before, which the prompt leaves out, so that its bytes stay. `longterm`: the marks of long-term memory
    and of the setup are other ones as well, and everything is gathered anew.
    """

    what = ""
    numbers = itertools.count(1 << 40)

    @classmethod
    def apply(cls) -> None:
        authenticate, now, rows = accounts.authenticate, inputs.current_inputs, statements.rows

        def changed_space(*args: Any, **more: Any) -> accounts.Caller:
            caller = authenticate(*args, **more)
            if cls.what:
                caller.space.revision = next(cls.numbers)
            if cls.what == "longterm":
                caller.space.setup_mark = caller.space.revision
            return caller

        def changed_now(*args: Any, **more: Any) -> inputs.PromptInputs:
            found = now(*args, **more)
            return replace(found, mark=next(cls.numbers)) if cls.what == "longterm" else found

        def changed_rows(sql: str, params: Any = (), **more: Any) -> list[tuple[Any, ...]]:
            if cls.what != "file" or sql is not inputs_sql.TEXTS:
                return rows(sql, params, **more)
            before = params["known"].removesuffix("}").split(",")
            found = rows(sql, {**params, "known": ",".join([*before[:-1], '"another"']) + "}"}, **more)
            at = len(found) - 1  # the last source
            n, mark, is_deleted, number, _, content, *others = found[at]
            comment = b"<!-- %d -->" % next(cls.numbers)
            found[at] = (n, mark, is_deleted, number, str(comment), content + comment, *others)
            return found

        accounts.authenticate, inputs.current_inputs, statements.rows = changed_space, changed_now, changed_rows


Moved.apply()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    Moved.what = environ.get("HTTP_X_BENCH_MOVED", "")
    if environ.get("PATH_INFO") == "/page-of-300-ms":
        return slow_page(environ, start_response)
    handler = bare_handler if environ.get("PATH_INFO") == "/bare" else hub
    return handler(environ, start_response)


def slow_page(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """A page that takes a processor for 300 ms, as one with a large diff may."""
    until = time.perf_counter() + 0.3
    while time.perf_counter() < until:
        sum(range(1000))
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"slow"]


def serve(port: int, workers: int) -> None:
    """This application and the hub on a port, as `memoryhub up` serves the hub."""
    from django.conf import settings

    from memoryhub.server import processes, serve
    from memoryhub.server.http.senders import allowed_bytes

    listener = serve.bind("127.0.0.1", port)
    listener.listen(serve.BACKLOG)
    processes.share_memory()
    serve.Workers(listener, application, allowed_bytes, Path(settings.DATA_DIR), settings.REQUEST_SECONDS).run(workers)


if __name__ == "__main__":
    serve(int(sys.argv[1]), workers=2)
