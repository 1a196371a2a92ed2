"""Rules for what agents may write without a proposal, each tried on past writes first. They stand on the page of files and access."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from memoryhub.domain import files, prompts
from memoryhub.errors import HubError, Invalid
from memoryhub.forms import RuleForm
from memoryhub.web import files_access
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import parse_number
from memoryhub.web.notices import done


@space_page("manage", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    """The address of earlier versions."""
    return files_access.back(request, "rules")


def values_of(request: HttpRequest, form: RuleForm) -> dict[str, Any]:
    data = form.cleaned_data
    return {
        "policy": data["policy"], "max_added": data["max_added"], "unless_findings": data["unless_findings"],
        "agent": prompts.agent_by_slug(request.space, data["agent"]) if data["agent"] else None,
    }  # fmt: skip


def trial(request: HttpRequest, form: RuleForm) -> dict[str, Any]:
    """What the rule of the form matches, and what it would have decided; without a valid form the matches alone."""
    pattern = str(form.data.get("pattern", "")).replace("\x00", "")[:1024]
    found = files_access.trial_of(request.space, pattern)
    if not form.is_valid():
        return found
    tried = files.dry_run_rule(request.space, form.cleaned_data["pattern"], **values_of(request, form))
    return {**found, "tried": tried, "says": tried.sentence(request.actor.name)}


@post_only("manage")
def try_rule(request: HttpRequest) -> HttpResponse:
    """The trial of the form as it stands: the part for a page that asks while one types, else the whole page."""
    form = RuleForm(request.POST, space=request.space)
    found = trial(request, form)
    if request.htmx:
        return render(request, "policies/_trial.html", found)
    return files_access.show(
        request, status=200 if form.is_valid() else 422, rule_form=form, edited=edited_rule(request), **found
    )


def edited_rule(request: HttpRequest) -> Any:
    pk = parse_number(request.POST.get("rule"))
    return files.get_rule(request.space, pk) if pk else None


@post_only("manage")
def add_rule(request: HttpRequest) -> HttpResponse:
    if request.POST.get("do") == "try":
        return try_rule(request)
    form = RuleForm(request.POST, space=request.space)
    return saved(
        request,
        form,
        _("Rule added: %(pattern)s."),
        lambda values: files.add_rule(request.space, request.actor, **values),
    )


@post_only("manage")
def change_rule(request: HttpRequest, pk: int) -> HttpResponse:
    form = RuleForm(request.POST, space=request.space)
    rule = files.get_rule(request.space, pk)
    return saved(
        request, form, _("Rule saved: %(pattern)s."),
        lambda values: files.change_rule(request.space, request.actor, rule.pk, **values), edited=rule,
    )  # fmt: skip


def saved(request: HttpRequest, form: RuleForm, says: str, save: Any, **more: Any) -> HttpResponse:
    """Saves the rule of a form; where that is refused, the page with what was typed and what would come of it."""
    asks = False
    if form.is_valid():
        data = form.cleaned_data
        values = {"pattern": data["pattern"], "reviewers": data["reviewers"], "confirmed": data["confirm"]}
        try:
            save(values | values_of(request, form))
        except HubError as error:
            form.refuse(error)
            asks = error.code == "matches_nothing"
        else:
            done(request, says % {"pattern": data["pattern"]})
            return files_access.back(request, "rules")
    return files_access.show(request, status=422, rule_form=form, ask_to_confirm=asks, **trial(request, form), **more)


@post_only("manage")
def reorder_rule(request: HttpRequest, pk: int) -> HttpResponse:
    to = parse_number(request.POST.get("to"))
    if to is None:
        raise Invalid(_("A place in the list is a number."), code="invalid")
    files.reorder_rule(request.space, request.actor, pk, to)
    return files_access.back(request, "rules", rules=to if to > files_access.RULES_SHOWN else None)


@post_only("manage")
def remove_rule(request: HttpRequest, pk: int) -> HttpResponse:
    files.remove_rule(request.space, request.actor, pk)
    done(request, _("Rule removed. The next rule that matches decides, or the mount."))
    return files_access.back(request, "rules")
