"""The request being served: its id, its peer, its token; and a filter that keeps tokens out of the log."""

from __future__ import annotations

import logging
import re
import secrets
from contextvars import ContextVar
from typing import Any

from django.conf import settings

_request_id: ContextVar[str] = ContextVar("request_id", default="")
TOKEN = re.compile(r"(mh_[A-Za-z0-9-]+_[A-Za-z0-9]{4})[A-Za-z0-9]+")
ONE_TIME_LINK = re.compile(r"(/login/once/)[A-Za-z0-9_-]{8,}")
# Ids are hexadecimal, or of one case; keys mix both with digits.
LIKE_A_KEY = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d).{25,}")
WELL_FORMED = re.compile(r"^[A-Za-z0-9._-]{8,64}$")


def current_request_id() -> str:
    return _request_id.get()


def begin(given: str | None) -> str:
    """Sets the id of the request: a well-formed one that a proxy gave, unless it is like a key (ids are stored), else a new one."""
    request_id = given if given and WELL_FORMED.match(given) and not LIKE_A_KEY.match(given) else secrets.token_hex(8)
    _request_id.set(request_id)
    return request_id


def client_address(meta: dict[str, Any]) -> str | None:
    """The peer's address; behind our own proxy the last one it wrote down. None over a unix socket."""
    forwarded = meta.get("HTTP_X_FORWARDED_FOR", "") if settings.BEHIND_TLS else ""
    return (forwarded.split(",")[-1].strip() if forwarded else meta.get("REMOTE_ADDR")) or None


def bearer_token(meta: dict[str, Any]) -> str:
    """The secret of `Authorization: Bearer …`; empty where there is none."""
    kind, _, secret = meta.get("HTTP_AUTHORIZATION", "").partition(" ")
    return secret.strip() if kind.lower() == "bearer" else ""


def hide_secrets(text: str) -> str:
    """The text with every token and one-time link cut to its beginning."""
    return ONE_TIME_LINK.sub(r"\1…", TOKEN.sub(r"\1…", text))


class HideTokens(logging.Filter):
    """Hides secrets in every line of the log and in its traceback, as an exception may quote its arguments."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = hide_secrets(record.getMessage()), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = hide_secrets(logging.Formatter().formatException(record.exc_info))
        return True
