"""The one editor: of files, proposals, long-term entries and templates. What differs is the button, the names and what a save does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from memoryhub.dialects.hub import GUIDELINES
from memoryhub.domain import files, longterm, prompts, proposals
from memoryhub.domain.accounts import require
from memoryhub.domain.files import Published
from memoryhub.domain.proposals import DraftCheck
from memoryhub.errors import HubError, Invalid, NotFound
from memoryhub.models import File, LongtermEntry, Proposal
from memoryhub.stores import paths
from memoryhub.templatetags.agent_names import agent_title
from memoryhub.templatetags.files import act_url, page_address
from memoryhub.text import markdown
from memoryhub.text.lines import describe_ends, for_editor, text_of
from memoryhub.web import file_views
from memoryhub.web.access import post_only
from memoryhub.web.helpers import parse_number
from memoryhub.web.readers import readers_of

LARGE = 100_000  # characters of a text from which on findings and prompts are fetched after the page
PREVIEWS = ("people", "model", "change")


@dataclass(frozen=True)
class Editor:
    """A text to edit: what it is called, where it is saved, and how it is checked while somebody writes."""

    kind: str  # file | proposal | entry | template
    of: str  # the path, number or name by which the kind finds it
    title: str
    heading: str
    note: str
    crumbs: list[tuple[str, str]]
    stored: str  # the text that a save replaces
    text: str  # the text to begin with
    base: str  # what a draft was made on, in words
    save_url: str
    save_label: str
    cancel_url: str
    check: Callable[[str], DraftCheck]
    on_save: list[str] = field(default_factory=list)
    hidden: dict[str, str] = field(default_factory=dict)
    do: str = ""  # the value of the button, where the address takes several
    form_id: str = "editor"
    reason_name: str = "reason"
    reason_label: str = ""
    reason_limit: int = 1000
    ends: str = ""
    is_markdown: bool = True
    proposal: Proposal | None = None

    @property
    def subject(self) -> str:
        return f"{self.kind}:{self.of}"

    @property
    def lock(self) -> str:
        """The name under which it is noted who has it open."""
        return self.of if self.kind == "file" else self.subject


# ---- what can be edited


def of_file(request: HttpRequest, path: str) -> Editor:
    """A file as it is published, or a new one at this path. Refused for what is no text."""
    require(request.actor, "edit")
    space, where = request.space, paths.clean(path)
    found = files.read_many(space, [where])[where]
    if isinstance(found, HubError) and not isinstance(found, NotFound):
        raise found
    if isinstance(found, Published) and not found.is_text:
        raise Invalid(
            _("“%(path)s” is not UTF-8 text, so it cannot be edited here. Download it, or upload another file over it.")
            % {"path": where},
            code="not_text",
        )
    if not isinstance(found, Published):
        files.require_shown(space, where)
    exists, raw = isinstance(found, Published), text_of(found.content) if isinstance(found, Published) else ""
    base = found.revision if isinstance(found, Published) else last_revision(request, where)
    name, stored = where.rpartition("/")[2], for_editor(raw)
    place = files.resolve_path(space, where)
    return Editor(
        "file", where, _("Edit %(path)s") % {"path": where}, name,
        _("revision %(number)s") % {"number": base} if exists else _("new file"),
        file_crumbs(request, where), stored, stored if exists else first_text(where), str(base),
        act_url({"space": space}, "files.write", where), _("Save"),
        page_address(space.slug, where) if exists else reverse("files.page", args=[space.slug]),
        lambda text: proposals.check_file_draft(space, where, text),
        on_save=on_save_of_file(base + 1, place.mount.store), hidden={"base_revision": str(base)},
        reason_label=_("Reason, shown in history and blame"), ends=ends_of(raw),
        is_markdown=where.lower().endswith(file_views.MARKDOWN),
    )  # fmt: skip


def ends_of(raw: str) -> str:
    """Line ends and BOM in a few words; whether it ends with one is said elsewhere, as that changes."""
    return describe_ends(raw).removesuffix(", no newline at the end") if raw else ""


def first_text(where: str) -> str:
    """What a new file begins with: the hub's guidelines with the words that count without the file, others with nothing."""
    return GUIDELINES if where == files.GUIDELINES_PATH else ""


def last_revision(request: HttpRequest, where: str) -> int:
    """The number of the newest revision, also of a deleted file; 0 if there never was one."""
    file = File.objects.within(request.space).filter(path=where, thread_id="").first()
    return file.revision if file else 0


