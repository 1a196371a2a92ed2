"""Tags for prompts: numbered lines, where a line comes from, what changed a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import template
from django.template.defaultfilters import truncatechars
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from memoryhub.domain import files, working
from memoryhub.models import Actor, Revision
from memoryhub.templatetags.files import leads_to
from memoryhub.templatetags.hidden_characters import line_html
from memoryhub.templatetags.hub import ago, may, until, who
from memoryhub.templatetags.reviewing import line_with_marks

register = template.Library()
Marks = Mapping[int, Sequence[tuple[int, int, str]]]
# Lines that are an element each, and how many are one further down: browsers, too, take seconds for half a million.
MAX_NUMBERED, LINES_TOGETHER = 10_000, 100


@register.simple_tag(takes_context=True)
def numbered(context: Any, lines: Sequence[str], first: int, marks: Marks) -> SafeString:
    """One element for each line, with labels for unseen characters; numbers are CSS, so they are not copied. Far down in a
    long prompt an element holds many lines.

    The origin of the line in `context["origin"]` is put below that line.
    """
    # Built here, since a prompt has thousands of lines.
    asked = context["origin"].number if context.get("origin") else 0
    drawn = []
    for start, end in _drawn_together(first, first + len(lines), {asked, *marks}):
        found = marks.get(start)
        drawn.append(f'<span id="L{start}" data-n="{start}">')
        if found:
            drawn.append(line_with_marks(lines[start - first], (), "", found, whole=True))
        else:
            drawn.append("\n".join(map(line_html, lines[start - first : end - first])))
        drawn.append("</span>")
        if start == asked:
            drawn.append(render_to_string("prompts/_origin.html", context.flatten()).strip())
    return mark_safe("".join(drawn))  # noqa: S308  every line is escaped where it is drawn


def _drawn_together(start: int, end: int, alone: set[int]) -> Iterator[tuple[int, int]]:
    """The lines from `start` to `end` in runs: one by one up to MAX_NUMBERED, then many at once, but for those in `alone`."""
    while start < min(end, MAX_NUMBERED + 1):
        yield start, start + 1
        start += 1
    waiting = sorted(number for number in alone if start <= number < end)
    for stop in (*waiting, end):
        while start < stop:
            yield start, min(start + LINES_TOGETHER, stop)
            start = min(start + LINES_TOGETHER, stop)
        if stop < end:
            yield stop, stop + 1
            start = stop + 1


# ---- where a line comes from


@register.simple_tag
def origin_words(slug: str, agent: Any, origin: Any) -> SafeString:
    """Where a line of a prompt comes from and who wrote it, with links."""
    if origin.path:
        return _from_file(slug, origin)
    if origin.hot:
        return _from_working(slug, origin.hot)
    if origin.cold:
        return _from_longterm(slug, origin.cold)
    if origin.change:
        return _from_settings(slug, agent, origin)
    plain = {"guidelines": mark_safe("the hub's own guidelines"), "task": "the request: it is not stored"}
    return format_html("{}.", plain.get(origin.kind, origin.label))


def _from_file(slug: str, origin: Any) -> SafeString:
    file = f"/s/{slug}/files{leads_to(origin.path)}"
    return format_html(
        '<a class="mono" href="{0}">{1}</a>{2}. <a href="{0}?view=history">Everything that touched the file</a>, '
        '<a href="{0}?view=blame">its blame</a>.',
        file, origin.path, _written(slug, file, origin) if origin.revision else "",
    )  # fmt: skip


def _written(slug: str, file: str, origin: Any) -> SafeString:
    revision = origin.revision
    return format_html(
        ', line {}. {} wrote it in <a href="{}?view=diff&amp;to={}">revision {}</a>, {}{}{}{}',
        origin.file_line, origin.author.name, file, revision.number, revision.number, ago(revision.created_at),
        _by_proposal(slug, revision.proposal), _approved_by(revision, origin.author),
        f": {revision.reason}" if revision.reason else "",
    )  # fmt: skip


def _approved_by(revision: Revision, author: Actor) -> str:
    """Who approved a line, or whose proposal it was where the reviewer wrote the line themselves."""
    if not revision.approver_name:
        return ""
    if author.name != revision.actor_name:
        return f" of {revision.actor_name}, when approving it"
    return f", approved by {revision.approver_name}"


def _from_working(slug: str, entry: Any) -> SafeString:
    record = ""
    if entry.record_id:
        where = reverse("quarantine.record", args=[slug, entry.record_id])
        record = format_html(', <a href="{}">record {}</a>', where, entry.record_id)
    return format_html(
        '<a href="{}#w{}">working memory</a>: {} said it {}{}{}; it leaves {}.',
        reverse("working.page", args=[slug]), entry.pk, entry.agent_name or "a person", ago(entry.created_at),
        record, _seen(entry), until(entry.expires_at),
    )  # fmt: skip


def _seen(entry: Any) -> str:
    if entry.seen_by:
        return f"; seen by {entry.seen_by}"
    return "; it passed the gate and was seen by nobody" if entry.agent_id else ""


def _from_longterm(slug: str, entry: Any) -> SafeString:
    return format_html(
        '<a href="{}">long-term entry L-{}</a>: {} promoted it {}{}{}.',
        reverse("longterm.entry", args=[slug, entry.number]), entry.number, entry.actor_name, ago(entry.created_at),
        _by_proposal(slug, entry.proposal), f": {entry.reason}" if entry.reason else "",
    )  # fmt: skip


def _from_settings(slug: str, agent: Any, origin: Any) -> SafeString:
    return format_html(
        'the <a href="{}">{} of {}</a>: {} set it {}.',
        reverse("agents.detail", args=[slug, agent.slug]), "base prompt" if origin.kind == "base" else "persona",
        agent.name, origin.change.actor_name, ago(origin.change.created_at),
    )  # fmt: skip


def _by_proposal(slug: str, number: int | None) -> SafeString | str:
    return format_html(', by <a href="/s/{0}/proposals/{1}/">proposal {1}</a>', slug, number) if number else ""


@register.simple_tag
def prompt_lead(agent: Any, call: Any, follows_call: bool) -> SafeString | str:
    """What the text on the prompt page is: what the last call would get now, or what was picked."""
    if not call:
        return "Byte for byte, as a call would get it."
    if not follows_call:
        here = reverse("prompts.page", args=[agent.space.slug, agent.slug])
        return format_html(
            'Byte for byte, as a call with these values would get it. <a href="{}">As its last call</a>', here
        )
    given = [f"on thread {truncatechars(call.request.thread, 40)}"] if call.request.thread else ["without a thread"]
    given += [f"with its {name}" for name in ("query", "task") if name in call.words]
    given += ["with the base prompt of the call"] if call.has_base else []
    return format_html(
        "Byte for byte, as its last call ({}) would get it now: {}.", ago(call.delivery.last_at), ", ".join(given)
    )


@register.simple_tag
def delivered_words(delivery: Any) -> SafeString:
    """When a prompt was delivered last, how often, and in which dialect."""
    times = f", {delivery.count:,} times" if delivery.count > 1 else ""
    return format_html("{}{}, as {}", ago(delivery.last_at), times, delivery.dialect)


# ---- what changed a prompt


@register.simple_tag
def cause_words(slug: str, cause: Any) -> SafeString:
    """One thing that changed a prompt, with a link to it and its reason."""
    revision: SafeString | str = ""
    if cause.path:
        revision = format_html(
            '<a class="mono" href="/s/{}/files{}?view=diff&amp;to={}">{}</a> revision {}: ',
            slug, leads_to(cause.path), cause.revision, cause.path, cause.revision,
        )  # fmt: skip
    return format_html("{}{}{}", revision, _done(slug, cause), _reason(cause))


def _done(slug: str, cause: Any) -> SafeString:
    if cause.proposal:
        return format_html('<a href="/s/{}/proposals/{}/">{}</a>', slug, cause.proposal, cause.says)
    if cause.who:
        return format_html("{} {}", who(cause.who_kind, cause.who), cause.says)
    if cause.entry:
        where = reverse("longterm.entry", args=[slug, cause.entry])
        return format_html('<a href="{}">L-{}</a> {}', where, cause.entry, cause.says)
    return format_html("An entry {}", cause.says)


def _reason(cause: Any) -> SafeString | str:
    if not cause.reason:
        return ""
    reason = truncatechars(cause.reason, 90)
    is_quoted = cause.kind in ("working", "longterm")  # there the reason is the entry's own text
    return format_html('<span class="dim">{}</span>', f" “{reason}”" if is_quoted else f": {reason}")


# ---- notes beside a section


@register.simple_tag
def stretch_note(one: Any, agent: Any, template: Any) -> str:
    """The note for a section that is not a file; "" if its title is enough."""
    notes = {
        "base": f"base prompt of {agent.name}",
        "persona": f"persona of {agent.name}",
        "positioning": "of the whole group, a file",
        "guidelines": "editable, like any file",
        "working": f"newest {one.count}, of the last 24 hours",
        "longterm": f"{one.count} by the query",
    }
    if one.kind == "template" and template:
        return f"of deepagents {template.version}, from the {template.came_from}"
    return "set for this agent" if one.kind == "template" and agent.template else notes.get(one.kind, "")


@register.simple_tag
def unseen_notes(one: Any, agent: Any) -> list[str]:
    """For a section of working memory: whose output stands there that no person has looked at."""
    if one.kind != "working":
        return []
    return [
        f"{f'{count} ' if one.count > 1 else ''}logged by {name}, passed the gate, seen by nobody"
        for name, count in working.unseen_by_agent(agent.space, one.part.entries)
    ]


@register.simple_tag(takes_context=True)
def stretch_url(context: Any, slug: str, agent: Any, one: Any) -> str:
    """The URL of the page where the text of a section is edited; "" for the task, which comes with the request."""
    if one.path:
        return f"/s/{slug}/files{leads_to(one.path)}"
    if one.kind in ("working", "longterm"):
        return f"/s/{slug}/{one.kind}/"
    if path := files.PROMPT_FILES.get(one.kind):
        return f"/s/{slug}/files{path}{'?view=edit' if may(context['role'], 'edit') else ''}"
    return "" if one.kind == "task" else reverse("agents.detail", args=[slug, agent.slug])


@register.filter
def written_by(one: Any) -> str:
    """Who wrote the revision of a section, and who approved it."""
    revision = one.revision
    approved = f", approved by {revision.approver_name}" if revision.approver_name else ""
    return f"written by {revision.actor_name}{approved}"
