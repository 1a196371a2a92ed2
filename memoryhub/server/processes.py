"""Ending the hub's processes with the one that started them.

Linux ends a child with its parent when the child asks for it. For other systems each process writes a note into the data
directory, and the next start ends processes that have one and are still the same.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import sys
from pathlib import Path

import psutil

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Let this process be killed when `parent` dies; end at once if it is dead already."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def notes_folder(data_dir: Path) -> Path:
    """Where processes write their notes: a file for each, named by its number, with its start time."""
    return data_dir / "processes"


def write_note(data_dir: Path) -> None:
    """Write down that this process belongs to the hub of this data directory."""
    notes_folder(data_dir).mkdir(exist_ok=True)
    (notes_folder(data_dir) / str(os.getpid())).write_text(repr(psutil.Process().create_time()))


def end_leftover_processes(data_dir: Path) -> None:
    """End processes of an earlier hub: those with a note whose start time is still the noted one. The caller has hub.lock."""
    ended = []
    for note in notes_folder(data_dir).glob("*"):
        with contextlib.suppress(OSError, ValueError, psutil.Error):
            process = psutil.Process(int(note.name))
            if abs(process.create_time() - float(note.read_text())) < 0.01 and process.pid != os.getpid():
                process.kill()
                ended.append(process)
        note.unlink(missing_ok=True)
    psutil.wait_procs(ended, timeout=5)


def delete_notes(data_dir: Path) -> None:
    """Delete the notes of all processes, once they have ended."""
    for note in notes_folder(data_dir).glob("*"):
        note.unlink(missing_ok=True)


def share_memory() -> None:
    """Called before children are forked, so that the pages they share with this process stay shared.

    The garbage collector would write to every object, and so copy its page; frozen objects it leaves alone. Memory that
    `malloc` holds free goes back, or each child would hold it too. A start has switched the collector off (`with_django`).
    """
    gc.collect()
    gc.freeze()
    gc.enable()
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # not every C library has it
            ctypes.CDLL(None).malloc_trim(0)
