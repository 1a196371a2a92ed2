"""The one background process: jobs from the table, watchers, periodic work. `memoryhub up` starts it beside the web."""

from __future__ import annotations

import importlib
import logging
import pkgutil
import signal
import threading
import time

from django.db import DatabaseError, InterfaceError, close_old_connections, connections

from memoryhub.domain import jobs

LANES = 2  # so that one long job does not hold up everything else
OUTGOING_LANES = 4  # lanes for what is sent to addresses of others: one that hangs holds up nothing but what is sent
POLL_SECONDS = 1.0  # seconds between two looks at the table
STOP_SECONDS = 10.0  # seconds that running jobs get to finish when the process is told to stop

log = logging.getLogger("memoryhub.work")


def import_domain() -> None:
    """Import every module of `domain`, so that all have registered what they can do."""
    import memoryhub.domain

    for module in pkgutil.walk_packages(memoryhub.domain.__path__, "memoryhub.domain."):
        importlib.import_module(module.name)


class Work:
    """The lanes, the watchers and the leases of one background process."""

    def __init__(self, *, alone: bool) -> None:
        self.alone = alone  # no other background process uses this database: what is running is lost
        self.stop = threading.Event()
        self.running: dict[str, int] = {}  # lane -> job

    def run(self) -> None:
        """Work until `stop` is set, then let running jobs finish for a while."""
        import_domain()
        self._until_done(lambda: (jobs.plan_periodic(), jobs.release_lost(all_of_them=self.alone)))
        threads = [self._thread(f"lane-{n}", self._lane) for n in range(1, LANES + 1)]
        threads += [self._thread(f"sending-{n}", self._lane) for n in range(1, OUTGOING_LANES + 1)]
        threads += [self._thread(name, self._watch) for name in jobs.background_threads]
        while not self.stop.wait(15):
            self._guard(self._keep_order)
        deadline = time.monotonic() + STOP_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _thread(self, name: str, target) -> threading.Thread:
        thread = threading.Thread(target=target, args=(name,), name=name, daemon=True)
        thread.start()
        return thread

    def _until_done(self, act) -> None:
        while not self._guard(act) and not self.stop.wait(POLL_SECONDS):
            pass

    def _guard(self, act) -> bool:
        """Run it; an unreachable database is a pause, not an end."""
        try:
            close_old_connections()
            act()
        except DatabaseError as error:
            log.warning("the database is away: %s", " ".join(str(error).split()))
            connections.close_all()
            return False
        return True

    def _keep_order(self) -> None:
        jobs.extend_leases(list(self.running.values()))
        jobs.release_lost()

    def _lane(self, name: str) -> None:
        before = self._before(name)
        while not self.stop.is_set():
            found: list[bool] = []
            if before and before not in self.running:  # not needed yet: it holds no connection and asks nothing
                connections.close_all()
                self.stop.wait(POLL_SECONDS)
            elif not self._guard(lambda found=found: found.append(self._one(name))) or not any(found):
                self.stop.wait(POLL_SECONDS)
        connections.close_all()

    @staticmethod
    def _before(name: str) -> str:
        """The lane that has to be busy before this one looks for work: those that send begin one after the other."""
        kind, number = name.rsplit("-", 1)
        return f"{kind}-{int(number) - 1}" if kind == "sending" and number != "1" else ""

    def _one(self, name: str) -> bool:
        claimed = jobs.claim(
            jobs.outgoing_kinds if name.startswith("sending-") else jobs.kinds.keys() - jobs.outgoing_kinds
        )
        if claimed is None:
            return False
        self.running[name] = claimed.pk
        try:
            jobs.run(claimed)
        finally:
            del self.running[name]
        return True

    def _watch(self, name: str) -> None:
        """Run a watcher; one that fails is started again, later each time."""
        pause = POLL_SECONDS
        while not self.stop.is_set():
            began = time.monotonic()
            try:
                jobs.background_threads[name](self.stop)
            except (
                DatabaseError,
                InterfaceError,
            ) as error:  # mostly a server that went away and comes back: one line is enough
                said = " ".join(str(error).split())
                log.warning("the watcher %s lost the database and is started again in %.0f s: %s", name, pause, said)
            except Exception:
                log.exception("the watcher %s failed; it is started again in %.0f s", name, pause)
            connections.close_all()
            pause = POLL_SECONDS if time.monotonic() - began > 60 else min(pause * 2, 60)
            self.stop.wait(pause)


def main(*, alone: bool) -> None:
    """Run the background process until SIGTERM or Ctrl-C."""
    work = Work(alone=alone)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: work.stop.set())
    work.run()
