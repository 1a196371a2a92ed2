"""Version 1 of the API: one router per noun on the common ground."""

from __future__ import annotations

import json
from http import HTTPStatus
from importlib import import_module
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from ninja import NinjaAPI
from ninja.openapi.docs import Swagger
from ninja.openapi.schema import OpenAPISchema

import memoryhub.api.file_changes  # noqa: F401  adds its calls to the router of files
from memoryhub.api.base import ERROR_STATUSES, TokenAuth, install_errors

# In the order of the document. Each module holds `router`.
NOUNS = ("me", "agents", "prompts", "templates", "files", "revisions", "proposals", "layers", "memory_tool")
MALFORMED = (400, 431)  # what the server answers before any call sees it


class HubAPI(NinjaAPI):
    """django-ninja's, whose document is made once: that takes half a second, and anybody may ask for it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._documents: dict[str | None, OpenAPISchema] = {}

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        if path_prefix not in self._documents:
            document = super().get_openapi_schema(path_prefix=path_prefix, path_params=path_params)
            add_errors(document)
            self._documents[path_prefix] = document
        return self._documents[path_prefix]


def add_errors(document: OpenAPISchema) -> None:
    """Gives each call what is answered to a malformed request, and one that names the first of the errors alone
    (`base.ERRORS`) the others too."""
    first, *others = ERROR_STATUSES
    for calls in document["paths"].values():
        for call in calls.values():
            responses = call["responses"]
            added = MALFORMED if any(status in responses for status in others) else (*MALFORMED, *others)
            for status in added:
                responses[status] = responses[first] | {"description": HTTPStatus(status).phrase}


class Docs(Swagger):
    """The page to try the API at. Ninja's own loads its scripts from another host, unless ninja is an app of Django."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        settings = json.dumps(self.settings | {"url": self.get_openapi_url(api, kwargs)})
        return render(request, self.template, {"swagger_settings": settings, "api": api})


api = HubAPI(
    title="memoryhub",
    version="1",
    description="Everything an agent needs of its memory: its prompt, its files, its proposals, its layers. "
    "Every call carries 'Authorization: Bearer mh_…'; every token is bound to one space.",
    docs=Docs(),
    docs_url="/docs",
    openapi_url="/openapi.json",
    auth=TokenAuth(),
    urls_namespace="api",
)
install_errors(api)
for noun in NOUNS:
    api.add_router("", import_module(f"memoryhub.api.{noun}").router, tags=[noun.replace("_", " ")])
