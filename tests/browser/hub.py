"""A hub of its own for a browser to look at: a temporary data directory, the demo in it, served from this process.

    python -m tests.browser.hub [DATA_DIR]

serves one until its input ends, and prints a line of JSON: its address, its space, a session for each role.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ROLES = ("owner", "reviewer", "editor", "viewer")


@dataclass
class Hub:
    url: str
    space: str
    sessions: dict[str, str] = field(default_factory=dict)  # by role

    def sign_in_link(self, role: str = "owner") -> str:
        """An address that signs the person of this role in, once."""
        from memoryhub.domain import accounts
        from memoryhub.models import HUB

        secret = accounts.make_sign_in_link(HUB, person_with(self.space, role), leads_to=f"/s/{self.space}/")
        return f"{self.url}/login/once/{secret}/"

    def cookie(self, role: str) -> dict[str, str]:
        """What a browser that is signed in as this role sends."""
        return {"name": "memoryhub_session", "value": self.sessions[role], "url": self.url}


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
        show_the_styleguide()
        slug = furnish()
        yield Hub(stack.enter_context(serving()), slug)


@contextlib.contextmanager
def database(place: Path) -> Iterator[None]:
    import django

    from memoryhub.server import postgres

    django.setup()
    from django.db import connections

    from memoryhub.server.migrate import migrate_if_needed

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


def show_the_styleguide() -> None:
    """It has an address in DEBUG only; here it is looked at like every other page."""
    from django.urls import path

    from memoryhub import urls
    from memoryhub.web import styleguide

    if not any(entry.pattern.match("styleguide/") for entry in urls.urlpatterns[-1:]):
        urls.urlpatterns.append(path("styleguide/", styleguide.page, name="styleguide.page"))


def furnish() -> str:
    """The demo; its slug."""
    from memoryhub.domain import accounts, demo

    return demo.make(accounts.hub_owner()).slug


def session_of(slug: str, role: str) -> str:
    from django.conf import settings
    from django.test import Client

    client = Client()
    client.force_login(person_with(slug, role))
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def person_with(slug: str, role: str) -> Any:
    """A member in this role: whoever has it, else somebody new."""
    from memoryhub.domain import accounts, spaces
    from memoryhub.models import HUB

    space = spaces.get_by_slug(slug)
    found = spaces.members(space).filter(role=role).first()
    if found:
        return found.person
    person = accounts.create_person(HUB, f"the-{role}")
    spaces.add_member(space, HUB, person, role)
    return person


@contextlib.contextmanager
def in_a_process(data_dir: Path) -> Iterator[Hub]:
    """The same in a process of its own, for tests: their settings and their database are others."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MEMORYHUB_", "DJANGO_"))}
    command = [sys.executable, "-m", "tests.browser.hub", str(data_dir)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT
    ) as process:
        assert process.stdin and process.stdout
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"the hub for the browser did not start (exit {process.wait()})")
        try:
            yield Hub(**json.loads(line))
        finally:
            process.stdin.close()


if __name__ == "__main__":
    with running(*map(Path, sys.argv[1:])) as serving_hub:
        sessions = {role: session_of(serving_hub.space, role) for role in ROLES}
        print(json.dumps({"url": serving_hub.url, "space": serving_hub.space, "sessions": sessions}), flush=True)
        sys.stdin.read()
