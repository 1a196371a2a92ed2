"""The inbox and the review page."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse

from memoryhub.domain import prompts, proposals, spaces
from memoryhub.domain.accounts import may
from memoryhub.errors import Conflict, HubError, Invalid
from memoryhub.models import Proposal, Record
from memoryhub.text.lines import bytes_of
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import a_day, near_entries
from memoryhub.web.notices import done, refused

VIEWS = ("unified", "split", "rendered")


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    """The inbox; htmx gets the list alone."""
    context = inbox_context(request)
    part = request.htmx and not request.htmx.boosted
    return render(request, "proposals/_list.html" if part else "proposals/page.html", context)


def inbox_context(request: HttpRequest) -> dict[str, Any]:
    get = {
        name: request.GET.get(name, "").replace("\x00", "").strip()
        for name in ("q", "view", "agent", "order", "path", "kind", "thread")
    }
    view = get["view"] if get["view"] in ("outdated", "decided") else "pending"
    order = get["order"] if get["order"] in ("newest", "oldest") else "risk"
    wanted = {name: get[name] for name in ("agent", "path", "kind", "thread")} | {"words": get["q"]}
    found = proposals.filtered(request.space, view=view, **wanted)
    number = request.GET.get("page", "1")
    by_view, is_filtered = proposals.counts(request.space), any(wanted.values())
    box = proposals.inbox(
        request.space,
        found,
        order=order,
        view=view,
        page=int(number) if number.isdecimal() and len(number) < 7 else 1,
        total=None if is_filtered else by_view[view],
    )
    return {
        "get": get, "view": view, "order": order, "box": box, "counts_by_view": by_view,
        "agents": prompts.agents_of_space(request.space), "is_filtered": is_filtered,
        "days": spaces.get_setting(request.space, "proposal_days"), "may_decide": may(request.role, "decide"),
    }  # fmt: skip


@space_page("read", methods=("GET", "HEAD"))
def detail(request: HttpRequest, number: int) -> HttpResponse:
    """The review page."""
    return show(request, proposals.refresh_state(proposals.get(request.space, number)))


def show(
    request: HttpRequest, proposal: Proposal, error: HubError | None = None, typed: dict[str, Any] | None = None
) -> HttpResponse:
    """The page of one proposal, after a refusal with what was typed still there."""
    everything = "all" in request.GET
    review = proposals.review(proposal, context=None if everything else 3)
    if error is not None and error.code == "changed_since_seen":
        proposal.refresh_from_db()
    previous, following = proposals.neighbours(proposal)
    view = request.GET.get("view", "")
    context = {
        "proposal": proposal, "review": review, "found": review.found, "title": proposal.title,
        "view": view if view in VIEWS else "unified", "previous": previous, "following": following, "error": error,
        "typed": typed or {}, "editing": review.can_edit and ("edit" in request.GET or (typed or {}).get("content") is not None),
        "quick_reasons": proposals.QUICK_REASONS, "may_decide": may(request.role, "decide"), "everything": everything,
        "is_own": proposals.is_own(proposal, request.actor),
        "approved_by_me": any(one["id"] == request.actor.id for one in proposal.approvals),
        "said_as": record_of(proposal), "talk": talk(proposal, review), "prefill": prefill(review, "clean" in request.GET),
    }  # fmt: skip
    return render(request, "proposals/detail.html", context, status=error.status if error else 200)


def record_of(proposal: Proposal) -> Record | None:
    """What was logged, of which a promotion is asked; reviewers should know which kind of node said it."""
    asked = proposal.change.get("record_id")
    return Record.objects.within(proposal.space_id).filter(pk=asked).defer("content").first() if asked else None


def prefill(review: proposals.Review, clean: bool) -> str:
    """The text to edit: as asked (without its hidden characters, if wished), or as it stands where nothing applies."""
    if not review.found.applies:
        return review.found.before_text
    text = review.found.after_text
    for one in reversed(review.findings if clean else []):
        if one.code == "hidden" and one.kind not in ("lookalike", "styled"):
            text = text[: one.start] + text[one.end :]
    return text


def talk(proposal: Proposal, review: proposals.Review) -> list[dict[str, Any]]:
    """What happened to it, in order."""
    said: list[dict[str, Any]] = [
        {
            "at": proposal.created_at,
            "kind": "agent",
            "who": proposal.agent_name,
            "says": "proposed this change",
            "aside": proposal.thread_id,
        }
    ]
    if review.findings:
        names = sorted({one.code for one in review.findings})
        said.append({"at": proposal.created_at, "kind": "gate", "who": "gate", "says": f"found: {', '.join(names)}"})
    for one in proposal.approvals if proposal.state != Proposal.State.APPROVED or proposal.reviewers > 1 else []:
        at = datetime.fromisoformat(one["at"])
        said.append({"at": at, "kind": "person", "who": one["name"], "says": "said yes, as the first of two"})
    for one in review.comments:
        said.append({"at": one.created_at, "kind": one.actor_kind, "who": one.actor_name, "says": f"“{one.text}”"})
    if proposal.decided_at:
        words = f": “{proposal.note}”" if proposal.note else ""
        who = proposal.decided_by_name or "hub"
        kind = {"withdrawn": "agent"}.get(proposal.state, "person" if proposal.decided_by_id else "hub")
        edits = " with edits" if proposal.with_edits else ""
        said.append({"at": proposal.decided_at, "kind": kind, "who": who, "says": f"{proposal.state}{edits}{words}"})
    return sorted(said, key=lambda one: one["at"])


# ---- deciding


@post_only("decide")
def approve(request: HttpRequest, number: int) -> HttpResponse:
    """Approves what the form carries: whole, only the ticked changes, or with edits."""
    post = request.POST
    typed = {"note": post.get("note", ""), "content": post.get("content"), "seen": post.get("seen", "")}
    proposal = proposals.get(request.space, number)
    try:
        check_looked(proposal, post)
        decided = proposals.approve(
            request.space, request.actor, number, seen=post.get("seen", ""), note=typed["note"],
            content=edited(proposal, post), hunks=ticked(post), base=post.get("base") or None,
            review_by=a_day(post.get("review_by", "")), **near_entries(post),
        )  # fmt: skip
    except HubError as error:
        return stay(request, number, error, typed)
    if decided.state == Proposal.State.PENDING:
        done(request, f"Your yes is kept. Proposal {number} waits for a second person.")
    else:
        where = f", revision {decided.applied_revision}" if decided.applied_revision else ""
        done(request, f"Approved proposal {number}{where}.", undo=address(request, "proposals.undo", number))
    return after(request, number)


def check_looked(proposal: Proposal, post: Any) -> None:
    """Grave findings are ticked off by name before a hurried click does harm."""
    if any(one["severity"] == "high" for one in proposal.findings) and post.get("looked") != "yes":
        raise Invalid("Tick first that you looked at what the gate found.", field="looked")


def edited(proposal: Proposal, post: Any) -> bytes | None:
    """The text as the reviewer typed it; browsers send CR LF, the file keeps its own line ends."""
    if post.get("do") != "edited" or "content" not in post:
        return None
    text = post["content"].replace("\r\n", "\n")
    before = proposals.result(proposal).before_text
    if before.count("\r\n") * 2 > before.count("\n") > 0:
        text = text.replace("\n", "\r\n")
    return bytes_of(text)


def ticked(post: Any) -> list[int] | None:
    if post.get("do") != "some":
        return None
    return [int(one) for one in post.getlist("hunk") if one.isdecimal() and len(one) < 7]


@post_only("decide")
def reject(request: HttpRequest, number: int) -> HttpResponse:
    """Rejects with one of the quick reasons, words of one's own, or both."""
    why, words = request.POST.get("why", ""), request.POST.get("note", "").strip()
    note = ": ".join(part for part in (why if why in proposals.QUICK_REASONS else "", words) if part)
    try:
        proposals.reject(request.space, request.actor, number, note=note, again=request.POST.get("do") == "again")
    except HubError as error:
        return stay(request, number, error, {"note": words, "why": why})
    done(
        request, f"Rejected proposal {number}. The agent reads why.", undo=address(request, "proposals.reopen", number)
    )
    return after(request, number)


