"""The WSGI application: Django, and beside it the short way to the calls that agents make thousands of times.

On the short way are neither Django's middleware nor django-ninja's reading of arguments. Each of its calls is answered by the
operation that the document names, so there is one answer: here an address alone says all that the operation needs to know.
"""

from __future__ import annotations

import io
import json
import logging
import os
import re
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import Any

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.http import HttpResponse, QueryDict
from django.http.request import split_domain_port, validate_host

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
django_application = get_wsgi_application()

# These need the apps that the line above loads.
from memoryhub import requests  # noqa: E402
from memoryhub.api import files, layers, prompts, proposals  # noqa: E402
from memoryhub.api.base import BODY_LIMIT, authenticate, refusals_as_json  # noqa: E402
from memoryhub.errors import HubError  # noqa: E402
from memoryhub.middleware import BROKEN_PATH  # noqa: E402
from memoryhub.refusals import json_refusal  # noqa: E402

Environ = dict[str, Any]
Answer = Callable[[Environ], HttpResponse]
PROMPT, FILE, PROPOSAL = "/api/v1/prompt", "/api/v1/files/", "/api/v1/proposals/"
WORKING = "/api/v1/working"
LIMIT = re.compile("[0-9]{1,4}")
MAX_BODY = 1 << 20
CHUNK_BYTES = 1 << 20
ALIVE_HEADERS = [("Cache-Control", "private, no-store"), ("X-Content-Type-Options", "nosniff")]
log = logging.getLogger("memoryhub")


def application(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Prompts, files and the like take the short way: measured, it doubles what an agent can ask."""
    if environ.get("PATH_INFO") == "/healthz" and environ["REQUEST_METHOD"] in ("GET", "HEAD"):
        return alive(environ, start_response)
    if "HTTP_TRANSFER_ENCODING" in environ and not environ.get("CONTENT_LENGTH"):
        read_chunked_body(environ)
    if settings.BEHIND_TLS:
        requests.distrust_forwarded(environ)
    if not is_allowed(environ.get("HTTP_HOST", "")) or has_broken_path(environ):
        return django_application(environ, start_response)  # which refuses it
    answer = answer_for(environ)
    if answer is None:
        return django_application(environ, start_response)
    return respond(answer, environ, start_response)


ALIVE = b'{"status": "up"}'


def alive(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
    """That this process answers. Nothing else is looked at: neither the database nor who asks."""
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(ALIVE))), *ALIVE_HEADERS]
    start_response("200 OK", headers)
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [ALIVE]


@lru_cache(maxsize=256)
def is_allowed(host: str) -> bool:
    """Whether this hub answers to that name; the way past the middleware has to ask it itself."""
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)


def has_broken_path(environ: Environ) -> bool:
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


def read_chunked_body(environ: Environ) -> None:
    """Reads a body without a length, one byte past the limit at most: Django would read nothing of it."""
    source = environ["wsgi.input"]
    body = source.read(BODY_LIMIT + 1)
    for _ in range(BODY_LIMIT // CHUNK_BYTES if len(body) > BODY_LIMIT else 0):
        if not source.read(CHUNK_BYTES):  # a client that still sends would miss the refusal
            break
    environ["CONTENT_LENGTH"], environ["wsgi.input"] = str(len(body)), io.BytesIO(body)


# ---- the short way

# What is answered by such fields of the query alone; the first of them has to be given.
BY_QUERY: dict[str, tuple[Any, ...]] = {
    "/api/v1/retrieve": (layers.retrieve, "query"),
    "/api/v1/search": (layers.find, "q", "layers", "limit"),
    WORKING: (layers.newest, "limit"),
}
WITH_BODY: dict[str, tuple[Any, Any]] = {
    "/api/v1/batch": (files.batch, files.BatchIn),
    "/api/v1/quarantine": (layers.log, layers.LogIn),
}


class Call:
    """What an operation reads of a request that Django has not looked at."""

    __slots__ = ("META", "auth", "method")

    def __init__(self, environ: Environ) -> None:
        self.META, self.method = environ, environ["REQUEST_METHOD"]


def answer_for(environ: Environ) -> Answer | None:
    """What answers this call, or None where Django has to read more of it."""
    path, method = environ.get("PATH_INFO", ""), environ["REQUEST_METHOD"]
    if path == PROMPT:
        return lambda environ: prompts.prompt((Call if method in ("GET", "HEAD") else WSGIRequest)(environ))
    if environ.get("QUERY_STRING") and path in BY_QUERY and method in ("GET", "HEAD"):
        operation, *names = BY_QUERY[path]
        given = fields_of(environ, *names)
        return with_caller(partial(operation, **given)) if given else None
    if environ.get("QUERY_STRING"):
        return None
    if path in WITH_BODY and method == "POST":
        operation, schema = WITH_BODY[path]
        body = body_of(environ, schema)
        return with_caller(partial(operation, body=body)) if body else None
    if method not in ("GET", "HEAD"):
        return None
    if path == WORKING:
        return with_caller(layers.newest)
    if path.startswith(FILE) and len(path) > len(FILE):
        return with_caller(partial(files.read, path=as_text(path[len(FILE) :])))
    if path.startswith(PROPOSAL) and (number := path[len(PROPOSAL) :]).isdecimal() and len(number) < 19:
        return with_caller(partial(proposals.read, number=int(number)))
    return None


def fields_of(environ: Environ, *names: str) -> dict[str, Any] | None:
    """What the address says, where that is the first of these names and perhaps others of them, each once."""
    given = environ.get("QUERY_STRING", "")
    if not given.startswith(f"{names[0]}=") or given.count("&") >= len(names):
        return None
    found: dict[str, Any] = QueryDict(given.encode("latin-1")).dict()
    if len(found) <= given.count("&") or not found.keys() <= {*names}:
        return None
    if "limit" in found:
        if not LIMIT.fullmatch(found["limit"]):
            return None
        found["limit"] = int(found["limit"])
    return found


def body_of(environ: Environ, schema: Any) -> Any:
    """The body as the operation takes it; what does not validate is put back, for Django to say why."""
    size = environ.get("CONTENT_LENGTH") or "0"
    if not size.isdecimal() or int(size) > MAX_BODY:
        return None
    data = environ["wsgi.input"].read(int(size))
    environ["wsgi.input"] = io.BytesIO(data)
    try:
        return schema.model_validate(json.loads(data))
    except (ValueError, RecursionError):
        return None


def as_text(path: str) -> str:
    """WSGI has the bytes of an address one by one. What is no UTF-8 does not get here (`has_broken_path`)."""
    return path if path.isascii() else path.encode("latin-1").decode()


def with_caller(operation: Callable[..., HttpResponse]) -> Answer:
    """The operation's answer to whoever the token stands for."""

    @refusals_as_json
    def answer(call: Any) -> HttpResponse:
        call.auth = authenticate(call)
        return operation(call)

    return lambda environ: answer(Call(environ))


def respond(answer: Answer, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
    """The answer with the id of the request, as WSGI has it.

    Django's signals would look after lost connections; `accounts.authenticate` finds one and opens another.
    """
    request_id = requests.set_request_id(environ.get("HTTP_X_REQUEST_ID"))
    try:
        response = answer(environ)
    except Exception:
        close_old_connections()
        log.exception("%s %s", environ["REQUEST_METHOD"], environ.get("PATH_INFO", ""))
        response = json_refusal(
            HubError(f"Something broke on our side. Tell whoever runs this hub the request {request_id}.")
        )
    start_response(
        f"{response.status_code} {response.reason_phrase}", [*response.items(), ("X-Request-Id", request_id)]
    )
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [response.content]
