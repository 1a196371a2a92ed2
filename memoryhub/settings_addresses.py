"""Addresses in the environment: of the database, embedders, mail, the hub itself, and what it may connect to."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from memoryhub.server import postgres_address

EMBEDDER_SERVERS = {
    "ollama": "http://127.0.0.1:11434/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
    "llama.cpp": "http://127.0.0.1:8080/v1",
    "vllm": "http://127.0.0.1:8000/v1",
    "tei": "http://127.0.0.1:8080/v1",
}
"""Servers of embeddings on this machine by name, where each listens unless told otherwise."""
# A server that is gone without a word is noticed within half a minute; on a socket of this machine none of it counts.
CONNECTION_OPTIONS = {
    "connect_timeout": 5, "keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 20_000,
}  # fmt: skip


def parts_of(url: str) -> SplitResult:
    """An address in its parts; what cannot be one has none."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 (looked at only now)
    except ValueError:
        return urlsplit("")
    return parts


def database(url: str, data_dir: Path, pgbouncer: bool) -> dict[str, Any]:
    """The one database: the embedded server of the data directory, or the one that DATABASE_URL names."""
    config: dict[str, Any] = parse_database_url(url) if url else dict(postgres_address.address(data_dir))
    options = {**CONNECTION_OPTIONS, "prepare_threshold": None if pgbouncer else 5, **config.pop("OPTIONS", {})}
    return {
        "ENGINE": "memoryhub.db.backend",
        "CONN_MAX_AGE": None,  # one connection per worker for its whole life
        "CONN_HEALTH_CHECKS": True,
        "DISABLE_SERVER_SIDE_CURSORS": pgbouncer,
        **config,
        "OPTIONS": options,
    }


def replica(url: str, data_dir: Path, pgbouncer: bool) -> dict[str, Any]:
    """A streaming replica of that database. A connection that broke is noticed when the replica is asked how far it is."""
    config = database("", data_dir, pgbouncer) | parse_database_url(url, "MEMORYHUB_REPLICA_URL")
    options = {
        **CONNECTION_OPTIONS,
        "connect_timeout": 2,
        "prepare_threshold": None if pgbouncer else 5,
        **config["OPTIONS"],
    }
    return {**config, "CONN_HEALTH_CHECKS": False, "OPTIONS": options}


def parse_database_url(url: str, name: str = "DATABASE_URL") -> dict[str, Any]:
    parts = parts_of(url)
    if parts.scheme not in {"postgres", "postgresql"} or not parts.path.strip("/"):
        raise ImproperlyConfigured(f"{name} is not understood; allowed is postgresql://user:password@host:5432/name.")
    query = dict(parse_qsl(parts.query))
    return {
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": query.pop("host", None) or unquote(parts.hostname or ""),
        "PORT": str(parts.port or query.pop("port", "") or ""),
        "OPTIONS": query,
    }


def embedder_url(url: str, choice: str) -> str:
    """Where `openai_endpoint` asks: an address, or a server of this machine by its name; nothing where no embedder needs it."""
    url = EMBEDDER_SERVERS.get(url.strip().lower(), url)
    parts = parts_of(url)
    if url and (parts.scheme not in {"http", "https"} or not parts.netloc):
        # The address may hold a password or a key: it is not repeated.
        raise ImproperlyConfigured(
            "MEMORYHUB_EMBEDDER_URL is no address; allowed is one such as http://host/v1, or one of: "
            + ", ".join(EMBEDDER_SERVERS)
            + "."
        )
    if not url and choice.partition(":")[0] == "openai_endpoint":
        raise ImproperlyConfigured(
            "MEMORYHUB_EMBEDDER_URL is empty; allowed is, with openai_endpoint, an address such as http://host/v1, or one of: "
            + ", ".join(EMBEDDER_SERVERS)
            + "."
        )
    return url


def mail(url: str) -> dict[str, Any]:
    """Django's own settings for mail, from one address; without one, this machine's own server."""
    parts = parts_of(url or "smtp://localhost")
    if parts.scheme not in {"smtp", "smtps", "smtp+starttls"} or not parts.hostname:
        # The address may hold a password: it is not repeated.
        raise ImproperlyConfigured(
            "MEMORYHUB_MAIL_URL is no mail server; allowed is smtp://, smtp+starttls:// or smtps://user:password@host:port."
        )
    return {
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": parts.port or {"smtps": 465, "smtp+starttls": 587}.get(parts.scheme, 25),
        "EMAIL_HOST_USER": unquote(parts.username or ""), "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": parts.scheme == "smtps", "EMAIL_USE_TLS": parts.scheme == "smtp+starttls",
        "EMAIL_TIMEOUT": 20,
    }  # fmt: skip


def public_url(given: str) -> str:
    """Where people open the hub, for links in what it sends; nothing where nobody said."""
    parts, odd = parts_of(given), re.search(r"[\s<>|\"?#]", given)  # a mail or a chat would end the link there
    if given and (parts.scheme not in {"http", "https"} or not parts.hostname or odd):
        raise ImproperlyConfigured(
            "MEMORYHUB_PUBLIC_URL is no address; allowed is where people open the hub, such as https://memory.example.org."
        )
    return given.rstrip("/")


def allowed_hosts(given: str) -> list[str]:
    hosts = [host.strip() for host in given.split(",") if host.strip()]
    if not hosts or not all(re.fullmatch(r"\*|\.?[\w-]+(\.[\w-]+)*\.?|\[[0-9A-Fa-f:.]+\]", host) for host in hosts):
        raise ImproperlyConfigured(
            f"ALLOWED_HOSTS is {given!r}; allowed is a list of names without scheme and port: hub.example.org,127.0.0.1."
        )
    return hosts


def outbound(given: str) -> tuple[str, ...]:
    """Which addresses besides public ones the hub may connect to: words, networks and host names."""
    entries = tuple(entry.strip().lower() for entry in given.split(",") if entry.strip())
    entries = tuple("any" if entry in ("*", "all") else entry for entry in entries)
    for entry in entries:
        try:
            ipaddress.ip_network(entry, strict=False)
        except ValueError:
            if not re.fullmatch(r"(?=.*[a-z])[a-z0-9_-]+(\.[a-z0-9_-]+)*", entry):
                raise ImproperlyConfigured(
                    f"MEMORYHUB_OUTBOUND is {given!r}; allowed is a list of loopback, private, any, networks and host names: "
                    "loopback,10.0.0.0/8,chat.internal."
                ) from None
    return entries
