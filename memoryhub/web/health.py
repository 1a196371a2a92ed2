"""For those who run the hub: is the process up, can it work, what is it doing."""

from __future__ import annotations

import ipaddress

from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from prometheus_client import CONTENT_TYPE_LATEST

from memoryhub.domain import metrics as figures
from memoryhub.domain import tokens
from memoryhub.errors import HubError
from memoryhub.middleware import address_of
from memoryhub.migrating import pending
from memoryhub.web.doors import public

FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP", "HTTP_X_FORWARDED_HOST", "HTTP_VIA")


@public
def healthz(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"status": "up"})


@public
def readyz(request: HttpRequest) -> HttpResponse:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        missing = pending()
    except OperationalError:
        return JsonResponse({"status": "database away"}, status=503)
    if missing:
        return JsonResponse({"status": "migrations missing", "missing": len(missing)}, status=503)
    return JsonResponse({"status": "ready"})


@public
def metrics(request: HttpRequest) -> HttpResponse:
    if not (from_loopback(request) or owner_token(request)):
        refusal = {"error": {"code": "forbidden", "message": "Metrics are for an owner's token, or for this machine."}}
        return JsonResponse(refusal, status=403)
    return HttpResponse(figures.exposition(), content_type=CONTENT_TYPE_LATEST)


def from_loopback(request: HttpRequest) -> bool:
    """A peer on this machine that no proxy stands in front of."""
    if any(name in request.META for name in FORWARDED):
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


def owner_token(request: HttpRequest) -> bool:
    kind, _, secret = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() != "bearer" or not secret:
        return False
    try:
        caller = tokens.authenticate(secret.strip(), address_of(request))
    except HubError:
        return False
    return bool(caller.person) and caller.role == "owner"
