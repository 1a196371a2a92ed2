"""Tries many changes on what was prepared once, each as if the others had never been made."""

from __future__ import annotations

import contextlib
import copy
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

from django.db import transaction

from memoryhub.db.cache import caches


@contextlib.contextmanager
def taken_back(folder: Path | None = None) -> Iterator[None]:
    """What is done inside is undone at the end: in the database, below `folder`, and in the caches, which would take the next
    change for this one, because numbers and revisions are given again."""
    with contextlib.ExitStack() as at_the_end:
        at_the_end.callback(empty_caches)
        if folder:
            before = at_the_end.enter_context(tempfile.TemporaryDirectory())
            shutil.copytree(folder, before, symlinks=True, dirs_exist_ok=True)
            at_the_end.callback(_put_back, Path(before), folder)
        with transaction.atomic():
            yield
            transaction.set_rollback(True)


def copied(scene: SimpleNamespace) -> SimpleNamespace:
    """A change may change the rows that it is given, which the next one needs as they were."""
    return SimpleNamespace(**{name: copy.copy(value) for name, value in vars(scene).items()})


def empty_caches() -> None:
    for cache in caches.values():
        cache.clear()


def _put_back(before: Path, folder: Path) -> None:
    """Directories that were there before stay the same ones: mounts know theirs."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if (before / path.relative_to(folder)).is_dir() and not path.is_symlink():
            continue
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    shutil.copytree(before, folder, symlinks=True, dirs_exist_ok=True)
