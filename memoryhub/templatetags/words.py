"""Words for counts, and for what the database keeps as a code: kinds of revisions, states of records, tokens and imports.

Each is a whole phrase in the language of the page; a code that is not listed is shown as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Any

from django.utils import dateformat
from django.utils.translation import get_language, gettext, gettext_lazy, gettext_noop, ngettext_lazy, pgettext_lazy

COUNTED: Mapping[str, Any] = {
    "agent": ngettext_lazy("%(n)s agent", "%(n)s agents", "count"),
    "byte": ngettext_lazy("%(n)s byte", "%(n)s bytes", "count"),
    "cause": ngettext_lazy("%(n)s cause", "%(n)s causes", "count"),
    "change": ngettext_lazy("%(n)s change", "%(n)s changes", "count"),
    "character": ngettext_lazy("%(n)s character", "%(n)s characters", "count"),
    "check": ngettext_lazy("%(n)s check", "%(n)s checks", "count"),
    "chunk": ngettext_lazy("%(n)s chunk", "%(n)s chunks", "count"),
    "entry": ngettext_lazy("%(n)s entry", "%(n)s entries", "count"),
    "file": ngettext_lazy("%(n)s file", "%(n)s files", "count"),
    "finding": ngettext_lazy("%(n)s finding", "%(n)s findings", "count"),
    "line": ngettext_lazy("%(n)s line", "%(n)s lines", "count"),
    "long-term entry": ngettext_lazy("%(n)s long-term entry", "%(n)s long-term entries", "count"),
    "minute": ngettext_lazy("%(n)s minute", "%(n)s minutes", "count"),
    "passkey": ngettext_lazy("%(n)s passkey", "%(n)s passkeys", "count"),
    "person": ngettext_lazy("%(n)s person", "%(n)s people", "count"),
    "proposal": ngettext_lazy("%(n)s proposal", "%(n)s proposals", "count"),
    "record": ngettext_lazy("%(n)s record", "%(n)s records", "count"),
    "revision": ngettext_lazy("%(n)s revision", "%(n)s revisions", "count"),
    "row": ngettext_lazy("%(n)s row", "%(n)s rows", "count"),
    "secret": ngettext_lazy("%(n)s secret", "%(n)s secrets", "count"),
    "template": ngettext_lazy("%(n)s template", "%(n)s templates", "count"),
    "thread": ngettext_lazy("%(n)s thread", "%(n)s threads", "count"),
    "time": ngettext_lazy("%(n)s time", "%(n)s times", "count"),
    "token": ngettext_lazy("%(n)s token", "%(n)s tokens", "count"),
}
REVISION_KINDS: Mapping[str, Any] = {
    "create": gettext_lazy("Created"), "write": gettext_lazy("Changed"), "edit": gettext_lazy("Edited"),
    "delete": gettext_lazy("Deleted"), "move": gettext_lazy("Moved"), "restore": gettext_lazy("Restored"),
}  # fmt: skip
RECORD_STATES: Mapping[str, Any] = {
    "held": pgettext_lazy("record", "held"), "admitted": pgettext_lazy("record", "admitted"),
    "promoted": pgettext_lazy("record", "promoted"), "discarded": pgettext_lazy("record", "discarded"),
}  # fmt: skip
TOKEN_STATES: Mapping[str, Any] = {
    "active": pgettext_lazy("token", "active"), "revoked": pgettext_lazy("token", "revoked"),
    "expired": pgettext_lazy("token", "expired"),
}  # fmt: skip
IMPORT_STATES: Mapping[str, Any] = {
    "new": pgettext_lazy("import", "new"), "same": pgettext_lazy("import", "identical"),
    "conflict": pgettext_lazy("import", "different"), "refused": pgettext_lazy("import", "refused"),
}  # fmt: skip
ACTORS: Mapping[str, Any] = {
    "person": gettext_lazy("person"), "agent": gettext_lazy("agent"), "disk": gettext_lazy("disk"),
    "hub": gettext_lazy("hub"), "import": gettext_lazy("import"),
}  # fmt: skip


SHORT_MONTH_DAY = gettext_noop("M j")


def counted(number: int, noun: str) -> str:
    """1 file, 2 files, 1,204 files. The nouns are those of COUNTED."""
    return str(COUNTED[noun] % {"count": number, "n": f"{number:,}"})


def word_of(words: Mapping[str, Any], code: str) -> str:
    return str(words.get(code, code))


def date_in_words(day: date, form: str) -> str:
    """A date in one of Django's formats, which the catalogue may put into another order."""
    return _date_in_words(get_language() or "", day, form)


@lru_cache(maxsize=2048)  # a page of the log has the same days a hundred times
def _date_in_words(language: str, day: date, form: str) -> str:
    return dateformat.format(day, gettext(form))
