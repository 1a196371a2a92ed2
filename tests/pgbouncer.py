"""Where PgBouncer is for the one test that runs behind it; `python -m tests.pgbouncer` gets it where that asks nobody."""

from __future__ import annotations

import os
import shutil
import subprocess

from tests import apt

SYSTEM_PROGRAMS = "/usr/sbin"  # Debian puts it there, and leaves that out of the PATH of ordinary users


def find() -> str | None:
    return shutil.which("pgbouncer", path=f"{os.environ['PATH']}:{SYSTEM_PROGRAMS}")


def ensure() -> None:
    """Without it the test is skipped and says so."""
    if not find() and apt.install("pgbouncer", "for the test behind it"):
        stop_service()


def stop_service() -> None:
    """The package starts a service at once and at each boot; the test wants the program alone."""
    if shutil.which("systemctl"):
        prefix = apt.as_root(os.geteuid()) or []
        subprocess.run([*prefix, "systemctl", "disable", "--now", "pgbouncer"], capture_output=True)


if __name__ == "__main__":
    ensure()
