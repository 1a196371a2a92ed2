"""What the page of the search says of a hit."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext as _

from memoryhub.domain.retrieval import Hit
from memoryhub.languages import translated
from memoryhub.templatetags.layers import NODE_KINDS

register = template.Library()


@register.filter
def hit_title(hit: Hit) -> str:
    """The title of a hit in the language of the page; names and paths in it stay."""
    if hit.layer == "activity":
        return _("%(who)s %(did)s") % {"who": hit.author, "did": translated(hit.title.removeprefix(f"{hit.author} "))}
    if hit.layer == "proposals":
        subject, _comma, state = hit.title.rpartition(", ")
        number, _blank, thing = subject.partition(" ")
        return _("%(subject)s, %(state)s") % {"subject": f"{number} {translated(thing)}", "state": translated(state)}
    if hit.layer == "quarantine":
        kind, _in, session = hit.title.partition(" in ")
        return _("%(kind)s in %(session)s") % {"kind": NODE_KINDS.get(kind, kind), "session": session}
    return translated(hit.title) if hit.layer == "working" else hit.title
