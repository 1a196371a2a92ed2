"""`MemoryHub` and `AsyncMemoryHub`: the hub from plain Python. They differ in how they send and wait, and in nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any, TypeVar

import httpx

from . import wire
from .steps import Received, Steps
from .verbs import Proposal, Verbs

__all__ = ["AsyncMemoryHub", "MemoryHub", "Proposal"]

R = TypeVar("R")


class MemoryHub(Verbs):
    """A hub, its address and an agent's token. Thread-safe; keeps its connections open until `close()`."""

    _transport = httpx.HTTPTransport
    _sleep: Callable[[float], Any] = staticmethod(time.sleep)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> MemoryHub:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _run(self, steps: Steps[R]) -> R:
        received = None
        while True:
            try:
                step = steps.send(received)
            except StopIteration as end:
                return end.value
            received = self._exchange(step) if isinstance(step, httpx.Request) else self._sleep(step)

    def _exchange(self, request: httpx.Request) -> Received | httpx.HTTPError:
        body = wire.Body(self.settings.timeout)
        try:
            with contextlib.closing(self._http.handle_request(request)) as response:
                for chunk in response.iter_bytes():
                    body.add(chunk)
                return response.status_code, wire.headers_of(response), bytes(body)
        except httpx.HTTPError as problem:
            return problem


class AsyncMemoryHub(Verbs):
    """A hub for asyncio programs, every call awaited; one per event loop, closed with `await hub.close()`."""

    _transport = httpx.AsyncHTTPTransport
    _sleep: Callable[[float], Any] = staticmethod(asyncio.sleep)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncMemoryHub:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def _run(self, steps: Steps[R]) -> R:
        received = None
        while True:
            try:
                step = steps.send(received)
            except StopIteration as end:
                return end.value
            received = await (self._exchange(step) if isinstance(step, httpx.Request) else self._sleep(step))

    async def _exchange(self, request: httpx.Request) -> Received | httpx.HTTPError:
        body = wire.Body(self.settings.timeout)
        try:
            async with contextlib.aclosing(await self._http.handle_async_request(request)) as response:
                async for chunk in response.aiter_bytes():
                    body.add(chunk)
                return response.status_code, wire.headers_of(response), bytes(body)
        except httpx.HTTPError as problem:
            return problem
