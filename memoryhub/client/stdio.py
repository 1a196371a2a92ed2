"""Lines over the pipes that an MCP client starts its server with, read and written in the loop itself.

The SDK's own streams wake a thread three times for each call, half of what a tool costs that does nothing.
"""

from __future__ import annotations

import contextlib
import os
import select
import stat
import sys
from collections.abc import AsyncIterator

import anyio


class LinesIn:
    """The lines that arrive, until the other side is gone."""

    def __init__(self, fd: int):
        self._fd = fd

    async def __aiter__(self) -> AsyncIterator[str]:
        begun: list[bytes] = []
        while arrived := await self._read():
            *whole, rest = arrived.split(b"\n")
            for line in whole:
                yield b"".join([*begun, line]).decode("utf-8", "replace")
                begun = []
            begun.append(rest)
        if last := b"".join(begun):
            yield last.decode("utf-8", "replace")

    async def _read(self) -> bytes:
        await anyio.wait_readable(self._fd)
        return os.read(self._fd, 65536)


class LinesOut:
    """Sends what was written when it is flushed; waits while the other side does not read."""

    def __init__(self, fd: int):
        self._fd, self._written = fd, b""
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)

    async def write(self, text: str) -> None:
        self._written += text.encode()

    async def flush(self) -> None:
        rest, self._written = memoryview(self._written), b""
        while rest:
            if not self._poll.poll(0):
                await anyio.wait_writable(self._fd)
            rest = rest[os.write(self._fd, rest[: select.PIPE_BUF]) :]  # so much never blocks where any can be written


def pipes() -> tuple[LinesIn, LinesOut] | tuple[None, None]:
    """The pipes of this process, where it has such: a terminal or a file is left to the SDK.

    What else reads finds nothing from now on, and what else prints goes to the log, as with the SDK's own streams.
    """
    if sys.platform == "win32" or not (is_pipe(0) and is_pipe(1)):
        return None, None
    coming, going = os.dup(0), os.dup(1)
    with contextlib.suppress(OSError), open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
    return LinesIn(coming), LinesOut(going)


def is_pipe(fd: int) -> bool:
    try:
        mode = os.fstat(fd).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
