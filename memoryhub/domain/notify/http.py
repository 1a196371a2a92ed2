"""Where the hub may send something on somebody's word."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings

from memoryhub.errors import Invalid

if TYPE_CHECKING:
    import httpx

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # an IPv4 address as networks without IPv4 write it
# Clouds also answer for their machines' credentials here, outside the range meant for it.
_METADATA = {ipaddress.ip_address(one) for one in ("fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16")}


def absolute_url(path: str) -> str:
    """A page of the hub as what is sent names it: whole where the hub knows where people open it."""
    return settings.PUBLIC_URL + path


def post_json(url: str, *, content: bytes, headers: dict[str, str], seconds: float) -> httpx.Response:
    """Sends to an address that was looked at: the name is looked up once, and the very address that passed is the one
    connected to, so a name that answers otherwise a moment later leads nowhere else. No redirects, no proxies. Whoever has not
    answered whole after so many seconds is hung up on."""
    import httpx  # a tenth of a second that every start of the hub would pay

    whole = httpx.URL(url)
    named = {**headers, "Host": whole.netloc.decode("ascii")}
    refusal: Exception | None = None
    with (
        httpx.Client(timeout=seconds, follow_redirects=False, trust_env=False) as client,
        Deadline(seconds) as deadline,
    ):
        for address in addresses_of(url):
            try:
                answer = client.post(
                    whole.copy_with(host=str(address)), content=content, headers=named,
                    extensions={"sni_hostname": whole.raw_host.decode("ascii"), "trace": deadline.watch},
                )  # fmt: skip
            except httpx.ConnectError as error:  # a machine may have addresses that do not answer
                refusal = error
            else:
                if deadline.is_over:  # without a length, what came until then looks like the whole
                    raise httpx.ReadTimeout(f"{whole.host} did not answer in {seconds} seconds")
                return answer
    raise refusal or httpx.ConnectError(f"{whole.host} has no address")


class Deadline:
    """Hangs up when the time of a whole call is over: httpx limits each read alone, and a byte a second fits into that for ever."""

    def __init__(self, seconds: float) -> None:
        self.is_over = False
        self._sockets: list[socket.socket] = []
        self._timer = threading.Timer(seconds, self._hang_up)
        self._timer.daemon = True

    def __enter__(self) -> Deadline:
        self._timer.start()
        return self

    def __exit__(self, *why: object) -> None:
        self._timer.cancel()

    def watch(self, event: str, told: dict[str, Any]) -> None:
        """Hears from httpx what it does; TLS puts a socket of its own in the place of the first."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._sockets.append(told["return_value"].get_extra_info("socket"))
            if self.is_over:
                self._hang_up()

    def _hang_up(self) -> None:
        self.is_over = True
        for one in self._sockets:
            with contextlib.suppress(OSError):  # closed already
                # Not by TLS's own: that first lets go of the cipher, and what is being sent then would go out readable.
                socket.socket.shutdown(one, socket.SHUT_RDWR)


def addresses_of(url: str) -> list[Address]:
    """Where a name leads, each address looked at: the services that machines of a cloud ask for their own credentials are
    nobody's webhook and nobody's model."""
    host = urlsplit(url).hostname or ""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(ipaddress.ip_address(str(one[4][0]).split("%")[0]) for one in found))
    if any(is_own_service(address) for address in addresses):
        raise Invalid(f"{host} is an address of this machine's own network services.", code="invalid_url")
    return addresses


def is_own_service(address: Address) -> bool:
    """Whether this address, in whichever spelling, is one that a machine asks about itself (pure)."""
    plain = as_ipv4(address)
    return plain.is_link_local or plain in _METADATA


def as_ipv4(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for, if it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
