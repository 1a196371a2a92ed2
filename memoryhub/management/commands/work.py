"""run the background process alone, where the web processes are started by something else"""

from __future__ import annotations

import contextlib
from typing import Any

from django.db import DatabaseError

from memoryhub import __version__
from memoryhub.domain import nodes
from memoryhub.management.base import HubCommand
from memoryhub.server import work
from memoryhub.server.migrate import set_role_defaults


class Command(HubCommand):
    help = "Run jobs, watchers and periodic work until Ctrl-C or SIGTERM. `memoryhub up` does this by itself."

    def run(self, **options: Any) -> None:
        set_role_defaults()
        running = nodes.Run(__version__)
        running.register()
        try:
            work.main(alone=False, running=running)
        finally:
            with contextlib.suppress(DatabaseError):
                running.leave()
