"""Tags for proposals: what a change does, which agents get it, what a decision means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any
from urllib.parse import quote

from django import template
from django.urls import reverse
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy

from memoryhub.domain import proposals
from memoryhub.domain.proposals import kind_of
from memoryhub.languages import offered, translated
from memoryhub.templatetags.agent_names import agent_title
from memoryhub.templatetags.hub import ago, join_html, join_words, leads_to, names, plural

register = template.Library()
register.filter("offered", offered)
STATE_GLYPHS = {
    "pending": "clock", "approved": "check", "outdated": "clock", "expired": "clock", "changes_requested": "retry",
}  # fmt: skip
MAX_AGENTS_TOLD = 4  # in the bar below the list; the page that asks shows all
STATE_WORDS = {
    "pending": gettext_lazy("Pending"), "approved": gettext_lazy("Approved"), "rejected": gettext_lazy("Rejected"),
    "withdrawn": gettext_lazy("Withdrawn"), "outdated": gettext_lazy("Outdated"), "expired": gettext_lazy("Expired"),
    "changes_requested": gettext_lazy("Changes requested"),
}  # fmt: skip
FINDINGS = {
    "secrets": ngettext_lazy("%(n)s secret", "%(n)s secrets", "n"),
    "hidden": ngettext_lazy("%(n)s hidden character", "%(n)s hidden characters", "n"),
    "injection": ngettext_lazy("%(n)s injection", "%(n)s injections", "n"),
    "duplicate": ngettext_lazy("%(n)s duplicate", "%(n)s duplicates", "n"),
    "transient": ngettext_lazy("%(n)s transient statement", "%(n)s transient statements", "n"),
    "vague": ngettext_lazy("%(n)s vague line", "%(n)s vague lines", "n"),
    "coherence": ngettext_lazy("%(n)s incoherent passage", "%(n)s incoherent passages", "n"),
    "risky_advice": ngettext_lazy("%(n)s piece of risky advice", "%(n)s pieces of risky advice", "n"),
    "program": ngettext_lazy("%(n)s program", "%(n)s programs", "n"),
    "similar_name": ngettext_lazy("%(n)s similar name", "%(n)s similar names", "n"),
    "other_path": ngettext_lazy("%(n)s file with other paths", "%(n)s files with other paths", "n"),
    "cost": ngettext_lazy("%(n)s text too costly to check", "%(n)s texts too costly to check", "n"),
}
OTHER_FINDINGS = ngettext_lazy("%(n)s finding", "%(n)s findings", "n")


@register.simple_tag
def counted_findings(code: str, count: int) -> str:
    """How many findings of a kind there are: 2 hidden characters."""
    return str(FINDINGS.get(code, OTHER_FINDINGS) % {"n": count})


@register.filter
def signed(number: int) -> str:
    """+49, −12 or 0, with a true minus."""
    return f"+{number:,}" if number > 0 else f"−{-number:,}" if number < 0 else "0"


@register.filter
def proposal_state(proposal: Any) -> str:
    """The state of a proposal as people read it."""
    return str(STATE_WORDS[proposal.shown_state])


@register.filter
def reason_words(proposal: Any) -> str:
    """The reason of a decision, without the words that only the agent needs."""
    return offered(proposal.note.removeprefix(proposals.TRY_AGAIN))


@register.filter
def state_glyph(state: str) -> str:
    """The name of the glyph for a proposal's state."""
    return STATE_GLYPHS.get(state, "x")


@register.filter
def verb(proposal: Any) -> str:
    """What a proposal does to its path, in the third person."""
    return translated(kind_of(proposal).does(proposal))


@register.simple_tag
def grave_words(findings: Iterable[Any], is_long: bool = False) -> SafeString:
    """What a reviewer confirms to have looked at: grave findings by kind, each kind with its first line, and a long change."""
    kind = attrgetter("is_of_text", "code")
    kinds = [(*key, list(found)) for key, found in groupby(sorted(findings, key=kind), key=kind)]
    said = [
        format_html(
            _('the <b class="strong">{found}</b> in line {line}') if of_text else _('the <b class="strong">{found}</b> in its path'),
            found=counted_findings(code, len(found)), line=found[0].line,
        )
        for of_text, code, found in kinds
    ]  # fmt: skip
    words = _('<b class="strong">{all}</b>, which is too long to be shown at once')
    return join_html([*said, format_html(words, all=_("all of the change"))] if is_long else said)


@register.filter
def shrinking(found: Any) -> str:
    """The size of the text before and after, in bytes."""
    sizes = {"before": f"{len(found.before or b''):,}", "after": f"{len(found.after or b''):,}"}
    return _("replaces %(before)s bytes by %(after)s in") % sizes