def on_save_of_file(number: int, store: str) -> list[str]:
    says = [_("It becomes revision %(number)s at once, in your name.") % {"number": number}]
    if store == "filesystem":
        says.append(_("The file on disk changes too."))
    return [*says, _("Threads that run may keep the old text until their next thread.")]


def file_crumbs(request: HttpRequest, where: str) -> list[tuple[str, str]]:
    folders = [(one.name, page_address(request.space.slug, one.path)) for one in file_views.crumbs(where)[:-1]]
    return [(_("Files"), reverse("files.page", args=[request.space.slug])), *folders]


def of_proposal(request: HttpRequest, number: str, *, clean: bool = False) -> Editor:
    """What an agent asked for, to be approved in other words; without its hidden characters if `clean`."""
    require(request.actor, "decide")
    proposal = proposals.get(request.space, int(number))
    review = proposals.review(proposal)
    if not review.can_edit:
        raise Invalid(_("This proposal has no text to edit."), code="invalid")
    slug, found, at = request.space.slug, review.found, [request.space.slug, proposal.number]
    says = [
        _("Your text is approved instead of what %(agent)s asked for.") % {"agent": agent_title(proposal.agent_name)}
    ]
    if not found.applies:
        says.insert(0, _("It no longer applies, so this is the text that stands now. Put in what should change."))
    return Editor(
        "proposal", str(proposal.number), _("Edit proposal %(number)s") % {"number": proposal.number}, proposal.thing,
        _("proposal %(number)s") % {"number": proposal.number},
        [(_("Proposals"), reverse("proposals.page", args=[slug])), (str(proposal.number), reverse("proposals.detail", args=at))],
        for_editor(found.before_text), for_editor(text_to_edit(review, clean)), found.seen,
        reverse("proposals.approve", args=at), _("Approve with my edits"), reverse("proposals.detail", args=at),
        lambda text: proposals.check_proposal_draft(proposal, proposals.edited_bytes(found.before, text)),
        on_save=says, hidden={"seen": found.seen, "base": found.before_sha256}, do="edited", form_id="decide-form",
        reason_name="note", reason_limit=2000,
        reason_label=_("Note") if proposal.from_disk else _("Note for %(agent)s") % {"agent": agent_title(proposal.agent_name)},
        is_markdown=not proposal.path or proposal.path.lower().endswith(file_views.MARKDOWN), proposal=proposal,
    )  # fmt: skip


def text_to_edit(review: proposals.Review, clean: bool) -> str:
    """The proposed text, without hidden characters if `clean`; the current one if the proposal does not apply."""
    if not review.found.applies:
        return review.found.before_text
    text = review.found.after_text
    for one in reversed(review.findings if clean else []):
        if one.code == "hidden" and one.kind not in ("lookalike", "styled"):
            text = text[: one.start] + text[one.end :]
    return text


def of_entry(request: HttpRequest, number: str) -> Editor:
    """An entry of long-term memory."""
    require(request.actor, "promote")
    space, entry = request.space, longterm.get(request.space, int(number))
    name, here = f"L-{entry.number}", reverse("longterm.entry", args=[space.slug, entry.number])
    return Editor(
        "entry", str(entry.number), _("Edit %(name)s") % {"name": name}, name,
        _("revision %(number)s") % {"number": entry.revision},
        [(_("Long-term memory"), reverse("longterm.page", args=[space.slug])), (name, here)],
        for_editor(entry.content), for_editor(entry.content), str(entry.revision),
        reverse("longterm.edit", args=[space.slug, entry.number]), _("Save"), here,
        lambda text: proposals.check_entry_draft(space, entry, text),
        on_save=entry_on_save(entry), hidden={"revision": str(entry.revision)}, reason_label=_("Reason"), reason_limit=300,
    )  # fmt: skip


def entry_on_save(entry: LongtermEntry) -> list[str]:
    says = [_("It is split and embedded again at once. The earlier text stays in its history.")]
    return says if entry.state != "retired" else [_("It is retired, so no agent finds it.")]


