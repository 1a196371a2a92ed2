"""The client that agents install: needs httpx and nothing else of the hub.

from memoryhub.client import MemoryHub
hub = MemoryHub("http://127.0.0.1:8000", "mh_…")
hub.edit("/memories/AGENTS.md", "old words", "new words", reason="the user asked for it")
"""

from .errors import (
    Conflict,
    Forbidden,
    HubError,
    HubRefused,
    HubUnavailable,
    Invalid,
    NotFound,
    RateLimited,
    Unauthenticated,
)
from .hub import AsyncMemoryHub, MemoryHub

__all__ = [
    "AsyncMemoryHub",
    "Conflict",
    "Forbidden",
    "HubError",
    "HubRefused",
    "HubUnavailable",
    "Invalid",
    "MemoryHub",
    "NotFound",
    "RateLimited",
    "Unauthenticated",
]
