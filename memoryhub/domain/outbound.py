"""Where the hub may send something on somebody's word."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from memoryhub.errors import Invalid

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_IN_IPV6 = ipaddress.ip_network("64:ff9b::/96")  # an IPv4 address as networks without IPv4 write it
# Clouds also answer for their machines' credentials here, outside the range meant for it.
_METADATA = {ipaddress.ip_address(one) for one in ("fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16")}


def refuse_own_network(url: str) -> None:
    """The services that machines of a cloud ask for their own credentials are nobody's webhook and nobody's model."""
    host = urlsplit(url).hostname or ""
    for *_, address in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM):
        if is_own_service(ipaddress.ip_address(str(address[0]).split("%")[0])):
            raise Invalid(f"{host} is an address of this machine's own network services.", code="invalid_url")


def is_own_service(address: Address) -> bool:
    """Whether this address, in whichever spelling, is one that a machine asks about itself (pure)."""
    plain = as_ipv4(address)
    return plain.is_link_local or plain in _METADATA


def as_ipv4(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for, if it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _IN_IPV6:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
