"""Tags and filters for all pages: glyphs, times in words, numbers."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy

from memoryhub.server import static_files

register = template.Library()
ACTOR_WORDS = {
    "person": gettext_lazy("person"), "agent": gettext_lazy("agent"), "disk": gettext_lazy("disk"),
    "hub": gettext_lazy("hub"), "import": gettext_lazy("import"),
}  # fmt: skip
ACTOR_GLYPHS = {"person": "person", "agent": "agent", "disk": "disk", "hub": "overview", "import": "down"}


register.simple_tag(static_files.group_styles)


@register.simple_tag
def g(name: str, label: str = "", css: str = "") -> SafeString:
    """A glyph of the sprite; without a label, screen readers skip it."""
    css = f"g {css}".strip()
    if label:
        return format_html(
            '<svg class="{}" role="img" aria-label="{}" viewBox="0 0 16 16"><use href="#g-{}"/></svg>', css, label, name
        )
    return format_html('<svg class="{}" aria-hidden="true" viewBox="0 0 16 16"><use href="#g-{}"/></svg>', css, name)


@register.simple_tag
def actor_glyph(kind: str) -> SafeString:
    return g(ACTOR_GLYPHS.get(kind, "dot"), str(ACTOR_WORDS.get(kind, kind)))


@register.simple_tag
def who(kind: str, name: str) -> SafeString:
    """The glyph and the name of an actor; of an agent its badge and name."""
    if kind == "agent":
        return format_html('<span class="who">{}{}</span>', agent_badge(name, str(ACTOR_WORDS[kind])), name)
    return format_html('<span class="who">{}{}</span>', actor_glyph(kind), name)


def duration_in_words(seconds: float) -> str:
    """A duration in its largest unit: 11 s, 38 min, 3 h, 2 d."""
    seconds = max(0, int(seconds))
    if seconds < 60:
        return _("%(n)s s") % {"n": seconds}
    if seconds < 3600:
        return _("%(n)s min") % {"n": seconds // 60}
    if seconds < 86_400:
        return _("%(n)s h") % {"n": seconds // 3600}
    if seconds < 86_400 * 60:
        return _("%(n)s d") % {"n": seconds // 86_400}
    if seconds < 86_400 * 730:
        return plural(seconds // (86_400 * 30), "month")
    return plural(seconds // (86_400 * 365), "year")


@register.filter
def exactly(moment: datetime) -> str:
    return date_format(timezone.localtime(moment), _("l j F Y, H:i:s T"))


def time_element(moment: datetime, text: str, css: str = "") -> SafeString:
    return format_html(
        '<time class="{}" datetime="{}" title="{}">{}</time>', css, moment.isoformat(), exactly(moment), text
    )


@register.simple_tag
def ago(moment: datetime | None, css: str = "", suffix: str = "ago") -> SafeString:
    """How long ago, with the exact time on hover; without "ago" where the suffix is empty."""
    if moment is None:
        return format_html('<span class="dim">{}</span>', _("never"))
    seconds = (timezone.now() - moment).total_seconds()
    passed = duration_in_words(seconds)
    text = _("just now") if seconds < 5 else _("%(time)s ago") % {"time": passed} if suffix else passed
    return time_element(moment, text, css)


@register.simple_tag
def until(moment: datetime | None, css: str = "") -> SafeString:
    if moment is None:
        return format_html('<span class="dim">{}</span>', _("never"))
    seconds = (moment - timezone.now()).total_seconds()
    text = _("now") if seconds <= 0 else _("in %(time)s") % {"time": duration_in_words(seconds)}
    return time_element(moment, text, css)


@register.simple_tag
def clock(moment: datetime) -> SafeString:
    """The time of day, with the full date on hover; for lists with a heading for each day."""
    return time_element(moment, timezone.localtime(moment).strftime("%H:%M"))


@register.simple_tag
def at(moment: datetime) -> SafeString:
    """The time of day, and the date unless it is today's."""
    local = timezone.localtime(moment)
    is_today = local.date() == timezone.localdate()
    return time_element(moment, local.strftime("%H:%M") if is_today else date_format(local, _("j M H:i")))


@register.filter
def day(moment: datetime | date) -> str:
    """Today, yesterday, or the weekday and date."""
    as_date = timezone.localtime(moment).date() if isinstance(moment, datetime) else moment
    today = timezone.localdate()
    text = date_format(as_date, _("l j F") if as_date.year == today.year else _("l j F Y"))
    if as_date == today:
        return _("Today, %(date)s") % {"date": text}
    return _("Yesterday, %(date)s") % {"date": text} if as_date == today - timedelta(days=1) else text


