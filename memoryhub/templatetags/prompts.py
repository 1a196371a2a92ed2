"""Tags for prompts: numbered lines, where a line comes from, what changed a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import template
from django.template.defaultfilters import truncatechars
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memoryhub.domain import files, working
from memoryhub.languages import shown_reason, translated
from memoryhub.templatetags.agent_names import agent_title
from memoryhub.templatetags.findings import line_with_marks
from memoryhub.templatetags.hidden_characters import line_html
from memoryhub.templatetags.hub import ago, author_name, leads_to, may, until, who

register = template.Library()
Marks = Mapping[int, Sequence[tuple[int, int, str]]]
# Lines that are an element each, and how many are one further down: browsers, too, take seconds for half a million.
MAX_NUMBERED, LINES_TOGETHER = 10_000, 100
# Versions of deepagents that a dialect serves besides the one in its name.
VERSIONS_SERVED = {
    "deepagents/0.6.3": gettext_lazy("and newer"), "deepagents/0.6.2": "", "deepagents/0.4.3": gettext_lazy("to 0.6.1"),
    "deepagents/0.3.7": gettext_lazy("to 0.4.1"), "deepagents/0.3.4": gettext_lazy("to 0.3.6"),
}  # fmt: skip


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
    number = format_html('<b class="strong">{}</b>', origin.number)
    if origin.path:
        return _from_file(slug, origin, number)
    if origin.hot:
        return _from_working(slug, origin.hot, number)
    if origin.cold:
        return _from_longterm(slug, origin.cold, number)
    if origin.change:
        return _from_settings(slug, agent, origin, number)
    if origin.kind == "guidelines":
        return format_html(_("Line {line} is from the hub's own guidelines."), line=number)
    if origin.kind == "task":
        return format_html(_("Line {line} is from the request, which is not stored."), line=number)
    return format_html(_("Line {line} is from: {part}."), line=number, part=origin.label)


def _from_file(slug: str, origin: Any, number: SafeString) -> SafeString:
    file = f"/s/{slug}/files{leads_to(origin.path)}"
    words = _('Line {line} is from <a class="mono" href="{url}">{path}</a>.')
    if origin.revision:
        words = _('Line {line} is line {file_line} of <a class="mono" href="{url}">{path}</a>.')
    sentence = format_html(words, line=number, file_line=origin.file_line, url=file, path=origin.path)
    links = format_html(
        '<a href="{0}?view=history">{1}</a>, <a href="{0}?view=blame">{2}</a>.', file, _("History"), _("Blame")
    )
    return format_html("{} {} {}", sentence, _written(slug, file, origin) if origin.revision else "", links)


def _written(slug: str, file: str, origin: Any) -> SafeString:
    """Who wrote a line and when, by which proposal, and who approved it."""
    revision, author = origin.revision, origin.author
    url = f"{file}?view=diff&to={revision.number}"
    values = {"author": author.name, "url": url, "number": revision.number, "when": ago(revision.created_at)}
    parts = [format_html(_('Written by {author} in <a href="{url}">revision {number}</a>, {when}.'), **values)]
    if revision.proposal:
        parts.append(_by_proposal(slug, revision.proposal))
    if revision.approver_name and author.name != revision.actor_name:
        words = _("{author} wrote it while approving the proposal of {agent}.")
        parts.append(format_html(words, author=author.name, agent=agent_title(revision.actor_name)))
    elif revision.approver_name:
        parts.append(format_html(_("Approved by {person}."), person=revision.approver_name))
    if revision.reason:
        parts.append(format_html(_("Reason: {reason}"), reason=revision.reason))
    return format_html_join(" ", "{}", ((one,) for one in parts))


def _from_working(slug: str, entry: Any, number: SafeString) -> SafeString:
    words = _('Line {line} is from <a href="{url}">working memory</a>: logged by {agent} {when}, expires {end}.')
    url = f"{reverse('working.page', args=[slug])}#w{entry.pk}"
    name = agent_title(entry.agent_name) or _("a person")
    parts = [
        format_html(words, line=number, url=url, agent=name, when=ago(entry.created_at), end=until(entry.expires_at))
    ]
    if entry.record_id:
        where = reverse("quarantine.record", args=[slug, entry.record_id])
        parts.append(format_html('<a href="{}">{}</a>.', where, _("Record %(number)s") % {"number": entry.record_id}))
    if entry.seen_by:
        parts.append(format_html(_("Seen by {person}."), person=entry.seen_by))
    elif entry.agent_id:
        parts.append(format_html("{}", _("It passed the gate; no person has seen it.")))
    return format_html_join(" ", "{}", ((one,) for one in parts))


def _from_longterm(slug: str, entry: Any, number: SafeString) -> SafeString:
    words = _('Line {line} is from <a href="{url}">long-term entry {entry}</a>: promoted by {person} {when}.')
    sentence = format_html(
        words, line=number, url=reverse("longterm.entry", args=[slug, entry.number]), entry=f"L-{entry.number}",
        person=entry.actor_name, when=ago(entry.created_at),
    )  # fmt: skip
    reason = format_html(_("Reason: {reason}"), reason=entry.reason) if entry.reason else ""
    return format_html("{} {} {}", sentence, _by_proposal(slug, entry.proposal), reason)


def _from_settings(slug: str, agent: Any, origin: Any, number: SafeString) -> SafeString:
    words = _('Line {line} is from the <a href="{url}">persona of {agent}</a>: set by {person} {when}.')
    if origin.kind == "base":
        words = _('Line {line} is from the <a href="{url}">base prompt of {agent}</a>: set by {person} {when}.')
    return format_html(
        words, line=number, url=reverse("agents.detail", args=[slug, agent.slug]), agent=agent.name,
        person=origin.change.actor_name, when=ago(origin.change.created_at),
    )  # fmt: skip


def _by_proposal(slug: str, number: int | None) -> SafeString | str:
    if not number:
        return ""
    return format_html(
        _('From <a href="{url}">proposal {number}</a>.'), url=f"/s/{slug}/proposals/{number}/", number=number
    )


@register.simple_tag
def prompt_lead(agent: Any, call: Any, follows_call: bool) -> SafeString | str:
    """What the text on the prompt page is: what the last call would get now, or what was picked."""
    if not call:
        return _("Byte for byte, as a call would get it.")
    if not follows_call:
        here = reverse("prompts.page", args=[agent.space.slug, agent.slug])
        return format_html(
            '{} <a href="{}">{}</a>',
            _("Byte for byte, as a call with these values would get it."),
            here,
            _("As its last call"),
        )
    given = [_("without a thread")]
    if call.request.thread:
        given = [_("on thread %(thread)s") % {"thread": truncatechars(call.request.thread, 40)}]
    names = {"query": _("with its query"), "task": _("with its task")}
    given += [words for name, words in names.items() if name in call.words]
    given += [_("with the base prompt of the call")] if call.has_base else []
    words = _("Byte for byte, as its last call ({when}) would get it now: {values}.")
    return format_html(words, when=ago(call.delivery.last_at), values=_(", ").join(given))


@register.filter
def dialect_words(name: str) -> str:
    """A dialect with the versions that it serves."""
    return f"{name} {VERSIONS_SERVED.get(name, '')}".strip()


@register.simple_tag
def delivered_words(delivery: Any) -> SafeString:
    """When a prompt was delivered last, how often, and in which dialect."""
    words = ngettext("{when}, as {dialect}", "{when}, {n} times, as {dialect}", delivery.count)
    return format_html(
        words, when=ago(delivery.last_at), n=f"{delivery.count:,}", dialect=dialect_words(delivery.dialect)
    )


# ---- what changed a prompt


@register.filter
def moment_words(moment: Any) -> str:
    """What happened at a moment, to which file."""
    if not moment.path:
        return translated(moment.says)
    return f"{moment.path}{_(': ')}{translated(moment.says.removeprefix(f'{moment.path}: '))}"


@register.simple_tag
def cause_words(slug: str, cause: Any) -> SafeString:
    """One thing that changed a prompt, with a link to it and its reason."""
    revision: SafeString | str = ""
    if cause.path:
        revision = format_html(
            '<a class="mono" href="/s/{}/files{}?view=diff&amp;to={}">{}</a> {}{}', slug, leads_to(cause.path), cause.revision,
            cause.path, _("revision %(number)s") % {"number": cause.revision}, _(": "),
        )  # fmt: skip
    return format_html("{}{}{}", revision, _done(slug, cause), _reason(cause))


def _done(slug: str, cause: Any) -> SafeString:
    if cause.proposal:
        return format_html('<a href="/s/{}/proposals/{}/">{}</a>', slug, cause.proposal, translated(cause.says))
    if cause.who:
        return format_html("{} {}", who(cause.who_kind, cause.who), translated(cause.says))
    if cause.entry:
        where = reverse("longterm.entry", args=[slug, cause.entry])
        return format_html('<a href="{}">L-{}</a> {}', where, cause.entry, translated(cause.says))
    return format_html("{} {}", _("An entry"), translated(cause.says))


def _reason(cause: Any) -> SafeString | str:
    if not cause.reason:
        return ""
    if cause.kind in ("working", "longterm"):  # there the reason is the entry's own text
        return format_html('<span class="dim"> “{}”</span>', truncatechars(cause.reason, 90))
    reason = truncatechars(shown_reason(cause.reason, cause.who_kind), 90)
    return format_html('<span class="dim">{}{}</span>', _(": "), reason)


# ---- notes beside a section


@register.simple_tag
def stretch_note(one: Any, agent: Any, template: Any) -> str:
    """The note for a section that is not a file; "" if its title is enough."""
    notes = {
        "base": _("base prompt of %(agent)s") % {"agent": agent.name},
        "persona": _("persona of %(agent)s") % {"agent": agent.name},
        "positioning": _("of the whole group, a file"),
        "guidelines": _("editable, like any file"),
        "working": _("newest %(n)s, of the last 24 hours") % {"n": one.count},
        "longterm": _("%(n)s by the query") % {"n": one.count},
    }
    if one.kind == "template" and template:
        values = {"version": template.version, "came_from": translated(template.came_from)}
        return _("of deepagents %(version)s, from the %(came_from)s") % values
    return _("set for this agent") if one.kind == "template" and agent.template else notes.get(one.kind, "")


@register.simple_tag
def unseen_notes(one: Any, agent: Any) -> list[str]:
    """For a section of working memory: whose output stands there that no person has looked at."""
    if one.kind != "working":
        return []
    if one.count == 1:
        words = _("logged by %(agent)s, passed the gate, not seen by anyone")
    else:
        words = _("%(n)s logged by %(agent)s, passed the gate, not seen by anyone")
    unseen = working.unseen_by_agent(agent.space, one.part.entries)
    return [words % {"n": count, "agent": name} for name, count in unseen]


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
    words = _("written by %(author)s, approved by %(person)s") if revision.approver_name else _("written by %(author)s")
    return words % {"author": author_name(revision), "person": revision.approver_name}
