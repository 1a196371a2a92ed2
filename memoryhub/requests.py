"""What belongs to the request being served: its id, its peer, and that no log line gives its secrets away."""

from __future__ import annotations

import logging
import re
import secrets
from contextvars import ContextVar

_request_id: ContextVar[str] = ContextVar("request_id", default="")
TOKEN = re.compile(r"(mh_[A-Za-z0-9-]+_[A-Za-z0-9]{4})[A-Za-z0-9]+")
ONCE = re.compile(r"(/login/once/)[A-Za-z0-9_-]{8,}")
# Ids are hexadecimal, or of one case; keys mix both with digits.
KEY = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d).{25,}")
GIVEN = re.compile(r"^[A-Za-z0-9._-]{8,64}$")


def current_request_id() -> str:
    return _request_id.get()


def begin(given: str | None) -> str:
    """Takes a well-formed id that a proxy gave, else makes one; what could be a key is none, for ids are kept."""
    request_id = given if given and GIVEN.match(given) and not KEY.match(given) else secrets.token_hex(8)
    _request_id.set(request_id)
    return request_id


def client_address(meta: dict[str, str], trust_proxy: bool) -> str | None:
    """The peer's address; behind our own proxy the last one it wrote down. None over a unix socket."""
    forwarded = meta.get("HTTP_X_FORWARDED_FOR", "") if trust_proxy else ""
    return (forwarded.split(",")[-1].strip() if forwarded else meta.get("REMOTE_ADDR")) or None


def hide_secrets(text: str) -> str:
    """A token or a one-time link is only ever shown as its beginning."""
    return ONCE.sub(r"\1…", TOKEN.sub(r"\1…", text))


class HideTokens(logging.Filter):
    """For every line of the log, its traceback included: an exception may quote what it was given."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = hide_secrets(record.getMessage()), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = hide_secrets(logging.Formatter().formatException(record.exc_info))
        return True
