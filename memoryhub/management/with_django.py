"""Commands that need Django: the hub's own, and Django's with the embedded database running around them."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Iterator

import django
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line, get_commands

from memoryhub import languages
from memoryhub.errors import HubError
from memoryhub.management import terminal
from memoryhub.management.database import database

WITHOUT_DATABASE = ("makemigrations", "collectstatic", "findstatic", "diffsettings", "help")


def run(name: str, arguments: list[str], *, own: bool) -> int:
    """Set Django up and run one command; the number is the exit status. `own`: it is one of `management/commands`."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
    try:
        with without_collections(name):
            django.setup()
            module = importlib.import_module(f"memoryhub.management.commands.{name}") if own else None
        languages.speak(terminal.language())
        if module is None:
            return run_django_command(name, arguments)
        module.Command().run_from_argv(["memoryhub", name, *arguments])
        return 0
    except (ImproperlyConfigured, HubError, PermissionError) as error:
        print(terminal.say(str(error)), file=sys.stderr)  # noqa: T201
        return 1


def run_django_command(name: str, arguments: list[str]) -> int:
    if name not in get_commands():
        print(terminal.say(f"There is no command {name!r}; `memoryhub --help` lists them."), file=sys.stderr)  # noqa: T201
        return 2
    with contextlib.nullcontext() if name in WITHOUT_DATABASE else database():
        execute_from_command_line(["memoryhub", name, *arguments])
    return 0


@contextlib.contextmanager
def without_collections(name: str) -> Iterator[None]:
    """Switches the garbage collector off during imports, where it would take a fifth of a start. What was made meanwhile is never
    collected, except in the two commands that last: `up` collects when it has loaded the rest (`processes.share_memory`)."""
    gc.disable()
    try:
        yield
    finally:
        if name == "work":
            gc.collect()
        if name != "up":
            gc.freeze()
            gc.enable()
