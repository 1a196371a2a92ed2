"""Tags of the review page and of the summary of several proposals: changed words, findings below their line, hunks to tick, the
cache break, when it expires.

Lines are built in Python, since a diff has thousands of them; the rows between them are templates.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from memoryhub.dialects import Part
from memoryhub.domain.prompts import PromptChange
from memoryhub.domain.proposals import ROWS_SHOWN, SECONDS_FOR_MANY, Result, Review
from memoryhub.templatetags.findings import FindingsByLine, finding_rows, line_with_marks
from memoryhub.templatetags.glyphs import g
from memoryhub.templatetags.hidden_characters import (
    ROW_SIGNS,
    SIDE_BY_SIDE,
    UNIFIED,
    coarse_row,
    diff_table,
    drawn_html,
    fold_row,
    no_newline_label,
    only_first_rows,
    unchanged_lines,
)
from memoryhub.templatetags.hub import query, time_element, until
from memoryhub.text import markdown
from memoryhub.text.diff import Diff
from memoryhub.text.diff_rows import Fold, Row

register = template.Library()
LAYER_LABELS = {
    "source": ("source", _("from files"), "is-source"), "working": ("working", _("from working memory"), "is-working"),
    "longterm": ("longterm", _("from long-term memory"), "is-longterm"),
}  # fmt: skip
PLAIN_LABEL = ("info", _("around memory"), "is-plain")


def text_row(row: Row, findings_by_line: FindingsByLine) -> str:
    sign, word, tag = ROW_SIGNS[row.kind]
    for_readers = f'<span class="sr">{word} </span>' if word else ""
    end = "" if row.ends else no_newline_label()
    found = findings_by_line.ranges_in_line(row.new, len(row.text)) if row.new and row.kind == "add" else []
    moved = ""
    if row.moved:
        words = gettext("from line %(number)s") if row.kind == "add" else gettext("to line %(number)s")
        moved = f' <span class="tag">{words % {"number": row.moved}}</span>'
    text = line_with_marks(row.text, row.marks, tag, found, whole=findings_by_line.whole)
    return (
        f'<tr class="{row.kind}"><td class="no">{row.old or ""}</td><td class="no">{row.new or ""}</td>'
        f'<td class="sign">{sign}</td><td class="code">{for_readers}{text}{end}{moved}</td></tr>'
    )


def hunk_row(review: Review, number: int, *, decides: bool) -> str:
    hunk = review.diff.hunks[number - 1]
    change = {
        "number": number,
        "of": len(review.diff.hunks),
        "heading": review.headings.get(number, ""),
        "can_take": decides and review.can_take_hunks,
        "is_taken": number in review.taken,
        "added": hunk.new_end - hunk.new_start,
        "removed": hunk.old_end - hunk.old_start,
    }
    return render_to_string("proposals/_hunk_row.html", change)


@register.simple_tag(takes_context=True)
def review_diff(context: dict[str, Any], review: Review, more_url: str = "", start: int = 0) -> SafeString:
    """The unified diff of a proposal by hunks from a row on, with findings below their lines; who decides may take some of them."""
    findings_by_line = FindingsByLine(review.diff.new_lines, review.findings, whole=review.context is None)
    body = [coarse_row(review.diff)]
    open_hunk = lead = 0  # unchanged lines above, at most three, that belong to the change below them
    rows = review.diff.first_rows(ROWS_SHOWN + 1, start)
    if start:
        body.append(fold_row(gettext("Show the change from its beginning"), query(context, start=None)))
    for row in rows[:ROWS_SHOWN]:
        number = row.hunk if isinstance(row, Row) else None
        if number and number != open_hunk:
            body.insert(len(body) - lead, hunk_row(review, number, decides=context.get("may_decide", False)))
            open_hunk = number
        lead = 0 if number or isinstance(row, Fold) else min(lead + 1, 3)
        body.append(row_html(row, findings_by_line, more_url))
    if len(rows) > ROWS_SHOWN:
        body.append(fold_row(goes_on(review.diff), query(context, start=start + ROWS_SHOWN)))
    caption = gettext("Change of %(what)s") % {"what": review.proposal.thing}
    return diff_table(body, caption, UNIFIED)


def goes_on(diff: Diff) -> str:
    """Says at the end of a table that it does not show the whole change."""
    words = gettext("The change goes on: it adds %(added)s lines and removes %(removed)s. Show the next lines")
    return words % {"added": f"{diff.added:,}", "removed": f"{diff.removed:,}"}


def row_html(row: Row | Fold, findings_by_line: FindingsByLine, more_url: str) -> str:
    if isinstance(row, Fold):
        return fold_row(unchanged_lines(row.count), more_url)
    return text_row(row, findings_by_line) + (
        finding_rows(findings_by_line.on_line(row.new)) if row.kind == "add" else ""
    )


@register.simple_tag(takes_context=True)
def split_diff(context: dict[str, Any], review: Review) -> SafeString:
    """The diff of a proposal, before and after side by side."""
    findings_by_line = FindingsByLine(review.diff.new_lines, review.findings, whole=review.context is None)
    goes_on = fold_row(gettext("The change goes on. Unified shows all of it"), query(context, view=None))
    return _side_by_side(review.diff, findings_by_line, gettext("Side by side"), goes_on)


@register.simple_tag
def conflict_diff(review: Review) -> SafeString:
    """The current text beside the text that the agent wanted."""
    diff, _ = review.both_sides
    return _side_by_side(diff, FindingsByLine(diff.new_lines, ()), gettext("Both texts"), only_first_rows(ROWS_SHOWN))


def _side_by_side(diff: Diff, findings_by_line: FindingsByLine, caption: str, goes_on: str) -> SafeString:
    """The table of two texts; it ends with the row `goes_on` if it does not show all of them."""
    pairs = diff.first_pairs(ROWS_SHOWN + 1)
    body = [coarse_row(diff)]
    for pair in pairs[:ROWS_SHOWN]:
        if isinstance(pair, Fold):
            body.append(fold_row(unchanged_lines(pair.count)))
            continue
        old, new = pair
        body.append(f"<tr>{_cell(old, 'old', findings_by_line)}{_cell(new, 'new', findings_by_line)}</tr>")
        if new is not None and new.kind == "add":
            body.append(finding_rows(findings_by_line.on_line(new.new)))
    if len(pairs) > ROWS_SHOWN:
        body.append(goes_on)
    return diff_table(body, caption, SIDE_BY_SIDE, "diff split")


def _cell(row: Row | None, side: str, findings_by_line: FindingsByLine) -> str:
    if row is None:
        return '<td class="no"></td><td class="code"></td>'
    number = row.old if side == "old" else row.new
    css = {"del": " del-cell", "add": " add-cell"}.get(row.kind, "")
    _sign, word, tag = ROW_SIGNS[row.kind]
    for_readers = f'<span class="sr">{word} </span>' if word else ""
    found = findings_by_line.ranges_in_line(row.new, len(row.text)) if row.kind == "add" and row.new else []
    text = line_with_marks(row.text, row.marks, tag, found, whole=findings_by_line.whole)
    return f'<td class="no">{number or ""}</td><td class="code{css}">{for_readers}{text}</td>'


# ---- prompts


@register.simple_tag
def prompt_diff(change: PromptChange, whys: Mapping[int, str] | None = None) -> SafeString:
    """The diff of an agent's prompt, with the layer of each line and the place where the provider's cache breaks.

    `whys` is HTML by the `id` of a part; each is drawn once, above the first change of its part.
    """
    before, after = PromptLayers(change.before), PromptLayers(change.after)
    body = [coarse_row(change.diff)]
    broken = False
    shown_causes: set[str] = set()
    rows = change.diff.first_rows(ROWS_SHOWN + 1)
    for row in rows[:ROWS_SHOWN]:
        if isinstance(row, Fold):
            body.append(fold_row(unchanged_lines(row.count)))
            continue
        if row.kind != "ctx" and not broken:
            body.append(cut_row(change))
            broken = True
        layers = before if row.kind == "del" else after
        number = row.old if row.kind == "del" else row.new
        why = (whys or {}).get(id(layers.part(number or 1))) if row.kind != "ctx" else None
        if why and why not in shown_causes:
            body.append(f'<tr class="why"><td colspan="4">{why}</td></tr>')
            shown_causes.add(why)
        body.append(prompt_row(row, layers.label_of(number or 1)))
    if len(rows) > ROWS_SHOWN:
        body.append(only_first_rows(ROWS_SHOWN))
    caption = gettext("Change of the prompt of %(agent)s") % {"agent": change.agent.name}
    return diff_table(body, caption, ("c-src", "c-no", "c-sign", ""))


def prompt_row(row: Row, layer: tuple[str, str, str]) -> str:
    glyph, label, css = layer
    sign, word, tag = ROW_SIGNS[row.kind]
    for_readers = f'<span class="sr">{word} </span>' if word else ""
    number = row.old if row.kind == "del" else row.new
    return (
        f'<tr class="{row.kind}"><td class="src {css}">{g(glyph, str(label))}</td><td class="no">{number}</td>'
        f'<td class="sign">{sign}</td><td class="code">{for_readers}{line_with_marks(row.text, row.marks, tag)}</td></tr>'
    )


def cut_row(change: PromptChange) -> str:
    return render_to_string("proposals/_cut_row.html", {"change": change})


class PromptLayers:
    """The layer that each line of a prompt comes from."""

    def __init__(self, prompt: Any) -> None:
        self.parts = [part for part in prompt.parts if part.end > part.start]
        self.ends = [part.start for part in self.parts]
        self.lines = [0, *(newline.end() for newline in re.finditer(b"\n", prompt.data))]

    def part(self, number: int) -> Part | None:
        if not self.parts or number > len(self.lines):
            return None
        return self.parts[max(0, bisect_right(self.ends, self.lines[number - 1]) - 1)]

    def label_of(self, number: int) -> tuple[str, str, str]:
        part = self.part(number)
        return LAYER_LABELS.get(part.kind, PLAIN_LABEL) if part else PLAIN_LABEL


@register.simple_tag
def rendered(text: str) -> SafeString:
    """The text rendered as Markdown without anything that a browser would run or fetch, with labels for unseen characters."""
    return drawn_html(markdown.render(text).html)


@register.simple_tag
def expires_words(moment: datetime) -> SafeString:
    """When a proposal expires by itself, in days; within the last two days in a smaller unit."""
    seconds = (moment - timezone.now()).total_seconds()
    days = round(seconds / 86_400)
    if days < 2:
        return format_html(gettext("Expires {when}"), when=until(moment))
    words = ngettext("Expires in %(n)s day", "Expires in %(n)s days", days)
    return time_element(moment, words % {"n": days})


# ---- several at once: what each would do to its text

OPEN_BELOW = 40  # changed lines: a longer change is folded, a deletion never


@register.simple_tag
def bulk_deadline() -> float:
    """Until when texts are compared that `proposals.plan` did not compare: an agent can ask for 200 of 1 MB."""
    return time.thread_time() + SECONDS_FOR_MANY


@register.simple_tag
def bulk_change(result: Result, deadline: float) -> dict[str, Any]:
    """What one of several proposals would do to its text; nothing of one that is too long, and past the deadline of none that is
    left out of approving several."""
    is_left_out = result.is_grave or result.waits_for
    if not result.applies or (is_left_out and time.thread_time() > deadline) or result.is_long:
        return {}
    if not (diff := result.compared):
        return {}
    found = FindingsByLine(diff.new_lines, result.findings)
    rows = [row_html(row, found, "") for row in diff.rows]
    return {
        "diff": diff, "table": diff_table([coarse_row(diff), *rows], gettext("Change"), UNIFIED),
        "is_open": result.kind.removes_file or diff.added + diff.removed <= OPEN_BELOW,
    }  # fmt: skip
