"""Version 1 of the API: one router per noun on the common ground."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from ninja import NinjaAPI

from memoryhub.api.base import TokenAuth, install_errors

# In the order of the document. Each module holds `router`.
NOUNS = ("me", "prompts", "templates", "files", "revisions", "proposals", "layers", "memory_tool")

api = NinjaAPI(
    title="memoryhub",
    version="1",
    description="Everything an agent needs of its memory: its prompt, its files, its proposals, its layers. "
    "Every call carries 'Authorization: Bearer mh_…'; every token is bound to one space.",
    docs_url="/docs",
    openapi_url="/openapi.json",
    auth=TokenAuth(),
    urls_namespace="api",
)
install_errors(api)
for noun in NOUNS:
    if find_spec(f"memoryhub.api.{noun}"):
        api.add_router("", import_module(f"memoryhub.api.{noun}").router, tags=[noun.replace("_", " ")])
