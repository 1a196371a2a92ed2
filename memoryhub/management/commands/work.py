"""Run the background process alone, where the web processes are started by something else."""

from __future__ import annotations

import contextlib
from typing import Any

from django.conf import settings
from django.db import DatabaseError

from memoryhub import languages
from memoryhub.domain import nodes
from memoryhub.management.base import HubCommand
from memoryhub.server import work
from memoryhub.server.migrate import set_role_defaults


class Command(HubCommand):
    help = "Run jobs, watchers and periodic work until Ctrl-C or SIGTERM. `memoryhub up` does this by itself."

    def run(self, **options: Any) -> None:
        languages.speak(settings.LANGUAGE_CODE)  # what jobs store is English, whatever the terminal
        set_role_defaults()
        running = nodes.Run(work.VERSION)
        running.register()
        try:
            work.main(alone=False, running=running)
        finally:
            with contextlib.suppress(DatabaseError):
                running.leave()
