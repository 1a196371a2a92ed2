"""`memoryhub work` alone: it does what waits, and ends when told to."""

from __future__ import annotations

import json
import signal
import subprocess
import time

import psycopg

from memoryhub import postgres
from tests.running import COMMAND, TREE, clean


def test_it_does_what_waits_until_it_is_told_to_stop(place, started_once):
    data_dir = place / "data"
    subprocess.run(["cp", "-a", started_once, data_dir], check=True)
    with postgres.ensure_running(data_dir) as found:
        to = postgres.address(found)
        with psycopg.connect(host=to["HOST"], user=to["USER"], dbname=to["NAME"], autocommit=True) as connection:
            connection.execute("UPDATE memoryhub_job SET run_after = now() - interval '1 hour'")
            working = subprocess.Popen([*COMMAND, "work", "--data-dir", str(data_dir)], cwd=TREE, env=clean())
            deadline = time.monotonic() + 60
            waiting = "SELECT count(*) FROM memoryhub_job WHERE run_after < now() - interval '30 minutes'"
            while connection.execute(waiting).fetchone()[0] and time.monotonic() < deadline:
                time.sleep(0.2)
            rows = connection.execute("SELECT kind, state, last_error FROM memoryhub_job ORDER BY kind").fetchall()
            working.send_signal(signal.SIGTERM)
            assert working.wait(30) == 0
    assert len(rows) > 3
    assert {(state, error) for _, state, error in rows if state != "running"} == {("waiting", "")}, json.dumps(rows)
