"""Tags for lists of files: who changed what and why, and who reads it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from memoryhub.domain.files import FolderEntry
from memoryhub.languages import shown_reason
from memoryhub.models import Revision
from memoryhub.templatetags.agent_names import agent_badge
from memoryhub.templatetags.files import kind_words, page_address
from memoryhub.templatetags.glyphs import g
from memoryhub.templatetags.hub import actor_glyph, author_name

register = template.Library()
BADGES = 6


@register.filter
def last_name(path: str) -> str:
    """The name of a file without its folders."""
    return path.rpartition("/")[2]


@lru_cache(maxsize=512)
def badge(name: str) -> SafeString:
    """The badge of an agent that stands alone, with its name as label and on hover."""
    return format_html('<span title="{}">{}</span>', name, agent_badge(name, label=True))


@register.simple_tag
def reader_badges(row: FolderEntry) -> SafeString:
    """Who reads a file: "every prompt", or a badge for each of the first agents."""
    if row.is_in_every_prompt:
        return format_html('<span class="every">{}{}</span>', g("check"), _("every prompt"))
    shown = row.readers[:BADGES] if len(row.readers) > BADGES + 1 else row.readers
    badges = mark_safe("".join(map(badge, shown)))  # noqa: S308  (escaped in their template)
    more = len(row.readers) - len(shown)
    rest = (
        format_html('<span class="small dim" title="{}">+{}</span>', ", ".join(row.readers[len(shown) :]), more)
        if more
        else ""
    )
    return format_html('<span class="avs">{}{}</span>', badges, rest) if badges else SafeString("")


@register.simple_tag(takes_context=True)
def row_change(context: dict[str, Any], row: FolderEntry) -> SafeString:
    """Who made the newest change of a row and why, with a link to it."""
    assert row.revision is not None
    return format_html("{}{}", author(row.revision), change_link(context["space"].slug, row.revision, "clip"))


@register.simple_tag(takes_context=True)
def change_words(context: dict[str, Any], revision: Revision) -> SafeString:
    """The newest change in a sentence: who approved what of whom."""
    link = change_link(context["space"].slug, revision, "")
    if revision.approver_name:
        approver = format_html(
            '<span class="who">{}<b class="strong">{}</b></span>', g("person"), revision.approver_name
        )
        words = _("%(approver)s approved %(change)s by %(author)s")
        return mark_safe(words % {"approver": approver, "change": link, "author": author(revision, strong=True)})  # noqa: S308
    return format_html("{} {}", author(revision, strong=True), link)


def author(revision: Revision, *, strong: bool = False) -> SafeString:
    """Who wrote a revision: an agent with its badge, the author in git where the disk has one, others with their glyph."""
    name = author_name(revision)
    sign = agent_badge(name) if revision.actor_kind == "agent" else actor_glyph(revision.actor_kind)
    shown = format_html('<b class="strong">{}</b>', name) if strong else name
    return format_html('<span class="who">{}{}</span>', sign, shown)


def change_link(slug: str, revision: Revision, css: str) -> SafeString:
    """The reason of a revision, or what it did, as a link to its comparison with the one before."""
    where = page_address(slug, revision.path, f"view=diff&to={revision.number}")
    return format_html('<a class="{}" href="{}">{}</a>', css, where, change_reason(revision))


@register.simple_tag
def change_reason(revision: Revision) -> str:
    """Why a revision was made; without a reason, what it did."""
    return shown_reason(revision.reason, revision.actor_kind) or revision_kind(revision)


@register.simple_tag
def revision_kind(revision: Revision) -> str:
    return kind_words(revision.kind)
