"""Files: the tree, one file in its views, the editor, and what changes a file."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from memoryhub.domain import files, prompts, proposals, spaces
from memoryhub.domain.accounts import may
from memoryhub.domain.files import Published
from memoryhub.errors import Conflict, HubError, Invalid, NotFound, Unavailable
from memoryhub.languages import translated
from memoryhub.models import Revision, Space
from memoryhub.stores import disk, paths
from memoryhub.templatetags.files import page_address
from memoryhub.text.lines import for_editor, keep_ends, text_as_bytes
from memoryhub.web import editor, file_list, file_views, recall
from memoryhub.web.access import post_only, space_page
from memoryhub.web.file_views import download_response, requested_path
from memoryhub.web.notices import done, refused

VIEWS = ("rendered", "source", "edit", "history", "blame", "diff")


# ---- reading


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest, path: str = "") -> HttpResponse:
    """A folder, or a file in one of its views."""
    if "q" in request.GET:
        return search(request)
    where = requested_path(request, path)
    if where.endswith("/"):
        return show_folder(request, where)
    if shown := files.view_at(request.space, where):
        return recall.show(request, where, shown)
    view = request.GET.get("view", "rendered")
    if view == "edit":
        return editor.show_editor(request, editor.of_file(request, where))
    try:
        found: Published | HubError = files.read(request.space, where)
    except HubError as error:
        if isinstance(error, NotFound) and files.is_folder(request.space, where):
            return HttpResponseRedirect(page_address(request.space.slug, where + "/"))
        found = error
    return show_file(request, where, found, view if view in VIEWS else "rendered")


def search(request: HttpRequest) -> HttpResponse:
    """The files whose path has the letters that somebody typed; htmx gets the list alone, or the tree with what was found."""
    words = request.GET["q"].strip()
    hits = files.search_paths(request.space, words) if words else None
    part = request.htmx and not request.htmx.boosted
    if part and request.GET.get("part") == "tree":
        context = {"hits": hits, "tree": files.tree(request.space, "/") if hits is None else []}
        return render(request, "files/_branches.html", context)
    return render(request, "files/_found.html" if part else "files/search.html", {"q": words, "hits": hits})


def show_folder(request: HttpRequest, where: str, *, status: int = 200, **more: object) -> HttpResponse:
    """The page of a folder, or for htmx its branch of the tree. The start page is that of the only mount."""
    if request.GET.get("part") == "branch" and request.htmx:
        rows = files.tree(request.space, where)
        return render(request, "files/_branches.html", {"tree": file_views.children_of(rows, where)})
    if mount := file_list.only_mount(request.space, where):
        where = mount.prefix
    manages = may(request.actor.role, "manage")
    asked = request.GET.get("page", "1"), request.GET.get("show", "")
    try:
        context = file_list.folder(request.space, where, *asked, manages=manages)
    except Unavailable as refused:
        if refused.code != "disk_error":
            raise
        return show_closed_folder(request, where, refused)
    return render(request, "files/folder.html", {**context, **more}, status=status)


def show_closed_folder(request: HttpRequest, where: str, refused: HubError) -> HttpResponse:
    """The page of a folder that the disk does not show."""
    crumbs = file_views.crumbs(where)
    context = {
        "where": where, "crumbs": crumbs, "name": crumbs[-1].name, "mount": files.mount_at(request.space, where),
        "problem": refused.message, "closed": files.closed_at(request.space, where), "tree": files.tree(request.space, where),
    }  # fmt: skip
    return render(request, "files/missing.html", context)


def show_file(request: HttpRequest, where: str, found: Published | HubError, view: str) -> HttpResponse:
    try:
        file = files.file_row(request.space, where)
    except NotFound:
        return show_missing(request, where, found)
    files.find_git_authors(request.space, where)
    context = file_views.file_header(request.space, where, file, found, view)
    if view == "history":
        context |= file_views.history(file, request.GET.get("before", ""))
    elif view == "blame":
        context |= file_views.blame(file, request.GET.get("at", ""), request.GET.get("line", ""))
        if request.htmx and not request.htmx.boosted:  # the page polls the progress of a long history
            if context.get("is_running"):
                return render(request, "files/_blaming.html", context)
            return HttpResponse(headers={"HX-Refresh": "true"})
    elif view == "diff":
        context |= file_views.compare(file, request.GET)
    elif isinstance(found, Published):
        context |= file_views.file_text(found, view, request.GET.get("line", ""))
    status = found.status if isinstance(found, HubError) and view not in ("history", "blame", "diff") else 200
    return render(
        request, f"files/{view if view in ('history', 'blame', 'diff') else 'page'}.html", context, status=status
    )


def show_missing(request: HttpRequest, where: str, found: Published | HubError) -> HttpResponse:
    """The page of a path without a readable file: a source that does not exist yet, a problem on disk, or a 404."""
    mount = files.mount_at(request.space, where)
    is_source = prompts.is_source(request.space, where) or where in files.PROMPT_FILES.values()
    held = files.held_file(request.space, where)
    if mount is None and not is_source:
        raise NotFound(_("There is no file at %(path)s, and nothing is mounted there.") % {"path": where})
    context = {
        "where": where, "crumbs": file_views.crumbs(where), "mount": mount, "readers": files.agents_reading(request.space, where),
        "problem": found.message if isinstance(found, HubError) and not isinstance(found, NotFound) else "",
        "closed": files.closed_at(request.space, where),
        "tree": files.tree(request.space, where), "name": where.rpartition("/")[2], "file": held,
        "held": file_views.held_proposal(request.space, held), "left_out": mount and files.why_left_out(request.space, where),
        "waiting": file_views.waiting_proposals(request.space, where, held), "leads_to": files.link_target(request.space, where),
    }  # fmt: skip
    # What is a source, or waits for a person, is no error, and its page explains that; other paths without a file are 404.
    is_known = is_source or held or context["problem"] or context["waiting"]
    return render(request, "files/missing.html", context, status=200 if is_known else 404)


@space_page("read", methods=("GET", "HEAD"))
def raw(request: HttpRequest, path: str) -> HttpResponse:
    """The bytes of a file, or of an earlier revision of it, as a download."""
    where = requested_path(request, path)
    if number := request.GET.get("revision", ""):
        content = bytes(
            files.get_revision(files.file_row(request.space, where), file_views.revision_number(number)).content
        )
    else:
        content = files.read(request.space, where).content
    return download_response(content, where.rpartition("/")[2], "application/octet-stream")


@space_page("read", methods=("GET", "HEAD"))
def folder_zip(request: HttpRequest, path: str = "") -> HttpResponse:
    """A folder as one zip file."""
    where = requested_path(request, path if path.endswith("/") or not path else path + "/")
    if not files.is_small_folder(request.space, where):
        return render(request, "files/pack.html", {"where": where, "crumbs": file_views.crumbs(where)})
    return download_response(files.zip_bytes(request.space, where).content, files.zip_name(where), "application/zip")


@post_only("read")
def pack(request: HttpRequest, path: str = "") -> HttpResponse:
    """Starts packing a large folder in the background and leads to the page with its progress."""
    job = files.pack_folder(request.space, request.actor, requested_path(request, path))
    return redirect("files.packed", request.space.slug, job.pk)


@space_page("read", methods=("GET", "HEAD"))
def packed(request: HttpRequest, pk: int) -> HttpResponse:
    """The progress of a zip and the link to it; with `?get` the zip itself."""
    job = files.zip_job(request.space, pk)
    if "get" in request.GET:
        found = files.fetch_zip(request.space, job)
        return download_response(bytes(found.content), found.name, "application/zip")
    where = job.payload["path"]
    context = {"job": job, "share": job.done * 100 // job.total if job.total else 0, "where": where, "crumbs": file_views.crumbs(where),
               "is_running": job.state in (job.WAITING, job.RUNNING)}  # fmt: skip
    part = request.htmx and not request.htmx.boosted
    return render(request, "files/_packed.html" if part else "files/packed.html", context)


# ---- saving


@post_only("edit")
def write(request: HttpRequest, path: str) -> HttpResponse:
    """Saves what the editor sent. Line ends and BOM stay as they are in the file."""
    where = requested_path(request, path)
    sent = request.POST.get("content", "")
    base = file_views.revision_number(request.POST.get("base_revision", "0") or "0")
    reason = request.POST.get("reason", "").strip()
    try:
        content = text_as_bytes(keep_ends(file_views.text_at_revision(request.space, where, base), sent))
        files.allow_in_text(request.space, request.actor, where, content, request.POST.getlist("no_secret"))
        proposals.check_content(request.space, where, content)
        revision = files.write(request.space, request.actor, where, content, reason=reason, base_revision=base)
    except Conflict as conflict:
        return show_conflict(request, where, sent, base, reason, conflict)
    except HubError as error:
        if error.status not in (413, 422):
            raise
        marked = spaces.mark_secrets(request.space, content).secrets if error.code == "secret_found" else ()
        opened = editor.of_file(request, where)
        return editor.show_editor(
            request, opened, status=error.status, content=sent, error=error, reason=reason, marked=marked
        )
    files.stop_editing(request.space, request.user, where)
    undo = undo_url(request, where, revision, base)
    report_saved(request, where, _("Saved as revision %(number)s.") % {"number": revision.number}, undo)
    return HttpResponseRedirect(page_address(request.space.slug, where))


def undo_url(request: HttpRequest, where: str, revision: Revision, base: int) -> str:
    """The address that takes back what a person just saved; "" where nothing was written, or a file was created."""
    if revision.kind != "write" or revision.number <= base or revision.actor_id != request.actor.id:
        return ""
    address = reverse("files.restore", args=[request.space.slug, where.lstrip("/")])
    return f"{address}?revision={revision.number - 1}&instead_of={revision.number}"


def report_saved(request: HttpRequest, where: str, sentence: str, undo: str = "") -> None:
    """Adds a notice with the sentence, or a warning if the file has a problem on disk."""
    file = files.file_row(request.space, where)
    if file.problem:
        refused(request, f"{sentence} {translated(file.problem)}")
    else:
        done(request, sentence, undo=undo, see=prompt_address(request.space, where))


def prompt_address(space: Space, where: str) -> str:
    """The page of a prompt that shows a file: of the first agent that has it, else of a new one; "" if none does."""
    reading = files.agents_reading(space, where)
    if reading:
        return reverse("prompts.page", args=[space.slug, reading[0].slug])
    return reverse("prompts.start", args=[space.slug]) + "?new=1" if where in files.in_every_prompt(space) else ""


def show_conflict(
    request: HttpRequest, where: str, sent: str, base: int, reason: str, conflict: Conflict
) -> HttpResponse:
    """The page of an edit conflict: both versions, what overlaps, and a text with both. Raises other conflicts again."""
    if conflict.code not in ("edit_conflict",):
        raise conflict
    both = file_views.conflict(request.space, where, for_editor(sent), base, request.user.username)
    opened = editor.of_file(request, where)
    return editor.show_editor(
        request, opened, status=409, content=both["text"], error=conflict, reason=reason, conflict=both
    )


# ---- what changes a file besides saving


@space_page("edit", methods=("GET", "HEAD"))
def manage(request: HttpRequest, path: str) -> HttpResponse:
    """The page with the forms to rename, move, copy and delete a file."""
    where = requested_path(request, path)
    found = files.read(request.space, where)
    context = {
        "where": where,
        "crumbs": file_views.crumbs(where),
        "found": found,
        "readers": files.agents_reading(request.space, where),
    }
    return render(request, "files/manage.html", context)


@space_page("edit", methods=("GET", "HEAD"))
def new(request: HttpRequest) -> HttpResponse:
    """Asks for the path of a new file, then leads to the editor."""
    typed = request.GET.get("path", "")
    if typed and not typed.endswith("/"):
        try:
            where = file_views.new_path(request.space, typed)
            files.require_shown(request.space, where)
            return HttpResponseRedirect(page_address(request.space.slug, where, "view=edit"))
        except Invalid as error:
            return render(request, "files/new.html", {"typed": typed, "error": error}, status=422)
    return render(request, "files/new.html", {"typed": typed or file_views.first_prefix(request.space)})


@post_only("edit")
def move(request: HttpRequest, path: str) -> HttpResponse:
    where, to = requested_path(request, path), request.POST.get("to", "").strip()
    files.move(request.space, request.actor, where, to, reason=request.POST.get("reason", "").strip())
    report_saved(request, to, _("Moved to %(path)s.") % {"path": to})
    return HttpResponseRedirect(page_address(request.space.slug, to))


@post_only("edit")
def copy(request: HttpRequest, path: str) -> HttpResponse:
    where, to = requested_path(request, path), request.POST.get("to", "").strip()
    files.copy(request.space, request.actor, where, to, reason=request.POST.get("reason", "").strip())
    report_saved(request, to, _("Copied to %(path)s.") % {"path": to})
    return HttpResponseRedirect(page_address(request.space.slug, to))


@post_only("edit")
def delete(request: HttpRequest, path: str) -> HttpResponse:
    where = requested_path(request, path)
    revision = files.delete(request.space, request.actor, where, reason=request.POST.get("reason", "").strip())
    undo = reverse("files.restore", args=[request.space.slug, where.lstrip("/")]) + f"?revision={revision.number - 1}"
    done(request, _("%(path)s is deleted. Its history stays.") % {"path": where}, undo=undo)
    return HttpResponseRedirect(page_address(request.space.slug, paths.parent(where)))


@post_only("edit")
def restore(request: HttpRequest, path: str) -> HttpResponse:
    where = requested_path(request, path)
    number = file_views.revision_number(request.POST.get("revision") or request.GET.get("revision", ""))
    undone = request.GET.get("instead_of", "")
    instead_of = file_views.revision_number(undone) if undone else None
    revision = files.restore(request.space, request.actor, where, number, instead_of=instead_of)
    says = _("Revision %(number)s is restored as revision %(new)s.") % {"number": number, "new": revision.number}
    report_saved(request, where, says)
    return HttpResponseRedirect(page_address(request.space.slug, where))


@post_only("edit")
def upload(request: HttpRequest, path: str = "") -> HttpResponse:
    """Writes uploaded files into a folder, each as a revision."""
    where = requested_path(request, path)
    sent = request.FILES.getlist("files")
    if not sent:
        return show_folder(request, where, status=422, error=Invalid(_("Choose one or more files first.")))
    names = []
    for one in sent:
        name = paths.clean(where + one.name)
        if one.size > disk.MAX_BYTES:
            raise disk.too_large(name, one.size, disk.MAX_BYTES)
        content = one.read()
        proposals.check_content(request.space, name, content)
        files.write(request.space, request.actor, name, content, reason=gettext_noop("Uploaded"))
        names.append(name)
    many = ngettext("Uploaded %(n)s file.", "Uploaded %(n)s files.", len(names)) % {"n": len(names)}
    done(request, _("Uploaded %(path)s.") % {"path": names[0]} if len(names) == 1 else many)
    return HttpResponseRedirect(page_address(request.space.slug, where))
