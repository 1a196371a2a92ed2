"""Liveness, readiness and metrics for whoever runs the hub."""

from __future__ import annotations

from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from memoryhub.domain import accounts, activity
from memoryhub.errors import Forbidden, HubError, Unauthenticated
from memoryhub.refusals import is_disk_full, json_refusal
from memoryhub.requests import bearer_token, client_address, from_loopback
from memoryhub.server import disk_full
from memoryhub.server.migrate import pending_migrations
from memoryhub.web.access import View, public


def disk_is_full() -> JsonResponse:
    return JsonResponse({"status": "database disk full"}, status=503)


def for_machines(view: View) -> View:
    """Marks a view as public and read-only. Other methods get 405, not a refusal for a missing CSRF token."""
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
        is_full = disk_full.is_full()
    except (OperationalError, InterfaceError) as error:
        if is_disk_full(error):
            return disk_is_full()
        return JsonResponse({"status": "database away"}, status=503)
    if missing:
        return JsonResponse({"status": "migrations missing", "missing": len(missing)}, status=503)
    if is_full:  # prompts are served, nothing can be written
        return disk_is_full()
    return JsonResponse({"status": "ready"})


@for_machines
def metrics(request: HttpRequest) -> HttpResponse:
    try:
        only = "" if from_loopback(request.META) else space_of_owner(request)
    except HubError as error:
        return json_refusal(error)
    return HttpResponse(activity.prometheus_text(only), content_type=CONTENT_TYPE_LATEST)


def space_of_owner(request: HttpRequest) -> str:
    secret = bearer_token(request.META)
    if not secret:
        raise Unauthenticated("Metrics are for an owner's token, or for this machine.")
    caller = accounts.authenticate(secret, client_address(request.META))
    if not caller.person or caller.role != "owner":
        raise Forbidden("Metrics are for an owner's token, or for this machine.")
    return caller.space.slug
