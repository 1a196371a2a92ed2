"""Tags for changes on disk that wait for a person, or that count and were not reviewed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import template
from django.template import Context
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memoryhub.domain import files, proposals
from memoryhub.templatetags.hub import ago, duration_in_words

register = template.Library()
NOW_ON_DISK = {
    "made": gettext_lazy("The new file is on disk as it was found."),
    "changed": gettext_lazy("The changed text is on disk as it was found."),
    "deleted": gettext_lazy("The file is no longer on disk."),
}
TITLES = {
    "made": gettext_lazy("%(name)s created on disk"),
    "deleted": gettext_lazy("%(name)s deleted on disk"),
    "changed": gettext_lazy("%(name)s changed on disk"),
}


@dataclass(frozen=True)
class OnDisk:
    """What a held change says of the disk: when it was found and put back, whether it still lies there, how long it stood."""

    found_at: datetime
    put_back_at: datetime | None
    is_there: bool
    now: str
    lines: str
    stood: str
    round: int


@register.simple_tag
def on_disk(proposal: Any) -> OnDisk:
    """What lies on disk now, as far as the hub knows."""
    change = proposal.change
    put_back = change.get("put_back_at")
    lines = sorted({one["line"] for one in change.get("secrets", [])})
    words = ngettext(" (line %(lines)s)", " (lines %(lines)s)", len(lines))
    sentence = words % {"lines": ", ".join(map(str, lines[:5]))} if lines else ""
    return OnDisk(
        datetime.fromisoformat(change["found_at"]), datetime.fromisoformat(put_back) if put_back else None,
        not proposals.problem_on_disk(proposal) and not put_back, str(NOW_ON_DISK.get(change.get("held", ""), "")), sentence,
        time_on_disk(proposal), change.get("round", 0),
    )  # fmt: skip


@register.filter
def time_on_disk(proposal: Any) -> str:
    """How long a text that nobody had approved stood on disk, as far as the hub saw it; empty for what agents ask the hub."""
    if proposal.asked_before_write:
        return _("never on disk")
    standing = proposals.time_on_disk(proposal)
    if standing is None:
        return ""
    if standing.until is None:
        return _("on disk for %(duration)s so far") % {"duration": precise_duration(standing.seconds)}
    return _("stood on disk for %(duration)s") % {"duration": precise_duration(standing.seconds)}


def precise_duration(seconds: float) -> str:
    """A duration with tenths below ten seconds: 2.1 s, 58 s, 5 min."""
    return _("%(seconds)s s") % {"seconds": f"{seconds:.1f}"} if seconds < 9.95 else duration_in_words(seconds)


@register.filter
def duration_since(moment: datetime) -> str:
    return precise_duration((timezone.now() - moment).total_seconds())


@register.filter
def in_seconds(seconds: float) -> str:
    return precise_duration(seconds)


@register.filter
def disk_title(proposal: Any) -> str:
    """AGENTS.md changed on disk."""
    title = TITLES.get(proposal.change.get("held", ""), TITLES["changed"])
    return str(title % {"name": proposal.path.rpartition("/")[2]})


@register.filter
def keep_label(proposal: Any) -> str:
    """The label of the button that rejects: it says what stays."""
    if proposal.change.get("held") == "made":
        return _("Reject the new file")
    if proposal.change.get("held") == "deleted":
        return _("Keep the file")
    return _("Keep the approved text, revision %(number)s") % {"number": proposal.base_revision}


@register.simple_tag
def disk_effect(review: Any) -> SafeString:
    """What approving and rejecting do on disk."""
    proposal = review.proposal
    if proposal.change.get("held") == "deleted":
        return format_html(_("Approving <b>deletes</b> <code>{path}</code>; its history stays."), path=proposal.path)
    words = _("Approving makes this text a revision by <b>{author}</b>, and the file on disk has it.")
    return format_html(words, author=_("disk"))


@register.simple_tag
def asked_since(agent: Any, moment: datetime) -> SafeString:
    """When an agent last asked the hub for its prompt since a moment; “no” where it did not."""
    last = proposals.asked_since(agent, moment)
    return format_html(_("{when}, got the approved text"), when=ago(last)) if last else format_html("{}", _("no"))


@register.simple_tag(takes_context=True)
def unreviewed_note(context: Context, path: str) -> str:
    """Says of a source that its text came from disk and that nobody reviewed it; empty for others. Asked once for a page."""
    request = context["request"]  # what is kept with the rendering ends with the part of the page that is included
    if not hasattr(request, "unreviewed"):
        request.unreviewed = {file.path for file in files.unreviewed(context["space"])}
    return _("from disk, not reviewed") if path in request.unreviewed else ""