@post_only("decide")
def undo(request: HttpRequest, number: int) -> HttpResponse:
    return deed(
        request,
        number,
        "The text is as it was; the proposal waits again.",
        lambda: proposals.undo(request.space, request.actor, number),
    )


@post_only("decide")
def reopen(request: HttpRequest, number: int) -> HttpResponse:
    return deed(
        request,
        number,
        "It waits for a decision again.",
        lambda: proposals.reopen(request.space, request.actor, number),
    )


@post_only("edit")
def comment(request: HttpRequest, number: int) -> HttpResponse:
    text = request.POST.get("text", "")
    return deed(
        request,
        number,
        "Your comment is there; the agent reads it too.",
        lambda: proposals.comment(request.space, request.actor, number, text),
    )


def deed(request: HttpRequest, number: int, says: str, act: Callable[[], Any]) -> HttpResponse:
    try:
        act()
    except (Conflict, Invalid) as error:
        return stay(request, number, error, {"comment": request.POST.get("text", "")})
    done(request, says)
    return after(request, number)


def stay(request: HttpRequest, number: int, error: HubError, typed: dict[str, Any]) -> HttpResponse:
    """Back on the page with the reason, nothing typed lost; what is no longer there or not allowed goes the usual way."""
    if error.status not in (409, 412, 422):
        raise error
    return show(request, proposals.get(request.space, number), error, typed)