@register.filter
def outdated_words(row: Any) -> str:
    """The revision that an outdated proposal was made on, and the newest."""
    numbers = {"made_on": row.proposal.base_revision, "now": row.found.revision}
    words = _("based on revision %(made_on)s, now %(now)s") if numbers["now"] else _("based on revision %(made_on)s")
    return words % numbers


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
        return format_html(_("{when}, as a new file"), when=asked)
    where = f"/s/{context['space'].slug}/files{leads_to(proposal.path)}?view=diff&to={number}"
    words = _('{when}, on <a href="{url}">revision {number}</a>')
    if found.moved_on and found.revision:
        words = _('{when}, on <a href="{url}">revision {number}</a>, now {now}')
    elif is_open and not found.moved_on:
        words = _('{when}, on <a href="{url}">revision {number}</a>, which is still the newest')
    return format_html(words, when=asked, url=where, number=number, now=found.revision)


# ---- the decision


@register.simple_tag
def effect(review: Any, loading: Sequence[str] = ()) -> SafeString:
    """Which agents get the change and when; if no prompt has it, which coding agents load the file, or who can find it."""
    if loading and not review.agents:
        return format_html(_("Loaded by {agents} when they start next."), agents=names(loading, 4))
    if not review.agents:
        return mark_safe(translated(review.kind.without_prompts))  # noqa: S308  our own words
    words = _("Seen by {agents} from their <b>next thread</b> on.")
    if review.kind.removes_file or review.losing_agents:
        words = _("Gone from the prompt of {agents} from their <b>next thread</b> on.")
    bold = (format_html("<b>{}</b>", agent.name) for agent in review.agents)
    sentence = format_html(words, agents=join_html(bold, review.more_readers))
    if not review.threads_behind:
        return sentence
    behind = ngettext("%(n)s thread runs on the old text.", "%(n)s threads run on the old text.", review.threads_behind)
    return format_html("{} {}", sentence, behind % {"n": review.threads_behind})


@register.simple_tag
def what_is_approved(found: Any) -> SafeString:
    """Says that the approval counts for exactly this text."""
    words = _("You approve what you see, <code>{sha}</code>.")
    if found.kind.removes_file:
        words = _("You approve what you see.")
    line = format_html(words, sha=found.sha256[:8])
    return format_html("{} {}", line, _("If the file changes, you are asked again.")) if found.kind.has_file else line


@register.filter
def approve_label(review: Any) -> str:
    """The label of the button that approves."""
    if review.can_take_hunks:
        of = len(review.diff.hunks)
        if review.takes_all:
            return ngettext("Approve the change", "Approve all %(of)s changes", of) % {"of": of}
        words = ngettext("Approve %(n)s of %(of)s change", "Approve %(n)s of %(of)s changes", of)
        return words % {"n": len(review.taken), "of": of}
    return translated(review.kind.approve_label)


@register.filter
def jump_words(review: Any) -> str:
    """A summary for the bar on phones that leads to the decision."""
    hunks = len(review.diff.hunks) if review.found.applies and review.diff.hunks else 0
    label = plural(hunks, "change") if hunks else _("Proposal %(number)s") % {"number": review.proposal.number}
    count = len(review.grave_findings)
    if not count:
        return label
    words = ngettext("%(what)s, %(n)s finding to look at", "%(what)s, %(n)s findings to look at", count)
    return words % {"what": label, "n": count}


@register.simple_tag
def approved_words(proposal: Any) -> SafeString:
    """Who approved a proposal, the revision that it became, and the note."""
    if proposal.applied_revision and proposal.with_edits:
        words = _('Approved by <b class="strong">{person}</b>, revision {number}, with edits.')
    elif proposal.applied_revision:
        words = _('Approved by <b class="strong">{person}</b>, revision {number}.')
    elif proposal.with_edits:
        words = _('Approved by <b class="strong">{person}</b>, with edits.')
    else:
        words = _('Approved by <b class="strong">{person}</b>.')
    sentence = format_html(words, person=proposal.decided_by_name, number=proposal.applied_revision)
    return format_html("{} “{}”", sentence, offered(proposal.note)) if proposal.note else sentence


@register.simple_tag
def approvers(proposal: Any) -> SafeString:
    """The names of those who approved so far."""
    return join_html(format_html('<b class="strong">{}</b>', one["name"]) for one in proposal.approvals)


@register.filter
def slugs(agents: Iterable[Any]) -> str:
    """The short names of agents: a, b and c."""
    return join_words(agent.name for agent in agents)


@register.simple_tag
def call_words(change: Any) -> str:
    """Which call of an agent a change of its prompt is shown for."""
    if not change.call:
        return _("no call yet")
    words = change.call.words
    thread = _("on a thread") if "thread" in words else _("without a thread")
    names = {"query": _("query"), "task": _("task")}
    more = [name for key, name in names.items() if key in words] + ([_("base prompt")] if change.call.has_base else [])
    if not more:
        return thread
    return _("%(thread)s, with the %(parts)s of its last call") % {"thread": thread, "parts": join_words(more)}