@register.filter
def thousands(number: Any) -> str:
    return f"{int(number or 0):,}"


@register.filter
def up_to(number: int, limit: int) -> str:
    """A number with a plus if it is the limit at which counting stopped."""
    return at_least(number, number == limit)


# What `plural` counts. A noun stands here, so that every language has its forms of it.
NOUNS = {
    "agent": ngettext_lazy("%(n)s agent", "%(n)s agents", "count"),
    "byte": ngettext_lazy("%(n)s byte", "%(n)s bytes", "count"),
    "cause": ngettext_lazy("%(n)s cause", "%(n)s causes", "count"),
    "change": ngettext_lazy("%(n)s change", "%(n)s changes", "count"),
    "character": ngettext_lazy("%(n)s character", "%(n)s characters", "count"),
    "check": ngettext_lazy("%(n)s check", "%(n)s checks", "count"),
    "chunk": ngettext_lazy("%(n)s chunk", "%(n)s chunks", "count"),
    "entry": ngettext_lazy("%(n)s entry", "%(n)s entries", "count"),
    "file": ngettext_lazy("%(n)s file", "%(n)s files", "count"),
    "line": ngettext_lazy("%(n)s line", "%(n)s lines", "count"),
    "minute": ngettext_lazy("%(n)s minute", "%(n)s minutes", "count"),
    "comment stays": ngettext_lazy("%(n)s comment stays", "%(n)s comments stay", "count"),
    "month": ngettext_lazy("%(n)s month", "%(n)s months", "count"),
    "passkey": ngettext_lazy("%(n)s passkey", "%(n)s passkeys", "count"),
    "person": ngettext_lazy("%(n)s person", "%(n)s people", "count"),
    "proposal": ngettext_lazy("%(n)s proposal", "%(n)s proposals", "count"),
    "record": ngettext_lazy("%(n)s record", "%(n)s records", "count"),
    "revision": ngettext_lazy("%(n)s revision", "%(n)s revisions", "count"),
    "row": ngettext_lazy("%(n)s row", "%(n)s rows", "count"),
    "secret": ngettext_lazy("%(n)s secret", "%(n)s secrets", "count"),
    "stretch": ngettext_lazy("%(n)s stretch", "%(n)s stretches", "count"),
    "thread": ngettext_lazy("%(n)s thread", "%(n)s threads", "count"),
    "time": ngettext_lazy("%(n)s time", "%(n)s times", "count"),
    "token": ngettext_lazy("%(n)s token", "%(n)s tokens", "count"),
    "year": ngettext_lazy("%(n)s year", "%(n)s years", "count"),
}


@register.simple_tag
def plural(number: int, noun: str, _many: str = "") -> str:
    """1 file, 2 files, 1,204 files: a number and one of `NOUNS`, in the language of the page."""
    return NOUNS[noun] % {"count": number, "n": f"{number:,}"}


def join_words(parts: Iterable[str]) -> str:
    """Joins words: a, b and c."""
    *first, last = list(parts) or [""]
    return _("%(first)s and %(last)s") % {"first": _(", ").join(first), "last": last} if first else last


def join_html(parts: Iterable[Any]) -> SafeString:
    """Joins pieces of HTML: a, b and c. Pieces that are not marked as safe are escaped."""
    return mark_safe(join_words(conditional_escape(part) for part in parts))  # noqa: S308  escaped piece by piece


@register.filter
def names(things: Iterable[Any], most: int = 0) -> str:
    """The names of agents, people or spaces: a, b and c; of more than `most`, how many more there are."""
    said = [str(thing) for thing in things]
    if not most or len(said) <= most:
        return join_words(said)
    more = len(said) - most
    words = ngettext("%(names)s and %(n)s more", "%(names)s and %(n)s more", more)
    return words % {"names": _(", ").join(said[:most]), "n": more}


BADGE_COLOURS = 8
# Title, initials and tint of each coding agent, by its name: the same on every page, and no two alike.
CODING_BADGES = {
    "claude-code": ("Claude Code", "Cc", 1), "codex": ("Codex", "Cx", 2), "gemini-cli": ("Gemini CLI", "Ge", 3),
    "opencode": ("OpenCode", "Oc", 4), "copilot-cli": ("Copilot CLI", "Cp", 5), "cursor": ("Cursor", "Cu", 6),
    "hermes": ("Hermes", "He", 7), "windsurf": ("Windsurf", "Wi", 8), "zed": ("Zed", "Ze", 4), "amp": ("Amp", "Am", 1),
    "aider": ("Aider", "Ai", 2), "cline": ("Cline", "Cl", 3), "deepagents-code": ("deepagents-code", "Da", 5),
    "openclaw": ("OpenClaw", "Ow", 6),
}  # fmt: skip
BY_TITLE = {title: (letters, tint) for title, letters, tint in CODING_BADGES.values()}
WORDS_OF_NAME = re.compile(r"[^\W_]+")


