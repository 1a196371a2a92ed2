"""Tags for the editor: what was found in the text and where to mark it, and what a text does to each prompt."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memoryhub.detectors import Finding
from memoryhub.domain import proposals
from memoryhub.domain.prompts import PromptChange
from memoryhub.domain.proposals import DraftCheck
from memoryhub.templatetags.findings import FINDING_NAMES, line_with_marks
from memoryhub.templatetags.hidden_characters import ROW_SIGNS, coarse_row, diff_table, fold_row, unchanged_lines
from memoryhub.templatetags.proposals import grave_words
from memoryhub.text.diff_rows import Fold

register = template.Library()
MAX_LISTED = 100
MAX_MARKS = 50  # of one line and kind: a line of nothing but hidden characters
MAX_ROWS = 60  # of the change of one prompt


@dataclass(frozen=True)
class Listed:
    """Findings of one kind in one line, as the list shows them. `marks` is where they stand, for the script that draws them.
    `can_be_removed` says that nothing which shows goes with them."""

    name: str
    severity: str
    line: int
    message: str
    marks: str
    can_be_removed: bool


@dataclass(frozen=True)
class FindingList:
    items: list[Listed]
    count: int

    @property
    def more(self) -> int:
        return self.count - len(self.items)


@register.simple_tag
def finding_list(checked: DraftCheck) -> FindingList:
    """The findings of a text, one for each kind and line, grave ones first."""
    kinds: dict[tuple[int, str, str], list[Finding]] = {}
    for one in checked.findings:
        kinds.setdefault((one.line, one.code, one.kind), []).append(one)
    chosen = sorted(kinds.items(), key=lambda item: (item[1][0].severity != "high", item[0][0]))
    text = checked.found_in or checked.text
    starts = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
    items = [_listed(key, found, text, starts) for key, found in chosen[:MAX_LISTED]]
    return FindingList(items, len(kinds))


def _listed(key: tuple[int, str, str], found: Sequence[Finding], text: str, starts: list[int]) -> Listed:
    line, code, kind = key
    name = FINDING_NAMES.get(code, code)
    message = found[0].message.removeprefix(f"{name}: ")
    message = message[:1].upper() + message[1:]
    if len(found) > 1:
        name = ngettext("%(name)s, %(count)s time", "%(name)s, %(count)s times", len(found)) % {
            "name": name, "count": len(found),
        }  # fmt: skip
    marks = " ".join(_mark(one, text, starts) for one in found[:MAX_MARKS])
    can_be_removed = code == "hidden" and kind not in ("lookalike", "styled")
    return Listed(name, found[0].severity, line, message, marks, can_be_removed)


def _mark(one: Finding, text: str, starts: list[int]) -> str:
    """Line and column of both ends, columns in the units of a browser: `20:12-20:13`."""
    return f"{_place(one.start, text, starts)}-{_place(max(one.end, one.start + 1), text, starts)}"


def _place(offset: int, text: str, starts: list[int]) -> str:
    offset = min(offset, len(text))
    line = bisect_right(starts, offset)
    before = text[starts[line - 1] : offset]
    doubled = sum(ord(char) > 0xFFFF for char in before)
    return f"{line}:{len(before) + doubled}"


@register.simple_tag
def looked_words(findings: Iterable[Finding]) -> dict[str, Any]:
    """What a reviewer confirms to have looked at, and a key by which the same findings are known again."""
    found = list(findings)
    listed = repr(sorted((one.code, one.kind, one.message) for one in found))
    return {"html": grave_words(found), "key": hashlib.sha256(listed.encode()).hexdigest()[:16]}


@register.simple_tag
def cuts(change: PromptChange) -> list[Any]:
    """What the prompt would leave out, or have too much of."""
    return proposals.cuts_of(change)


@register.simple_tag
def agents_reached(checked: DraftCheck, others: Sequence[str]) -> str:
    """4 of 5 agents."""
    reached = len(checked.changes) + checked.more_readers
    total = reached + len(others)
    if not others:
        return ngettext("%(count)s agent", "%(count)s agents", reached) % {"count": reached}
    return _("%(reached)s of %(total)s agents") % {"reached": reached, "total": total}


@register.simple_tag
def draft_diff(change: PromptChange) -> SafeString:
    """What changes in one prompt, narrow: sign and line."""
    body = [coarse_row(change.diff, columns=2)]
    for row in change.diff.first_rows(MAX_ROWS):
        if isinstance(row, Fold):
            body.append(fold_row(unchanged_lines(row.count), columns=2))
            continue
        sign, word, tag = ROW_SIGNS[row.kind]
        for_readers = f'<span class="sr">{word} </span>' if word else ""
        body.append(
            f'<tr class="{row.kind}"><td class="sign">{sign}</td>'
            f'<td class="code">{for_readers}{line_with_marks(row.text, row.marks, tag)}</td></tr>'
        )
    caption = _("Change of the prompt of %(agent)s") % {"agent": change.agent.name}
    return diff_table(body, caption, ("c-sign", ""))
