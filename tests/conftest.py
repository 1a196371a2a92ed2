"""One embedded PostgreSQL per test run, shared by all workers; a database per worker (pytest-django)."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.db import connections
from django.db.backends.base.creation import BaseDatabaseCreation
from django.http import HttpRequest
from django.test import Client, TransactionTestCase
from django.utils.crypto import get_random_string
from httpx._transports import default as httpx_transport
from hypothesis import settings as hypothesis_settings
from psycopg._cursor_base import BaseCursor
from psycopg.pq import TransactionStatus
from whitenoise.middleware import WhiteNoiseMiddleware

from memoryhub.server import postgres
from memoryhub.sessions import SessionStore
from tests import places
from tests.emptying import empty_database
from tests.running import (  # noqa: F401  fixtures
    cluster_once,
    data_dir,
    hub,
    made_in_this_run,
    made_once,
    migrated_once,
    place,
    started_once,
    wheel,
)

# Data that a test run loses costs nothing; waiting for the disk does. What is counted in passing changes plans at random.
FAST = {
    "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "100", "autovacuum": "off",
}  # fmt: skip
RUN = re.compile(r"memoryhub-test-(\d+)-\w+(-made)?")
create_test_db = BaseDatabaseCreation.create_test_db


hypothesis_settings.register_profile("untimed", deadline=None)  # 200 ms an example: a busy machine takes longer
hypothesis_settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):  # a worker: the controller cleans up
        gc.disable()  # until everything is collected: a third of that went into walks through what stays
        return
    # A test run that is told to stop shall stop its database too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for left in [*places.TMP.glob("memoryhub-test-*"), *places.for_databases().glob("memoryhub-test-*")]:
        found = RUN.fullmatch(left.name)
        if found and left.stat().st_uid == os.geteuid() and not psutil.pid_exists(int(found[1])):
            _remove(left)


def pytest_collection(session: pytest.Session) -> None:
    """In a fresh clone each worker would compile every test itself, 9 s of processor: each begins with a share of its own."""
    worker = getattr(session.config, "workerinput", None)
    if not worker or session.config.args != ["tests"]:
        return
    for path in sorted(Path(__file__).parent.rglob("test_*.py"))[int(worker["workerid"][2:]) :: worker["workercount"]]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # collecting will tell
            import_module(".".join(path.relative_to(session.config.rootpath).with_suffix("").parts))


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        _remove(Path(os.environ["MEMORYHUB_TEST_RUN"]))
        _remove(made_in_this_run())


def _remove(data_dir: Path) -> None:
    postgres.stop(data_dir)
    shutil.rmtree(data_dir, ignore_errors=True)


@pytest.fixture(scope="session")
def database_server() -> Iterator[Path]:
    """The data directory of the running server; the first worker to ask starts it, the last one stops it."""
    if os.environ.get("TEST_DATABASE_URL"):
        yield Path(os.environ["MEMORYHUB_TEST_RUN"])
        return
    with postgres.ensure_running(Path(os.environ["MEMORYHUB_TEST_RUN"]), FAST) as data_dir:
        yield data_dir


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    request: pytest.FixtureRequest, database_server: Path, django_db_modify_db_settings: None
) -> Iterator[None]:
    """Every database test needs the server first. Of workers on the embedded one the first migrates, the others copy its tables."""
    with pytest.MonkeyPatch.context() as patch:
        if hasattr(request.config, "workerinput") and not os.environ.get("TEST_DATABASE_URL"):
            patch.setattr(BaseDatabaseCreation, "create_test_db", _migrated_by_one_worker)
        yield


def _migrated_by_one_worker(self: BaseDatabaseCreation, *arguments: Any, **options: Any) -> str:
    made: list[str] = []

    def migrate(done: Path) -> None:
        made.append(create_test_db(self, *arguments, **options))
        self.connection.close()  # a database that is in use cannot be copied
        with self._nodb_cursor() as cursor:
            cursor.execute(f"CREATE DATABASE migrated TEMPLATE {made[0]}")
        done.touch()

    made_once("database", migrate)
    if made:
        return made[0]
    self.connection.settings_dict["TEST"]["TEMPLATE"] = "migrated"
    return create_test_db(self, *arguments, **options)


@pytest.fixture(scope="session", autouse=True)
def _emptied_quickly() -> Iterator[None]:
    """After each test that commits; Django's own way also does not see the schemas quarantine and activity, and opens every
    connection anew, whose server then reads about all tables again: 13 ms a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: empty_database())
        patch.setattr(TransactionTestCase, "_should_reload_connections", lambda _: not _connections_are_idle())
        yield


def _connections_are_idle() -> bool:
    opened = [one.connection for one in connections.all(initialized_only=True) if one.connection]
    return all(one.autocommit and one.info.transaction_status == TransactionStatus.IDLE for one in opened)


@pytest.fixture(scope="session", autouse=True)
def _signed_in_by_one_statement() -> Iterator[None]:
    """`Client.force_login` plays a whole sign-in: fourteen statements, 8 ms, for nearly every test of a page."""

    def force_login(self: Client, user: Any, backend: str | None = None) -> None:
        request = HttpRequest()
        request.session = session = SessionStore(get_random_string(32))
        session._session_cache = {
            SESSION_KEY: str(user.pk),
            BACKEND_SESSION_KEY: backend or self._get_backend(),
            HASH_SESSION_KEY: user.get_session_auth_hash(),
        }
        SessionStore.get_model_class().objects.bulk_create([session.create_model_instance(session._session_cache)])
        self._set_login_cookies(request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "force_login", force_login)
        yield


