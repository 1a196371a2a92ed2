"""Pages of long-term memory: list and map, one entry, conflicts between entries, export and import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memoryhub.domain import longterm, retrieval
from memoryhub.domain.accounts import may
from memoryhub.errors import Conflict, HubError, Invalid
from memoryhub.languages import translated
from memoryhub.models import EntryPair, Job, LongtermEntry
from memoryhub.web import editor
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import REVIEW_AFTER, clean_text, page_or_part, parse_date, parse_number, typed_text
from memoryhub.web.notices import done

PAGE = 40
MAX_UPLOAD_BYTES = 8 * 1024 * 1024
PAGED_BY_POSITION = (
    "pinned",
    "due",
    "pairs",
    "duplicate",
    "contradiction",
)  # these lists are not ordered by number, so pages count from a position
LIST_FILTERS = ("", "pinned", "due", "waiting", "retired", "pairs", "duplicate", "contradiction")


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    show, words = request.GET.get("show", ""), clean_text(request.GET.get("words", "")).strip()
    show = show if show in LIST_FILTERS else ""
    before, start = parse_number(request.GET.get("before")), parse_number(request.GET.get("start")) or 0
    rows = listed_entries(request, show, words, before, start)
    twos = open_pairs(request, show, start)
    is_counted, tally = show in PAGED_BY_POSITION, longterm.counts_by_filter(request.space)
    context = {
        "today": timezone.localdate(),
        "odds": longterm.contradictions_of(request.space, [one.number for one in rows])
        if tally["contradiction"] and rows
        else {},
        "show": show,
        "words": words,
        "entries": rows[:PAGE],
        "older": rows[PAGE - 1].number if len(rows) > PAGE and not words and not is_counted else None,
        "before": before,
        "start": start,
        "further": start + PAGE if is_counted and max(len(rows), len(twos)) > PAGE and not words else None,
        "pairs": twos[:PAGE],
        "is_pairs": is_pairs(show),
        "tally": tally,
        "map": entry_map(request) if not is_pairs(show) and not request.htmx else None,
        "map_due": request.GET.get("map", show) == "due",
    }
    return page_or_part(request, "longterm/page.html", "longterm/_list.html", context)


def entry_map(request: HttpRequest) -> longterm.Map | None:
    newcomers = longterm.requested_promotions(request.space)
    return longterm.draw_map(request.space, request.GET.get("part", ""), newcomers)


def is_pairs(show: str) -> bool:
    return show in ("pairs", "duplicate", "contradiction")


def pair_kind(show: str) -> str:
    return show if show in (longterm.DUPLICATE, longterm.CONTRADICTION) else ""


def open_pairs(request: HttpRequest, show: str, start: int) -> list[EntryPair]:
    if not is_pairs(show):
        return []
    found = longterm.open_conflicts(request.space, pair_kind(show))
    return longterm.conflicts_with_entries(request.space, found[start : start + PAGE + 1])


def listed_entries(
    request: HttpRequest, show: str, words: str, before: int | None, start: int
) -> Sequence[LongtermEntry | longterm.ListedEntry]:
    """The entries of one page: found by retrieval if there are words, else newest first."""
    if is_pairs(show):
        return []
    if words:
        return search_entries(request, words)
    if not show:
        return longterm.newest(request.space, PAGE + 1, before=before)
    if show == "pinned":
        return longterm.pinned(request.space)[start : start + PAGE + 1]
    found = {
        "due": longterm.due(request.space),
        "waiting": longterm.entries_of(request.space).filter(state=longterm.WAITING).order_by("-number"),
        "retired": longterm.entries_of(request.space).filter(state=longterm.RETIRED).order_by("-number"),
    }[show]
    found = found.select_related("agent")
    if show in PAGED_BY_POSITION:
        return list(found[start : start + PAGE + 1])
    return list((found.filter(number__lt=before) if before else found)[: PAGE + 1])


def search_entries(request: HttpRequest, words: str) -> list[LongtermEntry]:
    hits = retrieval.search(request.space, words, layers=["longterm"], limit=PAGE)
    numbers = list(dict.fromkeys(int(hit.id.removeprefix("L-")) for hit in hits))
    found = {
        one.number: one for one in longterm.entries_of(request.space).filter(number__in=numbers).select_related("agent")
    }
    return [found[one] for one in numbers if one in found]


@space_page("read", methods=("GET", "HEAD"))
def entry(request: HttpRequest, number: int) -> HttpResponse:
    if "edit" in request.GET and may(request.role, "promote"):
        return editor.show_editor(request, editor.of_entry(request, str(number)))
    return show_entry(request, longterm.get(request.space, number))


def show_entry(request: HttpRequest, one: LongtermEntry, *, status: int = 200, **more: Any) -> HttpResponse:
    context = {
        "entry": one,
        "pieces": longterm.cut_text(request.space, one.content),
        "chunk_size": longterm.chunk_size(request.space)[0],
        "history": longterm.history(one),
        "pairs": longterm.conflicts_with_entries(request.space, longterm.open_conflicts(request.space, of=one)[:PAGE]),
        "is_due": bool(one.review_by and one.review_by <= timezone.localdate()),
        "next_review": timezone.localdate() + REVIEW_AFTER,
        **more,
    }  # fmt: skip
    return render(request, "longterm/entry.html", context, status=status)


def redirect_to_entry(request: HttpRequest, number: int) -> HttpResponse:
    return redirect("longterm.entry", request.space.slug, number)


@post_only("promote")
def edit(request: HttpRequest, number: int) -> HttpResponse:
    try:
        longterm.edit(
            request.space, request.actor, number, typed_text(request), reason=clean_text(request.POST.get("reason", "")),
            seen_revision=parse_number(request.POST.get("revision")),
        )  # fmt: skip
    except (Conflict, Invalid) as refusal:
        reason = clean_text(request.POST.get("reason", ""))
        return editor.show_editor(
            request, editor.of_entry(request, str(number)), status=refusal.status, content=typed_text(request),
            error=refusal, reason=reason,
        )  # fmt: skip
    done(request, _("L-%(number)s is saved; the previous text is in its history.") % {"number": number})
    return redirect_to_entry(request, number)


@post_only("promote")
def verify(request: HttpRequest, number: int) -> HttpResponse:
    longterm.verify(request.space, request.actor, number, parse_date(request.POST.get("review_by", "")))
    done(request, _("L-%(number)s is marked as verified.") % {"number": number})
    return redirect_to_entry(request, number)


@post_only("promote")
def set_review_by(request: HttpRequest, number: int) -> HttpResponse:
    day = parse_date(request.POST.get("review_by", ""))
    longterm.set_review_by(request.space, request.actor, number, day)
    words = _("L-%(number)s is due for review on %(date)s.") if day else _("L-%(number)s has no review date.")
    done(request, words % {"number": number, "date": date_format(day, _("j F Y")) if day else ""})
    return redirect_to_entry(request, number)


@post_only("promote")
def pin(request: HttpRequest, number: int) -> HttpResponse:
    """Pins an entry, or moves it among the pinned ones where a place is given."""
    place = parse_number(request.POST.get("place"))
    entry = longterm.pin(request.space, request.actor, number, place)
    if place is not None:
        return redirect(reverse("longterm.page", args=[request.space.slug]) + "?show=pinned")
    words = _("L-%(number)s is pinned. It is number %(place)s of the pinned entries.")
    done(
        request,
        words % {"number": number, "place": entry.pin},
        undo=reverse("longterm.unpin", args=[request.space.slug, number]),
    )
    return redirect_to_entry(request, number)


@post_only("promote")
def unpin(request: HttpRequest, number: int) -> HttpResponse:
    longterm.unpin(request.space, request.actor, number)
    done(
        request,
        _("L-%(number)s is no longer pinned.") % {"number": number},
        undo=reverse("longterm.pin", args=[request.space.slug, number]),
    )
    return redirect_to_entry(request, number)


@post_only("promote")
def retire(request: HttpRequest, number: int) -> HttpResponse:
    longterm.retire(request.space, request.actor, number, clean_text(request.POST.get("reason", "")))
    done(
        request,
        _("L-%(number)s is retired. Agents no longer find it.") % {"number": number},
        undo=reverse("longterm.restore", args=[request.space.slug, number]),
    )
    return redirect_to_entry(request, number)


@post_only("promote")
def take_back(request: HttpRequest, number: int) -> HttpResponse:
    longterm.take_back(request.space, request.actor, number)
    words = _("The promotion of L-%(number)s is undone. Entries that it replaced are restored.")
    done(request, words % {"number": number})
    return redirect_to_entry(request, number)


@post_only("promote")
def restore(request: HttpRequest, number: int) -> HttpResponse:
    longterm.restore(request.space, request.actor, number)
    done(request, _("L-%(number)s is restored.") % {"number": number})
    return redirect_to_entry(request, number)


@post_only("promote")
def settle(request: HttpRequest, pk: int) -> HttpResponse:
    pair = longterm.settle(request.space, request.actor, pk, request.POST.get("verdict", ""))
    slug = request.space.slug
    if pair.verdict == longterm.KEEP_BOTH:
        says = _("Kept both, L-%(first)s and L-%(second)s.")
        says %= {"first": pair.older.number, "second": pair.newer.number}
        done(request, says, undo=reverse("longterm.unsettle", args=[slug, pk]))
    else:
        gone, stays = (pair.older, pair.newer) if pair.verdict == "retire_older" else (pair.newer, pair.older)
        says = _("Kept L-%(kept)s; L-%(retired)s is retired.") % {"kept": stays.number, "retired": gone.number}
        done(request, says, undo=reverse("longterm.restore", args=[slug, gone.number]))
    return redirect_to_pairs(request)


@post_only("promote")
def unsettle(request: HttpRequest, pk: int) -> HttpResponse:
    longterm.unsettle(request.space, request.actor, pk)
    done(request, _("The pair is open again."))
    return redirect_to_pairs(request)


def redirect_to_pairs(request: HttpRequest) -> HttpResponse:
    return redirect(reverse("longterm.page", args=[request.space.slug]) + "?show=pairs")


@space_page("read", methods=("GET", "HEAD"))
def export(request: HttpRequest) -> StreamingHttpResponse:
    lines = longterm.export_entries(request.space)
    headers = {"Content-Disposition": f'attachment; filename="{request.space.slug}-longterm.jsonl"'}
    return StreamingHttpResponse(lines, content_type="application/x-ndjson", headers=headers)


@space_page("promote")
def take_in(request: HttpRequest) -> HttpResponse:
    """Imports uploaded JSON lines, all or nothing; a large file in the background."""
    context: dict[str, Any] = {"unfinished": longterm.unfinished_import(request.space)}
    if request.method == "POST":
        try:
            taken = longterm.import_entries(request.space, request.actor, uploaded_bytes(request))
        except HubError as refusal:
            context |= {"error": translated(refusal.message), **refusal.details}
        else:
            if isinstance(taken, Job):
                return redirect("longterm.taking_in", request.space.slug, taken.pk)
            done(request, ngettext("%(n)s entry imported.", "%(n)s entries imported.", taken) % {"n": taken})
            return redirect("longterm.page", request.space.slug)
    return render(request, "longterm/take_in.html", context, status=422 if "error" in context else 200)


def uploaded_bytes(request: HttpRequest) -> bytes:
    sent = request.FILES.get("file")
    if sent is None:
        raise Invalid(_("Choose a JSON Lines file, as created by Export."))
    if (sent.size or 0) > MAX_UPLOAD_BYTES:  # it is checked within the request
        raise Invalid(_("The file is larger than 8 MiB. Import it on the server: memoryhub bring longterm FILE."))
    return sent.read()


@space_page("promote", methods=("GET", "HEAD"))
def taking_in(request: HttpRequest, pk: int) -> HttpResponse:
    """Progress and result of an import in the background."""
    job = longterm.get_import(request.space, pk)
    entries, came = job.payload["entries"], job.result.get("done", 0)
    first = job.result.get("first", 0)
    context = {
        "job": job, "entries": entries, "came": came, "share": came * 100 // entries, "first": first,
        "last": first + came - 1, "is_running": job.state in (Job.WAITING, Job.RUNNING),
    }  # fmt: skip
    return page_or_part(request, "longterm/taking_in.html", "longterm/_taking_in.html", context)
