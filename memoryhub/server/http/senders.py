"""Who may send a body that is large or does not arrive at once: whoever holds a token or a session, and only to an address
that exists. Small bodies that arrive at once need no look: nothing waits for them."""

from __future__ import annotations

import logging
from http.cookies import CookieError, SimpleCookie
from importlib import import_module

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.db import Error as DatabaseError
from django.http.request import split_domain_port, validate_host
from django.urls import Resolver404, resolve

from memoryhub import requests
from memoryhub.api.base import unknown_route
from memoryhub.domain import accounts
from memoryhub.errors import HubError
from memoryhub.server.http.http1 import BadRequest, Environ

API_BYTES = 8 * 1024 * 1024
PAGE_BYTES = 40 * 1024 * 1024  # an import of 32 MiB, and what a form wraps around it
STRANGER_BYTES = 64 * 1024  # where strangers may send something: sign-in

log = logging.getLogger("memoryhub")


def allowed_bytes(environ: Environ) -> int:
    """How many bytes of a body are read from whoever sent this head: 0 where the application answers without it, BadRequest
    where no such address or token exists."""
    path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
    try:
        if not is_own_host(environ):
            return 0
        view = resolve(path).func
        if path.startswith("/api/"):
            return api_bytes(environ, view)
        if has_session(environ) or is_named_by_proxy(environ):
            return PAGE_BYTES
        return STRANGER_BYTES if getattr(view, "needs", "") == "nothing" else 0
    except Resolver404:
        raise BadRequest(404, "Nothing here. The address may be old.", "not_found") from None
    except DatabaseError as error:  # the application says so, in its own words
        log.warning("database: %s", (str(error).strip().splitlines() or [""])[0])
        return 0


def api_bytes(environ: Environ, view: object) -> int:
    if view is unknown_route:
        return 0
    try:
        accounts.authenticate(requests.bearer_token(environ), requests.client_address(environ))
    except HubError as error:
        raise BadRequest(error.status, error.message, error.code) from None
    return API_BYTES


def is_own_host(environ: Environ) -> bool:
    domain, _ = split_domain_port(environ.get("HTTP_HOST", ""))
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)


def has_session(environ: Environ) -> bool:
    """Whether the cookie names a session of somebody who is signed in."""
    try:
        cookie = SimpleCookie(environ.get("HTTP_COOKIE", "")).get(settings.SESSION_COOKIE_NAME)
    except CookieError:
        return False
    if cookie is None:
        return False
    session = import_module(settings.SESSION_ENGINE).SessionStore(cookie.value)
    return SESSION_KEY in session


def is_named_by_proxy(environ: Environ) -> bool:
    """Whether a proxy that signs people in stands before this request and names somebody."""
    proxy = settings.PROXY
    return proxy is not None and proxy.keys[0] in environ and proxy.trusts(environ["REMOTE_ADDR"])
