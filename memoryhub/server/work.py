"""The one background process: it runs jobs, periodic functions and background threads. `memoryhub up` starts it."""

from __future__ import annotations

import importlib
import logging
import pkgutil
import signal
import threading
import time
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections, connections

import memoryhub.domain
from memoryhub.domain import jobs, nodes

LANES = 2  # threads that run jobs: one long job does not hold up the others
OUTGOING_LANES = 4  # threads for jobs that send something: an address that hangs holds up nothing else
RENEW_SECONDS = 15.0  # between two renewals of leases; they last a minute
BOUND_SECONDS = 60.0  # between two looks for schedules that a wrong clock put far ahead
POLL_SECONDS = 1.0  # between two queries for waiting jobs
STOP_SECONDS = 10.0  # that running jobs get to finish when the process is told to stop

VERSION = memoryhub.__version__
log = logging.getLogger("memoryhub.work")


def import_domain() -> None:
    """Import every module of `domain`, so that all jobs are registered."""
    for module in pkgutil.walk_packages(memoryhub.domain.__path__, "memoryhub.domain."):
        importlib.import_module(module.name)


class BackgroundWork:
    """The threads and leases of one background process."""

    def __init__(
        self, *, alone: bool, running: nodes.Run | None = None, stop_node: Callable[[], None] | None = None
    ) -> None:
        """`running` is the run of this node, which is told to the others; `stop_node` stops the whole node."""
        self.alone = (
            alone  # no other background process uses this database, so jobs that are marked as running are lost
        )
        self.stop = threading.Event()
        self.node, self.stop_node = running, stop_node or self.stop.set
        self.running: dict[str, int] = {}  # lane -> job

    def run(self) -> None:
        """Work until `stop` is set, then let running jobs finish for a while."""
        import_domain()
        self._retry_until_done(
            lambda: (jobs.plan_periodic(), jobs.bound_schedules(), jobs.release_lost(all_of_them=self.alone))
        )
        threads = [self._thread(f"lane-{n}", self._lane) for n in range(1, LANES + 1)]
        threads += [self._thread(f"outgoing-{n}", self._lane) for n in range(1, OUTGOING_LANES + 1)]
        threads += [self._thread(name, self._run_background_thread) for name in jobs.background_threads]
        self._repeat()
        deadline = time.monotonic() + STOP_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _thread(self, name: str, target) -> threading.Thread:
        thread = threading.Thread(target=target, args=(name,), name=name, daemon=True)
        thread.start()
        return thread

    def _retry_until_done(self, act) -> None:
        while not self._try(act) and not self.stop.wait(POLL_SECONDS):
            pass

    def _try(self, act) -> bool:
        """Call a function; answers False instead of failing where the database is away."""
        try:
            close_old_connections()
            act()
        except DatabaseError as error:
            log.warning("the database is away: %s", " ".join(str(error).split()))
            connections.close_all()
            return False
        return True

    def _repeat(self) -> None:
        """Repeats the periodic tasks, each at its interval, until this process stops."""
        renewed = bounded = time.monotonic()
        while not self.stop.wait(nodes.BEAT_SECONDS if settings.SHARES_DATABASE else RENEW_SECONDS):
            self._try(self._beat)
            if time.monotonic() - renewed >= RENEW_SECONDS - 1:
                renewed = time.monotonic()
                self._try(self._renew_leases)
            if time.monotonic() - bounded >= BOUND_SECONDS:
                bounded = time.monotonic()
                self._try(jobs.bound_schedules)

    def _beat(self) -> None:
        """Says that this node is there, and stops it where another process asked for that."""
        if self.node is not None and self.node.beat():
            log.info("this node was told to stop")
            self.stop_node()

    def _renew_leases(self) -> None:
        jobs.extend_leases(list(self.running.values()))
        jobs.release_lost()

    def _lane(self, name: str) -> None:
        previous = self._previous_lane(name)
        while not self.stop.is_set():
            found: list[bool] = []
            if previous and previous not in self.running:  # not needed yet, so it holds no connection
                connections.close_all()
                self.stop.wait(POLL_SECONDS)
            elif not self._try(lambda found=found: found.append(self._run_next_job(name))) or not any(found):
                self.stop.wait(POLL_SECONDS)
        connections.close_all()

    @staticmethod
    def _previous_lane(name: str) -> str:
        """The lane that has to be busy before this one looks for jobs: outgoing lanes start one after the other."""
        kind, number = name.rsplit("-", 1)
        return f"{kind}-{int(number) - 1}" if kind == "outgoing" and number != "1" else ""

    def _run_next_job(self, name: str) -> bool:
        claimed = jobs.claim(
            jobs.outgoing_kinds if name.startswith("outgoing-") else jobs.kinds.keys() - jobs.outgoing_kinds
        )
        if claimed is None:
            return False
        self.running[name] = claimed.pk
        try:
            jobs.run(claimed)
        finally:
            del self.running[name]
        return True

    def _run_background_thread(self, name: str) -> None:
        """Run a registered function until the process stops; when it fails it is started again, later each time."""
        pause = POLL_SECONDS
        while not self.stop.is_set():
            started = time.monotonic()
            try:
                jobs.background_threads[name](self.stop)
            except (DatabaseError, InterfaceError) as error:
                # Mostly a server that went away and comes back: one line is enough.
                reason = " ".join(str(error).split())
                log.warning("the watcher %s lost the database and is started again in %.0f s: %s", name, pause, reason)
            except Exception:
                log.exception("the watcher %s failed; it is started again in %.0f s", name, pause)
            connections.close_all()
            pause = POLL_SECONDS if time.monotonic() - started > 60 else min(pause * 2, 60)
            self.stop.wait(pause)


def main(*, alone: bool, running: nodes.Run | None = None, stop_node: Callable[[], None] | None = None) -> None:
    """Run the background process until SIGTERM or Ctrl-C."""
    work = BackgroundWork(alone=alone, running=running, stop_node=stop_node)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: work.stop.set())
    work.run()
