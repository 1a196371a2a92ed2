"""A hub of its own for a browser to look at: a temporary data directory, the demo in it, served from this process.

    python -m tests.browser.hub

serves one until its input ends, and prints a line of JSON: its address, its space, a sign-in link for each role.
"""

from __future__ import annotations

import contextlib
import importlib.util
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
    links: dict[str, str] = field(default_factory=dict)

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


@contextlib.contextmanager
def in_a_process(*, debug: bool = False) -> Iterator[Hub]:
    """The same in a process of its own, for tests: their settings and their database are others."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MEMORYHUB_", "DJANGO_"))}
    command = [sys.executable, "-m", "tests.browser.hub", *(["--debug"] if debug else [])]
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
    with running(debug="--debug" in sys.argv) as serving_hub:
        made_links = {role: serving_hub.sign_in_link(role) for role in ROLES}
        print(json.dumps({"url": serving_hub.url, "space": serving_hub.space, "links": made_links}), flush=True)
        sys.stdin.read()
