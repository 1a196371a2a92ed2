"""Tags of search: the words that were typed, in the palette and on the page."""

from __future__ import annotations

import re

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from memoryhub.domain import retrieval
from memoryhub.domain.retrieval import Hit
from memoryhub.languages import HUB_ACTORS, translated
from memoryhub.templatetags.activity import translated_ending, translated_thing
from memoryhub.templatetags.hidden_characters import escape_with_labels
from memoryhub.templatetags.layers import NODE_KINDS, snippet

register = template.Library()


@register.filter
def with_typed(text: str, words: list[str]) -> SafeString:
    """A text with the words that were typed marked."""
    if not words:
        return mark_safe(escape_with_labels(str(text)))  # noqa: S308 (escaped)
    parts = re.split(
        "(" + "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) + ")", str(text), flags=re.I
    )
    drawn = [mark_safe(escape_with_labels(part)) for part in parts]  # noqa: S308 (escaped)
    return mark_safe(  # noqa: S308 (pieces were escaped)
        "".join(format_html("<mark>{}</mark>", part) if at % 2 else part for at, part in enumerate(drawn))
    )


@register.filter
def hit_title(hit: Hit) -> str:
    """The title of a hit in the language of the page; names and paths in it stay."""
    if hit.layer == "activity":
        who = translated(hit.author) if hit.author in HUB_ACTORS else hit.author
        return _("%(who)s %(did)s") % {"who": who, "did": translated(hit.title.removeprefix(f"{hit.author} "))}
    if hit.layer == "proposals":
        subject, _comma, state = hit.title.rpartition(", ")
        number, _blank, thing = subject.partition(" ")
        return _("%(subject)s, %(state)s") % {"subject": f"{number} {translated(thing)}", "state": translated(state)}
    if hit.layer == "quarantine":
        kind, _in, session = hit.title.partition(" in ")
        return _("%(kind)s in %(session)s") % {"kind": NODE_KINDS.get(kind, kind), "session": session}
    return translated(hit.title) if hit.layer == "working" else hit.title


@register.simple_tag
def hit_words(hit: Hit, query: str) -> SafeString:
    """The words of a hit with those marked that were asked for; a line of activity in the language of the page."""
    if hit.layer != "activity":
        return snippet(hit.snippet, hit.marks)
    thing = translated_thing(hit.text.removesuffix(hit.adds))
    text = f"{thing}{translated_ending(hit.adds)}".strip()
    return snippet(*retrieval.snippet(text, retrieval.split_words(query)))
