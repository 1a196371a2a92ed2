"""The languages of pages, mails and commands: which one somebody reads, and the hub's own sentences in it.

What the domain says (refusals, lines of activity, findings) is English: programs read it, and some is stored. For people
`translated` finds the sentence in the catalogue, by the pattern that its values were filled into.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest
from django.utils import timezone, translation
from django.utils.translation import trans_real
from django.utils.translation.trans_real import parse_accept_lang_header

from memoryhub.text import catalogue

# Pages are made in threads alone. Django keeps what is active by task as well, and asking that, hundreds of times for a page,
# was a tenth of its processor time.
trans_real._active = threading.local()
timezone._active = threading.local()
COOKIE = "memoryhub_language"
ENGLISH = "en"


# ---- which language ----


def hub_language(code: str) -> str:
    """The language of the hub that a code means (zh, zh-CN, zh_CN.UTF-8, zh-TW: zh-hans), or ""."""
    wanted = code.partition(".")[0].replace("_", "-").lower()
    main = wanted.partition("-")[0]
    return next((name for name, _ in settings.LANGUAGES if name == wanted or name.partition("-")[0] == main), "")


def of_request(request: HttpRequest) -> str:
    """What the account says, else the cookie of this browser, else what the browser asks for, else the hub's language."""
    return hub_language(of_account(request)) or hub_language(request.COOKIES.get(COOKIE, "")) or accepted(request)


@contextmanager
def reader_of(request: HttpRequest) -> Iterator[None]:
    """Speaks the language of who sent the request, inside the block."""
    try:
        language = of_request(request)
    except (DatabaseError, InterfaceError):  # the view finds that too, and says it
        language = accepted(request)
    with speaking(language):
        yield


def speaking(language: str) -> translation.override:
    """A block in which a language is active, and the one before again after it."""
    return translation.override(language, deactivate=translation.get_language() in (None, ENGLISH))


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
        if found := hub_language(code):
            return found
    return settings.HUB_LANGUAGE


def of_person(person: Any) -> str:
    """What a person reads away from pages: mails, messages of chats."""
    return hub_language(getattr(person, "language", "") or "") or settings.HUB_LANGUAGE


def speak(language: str) -> None:
    """Makes this process speak a language for good: a command. English needs no catalogue, which takes time to load."""
    if language == ENGLISH:
        translation.deactivate_all()
    else:
        translation.activate(language)


# ---- sentences that exist already ----


def translated(text: Any) -> str:
    """A sentence of the hub in the language that is active; a text that the catalogue does not have comes back as it is."""
    text = str(text or "")
    language = translation.get_language() or ENGLISH
    return text if language == ENGLISH else catalogue.load(translation.to_locale(language)).translated(text)


def offered(text: Any) -> str:
    """A reason that pages offer, in the language that is active; what somebody wrote in words of their own as they wrote it."""
    text = str(text or "")
    language = translation.get_language() or ENGLISH
    return text if language == ENGLISH else catalogue.load(translation.to_locale(language)).exact(text) or text


# Why the hub itself made a revision, where a person did it.
HUB_REASON = re.compile(
    r"(?:(?:Restored|Merged with) revision|Undone: (?:proposal|revision)|Revision|Took back the change on disk \(revision) \d"
    r"|(?:Copied from|Moved (?:from|to)) /"
)
HUB_ACTORS = ("disk", "hub", "import")


def shown_reason(reason: str, actor_kind: str = "") -> str:
    """The reason of a change: the hub's own in the language that is active, that of a person or an agent as they wrote it."""
    return translated(reason) if actor_kind in HUB_ACTORS or HUB_REASON.match(reason) else reason


def translated_lines(text: str) -> str:
    """Several sentences, one a line, as commands print them; what a line is indented by stays."""
    lines = text.split("\n")
    return "\n".join(line[: len(line) - len(line.lstrip())] + translated(line.strip()) for line in lines)
