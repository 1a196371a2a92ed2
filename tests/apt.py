"""Packages of the distribution, for what pip cannot bring: `python -m tests.apt PACKAGE PURPOSE`.

Only where nobody has to be asked: as root, or with a sudo that wants no password. The Makefile calls it before .venv
exists, so it needs the standard library alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

OPTIONS = [
    "-qq",
    "-o",
    "DPkg::Lock::Timeout=120",
    "-o",
    "Acquire::http::Timeout=30",
    "-o",
    "Acquire::https::Timeout=30",
]


def as_root(uid: int) -> list[str] | None:
    """What to write before a command so that root runs it; None without apt-get, or where sudo would ask."""
    if not shutil.which("apt-get"):
        return None
    if uid == 0:
        return []
    sudo = ["sudo", "-n"]
    if shutil.which("sudo") and subprocess.run([*sudo, "true"], capture_output=True).returncode == 0:
        return sudo
    return None


def install(package: str, purpose: str, uid: int | None = None, instead: str = "") -> bool:
    """Says in one line what it installs, and why where that fails; False where it could not or may not. `instead` is for
    distributions that do not have the package."""
    prefix = as_root(os.geteuid() if uid is None else uid)
    if prefix is None:
        return False
    print(f"Installing {package}{instead and f' or {instead}'} with apt-get, {purpose} …", flush=True)
    apt = [*prefix, "/usr/bin/env", "DEBIAN_FRONTEND=noninteractive", "apt-get", *OPTIONS]
    subprocess.run([*apt, "update"], capture_output=True)  # lists that could not be renewed may still do
    for name in filter(None, (package, instead)):
        done = subprocess.run(
            [*apt, "install", "--yes", "--no-install-recommends", name], capture_output=True, text=True
        )
        if done.returncode == 0:
            return True
    print(f"apt-get could not install {name}: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")
    return False


if __name__ == "__main__":
    sys.exit(not install(*sys.argv[1:]))
