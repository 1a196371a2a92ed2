"""Tags for files: numbered source, comparisons, URLs of paths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from django import template
from django.template.defaultfilters import date
from django.urls import reverse
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.timezone import localtime
from django.utils.translation import gettext, gettext_lazy, ngettext
from django.utils.translation import gettext as _

from memoryhub.dialects import tokens_of_bytes
from memoryhub.languages import shown_reason, translated
from memoryhub.stores import paths
from memoryhub.stores.survey import Survey
from memoryhub.templatetags.glyphs import g
from memoryhub.templatetags.hidden_characters import (
    ROW_WORDS,
    SIDE_BY_SIDE,
    UNIFIED,
    coarse_row,
    coloured_line_html,
    diff_row,
    diff_table,
    fold_row,
    line_html,
    marked_line_html,
    only_first_rows,
    unchanged_lines,
)
from memoryhub.templatetags.hub import actor_glyph, actor_name, ago
from memoryhub.text import highlight

register = template.Library()
KIND_WORDS = {
    "create": gettext_lazy("Created"), "write": gettext_lazy("Changed"), "edit": gettext_lazy("Edited"),
    "delete": gettext_lazy("Deleted"), "move": gettext_lazy("Moved"), "restore": gettext_lazy("Restored"),
}  # fmt: skip
SOURCE_STATES = {
    "missing": gettext_lazy("no file yet, left out of prompts"),
    "empty": gettext_lazy("empty, left out of prompts"),
}


def kind_words(kind: str) -> str:
    """What a revision did: created, changed, …"""
    return str(KIND_WORDS.get(kind, KIND_WORDS["write"]))


def page_address(slug: str, path: str, query: str = "") -> str:
    """The URL of a path."""
    return f"/s/{slug}/{paths.page_of(path, query)}"


@register.simple_tag(takes_context=True)
def file_url(context: dict[str, Any], path: str, query: str = "") -> str:
    """The URL of a virtual path in this space."""
    return page_address(context["space"].slug, path, query)


@register.simple_tag(takes_context=True)
def act_url(context: dict[str, Any], name: str, path: str) -> str:
    """The URL of the view `name`, which changes a path."""
    slug = context["space"].slug
    if path.startswith("./"):
        return reverse(name, args=[slug, "."]) + f"?path={quote(path)}"
    tail = path.lstrip("/")  # nothing for all files of a space
    return reverse(name, args=[slug, tail] if tail else [slug])


# Tables of lines are built here, since a template takes half a second for ten thousand lines.
@register.simple_tag
def source_table(
    lines: Iterable[str], caption: str, anchors: bool = True, first: int = 1, language: str = ""
) -> SafeString:
    """A table of numbered lines, with labels for unseen characters, and with colours where the language is known."""
    shown = list(lines)
    drawn = map(coloured_line_html, highlight.lines("\n".join(shown), language)) if language else map(line_html, shown)
    rows = "".join(
        f'<tr{f" id=L{number}" if anchors else ""}><td class="no">{number}</td><td class="code">{html}</td></tr>'
        for number, html in enumerate(drawn, first)
    )
    return mark_safe(  # noqa: S308  every line is escaped where it is drawn
        f'<table class="source"><caption class="sr">{escape(caption)}</caption><tbody>{rows}</tbody></table>'
    )


@register.simple_tag(takes_context=True)
def blame_table(context: dict[str, Any], lines: Iterable[Any], caption: str) -> SafeString:
    """A table of lines with their authors; the margin of each line tells how old it is among those of this table."""
    slug, shown = context["space"].slug, list(lines)
    times = [one.revision.created_at for one in shown]
    scale = AgeScale(min(times), max(times)) if times else None
    rows = "".join(
        _blame_row(slug, context["where"], one, scale.step(one.revision.created_at) if scale else 0, is_first=at == 0)
        for at, one in enumerate(shown)
    )
    return mark_safe(  # noqa: S308  every piece is escaped where it is drawn
        f'<table class="source blame"><caption class="sr">{escape(caption)}</caption><tbody>{rows}</tbody></table>'
    )


AGE_STEPS = 6


@dataclass(frozen=True)
class AgeScale:
    """Steps of age between the oldest and the newest change, from 1 to AGE_STEPS; the last is the newest."""

    oldest: datetime
    newest: datetime

    def step(self, moment: datetime) -> int:
        whole = self.newest - self.oldest
        return 1 + int((AGE_STEPS - 1) * ((moment - self.oldest) / whole)) if whole else AGE_STEPS


def _blame_row(slug: str, where: str, one: Any, age: int, *, is_first: bool) -> str:
    turn = "turn" if one.turns and not is_first else ""
    css = " ".join(name for name in (turn, "machine" if one.author.kind == "agent" else "", f"age{age}") if name)
    by = _author(slug, where, one) if one.turns or is_first else ""
    # The margin has no room for who approved it.
    title = f' title="{escape(_author_name(one) + _approved(one))}"' if by else ""
    return (
        f'<tr class="{css}"><td class="by"{title}>{by}</td>'
        f'<td class="no">{one.number}</td><td class="code">{line_html(one.text)}</td></tr>'
    )


def _author_name(line: Any) -> str:
    """Who wrote a line: the author in git of what came from disk, where one was found."""
    name = actor_name(line.author.kind, line.author.name)
    return line.revision.git_author or name if line.author.kind == "disk" else name


def _author(slug: str, where: str, line: Any) -> str:
    """The author of a line: a link to the proposal if there is one, else to the revision; when, who approved it, and the file
    before it."""
    revision, name = line.revision, _author_name(line)
    if revision.proposal:
        leads_to = f"/s/{slug}/proposals/{revision.proposal}/"
        words = f"#{revision.proposal} {shown_reason(revision.reason, revision.actor_kind) or gettext('proposal')}"
    else:
        leads_to, words = (
            page_address(slug, revision.path, f"view=diff&to={revision.number}"),
            shown_reason(revision.reason, revision.actor_kind) or kind_words(revision.kind),
        )
    return (
        f'<span class="blamed">{actor_glyph(line.author.kind)}<b class="strong">{escape(name)}</b>'
        f'<a class="clip" href="{escape(leads_to)}">{escape(words)}</a>'
        f'<span class="dim">r{revision.number}, {date(localtime(revision.created_at), gettext("M j"))}'
        f'<span class="sr">{escape(_approved(line))}</span></span>{_before(slug, where, revision)}</span>'
    )


def _before(slug: str, where: str, revision: Any) -> str:
    """A link to who wrote which line before this change; nothing for the first one, or one that was made in another file."""
    if revision.number < 2 or revision.path != where:
        return ""
    url = page_address(slug, where, f"view=blame&at={revision.number - 1}")
    words = escape(gettext("Blame before this change"))
    return f'<a class="before" href="{escape(url)}" title="{words}">{g("clock", words)}</a>'


def _approved(line: Any) -> str:
    """Who approved a line of somebody else; of a reviewer's own line whose proposal it changed."""
    if line.by_reviewer:
        return gettext(", when approving %(name)s") % {
            "name": actor_name(line.revision.actor_kind, line.revision.actor_name)
        }
    approver = line.revision.approver_name
    return gettext(", approved by %(name)s") % {"name": approver} if approver else ""


