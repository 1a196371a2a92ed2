"""Where the embedded PostgreSQL of a data directory is reached. Apart from its start and stop: the settings ask for it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

DATABASE = ROLE = "memoryhub"
PORT = "5432"  # only names the socket; the server listens on no network address
MAX_SOCKET_PATH = 99  # sun_path holds 108 bytes on Linux, 104 on macOS


def cluster_of(data_dir: Path) -> Path:
    """The folder of the database."""
    return data_dir / "postgres"


def address(data_dir: Path) -> dict[str, str]:
    """The entry for Django's DATABASES that reaches the server of this data directory."""
    return {"NAME": DATABASE, "USER": ROLE, "PASSWORD": "", "HOST": str(socket_dir(data_dir)), "PORT": PORT}


def socket_dir(data_dir: Path) -> Path:
    """`run/` in the data directory, or a short private directory where that path is too long for a socket."""
    inside = data_dir / "run"
    if len(os.fsencode(inside / f".s.PGSQL.{PORT}")) <= MAX_SOCKET_PATH:
        return inside
    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:12]
    return Path("/tmp") / f"memoryhub-{os.geteuid()}-{digest}"  # noqa: S108  private: mode 0700 and owner are checked
