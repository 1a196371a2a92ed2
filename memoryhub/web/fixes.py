"""The fixes that the matrix of files by agent offers, reviewed together: each with a tick, one change of all that are ticked."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memoryhub.dialects import coding
from memoryhub.domain import contexts
from memoryhub.domain.contexts import FixPlan, OfferedFix
from memoryhub.errors import HubError, Invalid, NotFound
from memoryhub.text.diff import compare
from memoryhub.web import contexts as context_pages
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import clean_text, parse_number
from memoryhub.web.notices import done, proposed

MAX_TICKS = 200


def plan_of(request: HttpRequest, values: QueryDict) -> FixPlan:
    """What a form asks for: a place, agents, and the fixes that are ticked; all of them where it was not sent yet."""
    place = contexts.place_in_mount(
        request.space, request.actor, parse_number(values.get("mount")), clean_text(values.get("dir", ""))
    )
    named = set(values.getlist("agents"))
    names = [name for name in coding.agents() if name in named] or list(contexts.SHOWN_FIRST)
    ticked = {clean_text(one) for one in values.getlist("fix")[:MAX_TICKS]} if "chosen" in values else None
    return contexts.plan_fixes(contexts.compare(place, names), ticked)


@space_page("edit", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    """Every fix with its price, and what the ticked ones change. Nothing is written."""
    return show(request, plan_of(request, request.GET), request.GET)


def show(
    request: HttpRequest, found: FixPlan, values: QueryDict, *, status: int = 200, error: HubError | None = None
) -> HttpResponse:
    plan = found.plan
    changes = [(one, compare(_text(one.before), _text(one.after))) for one in plan.files] if plan else []
    context: dict[str, Any] = {"found": found, "plan": plan, "diffs": changes, "error": error}
    context["offered"] = [shown(found, one) for one in found.offered]
    context["alone"] = [shown(found, one) for one in found.alone]
    context["doubled"] = [shown(found, one) for one in found.doubled]
    context["chosen"] = [one.key for one in found.offered if one.is_chosen]
    context["columns"] = values.getlist("agents")[:MAX_TICKS]
    return render(request, "fixes/page.html", context_pages.frame(request, found.place) | context, status=status)


def shown(found: FixPlan, one: OfferedFix) -> dict[str, Any]:
    place = found.place
    about = place.tree.file_path(one.about)
    return {
        "fix": one, "path": place.shorten(one.about), "why": place.shorten(one.why), "target": place.shorten(one.fix.path),
        "query": urlencode({"agent": one.agent.name, "about": about, "code": one.fix.code}),
    }  # fmt: skip


def _text(content: bytes | None) -> str:
    return (content or b"").decode("utf-8", "replace")


@post_only("edit")
def apply(request: HttpRequest) -> HttpResponse:
    """Writes the ticked fixes as they were seen, or leaves them to a reviewer."""
    found, seen = plan_of(request, request.POST), request.POST.get("seen", "")
    try:
        if found.plan is None:
            raise Invalid(_("Tick at least one fix."), code="nothing_chosen")
        if "propose" in request.POST:
            return proposed(request, contexts.propose_plan(request.space, request.actor, found.plan, seen))
        made = contexts.apply_plan(request.space, request.actor, found.plan, seen)
    except NotFound:
        raise
    except HubError as error:
        return show(request, found, request.POST, status=error.status, error=error)
    says = ngettext("%(count)s file is written.", "%(count)s files are written.", len(made)) % {"count": len(made)}
    pairs = urlencode([("made", f"{path}@{number}") for path, number in made])
    done(request, says, undo=f"{reverse('moves.undo', args=[request.space.slug])}?{pairs}")
    address = reverse("contexts.matrix", args=[request.space.slug]) + "?" + context_pages.where_of(found.place)
    return HttpResponseRedirect(address, status=303)
