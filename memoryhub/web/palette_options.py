"""The rows of the palette: files, agents, proposals, entries, pages and actions that fit what is typed and what one may do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q
from django.http import HttpRequest
from django.urls import resolve, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoryhub.domain import files, longterm, prompts, proposals, retrieval, spaces, working
from memoryhub.domain.accounts import may
from memoryhub.models import Agent, LongtermEntry, Mount, Proposal, WorkingEntry
from memoryhub.templatetags.agent_names import agent_title
from memoryhub.templatetags.proposals import proposal_state

MAX_ROWS = 6  # rows of a group
MAX_LOOKED_AT = 2000  # of the newest proposals and entries
NUMBERED = re.compile(r"(approve|reject|review|open|proposal)\s+#?(\d{1,9})$", re.IGNORECASE)
# Name, glyph, address, further words by which it is found.
PAGES = [
    (gettext_lazy("Overview"), "overview", "overview.page", ""),
    (gettext_lazy("Proposals"), "proposal", "proposals.page", gettext_lazy("inbox review")),
    (gettext_lazy("Files"), "source", "files.page", gettext_lazy("memory")),
    (gettext_lazy("Quarantine"), "quarantine", "quarantine.page", gettext_lazy("held records")),
    (gettext_lazy("Working memory"), "working", "working.page", gettext_lazy("entries")),
    (gettext_lazy("Long-term memory"), "longterm", "longterm.page", gettext_lazy("entries")),
    (gettext_lazy("Prompts"), "prompt", "prompts.start", ""),
    (gettext_lazy("Agents"), "agent", "agents.page", gettext_lazy("tokens")),
    (gettext_lazy("Activity"), "activity", "activity.page", gettext_lazy("log")),
    (gettext_lazy("Settings"), "settings", "spaces.settings", ""),
    (gettext_lazy("Members"), "settings", "people.page", gettext_lazy("people roles settings")),
    (gettext_lazy("Mounts"), "settings", "mounts.page", gettext_lazy("directories settings")),
    (gettext_lazy("Sources"), "settings", "sources.page", gettext_lazy("settings")),
    (gettext_lazy("Rules"), "settings", "policies.page", gettext_lazy("policies settings")),
    (gettext_lazy("Gate"), "settings", "gate.page", gettext_lazy("checks judge settings")),
    (gettext_lazy("Retrieval"), "settings", "retrieval_settings.page", gettext_lazy("settings")),
    (gettext_lazy("Notifications"), "settings", "webhooks.page", gettext_lazy("webhooks mail settings")),
    (gettext_lazy("Import"), "settings", "imports.page", gettext_lazy("settings")),
    (gettext_lazy("Usage and limits"), "settings", "quotas.page", gettext_lazy("quotas storage settings")),
    (gettext_lazy("Erasure"), "settings", "erasure.page", gettext_lazy("delete settings")),
    (gettext_lazy("Try a query"), "search", "retrieval.page", gettext_lazy("retrieval playground")),
    (gettext_lazy("Search"), "search", "search.page", ""),
    (gettext_lazy("Your account"), "person", "account.page", gettext_lazy("password sessions tokens sign out")),
    (gettext_lazy("Keyboard shortcuts"), "info", "shortcuts.page", gettext_lazy("keys help")),
]
ACTIONS = [
    (gettext_lazy("New file"), "plus", "files.new", gettext_lazy("create add")),
    (gettext_lazy("New agent"), "plus", "agents.create", gettext_lazy("create add connect")),
    (gettext_lazy("Add a working memory entry"), "plus", "working.page", gettext_lazy("create new")),
    (
        gettext_lazy("Promote a text to long-term memory"),
        "longterm",
        "promotions.page",
        gettext_lazy("create new entry"),
    ),
]


@dataclass(frozen=True)
class Option:
    """One row: what it is, where it leads, and a note beside its name."""

    name: str
    url: str
    kind: str
    glyph: str
    note: str = ""
    layer: str = ""
    is_exact: bool = False  # it begins with what was typed, so that Enter opens it


@dataclass(frozen=True)
class Typed:
    """What was typed: its mode by the first sign, the rest, and its words."""

    mode: str
    text: str

    @property
    def words(self) -> list[str]:
        return self.text.lower().split()

    def fits(self, *texts: str) -> bool:
        """Whether each word begins a word of these texts."""
        have = [word for text in texts for word in re.split(r"[\s/._\-]+", text.lower()) if word]
        return all(any(one.startswith(word) for one in have) for word in self.words)

    def begins(self, text: str) -> bool:
        return bool(self.text) and text.lower().startswith(self.text.lower())


def address(request: HttpRequest, name: str, *args: Any, query: dict[str, str] | None = None) -> str:
    where = reverse(name, args=[request.space.slug, *args])
    return f"{where}?{urlencode(query)}" if query else where


# ---- what there is


def file_option(request: HttpRequest, path: str, typed: Typed) -> Option:
    folder, _slash, name = path.rpartition("/")
    return Option(
        name, address(request, "files.page", path.lstrip("/")), _("File"), "source", folder or "/", "source",
        typed.begins(name) or typed.begins(path),
    )  # fmt: skip


def file_options(request: HttpRequest, typed: Typed) -> list[Option]:
    return [file_option(request, path, typed) for path in files.find_paths(request.space, typed.text, MAX_ROWS)]


def agent_option(request: HttpRequest, agent: Agent, typed: Typed) -> Option:
    url = address(request, "agents.detail", agent.slug)
    return Option(agent.name, url, _("Agent"), "agent", "", "", typed.begins(agent.name) or typed.begins(agent.slug))


def agent_options(request: HttpRequest, typed: Typed) -> list[Option]:
    found = prompts.agents_of_space(request.space)
    for word in typed.words:
        found = found.filter(Q(name__icontains=word) | Q(slug__icontains=word))
    return [agent_option(request, one, typed) for one in found[:MAX_ROWS]]


def proposal_option(request: HttpRequest, one: Proposal, typed: Typed) -> Option:
    note = _("#%(number)s by %(agent)s, %(state)s") % {
        "number": one.number, "agent": agent_title(one.agent_name), "state": proposal_state(one).lower(),
    }  # fmt: skip
    url = address(request, "proposals.detail", one.number)
    return Option(one.title, url, _("Proposal"), "proposal", note, "", typed.text.lstrip("#") == str(one.number))


def proposal_options(request: HttpRequest, typed: Typed) -> list[Option]:
    return [proposal_option(request, one, typed) for one in proposals_found(request, typed)]


def proposals_found(request: HttpRequest, typed: Typed) -> list[Proposal]:
    """The newest proposals with these words or this number, those that wait first."""
    newest = request.space.last_proposal - MAX_LOOKED_AT
    found = Proposal.objects.within(request.space).filter(number__gt=newest)
    if typed.text.lstrip("#").isdecimal():
        found = Proposal.objects.within(request.space).filter(number=int(typed.text.lstrip("#")[:9]))
    else:
        for word in typed.words:
            found = found.filter(Q(path__icontains=word) | Q(reason__icontains=word) | Q(agent_name__icontains=word))
    waiting = found.filter(state=Proposal.State.PENDING).order_by("-number")[:MAX_ROWS]
    first = list(waiting)
    if len(first) < MAX_ROWS:
        first += found.exclude(state=Proposal.State.PENDING).order_by("-number")[: MAX_ROWS - len(first)]
    return first


def memory_options(request: HttpRequest, typed: Typed) -> list[Option]:
    """Entries of working and long-term memory with all words; copies of one text are one row."""
    hot, cold = working.live(request.space), longterm.entries_of(request.space).exclude(state="retired")
    oldest = request.space.last_entry - MAX_LOOKED_AT
    cold = cold.filter(number__gt=oldest)
    for word in typed.words:
        hot, cold = hot.filter(content__icontains=word), cold.filter(content__icontains=word)
    found: list[WorkingEntry | LongtermEntry] = [
        *cold.order_by("-number")[: 4 * MAX_ROWS],
        *hot.order_by("-id")[: 4 * MAX_ROWS],
    ]
    joined = retrieval.join_copies(found, lambda one: one.content)
    return [entry_option(request, one.first, one.count, typed) for one in joined[:MAX_ROWS]]


def title_with(content: str, typed: Typed) -> str:
    """The first line of an entry, or the line with the first word that was typed."""
    line = next((line for line in content.splitlines() if typed.words and typed.words[0] in line.lower()), content)
    at = line.lower().find(typed.words[0]) if typed.words else 0
    return f"…{line[at - 30 : at + 60].strip()}" if at > 70 else longterm.title_of_entry(line, 90)


def entry_option(
    request: HttpRequest, one: WorkingEntry | LongtermEntry, copies: int = 1, typed: Typed | None = None
) -> Option:
    title = title_with(one.content, typed) if typed else longterm.title_of_entry(one.content, 90)
    note = _("%(count)s copies") % {"count": copies} if copies > 1 else ""
    if isinstance(one, LongtermEntry):
        label = f"L-{one.number}"
        url = address(request, "longterm.entry", one.number)
        return Option(title, url, _("Long-term"), "longterm", ", ".join(filter(None, (label, note))), "longterm")
    return Option(title, address(request, "working.entry", one.pk), _("Working"), "working", note, "working")


# ---- where one can go, and what one can do


@cache
def needs_of(name: str) -> str:
    """What somebody must be allowed to do to open a page without parameters of its own."""
    args = [] if name.startswith(("account.", "shortcuts.")) else ["x"]
    return str(getattr(resolve(reverse(name, args=args)).func, "needs", "read"))


def reachable(request: HttpRequest, name: str) -> str:
    """The address of a page, "" where the reader's role may not open it."""
    if name.startswith(("account.", "shortcuts.")):
        return reverse(name)
    return address(request, name) if may(request.role, needs_of(name)) else ""


