"""What coding agents see in mounted directories: one agent's context, files by agent, and the faults of memory files."""

from __future__ import annotations

import csv
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from memoryhub.dialects import coding, tokens_of_bytes
from memoryhub.domain import accounts, activity, contexts, prompts
from memoryhub.domain.coding_agents import Cell, FindingInFile
from memoryhub.domain.contexts import Compared, Place
from memoryhub.errors import HubError, NotFound
from memoryhub.text.diff import compare
from memoryhub.web import laptop
from memoryhub.web.access import post_only, space_page
from memoryhub.web.context_view import ContextView
from memoryhub.web.helpers import clean_text, parse_number, typed_text
from memoryhub.web.notices import done, proposed

PLAIN_TEXT = "text/plain; charset=utf-8"
MAX_TOUCHED, MAX_ROWS = 20, 500
STATES = ("ignored", "cut", "later", "missed")


def chosen_place(request: HttpRequest) -> Place | None:
    """The mounted directory and folder of the address, by default the first one; None where the space has none."""
    if not contexts.mounts_to_look_at(request.space):
        return None
    pk, at = parse_number(request.GET.get("mount")), prompts.parse_time(request.GET.get("at", "").strip())
    return contexts.place_in_mount(request.space, request.actor, pk, clean_text(request.GET.get("dir", "")), at)


def no_place(request: HttpRequest) -> HttpResponse:
    return render(request, "contexts/empty.html", {"offers_laptop": laptop.is_offered(request)})


def frame(request: HttpRequest, place: Place) -> dict[str, Any]:
    """What all pages of a place show: pickers, tabs, where it is."""
    return {
        "place": place, "mounts": contexts.mounts_to_look_at(request.space), "directory": shown_directory(place),
        "agents": list(coding.agents().values()), "where": where_of(place),
        "knows_home": bool(place.tree.home),
    }  # fmt: skip


def where_of(place: Place) -> str:
    """The part of an address that names the place."""
    return urlencode({"mount": place.mount.pk, "dir": place.folder})


def shown_directory(place: Place) -> str:
    """The folder as the heading names it: from the home where that is known, else by its virtual path."""
    home = place.tree.home.rstrip("/")
    if home and place.directory.startswith(home + "/"):
        return "~" + place.directory[len(home) :]
    return place.mount.prefix + place.folder


def chosen_agent(request: HttpRequest) -> str:
    return coding.agent(clean_text(request.GET.get("agent", "")) or contexts.SHOWN_FIRST[0]).name


def touched_files(request: HttpRequest) -> list[str]:
    """The files that the agent reads after its start, as the address names them."""
    given = [clean_text(one).strip() for one in request.GET.getlist("touch")[:MAX_TOUCHED]]
    return [one for one in given if one]


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    """What one agent sees in one folder: files in their order with why, the exact text, what to mend."""
    place = chosen_place(request)
    if place is None:
        return no_place(request)
    seen = contexts.read_context(place, chosen_agent(request), touched_files(request))
    view = ContextView(seen)
    context = {"seen": seen, "view": view, "touched": "".join(seen.touched[:1]), **past(request)}
    context["text_only"] = request.GET.get("text") == "only"
    return render(request, "contexts/page.html", frame(request, place) | context)


def past(request: HttpRequest) -> dict[str, Any]:
    """The moment of the address, none for now, and the moments to choose from."""
    at = prompts.parse_time(request.GET.get("at", "").strip())
    moments = [(one.at.isoformat(), one) for one in contexts.moments_of(request.space)]
    is_listed = at is None or any(value == at.isoformat() for value, _moment in moments)
    return {"at": at, "moments": moments, "own_moment": None if is_listed else at}


