"""Tags for proposals: what a change does, which agents get it, what a decision means."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from typing import Any
from urllib.parse import quote

from django import template
from django.urls import reverse
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _

from memoryhub.domain import proposals
from memoryhub.domain.proposals import kind_of
from memoryhub.templatetags.files import leads_to
from memoryhub.templatetags.hub import ago, join_html, join_words, plural

register = template.Library()
STATE_GLYPHS = {
    "pending": "clock", "approved": "check", "outdated": "clock", "expired": "clock", "changes_requested": "retry",
}  # fmt: skip
STATE_WORDS = {
    "pending": _("Pending"), "approved": _("Approved"), "rejected": _("Rejected"), "withdrawn": _("Withdrawn"),
    "outdated": _("Outdated"), "expired": _("Expired"), "changes_requested": _("Changes requested"),
}  # fmt: skip
NOUNS = {
    "secrets": "secret", "hidden": "hidden character", "injection": "injection", "duplicate": "duplicate",
    "transient": "passing moment", "vague": "vague line", "coherence": "incoherent stretch", "risky_advice": "risky piece of advice",
    "cost": "text too costly to check",
}  # fmt: skip


@register.filter
def signed(number: int) -> str:
    """+49, −12 or 0, with a true minus."""
    return f"+{number:,}" if number > 0 else f"−{-number:,}" if number < 0 else "0"


@register.filter
def proposal_state(proposal: Any) -> str:
    """The state of a proposal as people read it."""
    return STATE_WORDS[proposal.shown_state]


@register.filter
def reason_words(proposal: Any) -> str:
    """The reason of a decision, without the words that only the agent needs."""
    return proposal.note.removeprefix(proposals.TRY_AGAIN)


@register.filter
def state_glyph(state: str) -> str:
    """The name of the glyph for a proposal's state."""
    return STATE_GLYPHS.get(state, "x")


@register.filter
def verb(proposal: Any) -> str:
    """What a proposal does to its path, in the third person."""
    return kind_of(proposal).does(proposal)


@register.simple_tag
def findings_in_words(code: str, count: int) -> str:
    """2 hidden characters, 1 injection."""
    return plural(count, NOUNS.get(code, code))


@register.simple_tag
def grave_words(findings: Iterable[Any]) -> SafeString:
    """The grave findings that a reviewer confirms, by kind, each kind with its first line."""
    by_code = groupby(sorted(findings, key=attrgetter("code")), key=attrgetter("code"))
    kinds = [(code, list(found)) for code, found in by_code]
    return format_html_join(
        " and ", 'the <b class="strong">{}</b> in line {}',
        ((findings_in_words(code, len(found)), found[0].line) for code, found in kinds),
    )  # fmt: skip


@register.filter
def shrinking(found: Any) -> str:
    """The size of the text before and after, in bytes."""
    return f"{len(found.before or b''):,} bytes by {len(found.after or b''):,}"


@register.filter
def outdated_words(row: Any) -> str:
    """The revision that an outdated proposal was made on, and the newest."""
    now = f", now {row.found.revision}" if row.found.revision else ""
    return f"made on revision {row.proposal.base_revision}{now}"


@register.simple_tag(takes_context=True)
def thread_url(context: dict[str, Any], proposal: Any, is_open: bool) -> str:
    """The URL of the proposals of a thread, in the view that contains this proposal."""
    view = "&view=outdated" if proposal.state == "outdated" else "" if is_open else "&view=decided"
    page = reverse("proposals.page", args=[context["space"].slug])
    return conditional_escape(f"{page}?thread={quote(proposal.thread_id, safe='')}{view}")


@register.simple_tag(takes_context=True)
def asked_words(context: dict[str, Any], proposal: Any, found: Any, is_open: bool) -> SafeString:
    """When it was proposed, on which revision, and whether that is still the newest."""
    asked = ago(proposal.created_at)
    if not proposal.path:
        return asked
    number = proposal.base_revision
    if not number:
        return format_html("{}, as a new file", asked)
    where = f"/s/{context['space'].slug}/files{leads_to(proposal.path)}?view=diff&to={number}"
    then = ", which is still the newest" if is_open else ""
    if found.moved_on:
        then = f", now {found.revision}" if found.revision else ""
    return format_html('{}, on <a href="{}">revision {}</a>{}', asked, where, number, then)


# ---- the decision


@register.simple_tag
def effect(review: Any) -> SafeString:
    """Which agents get the change and when; if no prompt has it, who can find it."""
    if not review.agents:
        return mark_safe(review.kind.without_prompts)  # noqa: S308  our own words
    begins = "Gone from the prompt of" if review.kind.removes_file or review.losing_agents else "Seen by"
    who = join_html(format_html("<b>{}</b>", agent.slug) for agent in review.agents)
    behind = ""
    if review.threads_behind:
        behind = f" {plural(review.threads_behind, 'thread runs', 'threads run')} on the old text."
    return format_html("{} {} from their <b>next thread</b> on.{}", begins, who, behind)


@register.simple_tag
def what_is_approved(found: Any) -> SafeString:
    """Says that the approval counts for exactly this text."""
    text = "" if found.kind.removes_file else format_html(", <code>{}</code>", found.sha256[:8])
    then = " If the file changes, you are asked again." if found.kind.has_file else ""
    return format_html("You approve what you see{}.{}", text, then)


