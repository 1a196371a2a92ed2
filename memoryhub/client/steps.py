"""Calls written once for both clients: a verb makes steps, `MemoryHub` carries them out and `AsyncMemoryHub` awaits them.

Steps are a generator. It yields a request, and gets what came back or the error of the connection; or it yields a pause in
seconds. What it returns is the result of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

import httpx

if TYPE_CHECKING:
    from .hub import AsyncMemoryHub, MemoryHub

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

Received = tuple[int, dict[str, str], bytes]  # status, headers, body
Steps = Generator[httpx.Request | float, Any, R]


class Verb(Protocol[P, R_co]):
    """The type of a verb: a method that returns the result, and of an `AsyncMemoryHub` a coroutine of it."""

    @overload
    def __get__(self, hub: MemoryHub, owner: Any = None) -> Callable[P, R_co]: ...
    @overload
    def __get__(self, hub: AsyncMemoryHub, owner: Any = None) -> Callable[P, Coroutine[Any, Any, R_co]]: ...
    @overload
    def __get__(self, hub: object, owner: Any = None) -> Callable[..., Any]: ...


def verb(steps: Callable[Concatenate[Any, P], Steps[R]]) -> Verb[P, R]:
    """A method that makes steps, as one that has them carried out."""
    # What `help` shows is the result.
    steps.__annotations__["return"] = steps.__annotations__["return"].removeprefix("Steps[").removesuffix("]")

    @wraps(steps)
    def method(self: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        return self._run(begun(steps, self, *args, **kwargs))

    return cast("Verb[P, R]", method)


def begun(steps: Callable[..., Steps[R]], *args: Any, **kwargs: Any) -> Steps[R]:
    """The steps, begun when they are carried out: a refused argument is then awaited as any other refusal."""
    return (yield from steps(*args, **kwargs))
