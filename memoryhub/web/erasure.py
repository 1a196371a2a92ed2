"""Erasing words permanently: choose, look at the dry run, confirm by typing, follow the job, keep the receipt."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoryhub.domain import erasure, spaces
from memoryhub.domain.erasure import KINDS, Target
from memoryhub.errors import Conflict, HubError, Invalid, NotFound
from memoryhub.languages import translated
from memoryhub.models import Agent, Erasure, Job
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import clean_text, parse_number
from memoryhub.web.notices import done

RECEIPTS_SHOWN = 50
HINTS = {
    "session": gettext_lazy(
        "Everything that agents logged in it and what was made of it; proposals and files of the thread of this name."
    ),
    "person": gettext_lazy("Their lines of files, comments, notes, reasons and entries. Also of people who left."),
    "agent": gettext_lazy("Everything it logged, proposed and wrote, line by line. Also of deleted agents."),
    "text": gettext_lazy("This text, wherever it occurs. Names of files and sessions that contain it are replaced."),
    "revision": gettext_lazy("The lines that this revision added, here and in every later one."),
}


@space_page("manage", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    chosen = {name: clean_text(request.GET.get(name, "")) for name in ("kind", "what", "number")}
    return _form(request, chosen)


def _form(
    request: HttpRequest, chosen: dict[str, str], error: HubError | None = None, status: int = 200
) -> HttpResponse:
    context = {
        "kinds": [{"key": key, "label": label, "hint": HINTS[key]} for key, label in KINDS.items()],
        "chosen": {**chosen, "kind": chosen.get("kind") or "session"}, "errors": _errors(chosen, error),
        "names": _names(request), "sees_all": erasure.sees_all(request.actor),
        "receipts": [_listed(one) for one in erasure.erasures_of(request.space, request.actor)[:RECEIPTS_SHOWN]],
    }  # fmt: skip
    return render(request, "erasure/page.html", context, status=status)


def _errors(chosen: dict[str, str], error: HubError | None) -> dict[str, str]:
    """The refusal by the field beside which it stands."""
    if error is None:
        return {}
    field = str(error.details.get("field", "form"))
    if field == "what" and chosen["kind"] == "text":
        field = "text"  # that kind is typed into a field of its own
    return {field if field in ("what", "number", "text") else "form": error.message}


def _names(request: HttpRequest) -> list[str]:
    """People and agents of the space, to choose from; others can be typed."""
    people = [one.person.username for one in spaces.members(request.space)]
    return [*people, *Agent.objects.within(request.space).order_by("slug").values_list("slug", flat=True)]


def _listed(one: Erasure) -> dict[str, Any]:
    return {"erasure": one, "label": KINDS.get(one.kind, one.kind), "rows": sum(one.rows.values())}


@post_only("manage")
def plan(request: HttpRequest) -> HttpResponse:
    chosen = {name: request.POST.get(name, "") for name in ("kind", "what", "text", "number")}
    what = chosen["text"] if chosen["kind"] == "text" else clean_text(chosen["what"])
    number = parse_number(chosen["number"], digits=9) or 0
    everywhere = request.POST.get("everywhere") == "on"
    target = Target(chosen["kind"], what, number, on_disk=request.POST.get("on_disk") == "on")
    try:
        made = erasure.plan(None if everywhere else request.space, request.actor, target)
    except Invalid as refusal:
        return _form(request, chosen, refusal, 422)
    return redirect("erasure.detail", request.space.slug, made.pk)


@space_page("manage", methods=("GET", "HEAD"))
def detail(request: HttpRequest, number: int) -> HttpResponse:
    one = erasure.get(request.space, request.actor, number)
    return render(request, "erasure/_state.html" if request.htmx else "erasure/detail.html", _detail(request, one))


def _detail(request: HttpRequest, one: Erasure) -> dict[str, Any]:
    job = erasure.job_of(one)
    failed = job is not None and job.state == Job.FAILED and one.state != Erasure.DONE
    share = job.done * 100 // job.total if job and job.total else 0
    context: dict[str, Any] = {
        "erasure": one, "label": KINDS.get(one.kind, one.kind), "job": job, "failed": failed, "share": min(share, 100),
        "is_running": one.state in (Erasure.COUNTING, Erasure.ERASING) and not failed,
        "everywhere": not one.space_id, "word": erasure.confirmation(one),
    }  # fmt: skip
    if one.state != Erasure.DONE:
        context["target"] = erasure.unpack(one)[0]
        context |= {name: [row for row in one.plan if row.get(name)] for name in ("own", "file")}
        context["copies"] = [row for row in one.plan if not row.get("own") and not row.get("file")]
    else:
        context["receipt"] = erasure.receipt(one, request.actor)
    return context


@post_only("manage")
def erase(request: HttpRequest, number: int) -> HttpResponse:
    try:
        erasure.erase(request.space, request.actor, number, confirm=request.POST.get("confirm", ""))
    except (Invalid, Conflict, NotFound) as refusal:
        one = erasure.get(request.space, request.actor, number)
        return _refused(request, one, refusal)
    return redirect("erasure.detail", request.space.slug, number)


def _refused(request: HttpRequest, one: Erasure, refusal: HubError) -> HttpResponse:
    context = _detail(request, one) | {"error": translated(refusal.message)}
    return render(request, "erasure/detail.html", context, status=refusal.status)


@post_only("manage")
def cancel(request: HttpRequest, number: int) -> HttpResponse:
    erasure.cancel(request.space, request.actor, number)
    done(request, _("Dry run discarded. Nothing was erased."))
    return redirect("erasure.page", request.space.slug)


@post_only("manage")
def retry(request: HttpRequest, number: int) -> HttpResponse:
    erasure.retry(request.space, request.actor, number)
    return redirect("erasure.detail", request.space.slug, number)


@space_page("manage", methods=("GET", "HEAD"))
def receipt(request: HttpRequest, number: int) -> HttpResponse:
    """The receipt as a file."""
    one = erasure.get(request.space, request.actor, number)
    if one.state != Erasure.DONE:
        raise NotFound(_("There is no receipt yet: this erasure has not finished."))
    document = json.dumps(erasure.receipt(one, request.actor), ensure_ascii=False, indent=2)
    answer = HttpResponse(document + "\n", content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="erasure-{one.pk}.json"'
    return answer
