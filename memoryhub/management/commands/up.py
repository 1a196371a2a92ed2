"""Start the hub: its database, its web and background processes; prints a sign-in link when it is ready."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import DatabaseError, OperationalError, connection, connections

from memoryhub import languages
from memoryhub.db import locks
from memoryhub.domain import accounts, demo, first_start, nodes, retrieval, spaces
from memoryhub.errors import HubError, Invalid, Unavailable
from memoryhub.languages import translated
from memoryhub.management import health
from memoryhub.management.base import HubCommand
from memoryhub.models import HUB
from memoryhub.server import datadir, postgres, processes, serve, static_files, supervise, work
from memoryhub.server.dump import keep_secret_key
from memoryhub.server.migrate import (
    MIGRATE_LOCK,
    migrate_if_needed,
    pending_migrations,
    refuse_newer_database,
    require_vector,
    set_role_defaults,
)

MIN_POSTGRES = 15


class Command(HubCommand):
    help = "Start the hub. It stops, with its database, on Ctrl-C or SIGTERM."
    needs_database = False  # it brings its own, and keeps it

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("directory", nargs="?", metavar="DIR", help="the folder to show at /memories/")
        parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1)")
        parser.add_argument("--port", type=port, default=8000, help="the port to listen on (8000)")
        parser.add_argument("--workers", type=workers, default=2, metavar="N", help="web processes (2)")
        parser.add_argument("--hold", action="store_true", help="changes in DIR wait for a person")
        parser.add_argument("--demo", action="store_true", help="make a demo space; without DIR, open it")
        parser.add_argument(
            "--demo-at-first", action="store_true", help="make a demo space, unless somebody has deleted it"
        )
        parser.add_argument("--open", metavar="SLUG", help="the space to open instead")

    def run(self, **options: Any) -> None:
        directory = existing(options["directory"]) if options["directory"] else None
        supervise.stop_on_signals()
        try:
            self.start(directory, options)
        except supervise.Stop:
            pass
        finally:
            supervise.ignore_signals()

    def start(self, directory: Path | None, options: dict[str, Any]) -> None:
        """Prepares the hub and serves. What may refuse comes first, before anything is changed."""
        data_dir = datadir.prepare(settings.DATA_DIR)
        lock = datadir.hub_lock(data_dir)
        processes.end_leftover_processes(data_dir)
        listener = serve.bind(options["host"], options["port"])
        if not (settings.DATABASE_URL or postgres.cluster_of(data_dir).exists()):
            self.tell_progress("First start: making the database …")
        with database(data_dir) as using:
            running = nodes.Run(work.VERSION)
            with locks.in_turn(MIGRATE_LOCK):  # of nodes that start at once, each finds what the other made
                refuse_newer_database()
                if pending_migrations():
                    in_child(partial(migrate_if_needed, has_lock=True))
                self.join(running)
                set_role_defaults()
                if not static_files.are_collected():
                    in_child(static_files.collect)
                link = self.prepare_hub(
                    directory, demo=self.wants_demo(options), opened=options["open"], hold=options["hold"]
                )
            self.allow(options["host"])
            self.load()
            try:
                self.serve(data_dir, options["host"], listener, options["workers"], link, [lock, *using], running)
            finally:
                with contextlib.suppress(DatabaseError):
                    running.leave()

    def join(self, running: nodes.Run) -> None:
        """Takes the key that the nodes of this database share, and registers among them."""
        if settings.DATABASE_URL:
            key = nodes.shared_key(was_given=bool(os.environ.get("SECRET_KEY")))
            if key != settings.SECRET_KEY:
                settings.SECRET_KEY = key
                keep_secret_key(key)
        running.register()

    def wants_demo(self, options: dict[str, Any]) -> bool:
        return options["demo"] or (options["demo_at_first"] and (demo.exists() or not demo.was_deleted()))

    def tell_progress(self, text: str) -> None:
        """Prints progress, but only on a terminal."""
        if sys.stderr.isatty():
            sys.stderr.write(f"{translated(text)}\n")

    def prepare_hub(self, directory: Path | None, *, demo: bool, opened: str | None, hold: bool) -> str:
        """Makes the first space, its owner and, if wanted, the demo; returns the path of the owner's sign-in link."""
        shown, moved = first_start.prepare(directory)
        for line in (shown, moved):
            if line:
                self.tell(line)
        if hold:
            first_start.hold_changes_on_disk()
        made = self.make_demo() if demo else ""
        slug = first_start.SLUG if directory else made or first_start.SLUG
        slug = spaces.get_by_slug(opened).slug if opened else slug
        if settings.FRONT_SPACE and not health.front_space().ok:
            raise HubError(health.front_space().says)
        settings.FRONT_SPACE = os.environ["MEMORYHUB_FRONT_SPACE"] = settings.FRONT_SPACE or slug
        if not settings.OWNER_LINK:
            return "/login/"
        return f"/login/once/{self.owner_link(f'/s/{slug}/')}/"

    def owner_link(self, leads_to: str) -> str:
        """A one-time link for the owner of the hub. Those that other nodes of this database printed go on working."""
        maker = f"{HUB.name} on {settings.NODE_NAME} ({settings.NODE_ID})"[:150] if settings.DATABASE_URL else ""
        return accounts.make_sign_in_link(HUB, accounts.hub_owner(), leads_to=leads_to, maker=maker)

    def make_demo(self) -> str:
        if not demo.exists():
            self.tell_progress("Making the demo …")
            in_child(lambda: demo.make(accounts.hub_owner()))
        return demo.make(accounts.hub_owner()).slug  # it exists by now: this only makes the owner a member

    def allow(self, host: str) -> None:
        """Adds the address it listens on to ALLOWED_HOSTS."""
        if host in ("0.0.0.0", "::") and "ALLOWED_HOSTS" not in os.environ:  # noqa: S104
            says = "Other machines are refused until ALLOWED_HOSTS names how they call this one."
            sys.stderr.write(f"{translated(says)}\n")
        settings.ALLOWED_HOSTS.append(f"[{host}]" if ":" in host else host)

    def load(self) -> None:
        """Loads what the children need: they are forks of this process and share its memory."""
        serve.load()
        work.import_domain()
        embedder = retrieval.load_embedder(settings.EMBEDDER)
        if embedder.is_local:
            embedder.embed(["anything"])  # it loads its weights at the first call
        connections.close_all()  # a fork must not use them
        processes.share_memory()

    def serve(
        self, data_dir: Path, host: str, listener: socket.socket, count: int, link: str, held: list[datadir.Lock],
        running: nodes.Run,
    ) -> None:  # fmt: skip
        shown, number = f"[{host}]" if ":" in host else host, listener.getsockname()[1]
        listener.listen(serve.BACKLOG)
        address = f"http://{shown}:{number}"
        held[0].write(f"{os.getpid()}\n{address}")
        ready = ReadinessCheck(host, number, partial(self.say_ready, address + link))
        children = [
            supervise.Child("web", partial(web, listener, count, data_dir), vital=True),
            supervise.Child("background", partial(background, data_dir, listener, running)),
        ]
        supervisor = supervise.Supervisor(
            children, partial(release_in_child, held), partial(restart_database, data_dir)
        )
        try:
            supervisor.run(ready)
        finally:
            supervise.ignore_signals()
            # For all processes that have it: who connects is refused at once, and a proxy asks another node.
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            supervisor.stop()
            processes.delete_notes(data_dir)

    def say_ready(self, url: str) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.tell(f"memoryhub ready: {url}")
            self.tell("Press Ctrl-C to stop.")
            self.stdout.flush()


