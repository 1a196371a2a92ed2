"""Contexts for the pages of files: header, text, history, blame, comparison, editor, conflict. Renders nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from memoryhub.dialects import tokens_of_text, without_comments
from memoryhub.domain import files, proposals
from memoryhub.domain.files import Published
from memoryhub.errors import HubError, Invalid
from memoryhub.models import File, Proposal, Revision, Space
from memoryhub.stores import paths
from memoryhub.text import diff, highlight, lines, markdown, merge
from memoryhub.text.lines import describe_ends, for_editor, text_of
from memoryhub.web.helpers import parse_number
from memoryhub.web.readers import readers_of

MARKDOWN = (".md", ".markdown", ".mdx", ".mdc")
HISTORY_PAGE = 50
LINES_PER_PAGE = 10_000  # more would make a page of several megabytes
MAX_RENDERED_LINES = 20_000  # longer Markdown is shown as source


@dataclass(frozen=True)
class Crumb:
    name: str
    path: str


def requested_path(request: HttpRequest, tail: str) -> str:
    """The virtual path that a request is about, from `path` in its query or form, else from the URL. Folders end with a slash."""
    if given := request.GET.get("path") or request.POST.get("path"):
        return paths.clean(given, directory=given.endswith("/"))
    if not tail:
        return "/"
    return paths.from_url(tail, directory=tail.endswith("/"))


def download_response(content: bytes, name: str, kind: str) -> HttpResponse:
    """A response that browsers save and never display: content from agents must not run as a page of the hub."""
    response = HttpResponse(content, content_type=kind)
    response["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(name)}"
    return response


def revision_number(text: str) -> int:
    """The number of a revision in a query; `Invalid` for anything else."""
    number = parse_number(text, digits=9)
    if number is None:
        raise Invalid(_("A revision is a number."), code="invalid")
    return number


def crumbs(path: str) -> list[Crumb]:
    """The folders above a path and the path itself, each with its name and its own path."""
    head, rest = paths.split_head(path)
    parts = [part for part in rest.split("/") if part]
    found = [Crumb(part, head + "/".join(parts[: n + 1]) + "/") for n, part in enumerate(parts)]
    if head != "/":
        found.insert(0, Crumb(head.rstrip("/"), head))
    return found


def children_of(rows: list[files.FolderEntry], where: str) -> list[files.FolderEntry]:
    """The children of the folder `where` in a tree; an empty list if it is not there or not loaded."""
    for row in rows:
        if row.children is not None:
            if row.path == where:
                return row.children
            if where.startswith(row.path):
                return children_of(row.children, where)
    return []


def first_prefix(space: Space) -> str:
    listed = files.mounts_of_space(space)
    return listed[0].prefix if listed else "/memories/"


def new_path(space: Space, typed: str) -> str:
    """The path that somebody typed; without a slash in front and outside of all mounts it is taken as one in the first mount."""
    if typed.startswith(("/", *paths.HEADS)):
        return paths.clean(typed)
    where = paths.clean("/" + typed)
    return where if files.mount_at(space, where) else paths.clean(first_prefix(space) + typed)


# ---- one file


def file_header(space: Space, where: str, file: File, found: Published | HubError, view: str) -> dict[str, Any]:
    """The context that every view of a file needs: path, mount, readers, pending proposals, tree."""
    place = files.resolve_path(space, where) if files.mount_at(space, where) else None
    return {
        "held": held_proposal(space, file),
        "where": where, "name": where.rpartition("/")[2], "crumbs": crumbs(where), "file": file, "view": view, "place": place,
        "found": found if isinstance(found, Published) else None, "problem": found.message if isinstance(found, HubError) else "",
        "readers": readers_of(space, where), "waiting": waiting_proposals(space, where, file), "tree": shown_tree(space, where),
        "unwritten": file.problem if file.problem.startswith("Revision ") else "", "newest": files.get_revision(file, file.revision),
    }  # fmt: skip


def waiting_proposals(space: Space, where: str, file: File | None) -> list[Proposal]:
    """The pending proposals of a path; what is held from disk has a note of its own."""
    held = file.held_proposal if file else None
    return [one for one in files.pending_proposals(space, where) if one.number != held]


def shown_tree(space: Space, where: str) -> list[files.FolderEntry]:
    """The tree beside a file; empty where all files lie side by side in one folder, so that there is nothing to choose."""
    rows = files.tree(space, where)
    mount = files.mount_at(space, where)
    top = children_of(rows, mount.prefix) if mount and mount.prefix != "/" else rows
    is_flat = len(rows) == 1 and not any(row.is_dir for row in top)
    return [] if is_flat and len(files.mounts_of_space(space)) == 1 else rows


def held_proposal(space: Space, file: File | None) -> Proposal | None:
    """The proposal that keeps what lies on disk, where that is another text than the hub hands out."""
    return proposals.get(space, file.held_proposal) if file and file.held and file.held_proposal else None


def file_text(found: Published, view: str, start: str = "") -> dict[str, Any]:
    """The context for the text of a file: rendered or as source, and what the model sees of it."""
    if not found.is_text:
        return {"is_binary": True, "size": len(found.content)}
    shown = found.content.decode()
    seen = without_comments(shown).rstrip()
    is_markdown = found.path.lower().endswith(MARKDOWN)
    facts = {
        "tokens": tokens_of_text(shown), "bytes": len(found.content), "chars": len(shown), "lines": len(lines.split(shown)),
        "ends": describe_ends(shown), "seen_bytes": len(seen.encode()), "comments": shown.count("<!--"),
    }  # fmt: skip
    is_rendered = is_markdown and view == "rendered" and facts["lines"] <= MAX_RENDERED_LINES
    return {
        "facts": facts,
        "shown_text": shown,
        "rendered": markdown.render(shown) if is_rendered else None,
        "piece": line_page(_lines_without_ends(shown), start),
        "seen": line_page(_lines_without_ends(seen), start),
        "is_markdown": is_markdown,
        "language": highlight.language_of(found.path),
    }


@dataclass(frozen=True)
class LinePage:
    """The lines of a text that fit on one page, and the first lines of the next and the previous page."""

    lines: Sequence[Any]
    first: int
    total: int

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    @property
    def next(self) -> int | None:
        return self.last + 1 if self.last < self.total else None

    @property
    def previous(self) -> int | None:
        return max(1, self.first - LINES_PER_PAGE) if self.first > 1 else None


def line_page(lines: Sequence[Any], start: str) -> LinePage:
    """The page that begins with the line `start` (from the query; "" is the first line)."""
    first = min(revision_number(start or "1"), max(1, len(lines))) or 1
    return LinePage(lines[first - 1 : first - 1 + LINES_PER_PAGE], first, len(lines))


def _lines_without_ends(shown: str) -> list[str]:
    return [line.removesuffix("\n") for line in lines.split(shown)]


def shown_lines(text: str, *, for_model: bool = False) -> list[str]:
    """The lines of a text, or of what a model sees of it."""
    return _lines_without_ends(without_comments(text).rstrip() if for_model else text)


def history(file: File, before: str) -> dict[str, Any]:
    rows = files.revisions_of(file, revision_number(before) if before else None, HISTORY_PAGE + 1)
    more = rows[HISTORY_PAGE - 1].number if len(rows) > HISTORY_PAGE else None
    return {"rows": rows[:HISTORY_PAGE], "before": more}


def blame(file: File, at: str, start: str = "") -> dict[str, Any]:
    chosen = files.get_revision(file, revision_number(at) if at else file.revision)
    if b"\x00" in bytes(chosen.content):
        return {"is_binary": True, "at": chosen}
    if job := files.blame_job(file, chosen.number):
        share = job.done * 100 // job.total if job.total else 0
        return {"job": job, "is_running": job.state != job.FAILED, "share": share, "at": chosen}
    lines = files.blame(file, chosen.number)
    context = {"shown_text": text_of(_content_of(chosen))} if chosen.number == file.revision else {}
    by = Counter(line.author.kind for line in lines)
    return context | {"piece": line_page(lines, start), "at": chosen, "by": by}


def compare(file: File, get: Mapping[str, str]) -> dict[str, Any]:
    """The context for comparing two revisions; `get` is the query of the request."""
    to = revision_number(get.get("to") or str(file.revision))
    start = revision_number(get.get("from") or str(max(0, to - 1)))
    new = files.get_revision(file, to)
    old = files.get_revision(file, start) if start else None
    before, after = _content_of(old), _content_of(new)
    context = {"old": old, "new": new, "split": get.get("style") == "split", "blanks": get.get("blanks") == "ignore",
               "whole": get.get("whole") == "1", "choices": _choices(file, old, new)}  # fmt: skip
    if b"\x00" in before or b"\x00" in after:
        return context | {"is_binary": True}
    change = diff.compare(
        text_of(before), text_of(after), context=None if context["whole"] else 3, ignore_blanks=bool(context["blanks"])
    )
    return context | {"change": change} | ({"shown_text": text_of(after)} if to == file.revision else {})


def _choices(file: File, *chosen: Revision | None) -> list[Revision]:
    """The revisions to choose from: the newest 200, and the chosen ones if they are older."""
    newest = files.revisions_of(file, limit=200)
    listed = {one.number for one in newest}
    older = [one for one in chosen if one and one.number not in listed]
    return newest + sorted(older, key=lambda one: -one.number)


def _content_of(revision: Revision | None) -> bytes:
    return bytes(revision.content) if revision and not revision.is_deleted else b""


# ---- what was sent by the editor


def text_at_revision(space: Space, where: str, number: int) -> str:
    """The text of one revision of a file; an empty text for revision 0."""
    return text_of(files.content_of(files.file_row(space, where), number)) if number else ""


def conflict(space: Space, where: str, mine: str, base: int, me: str) -> dict[str, Any]:
    """The context for a conflict: the text that `mine` began with, `mine`, the text now, and a merge of them."""
    file = files.file_row(space, where)
    now = files.get_revision(file, file.revision)
    theirs = for_editor(text_of(_content_of(now)))
    started = for_editor(text_of(_content_of(files.get_revision(file, base)))) if base else ""
    merged = merge.merge3(started, mine, theirs)
    return {
        "where": where, "name": where.rpartition("/")[2], "crumbs": crumbs(where), "file": file, "now": now, "base": base,
        "merged": merged, "conflicts": [part for part in merged.parts if part.conflict], "mine": mine, "theirs": theirs,
        "text": merged.marked(
            _("yours (%(name)s)") % {"name": me},
            _("revision %(number)s (%(name)s)") % {"number": now.number, "name": now.actor_name},
        ),
        "my_change": diff.compare(started, mine), "their_change": diff.compare(started, theirs),
    }  # fmt: skip