@space_page("read", methods=("GET", "HEAD"))
def compared(request: HttpRequest) -> HttpResponse:
    """Two agents in one place, or one agent at two moments: what each gets that the other does not."""
    place = chosen_place(request)
    if place is None:
        return no_place(request)
    left, at = chosen_agent(request), past(request)
    fallback = left if at["at"] else next(name for name in ("codex", "claude-code") if name != left)
    right = coding.agent(clean_text(request.GET.get("with", "")) or fallback).name
    now = contexts.place_in_mount(request.space, request.actor, place.mount.pk, place.folder) if at["at"] else place
    found = contexts.Difference(contexts.read_context(place, left), contexts.read_context(now, right))
    change = compare(*(one.text.decode("utf-8", "replace") for one in (found.left, found.right))) if at["at"] else None
    view = ContextView(found.right)
    sides = [[view.missed(one) for one in side[:MAX_ROWS]] for side in (found.lost, found.gained)]
    context = {"found": found, "seen": found.left, "lost": sides[0], "gained": sides[1], "change": change, **at}
    context |= {"both": [place.shorten(path) for path in found.both[:MAX_ROWS]]}
    return render(request, "contexts/compared.html", frame(request, place) | context)


@space_page("read", methods=("GET", "HEAD"))
def raw(request: HttpRequest) -> HttpResponse:
    """The exact text; secrets are marks in it."""
    place = chosen_place(request)
    if place is None:
        return no_place(request)
    seen = contexts.read_context(place, chosen_agent(request), touched_files(request))
    return HttpResponse(seen.text, content_type=PLAIN_TEXT)


# ---- fixes


def asked_fix(request: HttpRequest, values: QueryDict) -> contexts.FixReview:
    """The fix that an address or a form names, as it would be made now."""
    pk, folder = parse_number(values.get("mount")), clean_text(values.get("dir", ""))
    place = contexts.place_in_mount(request.space, request.actor, pk, folder)
    agent, about, code = (clean_text(values.get(name, "")) for name in ("agent", "about", "code"))
    return contexts.review_fix(place, agent, about, code)


@space_page("edit", methods=("GET", "HEAD"))
def fix(request: HttpRequest) -> HttpResponse:
    """A fix before it is made: the change of the file, and what it does to the context of every coding agent."""
    return show_fix(request, asked_fix(request, request.GET))


def show_fix(request: HttpRequest, review: contexts.FixReview, *, status: int = 200, **more: object) -> HttpResponse:
    change = compare(review.before.decode("utf-8", "replace"), (review.after or b"").decode("utf-8", "replace"))
    about = review.place.tree.file_path(review.fix.about)
    given = {"agent": review.seen.agent.name, "about": about, "code": review.fix.code}
    context = {"review": review, "change": change, "given": given, **more}
    return render(request, "contexts/fix.html", frame(request, review.place) | context, status=status)


@post_only("edit")
def apply_fix(request: HttpRequest) -> HttpResponse:
    """Makes the fix that the person saw."""
    review = asked_fix(request, request.POST)
    try:
        if "propose" in request.POST:
            asked = contexts.propose_fix(request.space, request.actor, review, request.POST.get("seen", ""))
            return proposed(request, asked)
        path = contexts.apply_fix(request.space, request.actor, review, request.POST.get("seen", ""))
    except HubError as error:
        return show_fix(request, review, status=error.status, error=error)
    says = _("%(path)s is changed. Its history takes it back.") if path else _("The file is deleted.")
    done(request, says % {"path": path})
    query = urlencode({"mount": review.place.mount.pk, "dir": review.place.folder, "agent": review.seen.agent.name})
    return HttpResponseRedirect(f"{reverse('contexts.page', args=[request.space.slug])}?{query}", status=303)


# ---- files by agent


def chosen_agents(request: HttpRequest) -> list[str]:
    """The agents that are columns, in the order of all agents."""
    named = set(request.GET.getlist("agents"))
    found = [name for name in coding.agents() if name in named]
    return found or list(contexts.SHOWN_FIRST)