@register.filter
def approve_label(review: Any) -> str:
    """The label of the button that approves."""
    if review.can_take_hunks:
        of = len(review.diff.hunks)
        return f"Approve all {of} changes" if review.takes_all else f"Approve {len(review.taken)} of {of} changes"
    return str(review.kind.approve_label)


@register.filter
def jump_words(review: Any) -> str:
    """A summary for the bar on phones that leads to the decision."""
    hunks = len(review.diff.hunks) if review.found.applies and review.diff.hunks else 0
    said = plural(hunks, "change") if hunks else f"Proposal {review.proposal.number}"
    count = len(review.grave_findings)
    return f"{said}, {plural(count, 'finding')} to look at" if count else said


@register.simple_tag
def approved_words(proposal: Any) -> SafeString:
    """Who approved a proposal, the revision that it became, and the note."""
    revision = f", revision {proposal.applied_revision}" if proposal.applied_revision else ""
    edits = ", with edits" if proposal.with_edits else ""
    note = f" “{proposal.note}”" if proposal.note else ""
    return format_html('Approved by <b class="strong">{}</b>{}{}.{}', proposal.decided_by_name, revision, edits, note)


@register.simple_tag
def approvers(proposal: Any) -> SafeString:
    """The names of those who approved so far."""
    names = ((one["name"],) for one in proposal.approvals)
    return format_html_join(", ", '<b class="strong">{}</b>', names)


@register.filter
def slugs(agents: Iterable[Any]) -> str:
    """The short names of agents: a, b and c."""
    return join_words(agent.slug for agent in agents)


@register.simple_tag
def call_words(change: Any) -> str:
    """Which call of an agent a change of its prompt is shown for."""
    if not change.call:
        return "no call yet"
    words = change.call.words
    thread = "on a thread" if "thread" in words else "without a thread"
    more = [name for name in ("query", "task") if name in words] + (["base prompt"] if change.call.has_base else [])
    return f"{thread}, with the {join_words(more)} of its last call" if more else thread


@register.filter
def reach(review: Any) -> str:
    """How many prompts a change reaches."""
    proposal = review.proposal
    if review.kind.changes == "template":
        return f"The prompts of {proposal.agent_name} for {proposal.change['form']}, and of no other agent"
    if not review.kind.has_file:
        only = f"; this one only by {proposal.agent_name}" if proposal.change.get("scope") == "agent" else ""
        return (
            f"No prompt changes at once. It can be recalled by every agent of this space whose question it fits{only}."
        )
    if not review.changes:
        return (
            "No agent has this file among its sources, so no prompt changes. Agents can read it when they ask for it."
        )
    more = f", {review.more_readers} more not drawn" if review.more_readers else ""
    return f"{plural(len(review.changes), 'agent reads', 'agents read')} this file{more}"


# ---- several at once


@register.simple_tag
def plan_sum(plan: Any) -> str:
    """What approving the selected proposals would change, for the bar below the list."""
    files = plural(plan.files, "file") if plan.files else "no file"
    entries = f", keep {plan.entries} in long-term memory" if plan.entries else ""
    entries += f", use {plural(plan.templates, 'template')}" if plan.templates else ""
    left_out = f"; {plan.left_out} cannot be approved among others" if plan.left_out else ""
    return f"would change {files}{entries}{_prompts_moved(plan.moved)}{left_out}"


def _prompts_moved(changes: list[Any]) -> str:
    if not changes:
        return ", no prompt"
    said = [
        f"{one.agent.slug} ({signed(one.more_tokens)} tokens, cache breaks at byte {int(one.breaks_at or 0):,})"
        for one in changes
    ]
    return f" and the prompt{'s' if len(said) > 1 else ''} of {join_words(said)}"


@register.simple_tag
def bulk_words(plan: Any, decision: str) -> dict[str, Any]:
    """Heading, lead, button and decidable proposals of the page for several proposals."""
    approves = decision == "approve"
    chosen = plan.fit if approves else plan.open_to_me
    word, count = "Approve" if approves else "Reject", len(chosen)
    lead = "Each agent reads your reason. Nothing is changed by a rejection."
    if approves:
        does = "they would do together, each on top of those before it" if count != 1 else "it would do"
        lead = f"This is what {does}. Nothing has been done yet."
    button = f"{word} {'this one' if count == 1 else f'these {count}'}"
    return {"heading": f"{word} {plural(count, 'proposal')}", "lead": lead, "button": button, "chosen": chosen}


@register.simple_tag
def left_out(result: Any, plan: Any, decision: str) -> str:
    """Why a proposal cannot be decided among several; "" if it can."""
    proposal = result.proposal
    if proposal.agent_id in plan.own:
        return f"left out: you made a key of {proposal.agent_name}, so somebody else decides"
    if decision != "approve":
        return ""
    if result.is_grave:
        return "left out: has a grave finding: decide on it by itself"
    if result.problem:
        return f"left out: {result.problem}"
    return f"left out: it builds on {result.waits_for}, which is not selected" if result.waits_for else ""


@register.filter
def prompts_words(plan: Any) -> str:
    """How many files and entries approving the selected proposals would change."""
    entries = f", {plan.entries} would be kept in long-term memory" if plan.entries else ""
    entries += f", {plural(plan.templates, 'template')} would be used" if plan.templates else ""
    return f"{plural(plan.files, 'file')} would change{entries}{'' if plan.changes else ', no prompt changes'}"
