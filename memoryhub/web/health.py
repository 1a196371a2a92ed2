"""For those who run the hub: is the process up, can it work, what is it doing."""

from __future__ import annotations

import ipaddress

from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from memoryhub.domain import accounts, activity
from memoryhub.errors import Forbidden, HubError, Unauthenticated
from memoryhub.refusals import json_refusal
from memoryhub.requests import bearer_token, client_address
from memoryhub.server.migrate import pending_migrations
from memoryhub.web.access import View, public

# What proxies add; any X-Forwarded-… counts as well.
FORWARDED = {
    "HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP", "HTTP_X_CLIENT_IP", "HTTP_X_CLUSTER_CLIENT_IP", "HTTP_TRUE_CLIENT_IP",
    "HTTP_CF_CONNECTING_IP",
}  # fmt: skip


def for_machines(view: View) -> View:
    """Open to all who may reach the hub, to read: another method is told so (405), not taken for a forgotten form."""
    return csrf_exempt(require_safe(public(view)))


@for_machines
def healthz(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"status": "up"})


@for_machines
def readyz(request: HttpRequest) -> HttpResponse:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        missing = pending_migrations()
    except OperationalError:
        return JsonResponse({"status": "database away"}, status=503)
    if missing:
        return JsonResponse({"status": "migrations missing", "missing": len(missing)}, status=503)
    return JsonResponse({"status": "ready"})


@for_machines
def metrics(request: HttpRequest) -> HttpResponse:
    try:
        only = "" if from_loopback(request) else space_of_owner(request)
    except HubError as error:
        return json_refusal(error)
    return HttpResponse(activity.prometheus_text(only), content_type=CONTENT_TYPE_LATEST)


def from_loopback(request: HttpRequest) -> bool:
    """A peer on this machine that no proxy stands in front of."""
    if any(name in FORWARDED or name.startswith("HTTP_X_FORWARDED") for name in request.META):
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


def space_of_owner(request: HttpRequest) -> str:
    secret = bearer_token(request.META)
    if not secret:
        raise Unauthenticated("Metrics are for an owner's token, or for this machine.")
    caller = accounts.authenticate(secret, client_address(request.META))
    if not caller.person or caller.role != "owner":
        raise Forbidden("Metrics are for an owner's token, or for this machine.")
    return caller.space.slug
