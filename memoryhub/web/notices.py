"""Notices on the next page, with an undo button where there is one."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import ngettext

from memoryhub.languages import translated
from memoryhub.models import Proposal


def done(request: HttpRequest, text: str, *, undo: str = "", see: str = "") -> None:
    """Adds a notice to the next page; a POST to the address `undo` takes back what was done, `see` is a prompt that shows it."""
    messages.success(request, text, extra_tags=f"{undo} {see}".rstrip())


def refused(request: HttpRequest, text: str) -> None:
    """Adds a notice of what was not done; a refusal of the domain is told in the language of the page."""
    messages.error(request, translated(text))


def proposed(request: HttpRequest, made: list[Proposal]) -> HttpResponseRedirect:
    """After a person left changes to a reviewer: to the proposal, or to the inbox where there are several."""
    says = ngettext(
        "Proposal %(numbers)s waits for a decision.", "Proposals %(numbers)s wait for a decision.", len(made)
    )
    done(request, says % {"numbers": ", ".join(str(one.number) for one in made)})
    slug = request.space.slug  # type: ignore[attr-defined]
    if len(made) == 1:
        return HttpResponseRedirect(reverse("proposals.detail", args=[slug, made[0].number]), status=303)
    return HttpResponseRedirect(reverse("proposals.page", args=[slug]), status=303)
