"""Rules for what agents may write without a proposal, with a dry run on past writes."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from memoryhub.domain import files, prompts
from memoryhub.errors import HubError
from memoryhub.forms import RuleForm
from memoryhub.web.access import post_only, space_page
from memoryhub.web.notices import done


@space_page("manage", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    """The rules; with a pattern in the query, also what such a rule would have done."""
    form = RuleForm(request.GET or None, space=request.space)
    return show(request, form)


def show(request: HttpRequest, form: RuleForm, status: int = 200, *, ask_to_confirm: bool = False) -> HttpResponse:
    tried = None
    if form.is_bound and form.is_valid() and form.cleaned_data["policy"] == "trusted":
        tried = files.dry_run_rule(request.space, form.cleaned_data["pattern"], **conditions(request, form))
    rules = files.rules_of_space(request.space)
    matched = files.count_matched(request.space, [rule.pattern for rule in rules])
    context: dict[str, Any] = {
        "form": form, "rules": list(zip(rules, matched, strict=True)),
        "ask_to_confirm": ask_to_confirm, "mounts": files.mounts_of_space(request.space), "tried": tried,
        "says": tried.sentence(request.actor.name) if tried else "",
    }  # fmt: skip
    return render(request, "policies/page.html", context, status=status)


def conditions(request: HttpRequest, form: RuleForm) -> dict[str, Any]:
    data = form.cleaned_data
    slug = data["agent"]
    return {
        "agent": prompts.agent_by_slug(request.space, slug) if slug else None,
        "max_added": data["max_added"],
        "unless_findings": data["unless_findings"],
    }


@post_only("manage")
def add_rule(request: HttpRequest) -> HttpResponse:
    """Adds the rule of the form, or with `do=try` shows its dry run. Both use POST to keep the CSRF token out of the URL."""
    form = RuleForm(request.POST, space=request.space)
    if request.POST.get("do") == "try":
        return show(request, form, 200 if form.is_valid() else 422)
    ask_to_confirm = False
    if form.is_valid():
        data = form.cleaned_data
        try:
            files.add_rule(
                request.space, request.actor, data["pattern"], data["policy"], reviewers=data["reviewers"],
                confirmed=data["confirm"], **conditions(request, form),
            )  # fmt: skip
        except HubError as error:
            form.refuse(error)
            ask_to_confirm = error.code == "matches_nothing"
    if form.errors:
        return show(request, form, 422, ask_to_confirm=ask_to_confirm)
    done(request, "The rule holds from now on.")
    return redirect("policies.page", request.space.slug)


@post_only("manage")
def remove_rule(request: HttpRequest, pk: int) -> HttpResponse:
    files.remove_rule(request.space, request.actor, pk)
    done(request, "Taken away. The mount's own policy counts again.")
    return redirect("policies.page", request.space.slug)