MAX_DIFF_ROWS = 5_000


@register.simple_tag(name="diff_table")
def unified_table(change: Any, caption: str, more: str = "") -> SafeString:
    """A unified comparison; with `more`, folded lines link to that URL."""
    rows = change.first_rows(MAX_DIFF_ROWS + 1)
    body = [coarse_row(change)]
    for row in rows[:MAX_DIFF_ROWS]:
        body.append(
            fold_row(unchanged_lines(row.count), more) if row.kind == "fold" else diff_row(row) + _moved_note(row)
        )
    if len(rows) > MAX_DIFF_ROWS:
        body.append(only_first_rows(MAX_DIFF_ROWS))
    return diff_table(body, caption, UNIFIED)


def _moved_note(row: Any) -> str:
    """A note for a moved line: where it came from or went to."""
    if getattr(row, "moved", None) is None or row.kind == "ctx":
        return ""
    word = (gettext("moved to line %(n)s") if row.kind == "del" else gettext("moved from line %(n)s")) % {
        "n": row.moved
    }
    return fold_row(f'<span class="small dim">{word}</span>')


@register.simple_tag
def split_table(change: Any, caption: str, more: str = "") -> SafeString:
    """A diff of two revisions, side by side."""
    rows = [
        f"<tr>{_cell(pair[0], 'old')}{_cell(pair[1], 'new')}</tr>"
        if isinstance(pair, tuple)
        else fold_row(unchanged_lines(pair.count), more)
        for pair in change.pairs
    ]
    return diff_table(rows, caption, SIDE_BY_SIDE, "diff split")


