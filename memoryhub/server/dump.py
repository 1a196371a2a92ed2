"""The whole hub in one file, and back: a tar with a dump of the database and the key that signs sessions.

The dump is made and read by the tools of the embedded PostgreSQL, also for the server of DATABASE_URL, so a hub can
move from one to the other. Loading is one transaction: what was there before is replaced whole, or stays whole.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.db import connection

from memoryhub.errors import Invalid, Unavailable
from memoryhub.server import postgres_programs
from memoryhub.server.migrate import applied, understood

FORMAT = 1
SCHEMAS = ("public", "quarantine", "activity")
MANIFEST, DUMP, KEY = "manifest.json", "database.dump", "secret_key"
# Made by the server or by a superuser, and there already: a dump must not try to make them again.
NOT_OURS = (" SCHEMA - public ", " COMMENT - SCHEMA public ", " EXTENSION - ", " COMMENT - EXTENSION ", " ACL - ")

# Everything of ours, and nothing that belongs to an extension.
CLEAR = """
DROP SCHEMA IF EXISTS quarantine CASCADE;
DROP SCHEMA IF EXISTS activity CASCADE;
DO $clear$ DECLARE found record; BEGIN
  FOR found IN SELECT c.oid::regclass AS name FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
  LOOP EXECUTE 'DROP TABLE IF EXISTS ' || found.name || ' CASCADE'; END LOOP;
  FOR found IN SELECT p.oid::regprocedure AS name FROM pg_proc p
    WHERE p.pronamespace = 'public'::regnamespace AND p.proowner = (SELECT oid FROM pg_roles WHERE rolname = current_user)
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
  LOOP EXECUTE 'DROP FUNCTION IF EXISTS ' || found.name || ' CASCADE'; END LOOP;
END $clear$;
"""


def write(to: Path) -> dict[str, Any]:
    """Write the whole hub to a file, readable by its owner alone; a file of that name is replaced once all is there."""
    making = to.with_name(f".{to.name}.{os.getpid()}")
    about = manifest()
    try:
        with tempfile.TemporaryDirectory(prefix="memoryhub-backup-", dir=to.parent) as folder:
            dump = Path(folder, DUMP)
            options = ["--format=custom", "--no-owner", "--no-privileges", *(f"--schema={name}" for name in SCHEMAS)]
            _tool("pg_dump", *options, f"--file={dump}")
            with open(os.open(making, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                _pack(file, about, dump)
                file.flush()
                os.fsync(file.fileno())
        making.replace(to)
    except OSError as error:
        raise Unavailable(f"{to} could not be written ({error.strerror}).") from error
    finally:
        making.unlink(missing_ok=True)
    return {"file": str(to), "bytes": to.stat().st_size, **about}


def manifest() -> dict[str, Any]:
    return {
        "format": FORMAT,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "migrations": sorted(applied()),
    }


def _pack(file: IO[bytes], about: dict[str, Any], dump: Path) -> None:
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, content in ((MANIFEST, json.dumps(about, indent=1)), (KEY, settings.SECRET_KEY)):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content.encode()), 0o600
            tar.addfile(entry, io.BytesIO(content.encode()))
        tar.add(dump, arcname=DUMP)


def read(source: Path) -> dict[str, Any]:
    """Replace the whole hub by what a file holds, in one transaction."""
    with tempfile.TemporaryDirectory(prefix="memoryhub-restore-") as folder:
        about, key = _unpack(source, Path(folder))
        _load(Path(folder, DUMP))
    _keep_key(key)
    return about


def _unpack(source: Path, folder: Path) -> tuple[dict[str, Any], str]:
    try:
        with tarfile.open(source, "r:") as tar:
            about = json.loads(_content(tar, MANIFEST).read())
            key = _content(tar, KEY).read().decode()
            with open(folder / DUMP, "wb") as out, _content(tar, DUMP) as dump:
                while part := dump.read(2**20):
                    out.write(part)
    except FileNotFoundError:
        raise Invalid(f"There is no file {source}.") from None
    except (tarfile.TarError, KeyError, ValueError, IsADirectoryError) as error:
        raise Invalid(f"{source} is no backup of memoryhub, or it is damaged.") from error
    newer = set(about.get("migrations", [])) - understood()
    if about.get("format") != FORMAT or newer:
        raise Invalid(f"{source} was made by a newer memoryhub: install that version first, then restore.")
    return about, key


def _content(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    found = tar.extractfile(name)
    if found is None:
        raise KeyError(name)
    return found


def _load(dump: Path) -> None:
    listed = _tool("pg_restore", "--list", str(dump)).splitlines(keepends=True)
    wanted = dump.with_name("wanted")
    wanted.write_text("".join(line for line in listed if not any(part in line for part in NOT_OURS)))
    script = dump.with_name("script.sql")
    options = ["--no-owner", "--no-privileges", f"--use-list={wanted}"]
    _tool("pg_restore", *options, f"--file={script}", str(dump))
    connection.close()  # its locks would make us wait for ourselves
    with open(script, "rb") as lines:
        _run_script(_understood(lines))


def _understood(lines: IO[bytes]) -> Iterator[bytes]:
    """The script without settings that servers older than the tools do not know; data is passed on as it is."""
    yield CLEAR.encode()
    in_head = True
    for line in lines:
        in_head = in_head and not line.startswith((b"COPY ", b"CREATE "))
        if not (in_head and line.startswith(b"SET transaction_timeout")):
            yield line


def _run_script(lines: Iterator[bytes]) -> None:
    options = ["--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1", "--file=-"]
    with tempfile.TemporaryFile() as told:
        psql = subprocess.Popen(
            [str(postgres_programs.binaries() / "psql"), *options], env=_environment(), stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=told,
        )  # fmt: skip
        assert psql.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it stopped at an error, and says so
            psql.stdin.writelines(lines)
        with contextlib.suppress(BrokenPipeError):
            psql.stdin.close()
        if psql.wait():
            told.seek(0)
            reason = _telling(told.read().decode(errors="replace"))
            raise Unavailable(f"The backup could not be loaded, everything is as it was: {reason}")


def _keep_key(key: str) -> None:
    if os.environ.get("SECRET_KEY"):
        return  # given by whoever runs the hub; theirs counts
    kept = settings.DATA_DIR / "secret_key"
    kept.unlink(missing_ok=True)
    with os.fdopen(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(key)


# ---- the tools


def _environment() -> dict[str, str]:
    """Where the tools find the database; by environment, so that no password stands in a list of processes."""
    to = connection.settings_dict
    named = {"PGHOST": to["HOST"], "PGPORT": to["PORT"], "PGUSER": to["USER"], "PGPASSWORD": to["PASSWORD"]}
    options = {
        f"PG{name.upper()}": str(to["OPTIONS"][name]) for name in ("sslmode", "sslrootcert") if name in to["OPTIONS"]
    }
    given = {name: str(value) for name, value in named.items() if value}
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "PGDATABASE": to["NAME"], **given, **options}


def _tool(tool: str, *arguments: str) -> str:
    done = subprocess.run(
        [str(postgres_programs.binaries() / tool), *arguments], env=_environment(), capture_output=True, text=True
    )
    if done.returncode:
        raise Unavailable(f"{tool} failed: {_telling(done.stderr)}")
    return done.stdout


def _telling(errors: str) -> str:
    lines = [line.strip() for line in errors.splitlines() if "rror:" in line or "ERROR:" in line]
    return (lines or errors.strip().splitlines() or ["no reason given"])[0]
