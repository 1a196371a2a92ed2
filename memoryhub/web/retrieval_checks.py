"""Saved queries with the entries they should find."""

from __future__ import annotations

import re

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

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
        refused(request, f"Saved, but it does not find {', '.join(f'L-{one}' for one in missing)} now.")
    else:
        done(request, "Saved; it finds what it should.")
    return redirect("retrieval.page", request.space.slug)


@post_only("edit")
def forget(request: HttpRequest, pk: int) -> HttpResponse:
    retrieval.forget_check(request.space, request.actor, pk)
    done(request, "The check is gone.")
    return redirect("retrieval.page", request.space.slug)


@post_only("edit")
def run(request: HttpRequest) -> HttpResponse:
    result = retrieval.run_checks(request.space)
    done(request, f"{result['checks']} checked, {result['failed']} failed.")
    return redirect("retrieval.page", request.space.slug)
