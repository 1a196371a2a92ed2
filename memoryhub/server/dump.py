"""Backup and restore of the whole hub: a tar with a dump of the database and the key that signs sessions.

The programs of the embedded PostgreSQL make and load the dump, also for the server of DATABASE_URL, so a hub can move from
one to the other. Loading is one transaction: everything that was there before is replaced, or nothing.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.db import connection

from memoryhub.domain import nodes, spaces
from memoryhub.errors import Invalid, Unavailable
from memoryhub.server import postgres_programs
from memoryhub.server.migrate import applied_migrations, replaceable_migrations

FORMAT = 1
SCHEMAS = ("public", "quarantine", "activity")
MANIFEST, DUMP, KEY = "manifest.json", "database.dump", "secret_key"
# Entries of a dump that are not loaded: the server or a superuser made them, and they are there already.
SKIPPED_ENTRIES = (
    " SCHEMA - public ",
    " COMMENT - SCHEMA public ",
    " EXTENSION - ",
    " COMMENT - EXTENSION ",
    " ACL - ",
)

# What a server older than the programs does not know, and what PostgreSQL 15.20 notes of each column.
OF_SOME_SERVERS = re.compile(rb"SET transaction_timeout|ALTER TABLE ONLY \S+ ALTER COLUMN \S+ SET \(pg_attver=\d+\);")

# Drops all tables and functions of the hub, and none that belongs to an extension.
CLEAR_DATABASE = """
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


def require_own_connection() -> None:
    """Refuses where DATABASE_URL leads to PgBouncer: pg_dump and psql set their session's search path, which then stays in a
    connection that nodes get next."""
    if settings.PGBOUNCER:
        raise Invalid(
            "Backups and restores need a DATABASE_URL that leads to PostgreSQL itself, and MEMORYHUB_PGBOUNCER=false: "
            "through PgBouncer they would break the connections of running nodes."
        )


def write(to: Path) -> dict[str, Any]:
    """Write the whole hub to a file that only its owner can read; an older file of that name is replaced at the end.

    Answers the file, its size and the manifest.
    """
    unfinished = to.with_name(f".{to.name}.{os.getpid()}")
    about = manifest()
    try:
        with tempfile.TemporaryDirectory(prefix="memoryhub-backup-", dir=to.parent) as folder:
            dump = Path(folder, DUMP)
            options = ["--format=custom", "--no-owner", "--no-privileges", *(f"--schema={name}" for name in SCHEMAS)]
            _tool("pg_dump", *options, f"--file={dump}")
            with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                _pack(file, about, dump)
                file.flush()
                os.fsync(file.fileno())
        unfinished.replace(to)
    except OSError as error:
        raise Unavailable(f"{to} could not be written ({error.strerror}).") from error
    finally:
        with contextlib.suppress(PermissionError):  # of the folder, in which nothing was made then
            unfinished.unlink(missing_ok=True)
    return {"file": str(to), "bytes": to.stat().st_size, **about}


def manifest() -> dict[str, Any]:
    """What a backup says about itself: format, time, and the migrations of its database."""
    return {
        "format": FORMAT,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "migrations": sorted(applied_migrations()),
    }


def _pack(file: IO[bytes], about: dict[str, Any], dump: Path) -> None:
    key = nodes.key_of_all(was_given=bool(os.environ.get("SECRET_KEY"))) or settings.SECRET_KEY
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, content in ((MANIFEST, json.dumps(about, indent=1)), (KEY, key)):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content.encode()), 0o600
            tar.addfile(entry, io.BytesIO(content.encode()))
        tar.add(dump, arcname=DUMP)


def read(source: Path, keep: Callable[[], str]) -> tuple[dict[str, Any], str]:
    """Replace the whole hub by the content of a backup, in one transaction; answers its manifest and what `keep` answered.

    `keep` writes what is there into a file, once the backup was found to be whole. Where loading fails all the same, that file
    goes again: nothing was replaced.
    """
    with tempfile.TemporaryDirectory(prefix="memoryhub-restore-") as folder:
        about, key = _unpack(source, Path(folder))
        script = _as_script(Path(folder, DUMP), source)
        kept = keep()
        try:
            _load(script)
        except BaseException:
            if kept:
                Path(kept).unlink(missing_ok=True)
            raise
    _write_key(key)
    return about, kept


def look_into(source: Path) -> dict[str, Any]:
    """The manifest of a backup."""
    with tempfile.TemporaryDirectory(prefix="memoryhub-restore-") as folder:
        return _unpack(source, Path(folder), only_manifest=True)[0]


