"""What the hub is measured beside, each program in an environment of its own: pinned in `locks/`, made by pip once, and kept.

    python -m tests.bench.environments        # makes all of them

They stand under the user's cache directory, and never in the hub's environment. What cannot be made is not measured, and its row
says why: no network, or no Python that is new enough. `uv pip compile --universal --no-emit-index-url --python-version 3.11`
writes a lock anew.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SECONDS = 420  # for pip, all environments at once
KEPT_ELSEWHERE = (".pyenv/versions/*/bin", ".local/share/uv/python/*/bin")  # where people keep other versions of Python


class Unavailable(Exception):
    """Why a program cannot be measured here."""


LOCKS = Path(__file__).parent / "locks"
PROGRAMS = {
    "mem0": "mem0ai",
    "langgraph": "langgraph-checkpoint-postgres",
    "basic-memory": "basic-memory",
    "redis": "redis",
    "letta": "letta",
}
LEAST = {"basic-memory": (3, 12), "letta": (3, 12)}  # of Python; the others run wherever the hub does


def shown(name: str) -> str:
    """The program with its version."""
    lines = lock(name).read_text().splitlines()
    return next(line for line in lines if line.startswith(f"{PROGRAMS[name]}==")).replace("==", " ")


def lock(name: str) -> Path:
    return LOCKS / f"{name}.txt"


def folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memoryhub-bench"


def program(name: str, of: str = "python") -> Path:
    """A program of an environment that is there."""
    place = folder() / name
    if not is_made(name):
        reason = place.with_suffix(".failed")
        raise Unavailable(reason.read_text() if reason.exists() else "its environment was not made")
    return place / "bin" / of


def is_made(name: str) -> bool:
    made = folder() / name / "made"
    return made.exists() and made.read_text() == lock(name).read_text()


def make_all(names: Iterable[str] = PROGRAMS) -> None:
    """Makes what is not there, all at once; what fails says why in one line and is tried again the next time."""
    missing = [name for name in names if not is_made(name)]
    if missing:
        print(f"installing {', '.join(missing)} into {folder().name} of the cache directory …", flush=True)
    with ThreadPoolExecutor() as pool:
        for name, reason in zip(missing, pool.map(attempt, missing), strict=True):
            if reason:
                print(f"{name} will not be measured: {reason}", flush=True)


def attempt(name: str) -> str:
    """Why it could not be made; empty where it could."""
    failed = (folder() / name).with_suffix(".failed")
    failed.parent.mkdir(parents=True, exist_ok=True)
    try:
        make(name)
    except Unavailable as reason:
        shutil.rmtree(folder() / name, ignore_errors=True)
        failed.write_text(str(reason))
        return str(reason)
    failed.unlink(missing_ok=True)
    return ""


def make(name: str) -> None:
    place, options = folder() / name, ["--quiet", "--no-input", "--no-deps", "--prefer-binary"]
    run([interpreter(LEAST.get(name, (3, 11))), "-m", "venv", "--clear", str(place)])
    run([str(place / "bin" / "python"), "-m", "pip", "install", *options, "-r", str(lock(name))])
    (place / "made").write_text(lock(name).read_text())


def run(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"installing took longer than {SECONDS} s") from None
    except subprocess.CalledProcessError as failed:
        raise Unavailable(reason_in(failed.stderr)) from None


def reason_in(said: str) -> str:
    """One line of what pip said: no address and no folder of this machine."""
    if re.search("Connection|resolve|Network|timed out", said):
        return "the package index could not be reached"
    lines = [line for line in said.splitlines() if line.startswith("ERROR: ")]
    return re.sub(r"\S*/\S*", "…", lines[-1].removeprefix("ERROR: ")) if lines else "pip could not install it"


def interpreter(at_least: tuple[int, int]) -> str:
    """This Python, or the first other one that is new enough."""
    for found in (sys.executable, *others()):
        asked = "import sys; sys.exit(sys.version_info[:2] < " + str(at_least) + ")"
        if subprocess.run([found, "-c", asked], capture_output=True).returncode == 0:
            return found
    raise Unavailable(f"it needs Python {at_least[0]}.{at_least[1]} or newer, and there is none")


def others() -> Iterator[str]:
    names = [f"python3.{minor}" for minor in (12, 13, 14)]
    places = [
        os.environ.get("PATH", ""),
        *(str(place) for kept in KEPT_ELSEWHERE for place in sorted(Path.home().glob(kept))),
    ]
    for place in places:
        yield from (found for name in names if (found := shutil.which(name, path=place)))


if __name__ == "__main__":
    make_all()
