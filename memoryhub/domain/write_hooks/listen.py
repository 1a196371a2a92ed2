"""Where hooks of agents ask: a socket in the data directory, which the hub's own user alone can open.

One request for each connection: a JSON document, ended by closing for writing; the answer is another.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.conf import settings
from django.db import connections

from memoryhub.domain import jobs
from memoryhub.domain.write_hooks.decide import Decision, decide
from memoryhub.domain.write_hooks.held import keep_held_list
from memoryhub.errors import HubError
from memoryhub.stores import held_list

log = logging.getLogger("memoryhub.hooks")
MAX_REQUEST = 16 << 20
SECONDS_FOR_REQUEST = 5.0
REFRESH_SECONDS = 30.0  # after which the list of held directories is compared with the mounts, whoever changed them
ANSWERS_AT_ONCE = 4


@jobs.background_thread("hooks.listen")
def listen(stop: threading.Event) -> None:
    """Answers hooks until the hub stops. Where another background process of this hub listens already, it waits for its end."""
    keep_held_list()
    data_dir = str(settings.DATA_DIR)
    while not stop.is_set():
        if is_listened_to(data_dir):
            stop.wait(REFRESH_SECONDS)
            continue
        try:
            with contextlib.closing(bind(data_dir)) as listener, ThreadPoolExecutor(ANSWERS_AT_ONCE) as pool:
                serve(listener, pool, stop)
        except OSError as error:
            log.warning("Hooks of agents cannot ask this hub: %s", error)
            stop.wait(REFRESH_SECONDS)


def is_listened_to(data_dir: str) -> bool:
    """Whether some process answers at the socket of this data directory."""
    with held_list.socket_address(data_dir) as address, socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(2)
        try:
            asking.connect(address)
        except OSError:
            return False
        return True


def bind(data_dir: str) -> socket.socket:
    """The listening socket, in place of one that a killed hub left."""
    name = f".{held_list.SOCKET}-{os.getpid()}"
    listener = socket.socket(socket.AF_UNIX)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(data_dir, name))
        with held_list.socket_address(data_dir, name) as address:
            listener.bind(address)
        os.chmod(os.path.join(data_dir, name), 0o600)
        listener.listen(64)
        os.replace(os.path.join(data_dir, name), os.path.join(data_dir, held_list.SOCKET))
    except OSError:
        listener.close()
        raise
    listener.settimeout(1.0)
    return listener


def serve(listener: socket.socket, pool: ThreadPoolExecutor, stop: threading.Event) -> None:
    refreshed = time.monotonic()
    while not stop.is_set():
        if time.monotonic() - refreshed > REFRESH_SECONDS:
            keep_held_list()
            refreshed = time.monotonic()
        try:
            asking, _ = listener.accept()
        except TimeoutError:
            continue
        pool.submit(answer, asking)


def answer(asking: socket.socket) -> None:
    """Reads one request, decides and answers. What goes wrong here is no decision: the hook then does as without a hub."""
    with asking:
        try:
            if (request := read_request(asking)) is not None:
                asking.sendall(json.dumps(decide_request(request)).encode())
        except (OSError, ValueError, RecursionError) as error:
            log.warning("A hook was not answered: %s", error)
        except Exception:
            log.exception("A hook was not answered")
        finally:
            connections.close_all()


def read_request(asking: socket.socket) -> Any:
    """The document that was sent; None from somebody who only looked whether anybody listens."""
    ends = time.monotonic() + SECONDS_FOR_REQUEST
    pieces: list[bytes] = []
    size = 0
    while True:
        asking.settimeout(max(0.01, ends - time.monotonic()))
        piece = asking.recv(1 << 20)
        if not piece:
            return json.loads(b"".join(pieces)) if pieces else None
        size += len(piece)
        if size > MAX_REQUEST or time.monotonic() > ends:
            raise ValueError("the request is too long, or took too long")
        pieces.append(piece)


def decide_request(request: Any) -> dict[str, Any]:
    """The answer to a request as it came in: every field may be anything."""
    if not isinstance(request, dict):
        raise ValueError("the request is no object")
    try:
        agent, tool, folder, session = (_text_in(request, name) for name in ("agent", "tool", "cwd", "session"))
        decision = decide(agent, tool, request.get("input"), folder, session)
    except HubError as refusal:
        decision = Decision(False, f"memoryhub: {refusal.message} Do not retry.")
    return {"decision": "allow" if decision.allows else "deny", "says": decision.says, "proposal": decision.proposal}


def _text_in(request: dict[str, Any], name: str) -> str:
    found = request.get(name)
    return found if isinstance(found, str) else ""