def _unpack(source: Path, folder: Path, *, only_manifest: bool = False) -> tuple[dict[str, Any], str]:
    try:
        with tarfile.open(source, "r:") as tar:
            about = json.loads(_content(tar, MANIFEST).read())
            key = _content(tar, KEY).read().decode()
            if not only_manifest:
                _copy_out(tar, folder / DUMP)
    except FileNotFoundError:
        raise Invalid(f"There is no file {source}.") from None
    except PermissionError as error:
        raise Invalid(f"{source} cannot be read: {error.strerror}.") from error
    except (tarfile.TarError, KeyError, ValueError, IsADirectoryError) as error:
        raise Invalid(f"{source} is no backup of memoryhub, or it is damaged.") from error
    newer = set(about.get("migrations", [])) - replaceable_migrations()
    if about.get("format") != FORMAT or newer:
        raise Invalid(f"{source} was created by a newer memoryhub: install that version first, then restore.")
    return about, key


def _copy_out(tar: tarfile.TarFile, to: Path) -> None:
    with open(to, "wb") as out, _content(tar, DUMP) as dump:
        while part := dump.read(2**20):
            out.write(part)


def _content(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    found = tar.extractfile(name)
    if found is None:
        raise KeyError(name)
    return found


def _as_script(dump: Path, source: Path) -> Path:
    """The dump as SQL; Invalid where the backup that it comes from is damaged."""
    try:
        return _to_sql(dump)
    except Unavailable as error:
        if os.strerror(errno.ENOSPC) in error.message:
            raise
        raise Invalid(
            f"{source} is damaged, and nothing was changed: restore another backup. ({error.message})"
        ) from error


def _to_sql(dump: Path) -> Path:
    entries = _tool("pg_restore", "--list", str(dump)).splitlines(keepends=True)
    chosen = dump.with_name("entries")
    chosen.write_text("".join(line for line in entries if not any(part in line for part in SKIPPED_ENTRIES)))
    script = dump.with_name("script.sql")
    options = ["--no-owner", "--no-privileges", f"--use-list={chosen}"]
    _tool("pg_restore", *options, f"--file={script}", str(dump))
    return script


def _load(script: Path) -> None:
    connection.close()  # else psql waits for the locks of this connection
    with open(script, "rb") as lines:
        _run_script(_script_for_server(lines))


def _script_for_server(lines: IO[bytes]) -> Iterator[bytes]:
    """The script, without settings that not every server knows; lines of data stay as they are."""
    yield CLEAR_DATABASE.encode()
    yield b"\n"
    in_data = False
    for line in lines:
        if in_data or not OF_SOME_SERVERS.match(line):
            yield line
        in_data = line != b"\\.\n" if in_data else line.startswith(b"COPY ")
    yield f"\nUPDATE public.memoryhub_space SET {spaces.NEXT_REVISION};\n".encode()  # caches of before hold nothing of it


def _run_script(lines: Iterator[bytes]) -> None:
    options = ["--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1", "--file=-"]
    with tempfile.TemporaryFile() as errors:
        psql = subprocess.Popen(
            [str(postgres_programs.binaries() / "psql"), *options], env=_environment(), stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=errors,
        )  # fmt: skip
        assert psql.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # psql stopped at an error, which is raised below
            psql.stdin.writelines(lines)
        with contextlib.suppress(BrokenPipeError):
            psql.stdin.close()
        if psql.wait():
            errors.seek(0)
            reason = _error_line(errors.read().decode(errors="replace"))
            raise Unavailable(f"The backup could not be loaded, everything is as it was: {reason}")


def _write_key(key: str) -> None:
    if os.environ.get("SECRET_KEY"):
        return  # the hub uses the key from its environment
    keep_secret_key(key)
    settings.SECRET_KEY = key  # what this process digests from now on, the restored hub has to know again


def keep_secret_key(key: str) -> None:
    """Writes the key into the data directory, for commands and the next start."""
    path = settings.DATA_DIR / "secret_key"
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(key)


# ---- the programs of PostgreSQL


def _environment() -> dict[str, str]:
    """The address of the database for the programs; by environment, so that no list of processes shows the password."""
    to = connection.settings_dict
    address = {"PGHOST": to["HOST"], "PGPORT": to["PORT"], "PGUSER": to["USER"], "PGPASSWORD": to["PASSWORD"]}
    taken = ("sslmode", "sslrootcert", "target_session_attrs")
    options = {
        f"PG{name.upper().replace('_', '')}": str(to["OPTIONS"][name]) for name in taken if name in to["OPTIONS"]
    }
    address = {name: str(value) for name, value in address.items() if value}
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "PGDATABASE": to["NAME"], **address, **options}


def _tool(tool: str, *arguments: str) -> str:
    done = subprocess.run(
        [str(postgres_programs.binaries() / tool), *arguments], env=_environment(), capture_output=True, text=True
    )
    if done.returncode:
        raise Unavailable(f"{tool} failed: {_error_line(done.stderr)}")
    return done.stdout


def _error_line(errors: str) -> str:
    lines = [line.strip() for line in errors.splitlines() if "rror:" in line or "ERROR:" in line]
    return (lines or errors.strip().splitlines() or ["no reason given"])[0]
