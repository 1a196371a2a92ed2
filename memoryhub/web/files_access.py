"""Files and access: mounts, sources and rules on one page, with a tester that says what becomes of a path.

What changes something stays with its noun: `web.mounts`, `web.sources` and `web.policies` come back here.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from memoryhub.domain import files, prompts
from memoryhub.domain.accounts import may
from memoryhub.forms import MountForm, MountSettingsForm, RuleForm
from memoryhub.models import Agent, Mount, PolicyRule, Space
from memoryhub.web.access import space_page
from memoryhub.web.helpers import parse_number
from memoryhub.web.path_tester import test_path
from memoryhub.web.surveys import survey_of

READ_METHODS = ("GET", "HEAD")
MOUNTS_SHOWN, RULES_SHOWN = 100, 50
FILES_OFFERED = 50


@space_page("read", methods=READ_METHODS)
def page(request: HttpRequest) -> HttpResponse:
    return show(request)


@space_page("read", methods=READ_METHODS)
def tester(request: HttpRequest) -> HttpResponse:
    """The tester alone, for a page that asks while one types."""
    return render(request, "files_access/_tester.html", tester_context(request))


@space_page("read", methods=READ_METHODS)
def offered_files(request: HttpRequest) -> HttpResponse:
    """Files whose path has the typed words, as choices of the field for a source."""
    words = request.GET.get("path", "").replace("\x00", "")[:200]
    found = files.find_paths(request.space, words.strip() or ".md", FILES_OFFERED)
    return render(request, "files_access/_offered.html", {"offered": found})


def show(request: HttpRequest, *, status: int = 200, **more: Any) -> HttpResponse:
    """The page. `more` holds what a refused form brings back: the form with its errors, or the error and what was typed."""
    manages = may(request.role, "manage")
    context = {**mounts_context(request, manages), **sources_context(request), **tester_context(request)}
    if manages:
        context |= rules_context(request)
    return render(request, "files_access/page.html", context | more, status=status)


def back(request: HttpRequest, section: str, **query: object) -> HttpResponse:
    """A redirect to a section of the page."""
    url = reverse("files_access.page", args=[request.space.slug])
    given = {key: value for key, value in query.items() if value}
    return HttpResponseRedirect(f"{url}{'?' + urlencode(given) if given else ''}#{section}", status=303)


# ---- mounts


def mounts_context(request: HttpRequest, manages: bool) -> dict[str, Any]:
    mounts = files.mounts_of_space(request.space)
    shown = mounts[:MOUNTS_SHOWN]
    opened = opened_mount(request, mounts) if manages else None
    return {
        "mounts": shown, "more_mounts": len(mounts) - len(shown), "opened": opened,
        "mount_settings": MountSettingsForm(mount=opened) if opened else None,
        "survey": survey_of(opened) if opened else None,
        "form": MountForm(initial={"prefix": request.GET.get("prefix", ""), "policy": "review"}),
        "adds_mount": "prefix" in request.GET or not mounts,
        "roots": files.allowed_roots(request.actor) if manages else (),
        "may_mount": files.may_mount_directories(request.actor) if manages else False,
    }  # fmt: skip


def opened_mount(request: HttpRequest, mounts: list[Mount]) -> Mount | None:
    """The mount whose settings are shown: the one that was asked for, or the only one."""
    wanted = parse_number(request.GET.get("mount"))
    found = next((one for one in mounts if one.pk == wanted), mounts[0] if len(mounts) == 1 else None)
    return files.get_mount(request.space, found.pk) if found else None


# ---- sources


def chosen_agent(request: HttpRequest) -> Agent | None:
    """The agent whose sources are shown; those of the space without one."""
    slug = request.POST.get("agent") or request.GET.get("agent")
    return prompts.agent_by_slug(request.space, slug) if slug else None


def sources_context(request: HttpRequest) -> dict[str, Any]:
    agent = chosen_agent(request)
    rows = prompts.check_sources(request.space, prompts.sources_of(request.space, agent))
    return {"agent": agent, "agents": prompts.agents_of_space(request.space), "sources": rows}


# ---- rules


def rules_context(request: HttpRequest) -> dict[str, Any]:
    """A page of the rules with their matches, and the form of a new one or of the one that is edited."""
    rules = list(files.rules_of_space(request.space))
    first = min(max(parse_number(request.GET.get("rules"), 1) or 1, 1), max(len(rules), 1)) - 1
    first -= first % RULES_SHOWN
    shown = rules[first : first + RULES_SHOWN]
    counts, is_cut = files.count_matched(request.space, [rule.pattern for rule in shown])
    edited = next((one for one in rules if one.pk == parse_number(request.GET.get("rule"))), None)
    return {
        "rules": list(zip(range(first + 1, first + 1 + len(shown)), shown, counts, strict=True)), "rule_count": len(rules),
        "matches_cut": is_cut, "earlier_rules": first + 1 - RULES_SHOWN if first else 0,
        "later_rules": first + RULES_SHOWN + 1 if first + RULES_SHOWN < len(rules) else 0, "edited": edited,
        "rule_form": RuleForm(initial=values_of_rule(edited) if edited else None, space=request.space),
        **(trial_of(request.space, edited.pattern, edited) if edited else {}),
    }  # fmt: skip


def values_of_rule(rule: PolicyRule) -> dict[str, Any]:
    return {
        "pattern": rule.pattern, "agent": rule.agent.slug if rule.agent else "", "policy": rule.policy,
        "max_added": rule.max_added, "unless_findings": rule.unless_findings, "reviewers": rule.reviewers,
    }  # fmt: skip


MATCHES_SHOWN = 20


def trial_of(space: Space, pattern: str, edited: PolicyRule | None = None) -> dict[str, Any]:
    """The files that a pattern matches, each with the number of the rule that decides before this one."""
    found = files.matched_paths(space, pattern) if pattern.strip() else []
    rules = list(files.rules_of_space(space))
    before = rules[: rules.index(edited)] if edited in rules else rules
    decided = [(path, number_of_first(before, path)) for path in found[:MATCHES_SHOWN]]
    return {
        "matched": decided,
        "match_count": len(found),
        "more_matches": max(0, len(found) - MATCHES_SHOWN),
        "pattern": pattern,
    }


def number_of_first(rules: list[PolicyRule], path: str) -> int:
    """The number of the first rule for every agent that matches a path, counted from 1; 0 without one."""
    return next(
        (n for n, rule in enumerate(rules, 1) if rule.agent_id is None and files.rule_applies(rule, path, None)), 0
    )


# ---- the tester


def tester_context(request: HttpRequest) -> dict[str, Any]:
    path, by = request.GET.get("path", "").replace("\x00", ""), request.GET.get("by", "")
    everyone = list(prompts.agents_of_space(request.space)[:200])
    tested = test_path(request.space, request.actor, path, by, everyone) if path.strip() else None
    return {"tested": tested, "tested_path": path, "tested_by": by, "writers": everyone}
