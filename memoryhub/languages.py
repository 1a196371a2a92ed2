"""The languages of pages, mails and commands: which one somebody reads, and the hub's own sentences in it.

What the domain says (refusals, lines of activity, findings) is English: programs read it, and some is stored. For people
`translated` finds the sentence in the catalogue, by the pattern that its values were filled into.
"""

from __future__ import annotations

import gettext as standard_gettext
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import re2
from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest
from django.utils import translation
from django.utils.translation.trans_real import parse_accept_lang_header

CATALOGUES = Path(__file__).parent / "locale"
COOKIE = "memoryhub_language"
ENGLISH = "en"
PLACEHOLDER = re.compile(r"%\((\w+)\)[sd]")
LONGEST = 2000  # characters: no sentence of the hub is longer, texts of agents are


# ---- which language ----


def known(code: str) -> str:
    """The language of the hub that a code means (zh, zh-CN, zh_CN.UTF-8, zh-TW: zh-hans), or ""."""
    wanted = code.partition(".")[0].replace("_", "-").lower()
    main = wanted.partition("-")[0]
    return next((name for name, _ in settings.LANGUAGES if name == wanted or name.partition("-")[0] == main), "")


def of_request(request: HttpRequest) -> str:
    """What the account says, else the cookie of this browser, else what the browser asks for, else the hub's language."""
    return known(of_account(request)) or known(request.COOKIES.get(COOKIE, "")) or accepted(request)


@contextmanager
def reader_of(request: HttpRequest) -> Iterator[None]:
    """Speaks the language of who sent the request, inside the block."""
    try:
        language = of_request(request)
    except (DatabaseError, InterfaceError):  # the view finds that too, and says it
        language = accepted(request)
    with translation.override(language, deactivate=True):
        yield


def of_account(request: HttpRequest) -> str:
    # Without a cookie nobody is signed in, and no session has to be looked for.
    user = (
        getattr(request, "user", None) if settings.SESSION_COOKIE_NAME in request.COOKIES or has_user(request) else None
    )
    return getattr(user, "language", "")


def has_user(request: HttpRequest) -> bool:
    """Whether somebody was signed in by this very request, as a proxy does."""
    return hasattr(request, "_cached_user")


def accepted(request: HttpRequest) -> str:
    """The first language of Accept-Language that the hub has, else the hub's own."""
    for code, _ in parse_accept_lang_header(request.headers.get("Accept-Language", "")):
        if code == "*":
            break
        if found := known(code):
            return found
    return settings.HUB_LANGUAGE


def of_person(person: Any) -> str:
    """What a person reads away from pages: mails, messages of chats."""
    return known(getattr(person, "language", "") or "") or settings.HUB_LANGUAGE


def of_terminal(environ: Mapping[str, str] = os.environ) -> str:
    """What commands speak: the setting, else the language of the terminal where the hub has it, else English."""
    names = ("MEMORYHUB_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
    return known(next((value for name in names if (value := environ.get(name, ""))), "")) or ENGLISH


def speak(language: str) -> None:
    """Makes this process speak a language for good: a command. English needs no catalogue, which takes time to load."""
    if language == ENGLISH:
        translation.deactivate_all()
    else:
        translation.activate(language)


# ---- sentences that exist already ----


@dataclass(frozen=True)
class Pattern:
    """A sentence of the catalogue with places for values, and how to find them in a text."""

    msgid: str
    literals: tuple[str, ...]  # its pieces between values
    names: tuple[str, ...]

    @cached_property
    def longest(self) -> str:
        return max(self.literals, key=len)

    @cached_property
    def expression(self) -> Any:
        return re2.compile("(?s)" + "".join(expression_parts(self.literals, self.names)))

    def values_in(self, text: str) -> dict[str, str] | None:
        # Most sentences are ruled out by their longest piece; only few have their expression ever made.
        found = self.expression.fullmatch(text) if self.longest in text else None
        return found.groupdict() if found else None


def translated(text: Any) -> str:
    """A sentence of the hub in the language that is active; a text that the catalogue does not have comes back as it is."""
    text = str(text or "")
    language = translation.get_language() or ENGLISH
    return _translated(language, text) if language != ENGLISH and 0 < len(text) <= LONGEST else text


@lru_cache(maxsize=4096)
def _translated(language: str, text: str) -> str:
    with translation.override(language):
        if (whole := sentence(language, text)) is not None:
            return whole
        parts = re.split(r"(?<=[.!?])\s+", text)
        each = [sentence(language, part) for part in parts]
    return "".join(part for part in each if part) if len(parts) > 1 and all(each) else text


def sentence(language: str, text: str) -> str | None:
    """The translation of one sentence, or None."""
    if (found := translation.gettext(text)) != text:
        return found
    for pattern in patterns(language):
        if (values := pattern.values_in(text)) is not None:
            return translation.gettext(pattern.msgid) % values
    return None


@lru_cache(maxsize=8)
def patterns(language: str) -> list[Pattern]:
    """The sentences with values in them, those with the most words of their own first."""
    made = [pattern_of(msgid) for msgid in own_messages(language) if PLACEHOLDER.search(msgid)]
    telling = [one for one in made if re.search(r"[^\W\d_]{2}", one.longest)]  # signs alone would fit anything
    return sorted(telling, key=lambda one: -sum(map(len, one.literals)))


def forget_sentences() -> None:
    """For tests that bring a catalogue of their own."""
    _translated.cache_clear()
    patterns.cache_clear()


def own_messages(language: str) -> Iterable[str]:
    """The msgids of the hub's catalogue, without those of Django, and without plural forms and contexts."""
    locale = translation.to_locale(language)
    found = standard_gettext.translation("django", CATALOGUES, [locale], fallback=True)
    return [key for key in getattr(found, "_catalog", {}) if isinstance(key, str) and key and "\x04" not in key]


def pattern_of(msgid: str) -> Pattern:
    pieces = PLACEHOLDER.split(msgid)  # text, name, text, name, …, text
    return Pattern(msgid, tuple(piece.replace("%%", "%") for piece in pieces[::2]), tuple(pieces[1::2]))


def expression_parts(texts: Iterable[str], names: Iterable[str]) -> Iterable[str]:
    seen: set[str] = set()
    for text, name in zip(texts, [*names, ""], strict=True):
        yield re2.escape(text)
        if name:
            yield f"(?P<{name}>.+?)" if name not in seen else "(?:.+?)"
            seen.add(name)