def _cell(row: Any, side: str) -> str:
    if row is None:
        return '<td class="no"></td><td class="code"></td>'
    number = row.old if side == "old" else row.new
    if row.kind == "ctx":
        return f'<td class="no">{number}</td><td class="code">{line_html(row.text)}</td>'
    css, tag = ("del-cell", "del") if row.kind == "del" else ("add-cell", "ins")
    word = ROW_WORDS[row.kind]
    note = gettext("moved, line %(n)s") % {"n": row.moved} if row.moved else ""
    moved = f' <span class="small dim">{note}</span>' if row.moved else ""
    text = marked_line_html(row.text, row.marks, tag)
    return f'<td class="no {css}">{number}</td><td class="code {css}"><span class="sr">{word} </span>{text}{moved}</td>'


@register.filter
def store_words(store: str) -> str:
    """Where the files of a mount are kept."""
    return {
        "database": _("in the hub"),
        "filesystem": _("in a directory"),
        "thread": _("per thread, for a day"),
        "views": _("shows memory"),
    }.get(store, store)


@register.filter
def policy_words(policy: str) -> str:
    """The meaning of a policy in a few words."""
    return {
        "review": _("changes by agents need approval"), "trusted": _("changes by agents apply at once"),
        "read_only": _("agents only read"),
    }.get(policy, "")  # fmt: skip


@register.filter
def source_state(row: Any) -> str:
    """The tokens of a source, or why prompts leave it out."""
    tokens = tokens_of_bytes(row.size)
    counted = ngettext("%(shown)s token", "%(shown)s tokens", tokens) % {"shown": f"{tokens:,}"}
    state = counted if row.status == "included" else str(SOURCE_STATES.get(row.status, row.problem))
    return state if row.mount else _("%(state)s; under no mount") % {"state": state}


@register.simple_tag(takes_context=True)
def revision_words(context: dict[str, Any], revision: Any) -> SafeString:
    """Why a revision was made, when, and by which proposal."""
    proposal: SafeString | str = ""
    if revision.proposal:
        where = f"/s/{context['space'].slug}/proposals/{revision.proposal}/"
        words = gettext("proposal %(number)s") % {"number": revision.proposal}
        proposal = format_html(', <a href="{}">{}</a>', where, words)
    reason = f"{shown_reason(revision.reason, revision.actor_kind)}, " if revision.reason else ""
    return format_html("{}{}{}", reason, ago(revision.created_at), proposal)


@register.simple_tag
def paths_in_a_row(found: Iterable[str]) -> SafeString:
    """Directories, set as code."""
    return format_html_join(", ", "<code>{}</code>", ((path,) for path in found))


MAX_LEFT_OUT = 8


@register.filter
def listed_left_out(survey: Survey) -> str:
    """What a mount leaves out in one line: `.git 31, node_modules 5, .env`, in the language of the page."""
    named = [translated(one.name) + one.says.removeprefix(one.name) for one in survey.groups[:MAX_LEFT_OUT]]
    if (more := len(survey.groups) - MAX_LEFT_OUT) > 0:
        named.append(ngettext("%(n)s more", "%(n)s more", more) % {"n": more})
    return ", ".join(named)
