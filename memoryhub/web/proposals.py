"""The inbox and the review page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from memoryhub.domain import accounts, files, prompts, proposals
from memoryhub.domain.accounts import may
from memoryhub.errors import Conflict, HubError, Invalid
from memoryhub.models import Proposal
from memoryhub.web import editor
from memoryhub.web.access import post_only, space_page
from memoryhub.web.files import prompt_address
from memoryhub.web.helpers import neighbour_choices, parse_date, parse_number, parse_numbers
from memoryhub.web.notices import done, refused
from memoryhub.web.proposal_view import decided_words, loading, promoted_record, timeline

UNREVIEWED_SHOWN = 20
OPENS_NEXT = "opens_next_proposal"
VIEWS = ("unified", "split", "rendered")


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    """The inbox; htmx gets only the list."""
    context = inbox_context(request)
    part = request.htmx and not request.htmx.boosted
    return render(request, "proposals/_list.html" if part else "proposals/page.html", context)


def inbox_context(request: HttpRequest) -> dict[str, Any]:
    get = {
        name: request.GET.get(name, "").replace("\x00", "").strip()
        for name in ("q", "view", "agent", "order", "path", "kind", "thread")
    }
    view = get["view"] if get["view"] in ("outdated", "changes", "decided") else "pending"
    order = get["order"] if get["order"] in ("newest", "oldest") else "risk"
    wanted = {name: get[name] for name in ("agent", "path", "kind", "thread")} | {"words": get["q"]}
    found = proposals.filtered(request.space, view=view, **wanted)
    by_view, is_filtered = proposals.counts(request.space), any(wanted.values())
    box = proposals.inbox(
        request.space,
        found,
        order=order,
        view=view,
        page=parse_number(request.GET.get("page"), 1, digits=6),
        total=None if is_filtered else by_view[view],
    )
    unreviewed = files.unreviewed(request.space) if view == "pending" and not is_filtered else []
    return {
        "unreviewed": unreviewed[:UNREVIEWED_SHOWN], "more_unreviewed": max(0, len(unreviewed) - UNREVIEWED_SHOWN),
        "get": get, "view": view, "order": order, "box": box, "counts_by_view": by_view,
        "agents": prompts.listed_agents(request.space), "is_filtered": is_filtered,
        "days": request.space.settings["proposal_days"], "may_decide": may(request.role, "decide"),
    }  # fmt: skip


@space_page("read", methods=("GET", "HEAD"))
def detail(request: HttpRequest, number: int) -> HttpResponse:
    """The review page."""
    return show(request, *proposals.refresh_state(proposals.get(request.space, number)))


def show(
    request: HttpRequest, proposal: Proposal, found: proposals.Result | None = None, error: HubError | None = None,
    typed: dict[str, Any] | None = None,
) -> HttpResponse:  # fmt: skip
    """The page of one proposal, whose result the caller may have; after a refusal with its error and what was typed."""
    everything = "all" in request.GET
    ticked = (typed or {}).get("ticked", hunk_numbers(request.GET) if "ticks" in request.GET else None)
    review = proposals.review(proposal, found, context=None if everything else 3, ticked=ticked)
    if error is not None and error.code == "changed_since_seen":
        proposal.refresh_from_db()
    content = (typed or {}).get("content")
    if review.can_edit and ("edit" in request.GET or content is not None) and may(request.role, "decide"):
        return show_editor(request, proposal, error, content=content, note=(typed or {}).get("note", ""))
    previous, following = proposals.neighbours(proposal)
    view = request.GET.get("view", "")
    context = {
        "proposal": proposal, "review": review, "found": review.found, "title": proposal.title,
        "view": view if view in VIEWS else "unified", "previous": previous, "following": following, "error": error,
        "typed": typed or {},
        "quick_reasons": proposals.QUICK_REASONS, "may_decide": may(request.role, "decide"), "everything": everything,
        "is_own": proposals.is_own(proposal, request.actor), "opens_next": opens_next(request),
        "approved_by_me": any(one["id"] == request.actor.id for one in proposal.approvals),
        "start": parse_number(request.GET.get("start"), digits=7) or 0,
        "said_as": promoted_record(proposal), "loading": loading(request.space, review), "talk": timeline(proposal, review),
    }  # fmt: skip
    return render(request, "proposals/detail.html", context, status=error.status if error else 200)


def show_editor(
    request: HttpRequest, proposal: Proposal, error: HubError | None, *, content: str | None, note: str
) -> HttpResponse:
    """The editor with the proposed text; after a refusal with its error and what was typed."""
    opened = editor.of_proposal(request, str(proposal.number), clean="clean" in request.GET)
    return editor.show_editor(
        request, opened, status=error.status if error else 200, content=content, error=error, reason=note
    )


# ---- deciding


@post_only("decide")
def approve(request: HttpRequest, number: int) -> HttpResponse:
    """Approves the proposal: all of it, the ticked hunks, or an edited text."""
    post = request.POST
    typed = {"note": post.get("note", ""), "content": post.get("content"), "seen": post.get("seen", "")}
    typed["ticked"] = ticked_hunks(post)
    proposal = proposals.get(request.space, number)
    try:
        content = edited_bytes(proposal, post)
        require_looked(proposal, post, content)
        decided = proposals.approve(
            request.space, request.actor, number, seen=post.get("seen", ""), note=typed["note"],
            content=content, hunks=typed["ticked"], base=post.get("base") or None,
            review_by=parse_date(post.get("review_by", "")), **neighbour_choices(post),
        )  # fmt: skip
    except HubError as error:
        return show_refusal(request, number, error, typed)
    if decided.state == Proposal.State.PENDING:
        words = _("Your approval is recorded. Proposal %(number)s waits for a second person.")
        done(request, words % {"number": number})
    else:
        words = _("Approved proposal %(number)s.")
        if decided.applied_revision:
            words = _("Approved proposal %(number)s, revision %(revision)s.")
        says = words % {"number": number, "revision": decided.applied_revision}
        see = prompt_address(request.space, decided.path) if decided.path else ""
        undo_url = proposal_url(request, "proposals.undo", number)
        done(request, says, undo=undo_url, see=see)
    return redirect_after_decision(request, decided)


def require_looked(proposal: Proposal, post: Any, content: bytes | None) -> None:
    """`Invalid` if what would be approved has grave findings, or is too long for its page, and the box was not ticked."""
    if post.get("looked") == "yes" or proposal.state not in (Proposal.State.PENDING, Proposal.State.OUTDATED):
        return
    if proposals.asks_for_a_look(proposal, ticked=ticked_hunks(post), content=content):
        raise Invalid(_("Confirm first that you looked at it."), field="looked")


def edited_bytes(proposal: Proposal, post: Any) -> bytes | None:
    """The text that the reviewer typed, as bytes of the file; None if nothing was edited."""
    if post.get("do") != "edited" or "content" not in post:
        return None
    return proposals.edited_bytes(proposals.result(proposal).before, post["content"])


def ticked_hunks(post: Any) -> list[int] | None:
    """The changes that are ticked, whichever button was pressed; None on pages without boxes to tick, and where the reviewer
    typed a text."""
    if post.get("do") == "edited" or (post.get("do") != "some" and "hunk" not in post):
        return None
    return hunk_numbers(post)


def hunk_numbers(given: QueryDict) -> list[int]:
    return parse_numbers(given.getlist("hunk"), digits=6)


@post_only("decide")
def reject(request: HttpRequest, number: int) -> HttpResponse:
    """Rejects with a quick reason, a note, or both."""
    why, words = request.POST.get("why", ""), request.POST.get("note", "").strip()
    note = ": ".join(part for part in (why if why in proposals.QUICK_REASONS else "", words) if part)
    try:
        decided = proposals.reject(
            request.space, request.actor, number, note=note, again=request.POST.get("do") == "again"
        )
    except HubError as error:
        return show_refusal(request, number, error, {"note": words, "why": why})
    says = _("Rejected proposal %(number)s. The agent reads why.")
    if decided.changes_requested:
        says = _("Changes to proposal %(number)s are requested. The agent reads which.")
    done(request, says % {"number": number}, undo=proposal_url(request, "proposals.reopen", number))
    return redirect_after_decision(request, decided)


@post_only("decide")
def set_preference(request: HttpRequest) -> HttpResponse:
    """Keeps whether the next proposal opens after a decision of this person."""
    accounts.set_preference(request.user, OPENS_NEXT, "yes" if request.POST.get("on") else "no")
    if request.htmx:
        return HttpResponse(status=204)
    back = parse_number(request.POST.get("number"), digits=9)
    return redirect_to_detail(request, back) if back is not None else redirect(inbox_url(request, request.POST))


def opens_next(request: HttpRequest) -> bool:
    return request.user.preferences.get(OPENS_NEXT, "yes") == "yes"


def redirect_after_decision(request: HttpRequest, decided: Proposal) -> HttpResponse:
    """To the next proposal that waits, in the order of the inbox, where this person wants that and there is one."""
    if decided.state == Proposal.State.PENDING or not opens_next(request):
        return redirect_to_detail(request, decided.number)
    return redirect_to_detail(request, proposals.next_to_decide(decided, request.actor) or decided.number)


@post_only("decide")
def undo(request: HttpRequest, number: int) -> HttpResponse:
    return act_and_redirect(
        request,
        number,
        _("Undone: the previous text is restored, and the proposal is pending again."),
        lambda: proposals.undo(request.space, request.actor, number),
    )


@post_only("decide")
def reopen(request: HttpRequest, number: int) -> HttpResponse:
    return act_and_redirect(
        request,
        number,
        _("The proposal is pending again."),
        lambda: proposals.reopen(request.space, request.actor, number),
    )


@post_only("edit")
def comment(request: HttpRequest, number: int) -> HttpResponse:
    text = request.POST.get("text", "")
    return act_and_redirect(
        request,
        number,
        _("Comment added. The agent can read it."),
        lambda: proposals.comment(request.space, request.actor, number, text),
    )


def act_and_redirect(request: HttpRequest, number: int, says: str, act: Callable[[], Any]) -> HttpResponse:
    try:
        act()
    except (Conflict, Invalid) as error:
        return show_refusal(request, number, error, {"comment": request.POST.get("text", "")})
    done(request, says)
    return redirect_to_detail(request, number)


def show_refusal(request: HttpRequest, number: int, error: HubError, typed: dict[str, Any]) -> HttpResponse:
    """The page with the refusal and what was typed. Raises 403, 404 and other refusals again."""
    if error.status not in (409, 412, 422):
        raise error
    return show(request, proposals.get(request.space, number), error=error, typed=typed)


def redirect_to_detail(request: HttpRequest, number: int) -> HttpResponse:
    return HttpResponseRedirect(proposal_url(request, "proposals.detail", number), status=303)


def proposal_url(request: HttpRequest, name: str, number: int) -> str:
    return reverse(name, args=[request.space.slug, number])


# ---- many at once


@space_page("decide", methods=("GET", "HEAD"))
def bulk(request: HttpRequest) -> HttpResponse:
    """The summary of what deciding on the selected proposals would do, with the form that does it."""
    numbers = parse_numbers(request.GET.getlist("n"), digits=9)
    verb = "reject" if request.GET.get("do") == "reject" else "approve"
    if request.htmx and not request.htmx.boosted:  # the line beside the buttons while selecting
        return render(request, "proposals/_sum.html", {"plan": proposals.plan(request.space, numbers, request.actor)})
    if not numbers:
        refused(request, _("Select at least one proposal first."))
        return redirect(inbox_url(request, request.GET))
    plan = proposals.plan(request.space, numbers, request.actor)
    context = {
        "plan": plan,
        "verb": verb,
        "quick_reasons": proposals.QUICK_REASONS,
        "next": inbox_url(request, request.GET),
    }
    return render(request, "proposals/bulk.html", context)


def inbox_url(request: HttpRequest, given: QueryDict) -> str:
    """The address of the inbox with the filters in `next`."""
    inbox = reverse("proposals.page", args=[request.space.slug])
    back = given.get("next", "")
    return back if back.startswith(f"{inbox}?") else inbox


@post_only("decide")
def decide_many(request: HttpRequest) -> HttpResponse:
    """Decides on each proposal as it was shown in the summary."""
    named = {key.removeprefix("seen-"): value for key, value in request.POST.items() if key.startswith("seen-")}
    seen = {number: named[str(number)] for number in parse_numbers(named, digits=9) if str(number) in named}
    verb = "reject" if request.POST.get("do") == "reject" else "approve"
    why, words = request.POST.get("why", ""), request.POST.get("note", "").strip()
    note = ": ".join(part for part in (why, words) if part)
    if verb == "reject" and not note:
        refused(request, _("Give a reason: the agent reads it and learns from it."))
        again = urlencode(
            [*(("n", number) for number in seen), ("do", "reject"), ("next", inbox_url(request, request.POST))]
        )
        return redirect(f"{reverse('proposals.bulk', args=[request.space.slug])}?{again}")
    decided, left = proposals.decide_many(request.space, request.actor, seen, verb, note=note)
    if decided:
        done(request, decided_words(verb, decided), undo=undo_many_url(request, decided))
    return redirect_to_inbox(request, left)


@post_only("decide")
def undo_many(request: HttpRequest) -> HttpResponse:
    """Takes back the decisions on the proposals in the query."""
    numbers = parse_numbers(request.GET.getlist("n"), digits=9)
    undone, left = proposals.undo_many(request.space, request.actor, numbers)
    if undone:
        done(request, decided_words("undo", undone))
    return redirect_to_inbox(request, left)


def undo_many_url(request: HttpRequest, numbers: list[int]) -> str:
    where = urlencode([*(("n", number) for number in numbers), ("next", inbox_url(request, request.POST))])
    return f"{reverse('proposals.undo_many', args=[request.space.slug])}?{where}"


def redirect_to_inbox(request: HttpRequest, left: dict[int, str]) -> HttpResponse:
    for number, why_not in left.items():
        refused(request, _("Proposal %(number)s: %(reason)s") % {"number": number, "reason": why_not})
    return HttpResponseRedirect(inbox_url(request, request.POST if "next" in request.POST else request.GET), status=303)