def initials(name: str) -> str:
    """Two letters that stand for a name: of its first two words, or of its only one. Any script."""
    words = WORDS_OF_NAME.findall(name) or ["?" if name.isascii() else name.strip()[:1]]
    two = words[0][0].upper() + words[1][0].lower() if len(words) > 1 else words[0][:2]
    return two[0].upper() + two[1:]


@register.simple_tag
def agent_badge(name: str, label: bool | str = False, colour: int | None = None) -> SafeString:
    """The square badge of an agent: initials on one of eight tints, always the same for a name. It stands beside the name;
    alone it has the name as its `label`, or these words. Without a name it is grey."""
    any_tint = 1 + zlib.crc32(name.encode()) % BADGE_COLOURS if name else 0
    letters, tint = BY_TITLE.get(name) or (initials(name), any_tint)
    given = {
        "css": f"a{tint if colour is None else colour}",
        "initials": letters,
        "label": label if isinstance(label, str) else name if label else "",
    }
    return mark_safe(render_to_string("_agent_badge.html", given).strip().replace("\n", ""))  # noqa: S308 (escaped there)


@register.simple_block_tag
def menu(content: str, label: str) -> SafeString:
    """A ⋯ menu: between the tags stand its items, `<li>` with a link, or with a form and its button."""
    return render_to_string("_menu.html", {"label": label, "content": content})


@register.simple_tag
def message_links(message: Any) -> dict[str, str]:
    """Where a notice leads, as far as it leads anywhere: the addresses of `undo` and `see`."""
    undo, _, see = (message.extra_tags or "").partition(" ")
    return {name: url for name, url in (("undo", undo), ("see", see)) if url}


MESSAGE_KINDS = {
    "error": {"css": "bad", "role": "alert", "glyph": "warn"},
    "warning": {"css": "warn", "role": "status", "glyph": "warn"},
}


@register.simple_tag
def message_kind(level: str) -> dict[str, str]:
    """CSS class, ARIA role and glyph of a notice."""
    return MESSAGE_KINDS.get(level, {"css": "ok", "role": "status", "glyph": "check"})


@register.simple_tag
def at_least(number: int, is_cut: bool) -> str:
    """A number with thousands separators, and a plus if counting stopped there."""
    return f"{thousands(number)}{'+' if is_cut else ''}"


@register.filter
def size(number: int | None) -> str:
    number = int(number or 0)
    if number < 1024:
        return f"{number} B"
    value, unit = number / 1024, "kB"
    for larger in ("MB", "GB"):
        value, unit = (value / 1024, larger) if value >= 1024 else (value, unit)
    return f"{value:.1f} {unit}"


BROWSERS = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
)
SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS", "macOS"),
    ("Linux", "Linux"),
)


@register.filter
def browser(agent: str) -> str:
    """Browser and system of a User-Agent: Firefox on macOS."""
    name = next((word for mark, word in BROWSERS if mark in agent), "")
    system = next((word for mark, word in SYSTEMS if mark in agent), "")
    if name and system:
        return _("%(browser)s on %(system)s") % {"browser": name, "system": system}
    return name or system or agent[:40] or _("unknown browser")


@register.filter
def may(role: str, action: str) -> bool:
    from memoryhub.domain.accounts import may as allowed

    return allowed(role, action)


@register.simple_tag(takes_context=True)
def query(context: dict[str, Any], **changes: Any) -> str:
    """The query of this page with some keys changed; None or "" removes a key."""
    params = context["request"].GET.copy()
    for key, value in changes.items():
        params.pop(key, None)
        if value not in (None, ""):
            params[key] = value
    return "?" + params.urlencode()


@register.simple_tag(takes_context=True)
def current(context: dict[str, Any], *prefixes: str) -> SafeString:
    """`aria-current` if the URL name of this page begins with one of the prefixes."""
    match = context["request"].resolver_match
    name = match.url_name if match and match.url_name else ""
    return mark_safe(' aria-current="page"') if any(name.startswith(prefix) for prefix in prefixes) else mark_safe("")
