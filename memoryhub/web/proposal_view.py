"""What the page of a proposal shows beside the change: the record it promotes, and what happened to it so far."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memoryhub import detectors
from memoryhub.domain import contexts, files, proposals
from memoryhub.languages import offered, translated
from memoryhub.models import Proposal, Record, Space

DECIDED = {
    "approved": gettext_lazy("approved"), "rejected": gettext_lazy("rejected"), "withdrawn": gettext_lazy("withdrawn"),
    "outdated": gettext_lazy("outdated"), "expired": gettext_lazy("expired"),
    "changes_requested": gettext_lazy("requested changes"),
}  # fmt: skip


def promoted_record(proposal: Proposal) -> Record | None:
    """The record that a promotion was asked for, without its content; None for other proposals."""
    asked = proposal.change.get("record_id")
    return Record.objects.within(proposal.space_id).filter(pk=asked).defer("content").first() if asked else None


def timeline(proposal: Proposal, review: proposals.Review) -> list[dict[str, Any]]:
    """What happened to a proposal, in order of time."""
    events: list[dict[str, Any]] = [
        {
            "at": proposal.created_at,
            "kind": proposal.asker,
            "who": proposal.agent_name,
            "says": _("changed; the author is not known") if proposal.from_disk else _("proposed this change"),
            "aside": proposal.thread_id,
        }
    ]
    if review.findings:
        names = sorted({translated(detectors.IN_LISTS.get(one.code, one.code)) for one in review.findings})
        events.append(
            {
                "at": proposal.created_at,
                "kind": "gate",
                "who": _("gate"),
                "says": _("found: %(names)s") % {"names": _(", ").join(names)},
            }
        )
    for one in proposal.approvals if proposal.state != Proposal.State.APPROVED or proposal.reviewers > 1 else []:
        at = datetime.fromisoformat(one["at"])
        events.append({"at": at, "kind": "person", "who": one["name"], "says": _("approved, as the first of two")})
    for one in proposal.change.get("earlier", []):
        events += earlier_decision(one)
    for one in review.comments:
        events.append({"at": one.created_at, "kind": one.actor_kind, "who": one.actor_name, "says": f"“{one.text}”"})
    if proposal.decided_at:
        note = offered(proposal.note.removeprefix(proposals.TRY_AGAIN))
        says = str(DECIDED.get(proposal.shown_state, proposal.state))
        if proposal.with_edits:
            says = _("approved with edits")
        who = proposal.decided_by_name or "hub"
        kind = {"withdrawn": "agent"}.get(proposal.state, "person" if proposal.decided_by_id else "hub")
        events.append(
            {"at": proposal.decided_at, "kind": kind, "who": who, "says": f"{says}{_(': ')}“{note}”" if note else says}
        )
    return sorted(events, key=lambda one: one["at"])


def earlier_decision(one: dict[str, str]) -> list[dict[str, Any]]:
    """A decision that somebody took back, and who did."""
    says = _("undid the approval") if one["state"] == "approved" else _("reopened it")
    by = {"kind": "person", "who": one["by"]} if one["by"] else {"kind": "hub", "who": "hub"}
    return [
        {**by, "at": datetime.fromisoformat(one["at"]), "says": str(DECIDED.get(one["state"], one["state"]))},
        {"kind": "person", "who": one["ended_by"], "at": datetime.fromisoformat(one["ended_at"]), "says": says},
    ]


def decided_words(verb: str, numbers: list[int]) -> str:
    """What was done to these proposals: to approve, reject or undo."""
    many = len(numbers)
    words = {
        "approve": ngettext("Approved %(n)s proposal: %(numbers)s.", "Approved %(n)s proposals: %(numbers)s.", many),
        "reject": ngettext("Rejected %(n)s proposal: %(numbers)s.", "Rejected %(n)s proposals: %(numbers)s.", many),
        "undo": ngettext(
            "Undid the decision on %(n)s proposal: %(numbers)s. It is pending again.",
            "Undid the decisions on %(n)s proposals: %(numbers)s. They are pending again.", many,
        ),
    }  # fmt: skip
    return words[verb] % {"n": many, "numbers": ", ".join(map(str, numbers))}


def loading(space: Space, review: proposals.Review) -> tuple[str, ...]:
    """The coding agents that load the file of a proposal that waits."""
    waits = review.is_open and review.kind.has_file
    mount = files.mount_at(space, review.proposal.path) if waits else None
    return contexts.mount_readers(space, mount).names(review.proposal.path) if mount else ()
