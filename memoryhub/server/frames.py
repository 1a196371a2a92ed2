"""Room for Python's frames, so that no depth of calls asks the system for memory again and again."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType

STACK_SIZE = 33_000  # of a frame, in objects: a little more than a quarter of a MiB


def with_room(call: Callable[[], None]) -> None:
    """Calls it with a quarter of a MiB at hand for the frames of what it calls.

    Python keeps frames in pieces of 16 KiB, and gives a piece back to the system when its first frame ends. A loop at whose
    depth each call begins a piece asks for memory each time: the page of a hundred agents spent half of its time so. A frame
    that claims a large stack, which it never touches, gets a piece of up to twice its size, and the others lie behind it.
    """
    FunctionType(_call.__code__.replace(co_stacksize=STACK_SIZE), {})(call)


def _call(call: Callable[[], None]) -> None:
    call()