@space_page("read", methods=("GET", "HEAD"))
def matrix(request: HttpRequest) -> HttpResponse:
    """Which agent loads which file."""
    place = chosen_place(request)
    if place is None:
        return no_place(request)
    compared = contexts.compare(place, chosen_agents(request))
    rows = matrix_rows(compared, request)
    show, named = request.GET.get("show", ""), clean_text(request.GET.get("q", "")).strip()
    kept = [row for row in rows if is_wanted(row, show, named)]
    of_state = {state: sum(is_wanted(row, state, "") for row in rows) for state in STATES}
    context = {
        "compared": compared, "columns": list(compared.seen.values()), "groups": grouped(kept[:MAX_ROWS]), "rows": len(rows),
        "left_over": max(0, len(kept) - MAX_ROWS), "of_state": of_state, "show": show if show in STATES else "", "named": named,
        "chosen": list(compared.seen), "complete": compared.complete, "fix_count": count_fixes(request, compared),
    }  # fmt: skip
    return render(request, "contexts/matrix.html", frame(request, place) | context)


def count_fixes(request: HttpRequest, compared: Compared) -> int:
    """How many fixes there are to review, for who may make one."""
    if not accounts.may(request.role, "edit") or request.GET.get("at"):
        return 0
    found = contexts.plan_fixes(compared)
    return sum(not one.solved for one in found.offered) + len(found.alone)


def matrix_rows(compared: Compared, request: HttpRequest) -> list[dict[str, Any]]:
    """The rows of the matrix, each with its group, as the template draws them."""
    place, rows = compared.place, []
    for group in compared.groups:
        for row in group.rows:
            short = place.shorten(row.path)
            rows.append({
                "group": place.shorten(group.folder + "/").rstrip("/") or "/",
                "path": row.path, "short": short, "name": row.path.removeprefix(group.folder.rstrip("/") + "/"),
                "tokens": tokens_of_bytes(place.tree.size(row.path)), "file_path": place.tree.file_path(row.path),
                "row": row, "cells": [shown_cell(request, compared, name, row.path, cell) for name, cell in row.cells.items()],
            })  # fmt: skip
    return rows


def state_words() -> dict[str, str]:
    return {"in": _("in"), "cut": _("cut"), "later": _("on demand"), "ignored": _("ignored")}


def shown_cell(request: HttpRequest, compared: Compared, name: str, path: str, cell: Cell) -> dict[str, Any]:
    """A cell with its word and reason, and where that agent's context shows the file."""
    place, seen = compared.place, compared.seen[name]
    number = next((at for at, one in enumerate(seen.context.blocks, 1) if one.path == path), 0)
    address = f"{reverse('contexts.page', args=[request.space.slug])}?" + urlencode(
        {"mount": place.mount.pk, "dir": place.folder, "agent": name}
    )
    return {
        "state": cell.state, "word": state_words().get(cell.state, ""), "says": place.brief(cell.says), "agent": seen.agent,
        "url": f"{address}#b{number}" if number else f"{address}#{cell.state}",
    }  # fmt: skip


def is_wanted(row: dict[str, Any], show: str, named: str) -> bool:
    if named and named.lower() not in row["short"].lower():
        return False
    if show == "missed":
        return bool(row["row"].is_missed)
    return show not in STATES or bool(row["row"].has(show))


