"""How a lower package calls a higher one without importing it.

The higher package registers a function for an event; the lower one sends the event to all of its functions, or asks the one
function that answers it. `apps.ready` imports the packages that register functions.
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
    """Calls every function of an event, in the caller's transaction."""
    for listener in _listeners[event]:
        listener(*args, **kwargs)


def ask_event(event: str, *args: Any, **kwargs: Any) -> Any:
    """What the one function of an event returns; there has to be exactly one."""
    (listener,) = _listeners[event]
    return listener(*args, **kwargs)