def after(request: HttpRequest, number: int) -> HttpResponse:
    response = redirect("proposals.detail", request.space.slug, number)
    response.status_code = 303
    return response


def address(request: HttpRequest, name: str, number: int) -> str:
    return reverse(name, args=[request.space.slug, number])


# ---- many at once


@space_page("decide", methods=("GET", "HEAD"))
def bulk(request: HttpRequest) -> HttpResponse:
    """What deciding on the selected ones would do together; the form on it does exactly that."""
    numbers = [int(one) for one in request.GET.getlist("n") if one.isdecimal() and len(one) < 10]
    verb = "reject" if request.GET.get("do") == "reject" else "approve"
    if request.htmx and not request.htmx.boosted:  # a line beside the buttons, while one selects
        return render(request, "proposals/_sum.html", {"plan": proposals.plan(request.space, numbers, request.actor)})
    if not numbers:
        refused(request, "Select at least one proposal first.")
        return redirect(listed(request, request.GET))
    plan = proposals.plan(request.space, numbers, request.actor)
    context = {
        "plan": plan,
        "verb": verb,
        "quick_reasons": proposals.QUICK_REASONS,
        "next": listed(request, request.GET),
    }
    return render(request, "proposals/bulk.html", context)


def listed(request: HttpRequest, given: QueryDict) -> str:
    """The inbox as it was filtered when one left it."""
    inbox = reverse("proposals.page", args=[request.space.slug])
    back = given.get("next", "")
    return back if back.startswith(f"{inbox}?") else inbox


@post_only("decide")
def decide_many(request: HttpRequest) -> HttpResponse:
    """Decides on each as it was shown in the summary."""
    seen = {
        int(key[5:]): value for key, value in request.POST.items() if key.startswith("seen-") and key[5:].isdecimal() and len(key) < 15
    }  # fmt: skip
    verb = "reject" if request.POST.get("do") == "reject" else "approve"
    why, words = request.POST.get("why", ""), request.POST.get("note", "").strip()
    note = ": ".join(part for part in (why, words) if part)
    if verb == "reject" and not note:
        refused(request, "Say why: the agent reads it and learns from it.")
        again = urlencode(
            [*(("n", number) for number in seen), ("do", "reject"), ("next", listed(request, request.POST))]
        )
        return redirect(f"{reverse('proposals.bulk', args=[request.space.slug])}?{again}")
    decided, left = proposals.decide_many(request.space, request.actor, seen, verb, note=note)
    if decided:
        done(
            request,
            f"{'Approved' if verb == 'approve' else 'Rejected'} {len(decided)}: {', '.join(map(str, decided))}.",
            undo=way_back(request, decided),
        )
    return to_the_list(request, left)


@post_only("decide")
def undo_many(request: HttpRequest) -> HttpResponse:
    """Takes back what was decided on several at once; the address alone says on which."""
    numbers = [int(one) for one in request.GET.getlist("n") if one.isdecimal() and len(one) < 10]
    undone, left = proposals.undo_many(request.space, request.actor, numbers)
    if undone:
        says = f"Undid {len(undone)}: {', '.join(map(str, undone))}. {'They wait' if len(undone) > 1 else 'It waits'} again."
        done(request, says)
    return to_the_list(request, left)


def way_back(request: HttpRequest, numbers: list[int]) -> str:
    where = urlencode([*(("n", number) for number in numbers), ("next", listed(request, request.POST))])
    return f"{reverse('proposals.undo_many', args=[request.space.slug])}?{where}"


def to_the_list(request: HttpRequest, left: dict[int, str]) -> HttpResponse:
    for number, why_not in left.items():
        refused(request, f"Proposal {number}: {why_not}")
    response = redirect(listed(request, request.POST if "next" in request.POST else request.GET))
    response.status_code = 303
    return response
