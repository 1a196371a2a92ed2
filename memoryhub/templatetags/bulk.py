"""Tags for the summary of several proposals: what each would do to its text."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from memoryhub.detectors import Finding
from memoryhub.domain.proposals import Result
from memoryhub.templatetags.findings import FindingsByLine
from memoryhub.templatetags.hidden_characters import UNIFIED, coarse_row, diff_table
from memoryhub.templatetags.reviewing import row_html
from memoryhub.text.diff import Diff, compare

register = template.Library()
SECONDS = 3.0  # of a processor, for all texts of a page
MAX_BULK_ROWS = 300  # of one text
OPEN_BELOW = 40  # changed lines: a longer change is folded, a deletion never


@dataclass(frozen=True)
class BulkText:
    """What one of several proposals would do to its text, as the summary shows it."""

    diff: Diff | None
    is_deletion: bool
    is_new: bool
    bytes: int
    findings: Sequence[Finding] = ()

    @property
    def is_open(self) -> bool:
        return self.is_deletion or (self.diff is not None and self.diff.added + self.diff.removed <= OPEN_BELOW)

    @property
    def more(self) -> int:
        """How many changed lines are not drawn, at least."""
        return max(0, self.diff.added + self.diff.removed - MAX_BULK_ROWS) if self.diff else 0

    @property
    def table(self) -> SafeString:
        assert self.diff is not None
        found = FindingsByLine(self.diff.new_lines, self.findings)
        rows = [row_html(row, found, "") for row in self.diff.first_rows(MAX_BULK_ROWS)]
        return diff_table([coarse_row(self.diff), *rows], gettext("Change"), UNIFIED)


@register.simple_tag
def bulk_texts(plan: Any) -> dict[int, BulkText]:
    """What each proposal does to its text, on top of those before it, by number. Nothing for what does not apply, and none any
    more once comparing took too long."""
    until, made = time.thread_time() + SECONDS, {}
    for one in plan.results:
        if time.thread_time() > until:
            break
        made[one.proposal.number] = _bulk_text(one)
    return made


def _bulk_text(result: Result) -> BulkText:
    is_deletion = result.kind.removes_file
    shows = (result.applies and result.kind.has_text) or (is_deletion and result.before is not None)
    change = compare(result.before_text, "" if is_deletion else result.after_text) if shows else None
    found = result.findings if change else ()
    return BulkText(change, is_deletion, not result.before, len(result.before or b""), found)
