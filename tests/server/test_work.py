"""`memoryhub work` alone: it does what waits, and ends when told to."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time

import psycopg

from memoryhub.server import postgres, work
from tests.running import COMMAND, TREE, clean


def test_it_does_what_waits_until_it_is_told_to_stop(data_dir):
    with postgres.ensure_running(data_dir) as found:
        to = postgres.address(found)
        with psycopg.connect(host=to["HOST"], user=to["USER"], dbname=to["NAME"], autocommit=True) as connection:
            connection.execute("UPDATE memoryhub_job SET run_after = now() - interval '1 hour'")
            working = subprocess.Popen([*COMMAND, "work", "--data-dir", str(data_dir)], cwd=TREE, env=clean())
            deadline = time.monotonic() + 60
            # A hub that was stopped as soon as it was ready has planned none yet.
            waiting = "SELECT count(*) < 4 OR bool_or(run_after < now() - interval '30 minutes') FROM memoryhub_job"
            while connection.execute(waiting).fetchone()[0] and time.monotonic() < deadline:
                time.sleep(0.2)
            rows = connection.execute("SELECT kind, state, last_error FROM memoryhub_job ORDER BY kind").fetchall()
            working.send_signal(signal.SIGTERM)
            assert working.wait(30) == 0
    assert len(rows) > 3
    assert {(state, error) for _, state, error in rows if state != "running"} == {("waiting", "")}, json.dumps(rows)


def test_lanes_that_send_begin_one_after_the_other_while_what_is_sent_hangs(monkeypatch):
    hanging, asked, taken, answers = [], set(), threading.Semaphore(0), threading.Event()
    background = work.BackgroundWork(alone=True)

    def one(name):
        asked.add(name)
        if not hanging:
            return False
        hanging.pop()
        background.running[name] = 1
        taken.release()
        answers.wait(30)
        del background.running[name]
        return True

    monkeypatch.setattr(work, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(background, "_run_next_job", one)
    lanes = [background._thread(f"outgoing-{n}", background._lane) for n in range(1, work.OUTGOING_LANES + 1)]
    time.sleep(0.2)
    assert asked == {"outgoing-1"}, "the others hold no connection while nothing is sent"
    hanging += range(work.OUTGOING_LANES)
    assert all(taken.acquire(timeout=10) for _ in lanes), "each takes one, though none comes to an end"
    assert set(background.running) == {f"outgoing-{n}" for n in range(1, work.OUTGOING_LANES + 1)}
    background.stop.set()
    answers.set()
    for lane in lanes:
        lane.join(10)
    assert not background.running
