"""The line that says what was done, with the way back where there is one."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest


def done(request: HttpRequest, text: str, *, undo: str = "") -> None:
    """Said on the next page; `undo` is an address that takes the deed back when it is posted to."""
    messages.success(request, text, extra_tags=undo)


def refused(request: HttpRequest, text: str) -> None:
    messages.error(request, text)
