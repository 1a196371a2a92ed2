"""Calling the API as an agent or as a person does: one home for every test of it."""

from __future__ import annotations

import json
from typing import Any

from django.core.handlers.wsgi import WSGIRequest
from django.core.signals import request_started
from django.db import close_old_connections
from django.http import HttpResponse
from django.test import Client
from django.test.client import ClientHandler

from memoryhub.domain import accounts, spaces
from memoryhub.models import HUB, Actor


class Caller:
    """Sends with a token; a body that is text or bytes goes as it is, anything else as JSON."""

    def __init__(self, client: Any, secret: str) -> None:
        self.client, self.secret = client, secret

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        headers = {"Authorization": f"Bearer {self.secret}", **{k.replace("_", "-"): v for k, v in headers.items()}}
        data = body if isinstance(body, str | bytes) else "" if body is None else json.dumps(body)
        return self.client.generic(method, f"/api/v1/{path}", data, content_type="application/json", headers=headers)


def as_person(client: Any, space: Any, name: str, role: str) -> Caller:
    """A new member of the space, calling with a token of their own."""
    person = accounts.create_person(HUB, name)
    spaces.add_member(space, HUB, person, role)
    return Caller(client, accounts.create_token(space, Actor.of_person(person, role), person=person)[1])


def code(answer: Any) -> tuple[int, str]:
    """The status of a refusal and its code."""
    return answer.status_code, answer.json()["error"]["code"]


class WholeHandler(ClientHandler):
    """Answers as the server does: by `wsgi.py`, whose ways past the middleware Django's own test client does not take."""

    def __call__(self, environ: dict[str, Any]) -> Any:
        from memoryhub.wsgi import application

        heard: dict[str, Any] = {}
        environ.setdefault("HTTP_HOST", "testserver")
        # As Django's own test client does: the test's transaction lives on the connection that a request would look after.
        request_started.disconnect(close_old_connections)
        try:
            found = application(environ, lambda status, headers, *_: heard.update(status=status, headers=headers))
            body = b"".join(found)
        finally:
            request_started.connect(close_old_connections)
        answer = HttpResponse(body, status=int(heard["status"].split()[0]))
        del answer["Content-Type"]  # Django's default, which the answer may not have
        for name, value in heard["headers"]:
            answer[name] = value
        answer.wsgi_request = WSGIRequest(environ)
        return answer


class ServedClient(Client):
    """A test client whose calls go the way that calls of the network go."""

    def __init__(self, **defaults: Any) -> None:
        super().__init__(**defaults)
        self.handler = WholeHandler()
