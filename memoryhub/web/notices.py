"""Notices on the next page, with an undo button where there is one."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest

from memoryhub.languages import translated


def done(request: HttpRequest, text: str, *, undo: str = "", see: str = "") -> None:
    """Adds a notice to the next page; a POST to the address `undo` takes back what was done, `see` is a prompt that shows it."""
    messages.success(request, text, extra_tags=f"{undo} {see}".rstrip())


def refused(request: HttpRequest, text: str) -> None:
    """Adds a notice of what was not done; a refusal of the domain is told in the language of the page."""
    messages.error(request, translated(text))
