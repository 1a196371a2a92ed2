"""Tags and filters for all pages: glyphs, times in words, numbers."""

from __future__ import annotations

import html
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from django import template
from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.dateformat import format as date_format
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext_lazy, ngettext
from django.utils.translation import gettext as _

from memoryhub import languages
from memoryhub.domain import accounts
from memoryhub.models import Revision
from memoryhub.server import static_files
from memoryhub.stores import paths
from memoryhub.templatetags.agent_names import agent_badge, agent_title
from memoryhub.templatetags.glyphs import g

register = template.Library()
ACTOR_WORDS = {
    "person": gettext_lazy("person"), "agent": gettext_lazy("agent"), "disk": gettext_lazy("disk"),
    "hub": gettext_lazy("hub"), "import": gettext_lazy("import"),
}  # fmt: skip
RECORD_STATES = {
    "held": gettext_lazy("held"), "admitted": gettext_lazy("admitted"), "promoted": gettext_lazy("promoted"),
    "discarded": gettext_lazy("discarded"),
}  # fmt: skip
IMPORT_STATES = {
    "new": gettext_lazy("new"), "same": gettext_lazy("identical"), "conflict": gettext_lazy("different"),
    "refused": gettext_lazy("refused"),
}  # fmt: skip
ACTOR_GLYPHS = {"person": "person", "agent": "agent", "disk": "disk", "hub": "overview", "import": "down"}

register.filter("translated", languages.translated)


@register.simple_tag
def group_styles(group: str) -> list[str]:
    """The static files of a group of parts: one where files are collected, else each as it lies in the tree."""
    return (
        [f"css/{group}.css"] if settings.COLLECTED else [f"css/parts/{name}.css" for name in static_files.GROUPS[group]]
    )


@register.simple_tag
def url(name: str, *args: Any) -> str:
    """The address of a page, in place of Django's tag: lists ask for up to seven in each row, a fifth of what drawing one took."""
    return _address(name, tuple(str(one) for one in args))


@lru_cache(maxsize=4096)
def _address(name: str, args: tuple[str, ...]) -> str:
    return reverse(name, args=args)


@register.filter
def leads_to(printed: str) -> str:
    """The quoted virtual path of a source, for use in a URL."""
    path = paths.of_source(printed)
    return quote(path if path.startswith("/") else "/" + path)


@register.simple_tag
def actor_glyph(kind: str) -> SafeString:
    return g(ACTOR_GLYPHS.get(kind, "dot"), ACTOR_WORDS.get(kind, kind))


@register.simple_tag
def who(kind: str, name: str) -> SafeString:
    """The glyph and the name of an actor; of an agent its badge and name."""
    if kind == "agent":
        title = agent_title(name)
        return format_html('<span class="who">{}{}</span>', agent_badge(title, str(ACTOR_WORDS[kind])), title)
    return format_html('<span class="who">{}{}</span>', actor_glyph(kind), actor_name(kind, name))


@register.filter
def listed_words(text: str) -> str:
    """Words of the hub with commas between them, each in the language of the page."""
    return _(", ").join(languages.translated(one) for one in text.split(", "))


@register.simple_tag
def actor_name(kind: str, name: str) -> str:
    """A person's or an agent's own name; the disk and the hub in the language of the page."""
    if kind == "agent":
        return str(agent_title(name))
    return name if kind == "person" else languages.translated(name)


def author_name(revision: Revision) -> str:
    """Who wrote a revision: the author in git where one was found, else the actor as pages name it."""
    return revision.git_author or actor_name(revision.actor_kind, revision.actor_name)


# Up to how many seconds a unit is used, how many it has, and how it is written.
SHORT_DURATIONS = (
    (60, 1, gettext_lazy("%(count)s s")), (3600, 60, gettext_lazy("%(count)s min")),
    (86_400, 3600, gettext_lazy("%(count)s h")), (86_400 * 60, 86_400, gettext_lazy("%(count)s d")),
)  # fmt: skip


