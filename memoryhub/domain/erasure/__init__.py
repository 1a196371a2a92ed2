"""Taking back for good what is kept for good otherwise."""

from memoryhub.domain.erasure.sessions import erase, erasure_extent

__all__ = [
    "erase",
    "erasure_extent",
]
