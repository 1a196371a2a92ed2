"""Which addresses the hub connects to when somebody has entered one: public ones, and others only where the hub's owner
says so by MEMORYHUB_OUTBOUND."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from memoryhub.errors import Invalid

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# IPv6 networks whose addresses stand for one of IPv4, by the bits to its right. RFC 6052 leaves bits 64 to 71 of a /48 unused.
_COMPATIBLE = ipaddress.ip_network("::/96")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_LOCAL_NAT64 = ipaddress.ip_network("64:ff9b:1::/48")
_ISATAP = (0x00005EFE, 0x02005EFE)  # before the last 32 bits
_PUBLIC = ipaddress.ip_network("2000::/3")
# Where clouds answer for their machines' credentials outside the link-local range.
_METADATA = {
    ipaddress.ip_address(text) for text in ("fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16")
}


def addresses_of(url: str) -> list[Address]:
    """The IP addresses of a URL's host; Invalid if one of them is none that the hub may connect to."""
    host = urlsplit(url).hostname or ""
    return _checked(host, socket.getaddrinfo(host, None, type=socket.SOCK_STREAM))


def check_url(url: str) -> None:
    """Refuses what is no whole address, and a URL whose host is an IP address, in any spelling, or this machine's own name, if
    the hub may not connect to it. Other names are looked up when they are used."""
    host = _host_of(url)
    flags = 0 if host == "localhost" or host.endswith(".localhost") else socket.AI_NUMERICHOST
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags)
    except (OSError, UnicodeError):
        return
    _checked(host, found)


def _host_of(url: str) -> str:
    """The host that a URL names; refused where the URL cannot be asked at all."""
    with contextlib.suppress(ValueError):  # no port, or brackets that do not fit
        parts = urlsplit(url)
        is_plain = url.isprintable() and " " not in url
        if is_plain and parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts.hostname.rstrip(".")
    raise Invalid("Give a whole address that begins with https:// or http://.", code="invalid_url", field="url")


def _checked(host: str, found: Iterable[tuple[Any, ...]]) -> list[Address]:
    addresses = list(dict.fromkeys(ipaddress.ip_address(str(info[4][0]).split("%")[0]) for info in found))
    for address in addresses:
        check_address(host, address, settings.OUTBOUND)
    return addresses


def check_address(host: str, address: Address, allowed: tuple[str, ...]) -> None:
    """Refuses an address (pure); `allowed` is what MEMORYHUB_OUTBOUND lists."""
    meanings = list(meanings_of(address))
    if any(is_own_service(one) for one in meanings):
        raise Invalid(f"{host} is an address of this machine's own network services.", code="invalid_url", field="url")
    if is_public(address) or host.lower() in allowed or all(_is_listed(one, allowed) for one in meanings):
        return
    raise Invalid(
        f"{host} is an address of this machine or of a private network. Whoever runs the hub can allow it: "
        f"MEMORYHUB_OUTBOUND={_word_for(meanings[-1])}.",
        code="invalid_url",
        field="url",
    )


def meanings_of(address: Address) -> Iterator[Address]:
    """The address, and the IPv4 addresses that it may be read as."""
    yield address
    if isinstance(address, ipaddress.IPv4Address):
        return
    number = int(address)
    last = ipaddress.IPv4Address(number & 0xFFFFFFFF)
    if address in _NAT64 or (address in _COMPATIBLE and number > 1) or (number >> 32) & 0xFFFFFFFF in _ISATAP:
        yield last
    if address in _LOCAL_NAT64:
        if first := number >> 64 & 0xFFFF:
            yield ipaddress.IPv4Address(first << 16 | (number >> 40 & 0xFFFF))
        if int(last):
            yield last
    if address.teredo:
        yield from address.teredo
    yield from filter(None, (address.ipv4_mapped, address.sixtofour))


def is_own_service(address: Address) -> bool:
    """Whether a machine asks this address about itself; no setting allows that."""
    return address.is_link_local or address in _METADATA or address.is_multicast or address.is_unspecified


def is_public(address: Address) -> bool:
    """Whether an address, and every other that it may be read as, belongs to everybody's network."""
    first, *others = meanings_of(address)
    if (
        isinstance(first, ipaddress.IPv6Address)
        and first not in _PUBLIC
        and first not in _NAT64
        and not first.ipv4_mapped
    ):
        return False
    own = [] if others and isinstance(first, ipaddress.IPv6Address) and first not in _PUBLIC else [first]
    return all(one.is_global and not one.is_reserved for one in (*own, *others))


def _is_listed(address: Address, allowed: tuple[str, ...]) -> bool:
    return any(_matches(address, entry) for entry in allowed)


def _matches(address: Address, entry: str) -> bool:
    if entry in ("any", "loopback"):
        return entry == "any" or address.is_loopback
    if entry == "private":
        return not address.is_loopback
    try:
        return address in ipaddress.ip_network(entry, strict=False)
    except ValueError:  # a name
        return False


def _word_for(address: Address) -> str:
    return "loopback" if address.is_loopback else "private"
