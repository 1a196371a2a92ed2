"""TCP links between the nodes and the database, which can be cut: what is on the way is held, or connections are dropped."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Link:
    """A port of this machine that leads to wherever `connect` goes."""

    def __init__(self, connect: Callable[[], Awaitable[Stream]]) -> None:
        self.connect, self.port, self.is_cut = connect, 0, False
        self.writers: set[asyncio.StreamWriter] = set()
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        threading.Thread(target=self._run, args=(ready,), daemon=True).start()
        ready.wait()

    def _run(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self.loop)
        self.flowing = asyncio.Event()
        self.flowing.set()
        server = self.loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        self.loop.run_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.add(writer)
        try:
            await self.flowing.wait()
            if self.is_cut:
                return
            there, back = await self.connect()
            self.writers.add(back)
            await asyncio.gather(self._pump(reader, back), self._pump(there, writer))
        except OSError:
            pass
        finally:
            writer.close()
            self.writers.discard(writer)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1 << 16):
                await self.flowing.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()
            self.writers.discard(writer)

    def hold(self) -> None:
        """Nothing arrives any more, and nobody is told."""
        self.loop.call_soon_threadsafe(self.flowing.clear)

    def cut(self) -> None:
        """Every connection breaks, and new ones are closed at once."""

        def now() -> None:
            self.is_cut = True
            for writer in list(self.writers):
                writer.transport.abort()

        self.loop.call_soon_threadsafe(now)

    def mend(self) -> None:
        def now() -> None:
            self.is_cut = False
            self.flowing.set()

        self.loop.call_soon_threadsafe(now)
