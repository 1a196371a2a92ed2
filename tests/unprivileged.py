"""Root without its right to read everything, so that tests of unreadable files run everywhere."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator

VERSION_3 = 0x20080522
READS_EVERYTHING = 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH


class _Head(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


@contextlib.contextmanager
def unprivileged() -> Iterator[None]:
    """This thread obeys the modes of files meanwhile. Programs that it starts as root do not."""
    if sys.platform != "linux":
        yield
        return
    head, sets, libc = _Head(VERSION_3, 0), (_Sets * 2)(), ctypes.CDLL(None, use_errno=True)
    assert libc.capget(ctypes.byref(head), sets) == 0
    before = sets[0].effective
    sets[0].effective = before & ~READS_EVERYTHING
    assert libc.capset(ctypes.byref(head), sets) == 0
    try:
        yield
    finally:
        sets[0].effective = before
        assert libc.capset(ctypes.byref(head), sets) == 0
