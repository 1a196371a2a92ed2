"""Tags of the settings of a space: rules for paths, and the log of a webhook."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

register = template.Library()
MAX_MATCHED = 100  # where `files.count_matched` stops counting


@register.filter
def rule_words(rule: Any) -> str:
    """What a rule does with a write, and under which conditions."""
    policies = {"review": _("need approval"), "trusted": _("apply at once"), "read_only": _("not allowed")}
    parts = [policies.get(rule.policy, rule.policy)]
    if rule.policy == "trusted" and rule.max_added is not None:
        parts.append(_("up to %(number)s added characters") % {"number": f"{rule.max_added:,}"})
    if rule.policy == "trusted" and rule.unless_findings:
        parts.append(_("without findings"))
    if rule.reviewers > 1:
        parts.append(_("by %(number)d reviewers") % {"number": rule.reviewers})
    return ", ".join(parts)


@register.filter
def rule_scope(rule: Any) -> str:
    """Whose writes a rule is about."""
    return _("by %(agent)s") % {"agent": rule.agent.name} if rule.agent else _("by every agent")


@register.simple_tag
def matches_words(count: int, is_cut: bool) -> str:
    """How many files a pattern matches; of very many, or where not every file was looked at, at least how many."""
    if not count:
        return _("no file matches") if not is_cut else _("no match among the first files")
    shown = f"{count}+" if is_cut or count >= MAX_MATCHED else str(count)
    return ngettext("%(shown)s file matches", "%(shown)s files match", count) % {"shown": shown}


@register.filter
def notice_words(notice: Any) -> str:
    """The outcome of a notice and the number of tries."""
    if notice.delivered_at:
        result = _("answered %(status)s") % {"status": notice.status}
    else:
        result = notice.error or _("waiting to be sent")
    if notice.tries < 2:
        return result
    words = ngettext("%(outcome)s, %(n)s try", "%(outcome)s, %(n)s tries", notice.tries)
    return words % {"outcome": result, "n": notice.tries}
