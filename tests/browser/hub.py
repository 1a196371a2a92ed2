"""A hub of its own for a browser to look at: a temporary data directory, the demo in it, served from this process."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROLES = ("owner", "reviewer", "editor", "viewer")


@dataclass
class Hub:
    url: str
    space: str

    def sign_in_link(self, role: str = "owner") -> str:
        """An address that signs the person of this role in, once."""
        from memoryhub.domain import people
        from memoryhub.domain.access import HUB

        secret = people.make_link(HUB, person_with(self.space, role), leads_to=f"/s/{self.space}/")
        return f"{self.url}/login/once/{secret}/"


@contextlib.contextmanager
def running(data_dir: Path | None = None, *, debug: bool = False) -> Iterator[Hub]:
    """Starts a hub; everything of it is gone afterwards."""
    with contextlib.ExitStack() as stack:
        place = data_dir or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memoryhub-look-", dir="/tmp")))
        os.environ.update(
            DEBUG=str(debug).lower(), MEMORYHUB_DATA_DIR=str(place), DJANGO_SETTINGS_MODULE="memoryhub.settings"
        )
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # Playwright's loop runs in the thread that reads the database
        os.environ.pop("DATABASE_URL", None)
        (place / "static").mkdir(
            parents=True, exist_ok=True
        )  # `memoryhub up` collects there; here they come from the tree
        stack.enter_context(database(place))
        slug = furnish()
        yield Hub(stack.enter_context(serving()), slug)


@contextlib.contextmanager
def database(place: Path) -> Iterator[None]:
    import django

    from memoryhub import postgres

    django.setup()
    from django.db import connections

    from memoryhub.migrating import migrate_if_needed

    with postgres.ensure_running(place, {"fsync": "off", "synchronous_commit": "off"}):
        migrate_if_needed()
        try:
            yield
        finally:
            connections.close_all()


@contextlib.contextmanager
def serving() -> Iterator[str]:
    from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
    from django.core.wsgi import get_wsgi_application

    class Quiet(WSGIRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadedWSGIServer(("127.0.0.1", 0), Quiet)
    server.daemon_threads = True
    server.set_app(get_wsgi_application())
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def furnish() -> str:
    """The demo, once it can be made; until then a space with people and agents. Its slug."""
    from memoryhub.domain import people

    owner = people.hub_owner()
    if importlib.util.find_spec("memoryhub.domain.demo"):
        from memoryhub.domain import demo

        return demo.make(owner).slug
    from memoryhub.domain import agents, spaces
    from memoryhub.domain.access import Actor

    actor = Actor.of_person(owner, "owner")
    space = spaces.create(actor, "demo", "Ledgerline", is_demo=True)
    agents.create(space, actor, "forge", dialect="deepagents", system_prompt="You write code for Ledgerline.")
    agents.create(space, actor, "counter", dialect="hub", description="Answers customers.")
    return space.slug


def person_with(slug: str, role: str) -> Any:
    """A member in this role: whoever has it, else somebody new."""
    from memoryhub.domain import people, spaces
    from memoryhub.domain.access import HUB

    space = spaces.by_slug(slug)
    found = spaces.members(space).filter(role=role).first()
    if found:
        return found.person
    person = people.create(HUB, f"the-{role}")
    spaces.add_member(space, HUB, person, role)
    return person
