"""What a start loads: each process of a hub, and each command, pays for it in time and memory."""

from __future__ import annotations

import subprocess
import sys

from tests.running import TREE, clean

# What few processes need, and which they load when they do.
LATER = ("httpx", "fido2", "qrcode", "cryptography")
FOR_REQUESTS = ("ninja", "pydantic", "requests")  # a quarter of the start of a command, which answers none
LOAD = """
import gc, sys, django
from memoryhub.management.with_django import without_collections
with without_collections("up"):
    django.setup()
print(*sys.modules)
import memoryhub.urls
print(*sys.modules)
from memoryhub.server import processes
print(gc.isenabled())
processes.share_memory()
print(gc.isenabled())
"""


def test_what_few_processes_need_is_not_loaded_at_the_start(tmp_path):
    environment = clean(DJANGO_SETTINGS_MODULE="memoryhub.settings", MEMORYHUB_DATA_DIR=str(tmp_path / "data"))
    done = subprocess.run([sys.executable, "-c", LOAD], cwd=TREE, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    commands, web, collects_while_it_loads, collects_then = ({*line.split()} for line in done.stdout.splitlines())
    assert not {*LATER} & web
    assert not {*LATER, *FOR_REQUESTS} & commands
    assert (collects_while_it_loads, collects_then) == ({"False"}, {"True"})