@register.filter
def reach(review: Any) -> str:
    """How many prompts a change reaches."""
    proposal = review.proposal
    if review.kind.changes == "template":
        values = {"agent": agent_title(proposal.agent_name), "form": proposal.change["form"]}
        return _("The prompts of %(agent)s for %(form)s, and of no other agent") % values
    if not review.kind.has_file:
        if proposal.change.get("scope") == "agent":
            words = _("No prompt changes at once. Only %(agent)s can recall it, when it fits its question.")
            return words % {"agent": agent_title(proposal.agent_name)}
        return _("No prompt changes at once. Every agent of this space whose question it fits can recall it.")
    if not review.changes:
        return _(
            "No agent has this file among its sources, so no prompt changes. Agents can read it when they ask for it."
        )
    values = {"n": len(review.changes), "more": review.more_readers}
    if review.more_readers:
        return _("%(n)s agents read this file, %(more)s more are not shown") % values
    return ngettext("%(n)s agent reads this file", "%(n)s agents read this file", values["n"]) % values


# ---- several at once


@register.simple_tag
def plan_sum(plan: Any) -> str:
    """What approving the selected proposals would change, for the bar below the list."""
    parts = [_effects_of(plan) or _("No file changes"), _prompts_moved(plan.moved)]
    if plan.left_out:
        words = ngettext("%(n)s cannot be approved with others", "%(n)s cannot be approved with others", plan.left_out)
        parts.append(words % {"n": plan.left_out})
    return "; ".join(parts)


def capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _effects_of(plan: Any) -> str:
    """How many files, entries and templates approving the selected proposals would change; "" without any."""
    parts = []
    if plan.files:
        parts.append(ngettext("changes %(n)s file", "changes %(n)s files", plan.files) % {"n": f"{plan.files:,}"})
    if plan.entries:
        words = ngettext("adds %(n)s long-term entry", "adds %(n)s long-term entries", plan.entries)
        parts.append(words % {"n": plan.entries})
    if plan.templates:
        parts.append(ngettext("uses %(n)s template", "uses %(n)s templates", plan.templates) % {"n": plan.templates})
    return capitalized(_(", ").join(parts))


def _prompts_moved(changes: list[Any]) -> str:
    if not changes:
        return _("no prompt changes")
    words = _("%(agent)s (%(tokens)s tokens)")
    parts = [words % {"agent": one.agent.name, "tokens": signed(one.more_tokens)} for one in changes[:MAX_AGENTS_TOLD]]
    if (more := len(changes) - len(parts)) > 0:
        parts.append(ngettext("%(n)s more agent", "%(n)s more agents", more) % {"n": more})
    return ngettext("changes the prompt of %(agents)s", "changes the prompts of %(agents)s", len(changes)) % {
        "agents": join_words(parts)
    }


@register.simple_tag
def bulk_words(plan: Any, decision: str) -> dict[str, Any]:
    """Heading, lead, button and decidable proposals of the page for several proposals."""
    approves = decision == "approve"
    chosen = plan.fit if approves else plan.open_to_me
    count = len(chosen)
    if approves:
        heading = ngettext("Approve %(n)s proposal", "Approve %(n)s proposals", count)
        lead = ngettext(
            "This is what it would do. Nothing has been done yet.",
            "This is what they would do together, each on top of those before it. Nothing has been done yet.", count,
        )  # fmt: skip
        button = ngettext("Approve this one", "Approve these %(n)s", count)
    else:
        heading = ngettext("Reject %(n)s proposal", "Reject %(n)s proposals", count)
        lead = _("Each agent reads your reason. Nothing is changed by a rejection.")
        button = ngettext("Reject this one", "Reject these %(n)s", count)
    number = {"n": count}
    return {"heading": heading % number, "lead": lead, "button": button % number, "chosen": chosen}


@register.simple_tag
def left_out(result: Any, plan: Any, decision: str) -> str:
    """Why a proposal cannot be decided among several; "" if it can."""
    proposal = result.proposal
    if proposal.agent_id in plan.own:
        words = _("Left out: you created a token of %(agent)s, so somebody else decides")
        return words % {"agent": agent_title(proposal.agent_name)}
    if decision != "approve":
        return ""
    if result.is_grave:
        return _("Left out: it has a serious finding, so decide on it separately")
    if result.is_long:
        return _("Left out: it is too long to be seen here, so decide on it separately")
    if result.problem:
        return _("Left out: %(problem)s") % {"problem": translated(result.problem)}
    if not result.waits_for:
        return ""
    return _("Left out: it builds on %(number)s, which is not selected") % {"number": result.waits_for}


@register.filter
def prompts_words(plan: Any) -> str:
    """How many files and entries approving the selected proposals would change."""
    effects = _effects_of(plan) or _("No file changes")
    return effects if plan.changes else "; ".join((effects, _("no prompt changes")))
