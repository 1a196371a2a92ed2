"""How people may sign in besides names and links: a provider of OpenID Connect, and a proxy that signs them in."""

from __future__ import annotations

import ipaddress
import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from memoryhub.environment import env, env_bool

ROLES = ("viewer", "editor", "reviewer", "owner")
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
PROXY_WORDS = {
    "loopback": ("127.0.0.0/8", "::1"),
    "private": ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
}


@dataclass(frozen=True)
class Oidc:
    """A provider of OpenID Connect, and whom it may sign in."""

    issuer: str
    client_id: str
    secret: str = field(repr=False)
    button: str = "Sign in with single sign-on"
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    groups_claim: str = "groups"
    sign_up: str = "known"  # known: nobody new; anybody; domains: whose verified e-mail is of one of `domains`
    domains: tuple[str, ...] = ()
    link_by_email: bool = False
    second_factor: str = "hub"  # provider: what it asked for suffices


@dataclass(frozen=True)
class Networks:
    """Addresses, as a setting lists them."""

    listed: tuple[Network, ...]

    @lru_cache(maxsize=1024)  # noqa: B019  the few of a process live as long as it does
    def hold(self, address: str) -> bool:
        """Whether an address is in one of the networks; one of IPv4 also as `::ffff:` has it."""
        try:
            found: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.ip_address(address)
        except ValueError:
            return False
        found = getattr(found, "ipv4_mapped", None) or found
        return any(found in network for network in self.listed)


@dataclass(frozen=True)
class Proxy:
    """A header in which a proxy names who is signed in, and the addresses that such proxies call from."""

    header: str
    addresses: tuple[Network, ...]
    groups_header: str = ""
    sign_up: str = "known"
    keys: tuple[str, ...] = field(init=False)  # as WSGI names the headers: user, and groups if there is one

    def __post_init__(self) -> None:
        names = [name for name in (self.header, self.groups_header) if name]
        object.__setattr__(self, "keys", tuple("HTTP_" + name.upper().replace("-", "_") for name in names))

    def trusts(self, address: str) -> bool:
        """Whether a connection from this address is one of the proxies."""
        return Networks(self.addresses).hold(address)


def oidc() -> Oidc | None:
    """The provider that MEMORYHUB_OIDC_ISSUER names, if one is named."""
    issuer, client_id = env("MEMORYHUB_OIDC_ISSUER"), env("MEMORYHUB_OIDC_CLIENT_ID")
    if not issuer:
        return None
    if not is_issuer(issuer):
        raise ImproperlyConfigured(
            f"MEMORYHUB_OIDC_ISSUER is {issuer!r}; allowed is an https address (http on this machine alone) without a query."
        )
    if not client_id:
        raise ImproperlyConfigured("MEMORYHUB_OIDC_CLIENT_ID is empty; with MEMORYHUB_OIDC_ISSUER it names the client.")
    scopes = env("MEMORYHUB_OIDC_SCOPES", "openid profile email").replace(",", " ").split()
    if "openid" not in scopes:
        raise ImproperlyConfigured("MEMORYHUB_OIDC_SCOPES lacks openid; allowed is openid and further scopes.")
    sign_up = env("MEMORYHUB_OIDC_SIGN_UP", "known", ("known", "anybody", "domains"))
    domains = tuple(one.strip().lower().lstrip("@") for one in env("MEMORYHUB_OIDC_DOMAINS").split(",") if one.strip())
    if (sign_up == "domains") != bool(domains):
        raise ImproperlyConfigured(
            "MEMORYHUB_OIDC_DOMAINS and MEMORYHUB_OIDC_SIGN_UP=domains go together; allowed is a list such as example.org."
        )
    return Oidc(
        issuer=issuer, client_id=client_id, secret=env("MEMORYHUB_OIDC_CLIENT_SECRET"),
        button=env("MEMORYHUB_OIDC_BUTTON", Oidc.button), scopes=tuple(scopes),
        groups_claim=env("MEMORYHUB_OIDC_GROUPS_CLAIM", Oidc.groups_claim), sign_up=sign_up, domains=domains,
        link_by_email=env_bool("MEMORYHUB_OIDC_LINK_BY_EMAIL"),
        second_factor=env("MEMORYHUB_OIDC_SECOND_FACTOR", "hub", ("hub", "provider")),
    )  # fmt: skip


def is_issuer(url: str) -> bool:
    """Whether an address may be an issuer: with TLS, unless it is on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    local = host in ("localhost", "127.0.0.1", "::1")
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and local)) and not parts.query


def trusted_proxies(given: str) -> Networks:
    """The addresses whose `X-Forwarded-` headers count: `loopback`, `private` and networks."""
    words = [one.strip().lower() for one in given.split(",") if one.strip()]
    try:
        return Networks(tuple(ipaddress.ip_network(one) for word in words for one in PROXY_WORDS.get(word, (word,))))
    except ValueError as error:
        raise ImproperlyConfigured(
            f"MEMORYHUB_TRUSTED_PROXIES: {error}; allowed is a list of loopback, private, addresses and networks: "
            "loopback,203.0.113.7."
        ) from None


def proxy() -> Proxy | None:
    """The proxy that MEMORYHUB_PROXY_USER_HEADER and MEMORYHUB_PROXY_ADDRESSES describe, if they do."""
    header, groups = env("MEMORYHUB_PROXY_USER_HEADER"), env("MEMORYHUB_PROXY_GROUPS_HEADER")
    addresses = proxy_addresses(env("MEMORYHUB_PROXY_ADDRESSES"))
    for name, value in (("MEMORYHUB_PROXY_USER_HEADER", header), ("MEMORYHUB_PROXY_GROUPS_HEADER", groups)):
        if value and not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", value):
            raise ImproperlyConfigured(f"{name} is {value!r}; allowed is the name of a header such as Remote-User.")
    if bool(header) != bool(addresses) or (groups and not header):
        raise ImproperlyConfigured(
            "MEMORYHUB_PROXY_USER_HEADER and MEMORYHUB_PROXY_ADDRESSES go together: the header counts from these addresses alone."
        )
    sign_up = env("MEMORYHUB_PROXY_SIGN_UP", "known", ("known", "anybody"))
    return Proxy(header, addresses, groups, sign_up) if header else None


def proxy_addresses(given: str) -> tuple[Network, ...]:
    try:
        return tuple(ipaddress.ip_network(one.strip()) for one in given.split(",") if one.strip())
    except ValueError as error:
        raise ImproperlyConfigured(
            f"MEMORYHUB_PROXY_ADDRESSES: {error}; allowed is a list of addresses and networks such as 127.0.0.1,10.0.0.0/8."
        ) from None


def group_roles(given: str) -> dict[str, dict[str, str]]:
    """Group, space, role: what groups of a provider or proxy mean here."""
    try:
        found = json.loads(given or "{}")
        fits = all(role in ROLES for spaces in found.values() for role in spaces.values())
    except (ValueError, AttributeError):
        fits = False
    if not fits:
        raise ImproperlyConfigured(
            'MEMORYHUB_GROUP_ROLES is not understood; allowed is JSON such as {"team": {"main": "reviewer"}} with the roles '
            f"{', '.join(ROLES)}."
        )
    return {str(group): dict(spaces) for group, spaces in found.items()}