def of_template(request: HttpRequest, slug: str) -> Editor:
    """The template of one agent, which takes the place of the library's."""
    require(request.actor, "manage")
    agent = prompts.agent_by_slug(request.space, slug)
    at = [request.space.slug, agent.slug]
    settings = reverse("prompts.settings", args=at)
    return Editor(
        "template", agent.slug, _("Template of %(agent)s") % {"agent": agent.name}, _("Template"),
        _("of %(agent)s") % {"agent": agent.name},
        [(_("Agents"), reverse("agents.page", args=[request.space.slug])), (agent.name, reverse("agents.detail", args=at)),
         (_("Prompt settings"), settings)],
        for_editor(agent.template), for_editor(agent.template), "", reverse("templates.change", args=at), _("Save"), settings,
        lambda text: proposals.check_template_draft(agent, text),
        on_save=[_("It takes the place of the library's template in the prompts of this agent. Empty, the library's counts again."),
                 _("It needs {agent_memory} exactly once, where memory goes.")],
    )  # fmt: skip


EDITORS: dict[str, Callable[[HttpRequest, str], Editor]] = {
    "file": of_file, "proposal": of_proposal, "entry": of_entry, "template": of_template,
}  # fmt: skip


def requested_editor(request: HttpRequest) -> Editor:
    """The editor of the form that was sent; `NotFound` for a subject that there is not."""
    kind, _sign, of = request.POST.get("subject", "").partition(":")
    if kind not in EDITORS or (kind in ("proposal", "entry") and parse_number(of) is None):
        raise NotFound(_("There is no such text to edit."))
    return EDITORS[kind](request, of)


# ---- the page, and what it asks for while somebody writes


def show_editor(
    request: HttpRequest, editor: Editor, *, status: int = 200, content: str | None = None, view: str = "", **more: Any
) -> HttpResponse:
    """The editor's page. After a refusal with what was typed (`content`) and the error."""
    text = editor.text if content is None else for_editor(content)
    context = {
        "editor": editor, "text": text, "others": files.note_editing(request.space, request.user, editor.lock),
        "is_late": len(text) > LARGE and status == 200 and not view, "error": None, "reason": "", "typed": {}, **more,
    }  # fmt: skip
    context |= {} if context["is_late"] else side_context(request, editor, text, view)
    return render(request, "editor/page.html", context, status=status)


def side_context(request: HttpRequest, editor: Editor, text: str, view: str) -> dict[str, Any]:
    """The context of the parts beside the text: findings, prompts, and the preview `view`."""
    view = view if view in PREVIEWS else ""
    try:
        checked, problem = editor.check(text), None
    except HubError as refusal:
        checked, problem = DraftCheck(editor.stored, text, []), refusal
    opened = request.POST.getlist("open") or [change.agent.slug for change in checked.changes[:1]]
    context: dict[str, Any] = {
        "checked": checked, "problem": problem, "view": view, "opened": opened,
        "previews": [("people", _("Preview")), ("model", _("Model view")), ("change", _("Changes"))],
        "readers": readers_of(request.space, editor.of) if editor.kind == "file" else None,
        "others_agents": agents_without(request, editor, checked), "looked": request.POST.get("looked_at", ""),
    }  # fmt: skip
    if view == "people" and editor.is_markdown and text.count("\n") <= file_views.MAX_RENDERED_LINES:
        context["rendered"] = markdown.render(text)
    elif view in ("people", "model"):
        context["piece"] = file_views.line_page(file_views.shown_lines(text, for_model=view == "model"), "")
    return context


def agents_without(request: HttpRequest, editor: Editor, checked: DraftCheck) -> list[str]:
    """The agents in whose prompt the file is not."""
    if editor.kind != "file" or checked.more_readers:
        return []
    shown = {change.agent.pk for change in checked.changes}
    return [agent.name for agent in prompts.agents_of_space(request.space) if agent.pk not in shown]


@post_only("edit")
def check(request: HttpRequest) -> HttpResponse:
    """What the text in the form would do: the parts beside it, or, without JavaScript, the whole page."""
    editor = requested_editor(request)
    text = for_editor(request.POST.get("content", ""))
    view = request.POST.get("view", "")
    if not request.htmx:
        typed = {"note": request.POST.get("note", "")}
        reason = request.POST.get(editor.reason_name, "")
        return show_editor(request, editor, content=text, view=view or "people", reason=reason, typed=typed)
    return render(request, "editor/_checked.html", {"editor": editor, **side_context(request, editor, text, view)})


@post_only("edit")
def note_editing(request: HttpRequest) -> HttpResponse:
    """Called while the editor is open: notes that, and shows who else has the text open."""
    editor = requested_editor(request)
    others = files.note_editing(request.space, request.user, editor.lock)
    return render(request, "editor/_others.html", {"others": others, "editor": editor})
