"""A minute of `make soak`, with the faults that take least. It mostly waits: other tests run beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import islice

from tests.running import TREE, clean
from tests.soak import faults

FAULTS = "web worker killed,background killed,process stopped,database restarted,partition,clock ahead,fail over"


def test_nothing_is_lost_in_a_minute() -> None:
    options = {"minutes": "1", "seed": "19", "pause": "0.2", "faults": FAULTS}
    run = {"MEMORYHUB_TEST_RUN": os.environ["MEMORYHUB_TEST_RUN"]}  # where its nodes find static files
    line = [sys.executable, "-m", "tests.soak", *(part for one in options.items() for part in (f"--{one[0]}", one[1]))]
    done = subprocess.run(line, cwd=TREE, env=clean(**run), capture_output=True, text=True, timeout=500)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_a_plan_is_repeated_by_its_seed_and_has_every_fault() -> None:

    first = list(islice(faults.plan(7, ["a", "b"]), 2 * len(faults.KINDS)))
    assert first == list(islice(faults.plan(7, ["a", "b"]), 2 * len(faults.KINDS)))
    assert {one.name for one in first[: len(faults.KINDS)]} == set(faults.KINDS)
    assert first != list(islice(faults.plan(8, ["a", "b"]), 2 * len(faults.KINDS)))
