"""Turning the judge of the gate on and off."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from memoryhub.domain import quarantine
from memoryhub.errors import Forbidden, Invalid
from memoryhub.languages import translated
from memoryhub.web import gate
from memoryhub.web.access import post_only
from memoryhub.web.helpers import parse_number
from memoryhub.web.notices import done


@post_only("manage")
def configure(request: HttpRequest) -> HttpResponse:
    post = request.POST
    wanted = {
        "is_on": post.get("is_on") == "yes", "url": post.get("url", ""), "model": post.get("model", ""),
        "seconds": parse_number(post.get("seconds"), 15) or 0, "daily": parse_number(post.get("daily"), 500) or 0,
    }  # fmt: skip
    try:
        quarantine.configure_judge(request.space, request.actor, **wanted)
    except (Forbidden, Invalid) as refusal:
        return gate.show(request, status=refusal.status, wanted=wanted, refused=translated(refusal.message))
    done(request, _("The judge is asked from now on.") if wanted["is_on"] else _("The judge is off."))
    return redirect("gate.page", request.space.slug)
