"""Saved queries with the entries they should find."""

from __future__ import annotations

import re

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from memoryhub.domain import retrieval
from memoryhub.web.access import post_only
from memoryhub.web.helpers import clean_text
from memoryhub.web.notices import done, refused


@post_only("edit")
def save(request: HttpRequest) -> HttpResponse:
    expects = [int(one) for one in re.findall(r"\d{1,9}", request.POST.get("expects", ""))]
    check = retrieval.save_check(request.space, request.actor, clean_text(request.POST.get("query", "")), expects)
    missing = check.last_result["missing"]
    if missing:
        words = _("Saved, but it does not find %(entries)s now.")
        refused(request, words % {"entries": ", ".join(f"L-{one}" for one in missing)})
    else:
        done(request, _("Saved. It finds what it should."))
    return redirect("retrieval.page", request.space.slug)


@post_only("edit")
def forget(request: HttpRequest, pk: int) -> HttpResponse:
    retrieval.forget_check(request.space, request.actor, pk)
    done(request, _("Check removed."))
    return redirect("retrieval.page", request.space.slug)


@post_only("edit")
def run(request: HttpRequest) -> HttpResponse:
    result = retrieval.run_checks(request.space)
    done(request, _("%(checks)s checked, %(failed)s failed.") % result)
    return redirect("retrieval.page", request.space.slug)
