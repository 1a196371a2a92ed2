"""Whether a server answers, as a worker finds out that has its hands full of connections."""

import fcntl
import os
import resource
import socket
import time
from types import SimpleNamespace

import pytest

from memoryhub.db import hang

ABOVE_SELECT = 1024  # the first number of a file that select() refuses


class Asked:
    """A connection of libpq that has its answer once a byte arrives."""

    def __init__(self, number):
        self.socket, self.waits = number, True

    def send_query(self, sql):
        pass

    def flush(self):
        pass

    def is_busy(self):
        return self.waits

    def consume_input(self):
        self.waits = not os.read(self.socket, 1)

    def get_result(self):
        return None


@pytest.fixture
def wire():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2 * ABOVE_SELECT:
        pytest.skip("no process may have so many files open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * ABOVE_SELECT), hard))
    here, there = socket.socketpair()
    number = fcntl.fcntl(here, fcntl.F_DUPFD, ABOVE_SELECT)
    try:
        yield number, there
    finally:
        os.close(number), here.close(), there.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_worker_with_a_thousand_connections_asks_as_well(wire, monkeypatch):
    number, there = wire
    monkeypatch.setattr(hang, "CONNECT_SECONDS", 0.2)
    began = time.monotonic()
    assert not hang.answers_on(SimpleNamespace(pgconn=Asked(number)))
    assert 0.15 < time.monotonic() - began < 5
    there.send(b"1")
    assert hang.answers_on(SimpleNamespace(pgconn=Asked(number)))