class ReadinessCheck:
    """Asks the web processes whether they answer; if so, calls `say` and returns True."""

    def __init__(self, host: str, number: int, say: Callable[[], None]) -> None:
        self.to = ({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), number)  # noqa: S104
        self.say = say

    def __call__(self) -> bool:
        try:
            asking = http.client.HTTPConnection(*self.to, timeout=5)
            asking.request("GET", "/healthz", headers={"Host": "localhost"})
            asking.getresponse().read()
            asking.close()
        except (OSError, http.client.HTTPException):
            return False
        self.say()
        return True


def web(listener: socket.socket, count: int, data_dir: Path) -> None:
    languages.speak(settings.LANGUAGE_CODE)  # the language of the terminal is this process's alone
    serve.run(listener, count, data_dir)


def background(data_dir: Path, listener: socket.socket, running: nodes.Run) -> None:
    languages.speak(settings.LANGUAGE_CODE)
    listener.close()
    processes.write_note(data_dir)
    # No other hub can work on the embedded database, so jobs that are "running" there were left by a killed one.
    work.main(
        alone=not settings.DATABASE_URL, running=running, stop_node=partial(os.kill, os.getppid(), signal.SIGTERM)
    )


def release_in_child(held: list[datadir.Lock]) -> None:
    """Releases the locks in a child, since children may outlive the hub."""
    for lock in held:
        lock.release()


@contextlib.contextmanager
def database(data_dir: Path) -> Iterator[list[datadir.Lock]]:
    """The embedded server inside the block, or the one of DATABASE_URL after a check of its version."""
    if settings.DATABASE_URL:
        check_server()
        yield []
        return
    with postgres.in_use(data_dir) as using:
        try:
            yield [using]
        finally:
            connections.close_all()


def in_child(act: Callable[[], object]) -> None:
    """Calls it in a process of its own: migrating and compressing leave 40 MB behind, which every process of the hub would keep."""
    connections.close_all()  # a fork must not share them
    supervise.run_in_child(act)


def check_server() -> None:
    to = connection.settings_dict
    place = f"{to['HOST'] or 'the local socket'}{':' + to['PORT'] if to['PORT'] else ''}"
    try:
        connection.ensure_connection()
    except OperationalError as error:
        reason = " ".join(str(error).split())
        raise Unavailable(f"The database of DATABASE_URL ({place}) cannot be reached: {reason}") from error
    if connection.pg_version // 10000 < MIN_POSTGRES:
        raise Unavailable(
            f"The server of DATABASE_URL is PostgreSQL {connection.pg_version // 10000}; "
            f"memoryhub needs {MIN_POSTGRES} or newer."
        )
    require_vector()


def restart_database(data_dir: Path) -> None:
    """Starts the embedded server again if it was killed; the web processes reconnect by themselves."""
    if settings.DATABASE_URL or postgres.postmaster_pid(data_dir) is not None:
        return
    sys.stderr.write("The database had stopped; it is started again.\n")
    try:
        with datadir.Lock(data_dir / "start.lock"):
            postgres.start(data_dir)
    except HubError as error:
        sys.stderr.write(f"{error}\n")


def existing(given: str) -> Path:
    path = Path(given).expanduser()
    if not path.exists():
        raise Invalid(f"The folder {path} does not exist: make it, or name another one.")
    if not path.is_dir():
        raise Invalid(f"{path} is a file: name the folder it lies in.")
    if not os.access(path, os.R_OK | os.X_OK):
        raise Invalid(f"The folder {path} cannot be read: change its mode, or name another one.")
    return path.resolve()


def port(given: str) -> int:
    if not given.isdigit() or int(given) > 65535:
        raise ArgumentTypeError("a number from 1 to 65535")
    return int(given)


def workers(given: str) -> int:
    if not given.isdigit() or not 1 <= int(given) <= 64:
        raise ArgumentTypeError("a number from 1 to 64")
    return int(given)
