"""The process that `tests.forking` starts: it imports the hub, then forks for each command that it is asked for."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
from typing import Any

import django
from django.conf import settings
from django.db import connections
from django.utils.functional import empty

from memoryhub.__main__ import main as run_command


def load() -> None:
    """Imports all that commands import. Garbage is not looked for meanwhile, and never among what was imported."""
    gc.disable()
    django.setup()
    for package in ("memoryhub.domain", "memoryhub.management"):
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)
    importlib.import_module("memoryhub.urls")
    retrieval = importlib.import_module("memoryhub.domain.retrieval")
    retrieval.load_embedder(settings.EMBEDDER).embed(["anything"])  # it reads its weights at the first call
    gc.collect()
    gc.freeze()


def fork_for_each_command(channel: socket.socket) -> list[Any]:
    """Returns in each child, with its arguments and environment; ends with the process of tests."""
    children: dict[int, int] = {}
    waking, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    while True:
        ready, _, _ = select.select([channel, waking], [], [])
        if waking in ready:
            os.read(waking, 4096)
        tell_ended(children)
        if channel not in ready:
            continue
        message, files, _, _ = socket.recv_fds(channel, 1 << 16, 4)
        if not message:
            sys.exit()
        while not message.endswith(b"\n"):
            message += channel.recv(1 << 16)
        pid = os.fork()
        if not pid:
            become_ordinary(files)
            return list(json.loads(message))
        children[pid] = files.pop()
        for file in files:
            os.close(file)
        channel.sendall(pid.to_bytes(4, "big"))


def tell_ended(children: dict[int, int]) -> None:
    for pid, telling in [*children.items()]:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            with contextlib.suppress(BrokenPipeError):  # nobody waits for it
                os.write(telling, b"%d" % os.waitstatus_to_exitcode(status))
            os.close(children.pop(pid))


def become_ordinary(files: list[int]) -> None:
    """Gives a child the files and signals of a program that was just started."""
    for number, file in enumerate(files[:3]):
        os.dup2(file, number)
    os.closerange(3, 1024)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.enable()


def forget_settings() -> None:
    """The next who asks for settings or a database gets those of the environment as it is by then."""
    settings._wrapped = empty
    del sys.modules["memoryhub.settings"]
    vars(connections).clear()
    connections.__init__()  # type: ignore[misc]


def main() -> None:
    load()
    arguments, environment = fork_for_each_command(socket.socket(fileno=int(sys.argv[1])))
    os.environ.clear()
    os.environ.update(environment)
    forget_settings()
    if arguments[:1] == ["-c"]:  # as an interpreter runs it
        sys.argv = ["-c", *arguments[2:]]
        exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv[1:] = arguments
        run_command()


if __name__ == "__main__":
    main()