def page_options(request: HttpRequest, typed: Typed) -> list[Option]:
    found = [
        Option(
            str(name), url, _("Page"), glyph, _("Settings") if glyph == "settings" else "", "", typed.begins(str(name))
        )
        for name, glyph, view, more in PAGES
        if typed.fits(str(name), str(more)) and (url := reachable(request, view))
    ]
    return sorted(found, key=lambda option: not option.is_exact)[: MAX_ROWS if typed.text else len(PAGES)]


def action_options(request: HttpRequest, typed: Typed) -> Iterator[Option]:
    yield from numbered_actions(request, typed)
    for name, glyph, view, more in ACTIONS:
        needs = {"files.new": "edit", "working.page": "edit"}.get(view) or needs_of(view)
        if typed.fits(str(name), str(more)) and may(request.role, needs) and (url := reachable(request, view)):
            yield Option(str(name), url, _("Action"), glyph, "", "", typed.begins(str(name)))
    yield from space_options(request, typed)
    yield from deciding_options(request, typed)
    if re.fullmatch(r"[^\s/]+\.\w{1,8}|/\S+|[^\s/.]{2,40}", typed.text) and may(request.role, "edit"):
        yield from new_file_options(request, typed.text)


def numbered_actions(request: HttpRequest, typed: Typed) -> Iterator[Option]:
    """ "approve 12": the review of that proposal, if this person may decide on it and it waits."""
    asked = NUMBERED.match(typed.text)
    if not asked:
        return
    verb, number = asked[1].lower(), int(asked[2])
    one = Proposal.objects.within(request.space).filter(number=number).first()
    if one is None:
        return
    if verb in ("approve", "reject") and may_decide(request, one):
        yield deciding_option(request, one, verb, is_exact=True)
    else:
        option = proposal_option(request, one, typed)
        yield Option(option.name, option.url, option.kind, option.glyph, option.note, "", True)