@pytest.fixture(scope="session", autouse=True)
def _static_files_found_once() -> Iterator[None]:
    """Each `Client()` builds the middleware anew, and WhiteNoise looks at every static file each time."""
    find = WhiteNoiseMiddleware.add_files_from_finders
    found: dict[tuple[Any, ...], dict[str, Any]] = {}

    def find_once(self: WhiteNoiseMiddleware) -> None:
        by = (self.static_prefix, self.max_age, self.allow_all_origins)
        if by not in found:
            find(self)
            found[by] = dict(self.files)
        self.files.update(found[by])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", find_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def _certificates_read_once() -> Iterator[None]:
    """Each client of httpx, and each `httpx.get`, reads those of all authorities anew: 17 ms, also where nothing is encrypted."""
    read = httpx_transport.create_ssl_context
    once = cache(lambda _file, _folder: read())

    def context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> Any:
        if verify is True and cert is None and trust_env:
            return once(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        return read(verify=verify, cert=cert, trust_env=trust_env)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx_transport, "create_ssl_context", context)
        yield


@pytest.fixture
def uncounted(db: None) -> None:
    """For one test the tables of memory were never counted; else what tests before it left decides about its plans."""
    from django.db import connection

    with connection.cursor() as cursor:  # tables that were emptied begin anew, until this test is taken back
        cursor.execute(
            "TRUNCATE memoryhub_file, memoryhub_revision, memoryhub_workingentry, memoryhub_proposal CASCADE"
        )


@pytest.fixture
def statements() -> Callable[[], AbstractContextManager[list[str]]]:
    """`with statements() as sent:` lists the SQL of every statement that is sent meanwhile, through Django's cursor or past it,
    prepared or not. How a transaction begins and ends is left out; savepoints are in it."""
    return _statements_sent


@contextlib.contextmanager
def _statements_sent() -> Iterator[list[str]]:
    sent: list[str] = []
    begin = BaseCursor._start_query  # what every way to send something with psycopg comes down to

    def listening(cursor: Any, query: Any = None) -> Any:
        sent.append(
            query if isinstance(query, str) else query.decode() if isinstance(query, bytes) else query.as_string(cursor)
        )
        return begin(cursor, query)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseCursor, "_start_query", listening)
        yield sent


# What takes longest begins first, so that no worker sits alone with it at the end (seconds with four workers: 80 to 10). The
# soak waits for most of its minute. All of tests/browser follow each other: one that comes alone starts a browser for itself.
SLOWEST_FIRST = (
    "soak/test_short_soak.py",
    "server/test_nodes.py", "server/test_supervise.py", "commands/test_erase.py",
    "browser/test_every_page.py", "browser/test_contexts.py", "browser/test_editor.py", "browser/test_first_run.py",
    "browser/test_proposals.py", "browser/test_files.py", "browser/test_layers.py",
    "browser/test_prompts.py", "browser/test_queue.py", "browser/test_house_flows.py", "browser/test_palette.py", "browser/",
    "client/test_connect_lines.py", "server/test_hung_database.py", "commands/test_backup.py", "test_databases.py",
    "test_upgrading.py", "client/test_langgraph.py", "server/test_postgres.py", "client/test_sandbox_suite.py",
    "client/test_whole_hub.py", "server/test_worker.py", "server/test_replica.py", "client/test_mcp.py", "test_install.py",
    "domain/retrieval/test_embedder.py", "web/test_security.py", "web/test_links.py", "commands/test_disk_secrets.py",
    "web/test_costly_texts.py", "bench/test_growth.py", "domain/test_template_download.py", "commands/test_hold.py",
    "web/test_walls.py", "api/test_prompts_renewed.py", "commands/test_up_directory.py", "server/test_slow_clients.py",
    "web/test_oidc.py", "test_wheels.py", "client/test_what_the_model_received.py", "domain/files/test_watch.py",
    "api/test_prompts_shown.py", "domain/files/test_disk_held.py", "domain/quarantine/test_judge.py",
    "client/test_deepagents.py", "domain/proposals/test_races.py", "web/test_pages_in_chinese.py", "web/test_proposals.py",
    "server/test_fail_over.py", "conformance/test_deepagents.py", "domain/files/test_faults.py",
)  # fmt: skip


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Marks before `-m` chooses; sorts after pytest-django has, which puts tests without a database last."""
    _mark_what_is_not_sampled(items)
    yield
    tests = Path(__file__).parent
    rank = {name: number for number, name in enumerate(SLOWEST_FIRST)}

    def order(item: pytest.Item) -> int:
        name = item.path.relative_to(tests).as_posix()
        return rank.get(name, rank.get(f"{name.partition('/')[0]}/", len(rank)))

    items.sort(key=order)


def pytest_collection_finish() -> None:
    """What was collected stays: without this each full collection of garbage walks through 9,000 tests and all modules."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)  # at 700 a twentieth of the run is spent on it
    gc.enable()


def _mark_what_is_not_sampled(items: list[pytest.Item]) -> None:
    """Of a test with `sampled(8)` each eighth case runs in `make test`; the others run in `make attack`."""
    seen: Counter[str] = Counter()
    for item in items:
        if sampled := item.get_closest_marker("sampled"):
            name = item.nodeid.partition("[")[0]
            if seen[name] % sampled.args[0]:
                item.add_marker("attack")
            seen[name] += 1
