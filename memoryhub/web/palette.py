"""The palette: where one can go from here, and what one can do, for what is typed. Each row is a link."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve
from django.utils.translation import gettext as _

from memoryhub.domain import files, longterm
from memoryhub.models import Agent, Proposal
from memoryhub.web.access import space_page
from memoryhub.web.helpers import clean_text
from memoryhub.web.palette_options import (
    Option,
    Typed,
    action_options,
    agent_option,
    agent_options,
    entry_option,
    file_option,
    file_options,
    memory_options,
    page_options,
    proposal_option,
    proposal_options,
)

MAX_RECENT = 8
MAX_NUMBER = 10**9
MODES = {">": "actions", "@": "agents", "#": "proposals"}


@dataclass(frozen=True)
class Group:
    name: str
    options: list[Option]


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    """The whole palette; with `part`, only its rows."""
    given = clean_text(request.GET.get("q", "")).strip()
    mode = MODES.get(given[:1], "")
    typed = Typed(mode, given[1:].strip() if mode else given)
    groups = [group for group in groups_of(request, typed) if group.options]
    options = [option for group in groups for option in group.options]
    context = {
        "q": given,
        "typed": typed,
        "groups": groups,
        "chosen": chosen_option(typed, options),
        "has_options": options,
    }
    response = render(request, "palette/_list.html" if "part" in request.GET else "palette/dialog.html", context)
    response["Cache-Control"] = "private, no-store"
    return response


def chosen_option(typed: Typed, options: list[Option]) -> Option | None:
    """What Enter opens: the first row that begins with what was typed; for plain words none, so that they are searched for."""
    if not typed.text or typed.mode:
        return next(iter(options), None)
    return next((option for option in options if option.is_exact), None)


def groups_of(request: HttpRequest, typed: Typed) -> Iterator[Group]:
    recent = recent_options(request, typed) if not typed.mode else []
    shown = {option.url for option in recent}

    def others(options: Iterable[Option]) -> list[Option]:
        return [option for option in options if option.url not in shown]

    yield Group(_("Recent"), recent)
    if not typed.mode and typed.text:
        yield Group(_("Files"), others(file_options(request, typed)))
    if typed.mode in ("", "agents") and (typed.text or typed.mode):
        yield Group(_("Agents"), others(agent_options(request, typed)))
    if typed.mode in ("", "proposals") and (typed.text or typed.mode):
        yield Group(_("Proposals"), others(proposal_options(request, typed)))
    if not typed.mode and typed.text:
        yield Group(_("Memory"), others(memory_options(request, typed)))
    if typed.mode in ("", "actions"):
        pages = page_options(request, typed) if not typed.mode else []
        actions = list(action_options(request, typed))
        yield Group(_("Pages and actions") if pages else _("Actions"), others([*pages, *actions]))


# ---- what was opened lately: the browser names the addresses, and what is not there, or not for this reader, is left out


def recent_options(request: HttpRequest, typed: Typed) -> list[Option]:
    begin = request.space.get_absolute_url()
    paths = [path for path in request.GET.getlist("recent")[:MAX_RECENT] if path.startswith(begin)]
    places = {path: place for path in paths if (place := place_of(path))}
    known = {**recent_files(request, places, typed), **recent_rows(request, places, typed)}
    found = [known[path] for path in places if path in known]
    return [option for option in found if not typed.text or typed.fits(option.name, option.note)]


def place_of(path: str) -> tuple[str, dict[str, Any]] | None:
    """The name of the page at an address, and what it is about."""
    try:
        match = resolve(unquote(path))
    except Resolver404:
        return None
    return str(match.url_name), match.kwargs


def recent_files(
    request: HttpRequest, places: dict[str, tuple[str, dict[str, Any]]], typed: Typed
) -> dict[str, Option]:
    wanted = {
        path: f"/{given['path'].strip('/')}"
        for path, (name, given) in places.items()
        if name == "files.page" and given.get("path")
    }
    there = files.existing_paths(request.space, wanted.values()) if wanted else set()
    return {path: file_option(request, where, typed) for path, where in wanted.items() if where in there}


def recent_rows(request: HttpRequest, places: dict[str, tuple[str, dict[str, Any]]], typed: Typed) -> dict[str, Option]:
    """Agents, proposals and long-term entries among the recent addresses."""

    def values(name: str, key: str) -> dict[Any, str]:
        of_page = ((given[key], path) for path, (page_name, given) in places.items() if page_name == name)
        return {value: path for value, path in of_page if not isinstance(value, int) or value < MAX_NUMBER}

    agents, asked, entries = (
        values("agents.detail", "agent"),
        values("proposals.detail", "number"),
        values("longterm.entry", "number"),
    )
    found: dict[str, Option] = {}
    if agents:
        rows = Agent.objects.within(request.space).filter(slug__in=agents)
        found |= {agents[one.slug]: agent_option(request, one, typed) for one in rows}
    if asked:
        waiting = Proposal.objects.within(request.space).filter(number__in=asked)
        found |= {asked[one.number]: proposal_option(request, one, typed) for one in waiting}
    if entries:
        kept = longterm.entries_of(request.space).filter(number__in=entries)
        found |= {entries[one.number]: entry_option(request, one) for one in kept}
    return found
