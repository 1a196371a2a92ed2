"""Moving memory between coding agents: a plan of changed files with its effect on every agent, then written or proposed."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memoryhub.dialects import coding
from memoryhub.domain import coding_agents, contexts
from memoryhub.domain.contexts import Plan
from memoryhub.errors import HubError, Invalid, NotFound
from memoryhub.text.diff import compare
from memoryhub.web import contexts as context_pages
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import clean_text, parse_number
from memoryhub.web.notices import done, proposed


def values_of(values: QueryDict) -> dict[str, Any]:
    """What an address or a form asks for: an entry of an agent's memory, or one AGENTS.md for a folder."""
    given = {name: clean_text(values.get(name, "")) for name in ("path", "to", "dir")}
    text = values.get("text", "").replace("\r\n", "\n").replace("\x00", "")[:20_000]
    numbers = {name: parse_number(values.get(name)) for name in ("number", "mount")}
    return given | numbers | {"text": text, "keep": "keep" in values, "all": "all" in values}


def plan_of(request: HttpRequest, want: dict[str, Any]) -> Plan:
    if want["path"]:
        if not want["to"]:
            raise Invalid(_("Choose the file that the entry becomes a line of."), code="invalid", field="to")
        return contexts.plan_entry(
            request.space,
            request.actor,
            want["path"],
            want["number"] or 0,
            to=want["to"],
            text=want["text"],
            keep=want["keep"],
        )
    return contexts.plan_one_file(place_of(request, want), move_all=want["all"])


def place_of(request: HttpRequest, want: dict[str, Any]) -> contexts.Place:
    return contexts.place_in_mount(request.space, request.actor, want["mount"], want["dir"])


@space_page("edit", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    """A move before it is made. Until a file is chosen for an entry, the first that fits is."""
    return show(request, values_of(request.GET))


def show(
    request: HttpRequest, want: dict[str, Any], *, status: int = 200, error: HubError | None = None
) -> HttpResponse:
    context: dict[str, Any] = {"want": want, "error": error}
    if want["path"]:
        context |= pick_target(request, want)
    try:
        plan = plan_of(request, want)
    except NotFound:
        raise
    except HubError as refusal:
        if not want["path"]:
            context |= context_pages.frame(request, place_of(request, want))
        return render(
            request,
            "moves/page.html",
            context | {"error": error or refusal, "plan": None},
            status=error.status if error else 200,
        )
    diffs = [(one, compare(_text(one.before), _text(one.after))) for one in plan.files]
    context |= {"plan": plan, "diffs": diffs, "given": given(want)}
    return render(request, "moves/page.html", context_pages.frame(request, plan.place) | context, status=status)


def pick_target(request: HttpRequest, want: dict[str, Any]) -> dict[str, Any]:
    """The entry, and the files that it can become a line of."""
    memory = contexts.own_memory(request.space, want["path"])
    entry = coding_agents.entry_of(memory.format, memory.text, want["number"] or 0)
    targets = contexts.targets_for(request.space, request.actor, memory)
    if want["to"] not in targets:
        want["to"] = targets[0] if targets and not want["to"] else ""
    want["text"] = want["text"].strip() or coding_agents.as_line(entry)
    return {"memory": memory, "entry": entry, "targets": targets, "agent": coding.agent(memory.format.agent)}


def given(want: dict[str, Any]) -> dict[str, Any]:
    """The fields of the form that decides."""
    kept = {name: value for name, value in want.items() if value not in ("", None, False)}
    return kept | {name: "1" for name in ("keep", "all") if want[name]}


def _text(content: bytes | None) -> str:
    return (content or b"").decode("utf-8", "replace")


@post_only("edit")
def apply(request: HttpRequest) -> HttpResponse:
    """Writes the files that the person saw, or leaves them to a reviewer."""
    want, seen = values_of(request.POST), request.POST.get("seen", "")
    try:
        plan = plan_of(request, want)
        if "propose" in request.POST:
            return proposed(request, contexts.propose_plan(request.space, request.actor, plan, seen))
        made = contexts.apply_plan(request.space, request.actor, plan, seen)
    except NotFound:
        raise
    except HubError as error:
        return show(request, want, status=error.status, error=error)
    says = ngettext("%(count)s file is written.", "%(count)s files are written.", len(made)) % {"count": len(made)}
    undo = (
        reverse("moves.undo", args=[request.space.slug])
        + "?"
        + urlencode([("made", f"{path}@{number}") for path, number in made])
    )
    done(request, says, undo=undo)
    if want["path"]:
        address = reverse("contexts.memory", args=[request.space.slug]) + "?" + urlencode({"path": want["path"]})
    else:
        address = reverse("contexts.matrix", args=[request.space.slug]) + "?" + context_pages.where_of(plan.place)
    return HttpResponseRedirect(address, status=303)


@post_only("edit")
def undo(request: HttpRequest) -> HttpResponse:
    """Takes back what was just written."""
    pairs = [one.rpartition("@") for one in request.GET.getlist("made")[:20]]
    made = [(clean_text(path), int(number)) for path, _at, number in pairs if path and parse_number(number) is not None]
    if not made:
        raise Invalid(_("There is nothing to undo."), code="invalid")
    contexts.undo_plan(request.space, request.actor, made)
    done(
        request,
        ngettext("%(count)s file is as it was.", "%(count)s files are as they were.", len(made)) % {"count": len(made)},
    )
    return HttpResponseRedirect(reverse("contexts.memory", args=[request.space.slug]), status=303)