def may_decide(request: HttpRequest, one: Proposal) -> bool:
    is_open = one.state == Proposal.State.PENDING and may(request.role, "decide")
    return is_open and not proposals.is_own(one, request.actor)


def deciding_option(request: HttpRequest, one: Proposal, verb: str, *, is_exact: bool = False) -> Option:
    says = _("Approve proposal %(number)s…") if verb == "approve" else _("Reject proposal %(number)s…")
    url = address(request, "proposals.detail", one.number) + "#decide"
    glyph = "check" if verb == "approve" else "x"
    return Option(says % {"number": one.number}, url, _("Action"), glyph, one.title, "", is_exact)


def deciding_options(request: HttpRequest, typed: Typed) -> list[Option]:
    """Approving the waiting proposals that fit the words, or all of them for "approve"."""
    if not typed.text or not may(request.role, "decide") or NUMBERED.match(typed.text):
        return []
    verb = next((verb for verb in ("approve", "reject") if typed.words and verb.startswith(typed.words[0])), "")
    rest = Typed("", " ".join(typed.words[1:])) if verb and len(typed.words[0]) > 2 else typed
    waiting = [one for one in proposals_found(request, rest)[:3] if may_decide(request, one)]
    return [
        deciding_option(request, one, verb or "approve", is_exact=bool(verb and rest is not typed)) for one in waiting
    ]


def space_options(request: HttpRequest, typed: Typed) -> list[Option]:
    """The reader's other spaces, for their names or "switch space"."""
    return [
        Option(_("Switch to %(space)s") % {"space": one.name}, one.get_absolute_url(), _("Space"), "next", one.slug, "",
               typed.begins(_("switch space")) or typed.begins(one.name))
        for one in spaces.spaces_of_person(request.user)
        if one.pk != request.space.pk and typed.text and typed.fits(_("switch space"), one.name, one.slug)
    ][:MAX_ROWS]  # fmt: skip


def new_file_options(request: HttpRequest, name: str) -> Iterator[Option]:
    """A new file of that name: at its path if a mount has it, else in the first mount that files are written to."""
    mounts = [one for one in files.mounts_of_space(request.space) if one.store != Mount.Store.VIEWS]
    if not mounts or name.endswith("/"):
        return
    prefix = min((one.prefix for one in mounts), key=lambda one: (one != "/memories/", one))
    is_mounted = name.startswith("/") and files.find_mount(mounts, name)
    path = name if is_mounted else f"{prefix}{name.lstrip('/')}"
    path = path if "." in path.rpartition("/")[2] else f"{path}.md"
    if files.existing_paths(request.space, [path]):
        return
    folder, _slash, last = path.rpartition("/")
    says = _("New file “%(name)s”") % {"name": last}
    url = address(request, "files.new", query={"path": path})
    yield Option(says, url, _("Action"), "plus", _("in %(folder)s") % {"folder": folder or "/"})