def duration_in_words(seconds: float) -> str:
    """A duration in its largest unit: 11 s, 38 min, 3 h, 2 d."""
    seconds = max(0, int(seconds))
    for limit, size, words in SHORT_DURATIONS:
        if seconds < limit:
            return words % {"count": seconds // size}
    if seconds < 86_400 * 730:
        return ngettext("%(count)s month", "%(count)s months", months := seconds // (86_400 * 30)) % {"count": months}
    return ngettext("%(count)s year", "%(count)s years", years := seconds // (86_400 * 365)) % {"count": years}


@lru_cache(maxsize=1024)
def _written(day: date | datetime, pattern: str, language: str | None) -> str:
    """A day as a pattern of Django's has it. Names of days and months are those of the language, which must be active."""
    return date_format(day, pattern)


@register.filter
def exactly(moment: datetime) -> str:
    local = timezone.localtime(moment)
    return _moments_of(local.date(), get_language()).format(f"{local:%H:%M:%S} {local.tzname()}")


@lru_cache(maxsize=1024)
def _moments_of(day: date, language: str | None) -> str:
    """How a moment of this day is written in the language, which must be active: with braces for its time."""
    return _("%(day)s, %(time)s") % {"day": date_format(day, _("l j F Y")), "time": "{}"}


def time_element(moment: datetime, text: str, css: str = "") -> SafeString:
    escaped = html.escape(text) if type(text) is str else conditional_escape(text)
    return SafeString(
        f'<time class="{css}" datetime="{moment.isoformat(timespec="seconds")}" title="{html.escape(exactly(moment))}">{escaped}</time>'
    )


@register.simple_tag
def ago(moment: datetime | None, css: str = "", suffix: str = "ago") -> SafeString:
    """How long ago, with the exact time on hover; with an empty suffix the duration alone."""
    if moment is None:
        return never()
    seconds = (timezone.now() - moment).total_seconds()
    text = duration_in_words(seconds)
    if suffix:
        text = _("%(duration)s ago") % {"duration": text}
    return time_element(moment, _("just now") if seconds < 5 else text, css)


def never() -> SafeString:
    return format_html('<span class="dim">{}</span>', _("never"))


@register.simple_tag
def until(moment: datetime | None, css: str = "") -> SafeString:
    if moment is None:
        return never()
    seconds = (moment - timezone.now()).total_seconds()
    text = _("in %(duration)s") % {"duration": duration_in_words(seconds)}
    return time_element(moment, _("now") if seconds <= 0 else text, css)


def clock(moment: datetime) -> SafeString:
    """The time of day, with the full date on hover; for lists with a heading for each day."""
    return time_element(moment, timezone.localtime(moment).strftime("%H:%M"))


@register.simple_tag
def at(moment: datetime) -> SafeString:
    """The time of day, and the date unless it is today's."""
    local = timezone.localtime(moment)
    if local.date() == timezone.localdate():
        return time_element(moment, f"{local:%H:%M}")
    minute = local.replace(second=0, microsecond=0, tzinfo=None)
    return time_element(moment, _written(minute, _("j M H:i"), get_language()))


def day(moment: datetime | date) -> str:
    """Today, yesterday, or the weekday and date."""
    as_date = timezone.localtime(moment).date() if isinstance(moment, datetime) else moment
    today = timezone.localdate()
    text = _written(as_date, _("l j F") if as_date.year == today.year else _("l j F Y"), get_language())
    if as_date == today:
        return _("Today, %(day)s") % {"day": text}
    return _("Yesterday, %(day)s") % {"day": text} if as_date == today - timedelta(days=1) else text


@register.filter
def thousands(number: Any) -> str:
    return f"{int(number or 0):,}"


@register.filter
def up_to(number: int, limit: int) -> str:
    """A number with a plus if it is the limit at which counting stopped."""
    return at_least(number, number == limit)


@register.simple_tag
def plural(number: int, one: str, many: str = "") -> str:
    """1 file, 2 files, 1,204 files. `tests.messages` takes the words, which stand where this is called, into the catalogue."""
    return ngettext(f"%(count)s {one}", f"%(count)s {many or one + 's'}", number) % {"count": f"{number:,}"}


def join_words(parts: Iterable[str]) -> str:
    """Joins words: a, b and c."""
    *first, last = list(parts) or [""]
    return _("%(first)s and %(last)s") % {"first": _(", ").join(first), "last": last} if first else last


def join_html(parts: Iterable[Any], more: int = 0) -> SafeString:
    """Joins pieces of HTML: a, b and c, or, with `more` than these: a, b, c and 9 more. Unsafe pieces are escaped."""
    safe = [conditional_escape(part) for part in parts]
    return mark_safe(_and_more(safe, more) if more else join_words(safe))  # noqa: S308  escaped piece by piece


@register.filter
def names(things: Iterable[Any], most: int = 0) -> str:
    """The names of agents, people or spaces: a, b and c; of more than `most`, how many more there are."""
    listed = [str(thing) for thing in things]
    if not most or len(listed) <= most:
        return join_words(listed)
    return _and_more(listed[:most], len(listed) - most)


def _and_more(listed: list[str], more: int) -> str:
    return _("%(names)s and %(count)s more") % {"names": _(", ").join(listed), "count": more}


# No template: a list has one in each row, and looking for it, with a context of its own, took longer than its content.
MENU = """<details class="menu">
<summary class="btn quiet icon small-act" aria-label="{}">{}</summary>
<ul>{}</ul>
</details>"""


@register.simple_block_tag
def menu(content: str, label: str) -> SafeString:
    """A ⋯ menu: between the tags stand its items, `<li>` with a link, or with a form and its button."""
    return format_html(MENU, label, g("more"), content)


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
def record_state(state: str) -> str:
    return str(RECORD_STATES.get(state, state))


@register.filter
def import_state(state: str) -> str:
    return str(IMPORT_STATES.get(state, state))


@register.filter
def may(role: str, action: str) -> bool:
    return accounts.may(role, action)


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
