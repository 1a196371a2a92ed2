"""The current request: its id, client address and token; and a filter that keeps tokens out of the log."""

from __future__ import annotations

import ipaddress
import logging
import re
import secrets
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from django.conf import settings

log = logging.getLogger("memoryhub")
request_id: ContextVar[str] = ContextVar("request_id", default="")  # of the call that this thread answers
TOKEN_PATTERN = re.compile(r"(mh_[A-Za-z0-9-]+_[A-Za-z0-9]{4})[A-Za-z0-9]+")
ONE_TIME_LINK_PATTERN = re.compile(r"(/login/once/)[A-Za-z0-9_-]{8,}")
# A request id has letters of one case; keys mix both cases with digits.
KEY_PATTERN = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d).{25,}")
SUBNET_V6 = 64  # what one customer of a network gets: within it anybody has as many addresses as they like
KNOWN = "memoryhub.known"  # in the variables of a request: a person or an agent sent it
REQUEST_ID_PATTERN = re.compile(r"^[A-Za-z0-9._-]{8,64}$")
# Headers that proxies add, beside any X-Forwarded-….
FORWARDED = {
    "HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP", "HTTP_X_CLIENT_IP", "HTTP_X_CLUSTER_CLIENT_IP", "HTTP_TRUE_CLIENT_IP",
    "HTTP_CF_CONNECTING_IP",
}  # fmt: skip


def set_request_id(given: str | None) -> str:
    """Sets and returns the id of the request: the given one if it is well-formed and not like a key, else a new one."""
    is_one = given and REQUEST_ID_PATTERN.match(given) and not KEY_PATTERN.match(given)
    chosen = given if given and is_one else secrets.token_hex(8)
    request_id.set(chosen)
    return chosen


def client_address(meta: dict[str, Any]) -> str | None:
    """The client's address; behind TLS the last one in X-Forwarded-For, if a trusted proxy sent it. None over a unix socket."""
    forwarded = meta.get("HTTP_X_FORWARDED_FOR", "") if settings.BEHIND_TLS and from_trusted_proxy(meta) else ""
    return (forwarded.split(",")[-1].strip() if forwarded else meta.get("REMOTE_ADDR")) or None


def client_network(meta: dict[str, Any]) -> str:
    """The client's address as limits count it; "" over a unix socket."""
    return network_of(client_address(meta) or "")


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """The address, or its /64 for IPv6."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, SUBNET_V6), strict=False))
    return str(parsed)


def from_trusted_proxy(meta: dict[str, Any]) -> bool:
    """Whether the other end of the connection is a proxy of the settings; whoever has the unix socket is."""
    peer = meta.get("REMOTE_ADDR")
    return not peer or settings.TRUSTED_PROXIES.hold(peer)


def from_loopback(meta: dict[str, Any]) -> bool:
    """Whether the request comes from this machine and not through a proxy."""
    if any(name in FORWARDED or name.startswith("HTTP_X_FORWARDED") for name in meta):
        return False
    try:
        return ipaddress.ip_address(meta.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


def distrust_forwarded(meta: dict[str, Any]) -> None:
    """Lets nobody but a trusted proxy say that a request came over TLS. The header stays: `/metrics` looks for proxies."""
    if "HTTP_X_FORWARDED_PROTO" in meta and not from_trusted_proxy(meta):
        _warn_once(meta["REMOTE_ADDR"])
        meta["HTTP_X_FORWARDED_PROTO"] = "http"


@lru_cache(maxsize=64)
def _warn_once(peer: str) -> None:
    log.warning(
        "X-Forwarded- headers from %s are ignored. If it is your proxy, list it in MEMORYHUB_TRUSTED_PROXIES.", peer
    )


def bearer_token(meta: dict[str, Any]) -> str:
    """The secret of `Authorization: Bearer …`, or ""."""
    kind, _, secret = meta.get("HTTP_AUTHORIZATION", "").partition(" ")
    return secret.strip() if kind.lower() == "bearer" else ""


def hide_secrets(text: str) -> str:
    """The text with every token and one-time link cut to its beginning."""
    return ONE_TIME_LINK_PATTERN.sub(r"\1…", TOKEN_PATTERN.sub(r"\1…", text))


class Lines(str):
    """A text for the log that has several lines of the hub's own."""


# A line end that a stranger typed must not begin a line of the log, nor turn what a terminal shows of it.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}
_CONTROLS |= {
    code: f"\\u{code:04x}" for code in (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
}


def one_line(value: Any) -> Any:
    """A text of somebody else, or an error that may quote one, without what would begin another line; other values as they are."""
    if isinstance(value, BaseException):
        value = str(value)
    return value.translate(_CONTROLS) if type(value) is str else value


class HideTokens(logging.Filter):
    """Hides secrets in every line of the log and in its traceback, as an exception may quote its arguments; and keeps each
    entry one line."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(map(one_line, record.args))
        elif record.args:
            record.args = {name: one_line(value) for name, value in record.args.items()}
        record.msg, record.args = hide_secrets(record.getMessage()), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = hide_secrets(logging.Formatter().formatException(record.exc_info))
        return True
