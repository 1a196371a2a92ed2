"""One connection of a client: what came, what has to be sent, and by when it must have moved on. Knows nothing of requests
beyond their head and body."""

from __future__ import annotations

import contextlib
import enum
import io
import socket
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from typing import IO, Any

from memoryhub.server.http.http1 import ChunkedReader, Head

READ_BYTES = 64 * 1024
SEND_BYTES = 1 << 20  # to one client, before the others have their turn
IN_MEMORY = 1 << 20  # of a body; what is more lies on disk until the request is answered
GRACE = 10.0  # seconds that a head, a body or a reader may take
STALLED = 30.0  # seconds without progress of a reader; the system takes the next bytes only when a third of its buffer is read
SLOWEST = 8 * 1024  # bytes a second, on the average beyond the grace
IDLE = 75.0  # seconds between two requests; longer than proxies keep their connections to us


class State(enum.IntEnum):
    """What the connection waits for."""

    HEAD = 0  # a request
    BODY = 1  # the rest of a request
    WAITING = 2  # the worker's thread
    SENDING = 3  # the client, to take the answer
    LINGERING = 4  # the client, to hear the refusal before the connection goes
    CLOSED = 5


class Connection:
    """A socket with its buffers; `deadline` is when it has to be in its next state."""

    __slots__ = (
        "address", "allowed", "body", "buffer", "chunks", "client", "deadline", "head", "heard", "interest", "is_chunked", "is_slow",
        "is_unread", "keep_alive", "left", "line", "moved", "number", "outgoing", "pieces", "progress", "raw", "rest", "socket",
        "state", "was_answered",
    )  # fmt: skip

    def __init__(self, connected: socket.socket, address: str, now: float) -> None:
        self.socket, self.address, self.number = connected, address, connected.fileno()
        self.client = address  # behind a proxy, the address that it names
        self.line = address  # in which line a request waits for its turn
        self.state = State.HEAD
        self.buffer = bytearray()
        self.outgoing: deque[memoryview | IO[bytes]] = deque()
        self.pieces: Iterator[bytes] | None = None  # of an answer that is made while it is sent
        self.rest: Any = None  # has to be closed when such an answer ends
        self.interest = 0  # what the selector was asked to report
        self.keep_alive = True
        self.deadline = now + GRACE
        self.heard = now  # when something came last
        self.was_answered = False  # at least once
        self.begin_request()

    def begin_request(self) -> None:
        """Forget the request before."""
        self.head: Head | None = None
        self.raw = b""  # the bytes of the head
        self.body: IO[bytes] | None = None
        self.chunks: ChunkedReader | None = None
        self.left = 0  # bytes of the body that have not come
        # Bytes of a body or of an answer, and when there were more of them; of a head, when it began.
        self.moved, self.progress = 0, 0.0
        self.allowed: int | None = None  # bytes of the body, once it is known who sends it
        self.is_slow = False  # to answer it may take long
        self.is_chunked = False  # the answer
        self.is_unread = False  # the client may still be sending what nobody reads

    # ---- what comes in ----

    def receive(self) -> bool | None:
        """Read what is there into the buffer: whether there was anything, None when the client has hung up or ended."""
        try:
            data = self.socket.recv(READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            return None
        if not data:
            return None
        self.buffer += data
        self.heard = time.monotonic()
        return True

    def begin_body(self, head: Head, now: float) -> None:
        self.state, self.head = State.BODY, head
        self.left = head.length
        self.chunks = ChunkedReader() if head.is_chunked else None
        self.body = io.BytesIO()
        self.begin_moving(now)

    def take_body(self) -> bool:
        """Move what has come of the body out of the buffer; whether it is complete."""
        if self.chunks is not None:
            pieces, is_complete = self.chunks.feed(self.buffer)
            self._store(b"".join(pieces))
            if is_complete:
                self.chunks = None
            return is_complete
        if self.buffer:
            self._store(bytes(self.buffer[: self.left]))
            taken = min(self.left, len(self.buffer))
            del self.buffer[:taken]
            self.left -= taken
        return not self.left

    def as_it_came(self) -> bytes | None:
        """The bytes of a request that waits, for another worker to read; None where they are not at hand any more."""
        head = self.head
        if head is None or head.is_chunked or head.expects_continue or self.is_unread or self.allowed is not None:
            return None
        return self.raw + (self.body.getvalue() if isinstance(self.body, io.BytesIO) else b"") + self.buffer

    def _store(self, data: bytes) -> None:
        assert self.body is not None
        if self.moved <= IN_MEMORY < self.moved + len(data):
            self.body = _on_disk(self.body)
        self.body.write(data)
        self._note_progress(len(data))

    # ---- what goes out ----

    def put(self, head: bytes, body: bytes) -> None:
        """Append an answer to what has to be sent."""
        if len(body) <= READ_BYTES:
            self.outgoing.append(memoryview(head + body))
        else:
            self.outgoing += (memoryview(head), memoryview(body))

    def send(self) -> bool:
        """Send what the client takes now, up to a limit; whether everything has gone. OSError if the client is gone."""
        sent = 0
        while self.outgoing and sent < SEND_BYTES:
            piece = self.outgoing[0]
            if not isinstance(piece, memoryview):
                piece = memoryview(piece.read(READ_BYTES))
                if not piece:
                    self.outgoing.popleft().close()  # type: ignore[union-attr]
                    continue
                self.outgoing.appendleft(piece)
            try:
                count = self.socket.send(piece)
            except (BlockingIOError, InterruptedError):
                break
            sent += count
            if count == len(piece):
                self.outgoing.popleft()
            else:
                self.outgoing[0] = piece[count:]
        self._note_progress(sent)
        return not self.outgoing

    @property
    def bytes_in_memory(self) -> int:
        """What waits to be sent and does not lie on disk."""
        return sum(len(piece) for piece in self.outgoing if isinstance(piece, memoryview))

    def end_pieces(self) -> None:
        """An answer that was made while it was sent is complete."""
        rest, self.pieces, self.rest = self.rest, None, None
        if hasattr(rest, "close"):
            rest.close()

    def spool(self) -> None:
        """Move what has to be sent from memory to disk."""
        views = [piece for piece in self.outgoing if isinstance(piece, memoryview)]
        if len(views) < len(self.outgoing):
            return  # it lies there already
        file = tempfile.TemporaryFile()  # noqa: SIM115  closed when it is sent, or with the connection
        for view in views:
            file.write(view)
        file.seek(0)
        self.outgoing = deque([file])

    # ---- time ----

    def begin_moving(self, now: float) -> None:
        self.moved, self.progress = 0, now
        self.deadline = now + GRACE

    def _note_progress(self, count: int) -> None:
        if count:
            self.moved += count
            self.progress = time.monotonic()

    def is_late(self, now: float) -> bool:
        """Whether the client has used up its time; a large body or answer has more of it."""
        if self.state == State.SENDING and not self.outgoing:
            return False  # the worker makes its next piece
        if self.state in (State.BODY, State.SENDING):
            stalled = STALLED if self.state == State.SENDING else GRACE
            return now > min(self.deadline + self.moved / SLOWEST, self.progress + stalled)
        return now > self.deadline

    def close(self) -> None:
        """Close the socket and everything that was kept for it."""
        self.state = State.CLOSED
        for piece in (*self.outgoing, self.body, self.rest):
            if hasattr(piece, "close"):
                with contextlib.suppress(Exception):  # an answer's own end must not keep the connection
                    piece.close()
        self.outgoing.clear()
        self.pieces = self.rest = self.body = None
        with contextlib.suppress(OSError):
            self.socket.close()


def _on_disk(body: IO[bytes]) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115  closed with the request
    body.seek(0)
    while piece := body.read(READ_BYTES):
        file.write(piece)
    return file
