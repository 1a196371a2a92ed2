"""Tags for rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

register = template.Library()


@register.filter
def rule_words(rule: Any) -> str:
    """What a rule does with a write, and under which conditions."""
    said = [rule.get_policy_display()]
    if rule.policy == "trusted" and rule.max_added is not None:
        said.append(f"up to {rule.max_added:,} added characters")
    if rule.policy == "trusted" and rule.unless_findings:
        said.append("when no detector objects")
    if rule.reviewers > 1:
        said.append(f"{rule.reviewers} people have to agree")
    return ", ".join(said)


@register.simple_tag
def proposal_links(slug: str, proposals: Iterable[Any]) -> SafeString:
    """The numbers of proposals as links."""
    rows = ((reverse("proposals.detail", args=[slug, one.number]), one.number) for one in proposals)
    return format_html_join(", ", '<a href="{}">{}</a>', rows)
