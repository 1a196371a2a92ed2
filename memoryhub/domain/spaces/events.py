"""What a lower package tells a higher one, without importing it.

A higher package registers a function for an event; a lower one tells the event, or asks the one function that answers it.
`apps.ready` imports the packages that listen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

Listener = TypeVar("Listener", bound=Callable[..., Any])
_listeners: defaultdict[str, list[Callable[..., Any]]] = defaultdict(list)


def on_event(event: str) -> Callable[[Listener], Listener]:
    """Registers a function for an event: a decorator."""

    def register(function: Listener) -> Listener:
        _listeners[event].append(function)
        return function

    return register


def send_event(event: str, *args: Any, **kwargs: Any) -> None:
    """Calls whoever listens, in the caller's transaction."""
    for listener in _listeners[event]:
        listener(*args, **kwargs)


def ask_event(event: str, *args: Any, **kwargs: Any) -> Any:
    """The answer of the one function that listens to this event."""
    (listener,) = _listeners[event]
    return listener(*args, **kwargs)