def grouped(rows: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    return list(groups.items())


@space_page("read", methods=("GET", "HEAD"))
def export_csv(request: HttpRequest) -> HttpResponse:
    """The matrix as a table for other programs: a cell is its state, and what it says."""
    place = chosen_place(request)
    if place is None:
        return no_place(request)
    compared = contexts.compare(place, chosen_agents(request))
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="files-by-agent.csv"'
    writer = csv.writer(response)
    writer.writerow(["file", "tokens", *compared.seen])
    for row in matrix_rows(compared, request):
        cells = [f"{one['state']}: {one['says']}" if one["says"] else one["state"] for one in row["cells"]]
        writer.writerow([activity.without_formula(one) for one in (row["short"], str(row["tokens"]), *cells)])
    return response


# ---- faults of memory files


def code_names() -> dict[str, str]:
    """What each kind of fault is called, gravest first."""
    return {
        "secret": _("Secrets"), "hidden": _("Hidden characters"), "not_read": _("Not read"), "cut": _("Cut at a limit"),
        "contradiction": _("Contradictions"), "missing_import": _("Imports that lead nowhere"), "dead_path": _("Paths that do not exist"),
        "missing_command": _("Commands that are not defined"), "repeated": _("Rules in three or more files"),
    }  # fmt: skip


@space_page("read", methods=("GET", "HEAD"))
def checks(request: HttpRequest) -> HttpResponse:
    """What `memoryhub check` finds in the folder, and how large each agent's context is there."""
    place = chosen_place(request)
    if place is None:
        return no_place(request)
    findings = contexts.check(place)
    sizes = contexts.compare(place, [one.name for one in coding.agents().values()])
    return render(request, "contexts/checks.html", frame(request, place) | {
        "findings": findings, "groups": by_code(place, findings[:MAX_ROWS]), "left_over": max(0, len(findings) - MAX_ROWS),
        "sizes": sorted(sizes.seen.values(), key=lambda one: -one.tokens),
        "most": max((one.tokens for one in sizes.seen.values()), default=1) or 1,
    })  # fmt: skip


def by_code(place: Place, findings: list[FindingInFile]) -> list[tuple[str, list[dict[str, Any]]]]:
    names = code_names()
    rows: dict[str, list[dict[str, Any]]] = {}
    for one in findings:
        rows.setdefault(one.code, []).append({
            "finding": one, "path": place.shorten(one.path), "message": place.shorten(one.message),
            "file_path": place.tree.file_path(one.path), "agents": [coding.agent(name) for name in one.agents],
        })  # fmt: skip
    order = [*names, *(code for code in rows if code not in names)]
    return [(names.get(code, code), rows[code]) for code in order if code in rows]


# ---- memory that agents write


@space_page("read", methods=("GET", "HEAD"))
def memory(request: HttpRequest) -> HttpResponse:
    """The memory files that agents write themselves, each with its limits; one of them entry by entry."""
    return show_memory(request, clean_text(request.GET.get("path", "")))


def show_memory(request: HttpRequest, path: str, *, status: int = 200, **more: object) -> HttpResponse:
    one = contexts.own_memory(request.space, path) if path else None
    memories, query = contexts.own_memories(request.space), clean_text(request.GET.get("q", "")).strip()
    context = {"memories": memories, "memory": one, "query_words": query, **more}
    if query and not one:
        context["found"] = contexts.find_entries(memories, query)
    if one:
        topics = contexts.topic_paths(request.space, one)
        shown = [(entry, topics.get(entry.number, "")) for entry in one.entries[:MAX_ROWS]]
        context |= {"entries": shown, "agent": coding.agent(one.format.agent)}
    return render(request, "contexts/memory.html", context, status=status)


@post_only("edit")
def change_entry(request: HttpRequest) -> HttpResponse:
    """Changes, removes or adds one entry."""
    post = request.POST
    path, number = clean_text(post.get("path", "")), parse_number(post.get("number"))
    text = None if "remove" in post else typed_text(request, "text")
    try:
        contexts.change_entry(request.space, request.actor, path, seen=post.get("seen", ""), number=number, text=text)
    except NotFound:
        raise
    except HubError as error:
        return show_memory(request, path, status=error.status, error=error, typed=text or "", typed_number=number)
    done(request, _("%(path)s is changed. Its history takes it back.") % {"path": path})
    address = reverse("contexts.memory", args=[request.space.slug])
    return HttpResponseRedirect(f"{address}?{urlencode({'path': path})}", status=303)
