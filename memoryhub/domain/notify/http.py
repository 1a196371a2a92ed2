"""Outgoing HTTP to addresses that people enter: which ones are refused, and one request that cannot be led elsewhere."""

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

_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # IPv4 addresses as networks without IPv4 write them
# Where clouds answer for their machines' credentials outside the link-local range.
_METADATA = {
    ipaddress.ip_address(text) for text in ("fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16")
}


def absolute_url(path: str) -> str:
    """The address of a page for mails and notices: with the host where PUBLIC_URL is set, else the path alone."""
    return settings.PUBLIC_URL + path


def post_json(url: str, *, content: bytes, headers: dict[str, str], seconds: float) -> httpx.Response:
    """Posts JSON and returns the answer; refuses addresses of a machine's own network services.

    The name is looked up once, and the connection goes to the address that was checked, so a name that resolves otherwise
    a moment later leads nowhere else. No redirects, no proxies; `seconds` is the limit for the whole call.
    """
    import httpx  # inside: importing it takes a tenth of a second at every start of the hub

    parsed = httpx.URL(url)
    all_headers = {**headers, "Host": parsed.netloc.decode("ascii")}
    failure: Exception | None = None
    with (
        httpx.Client(timeout=seconds, follow_redirects=False, trust_env=False) as client,
        Deadline(seconds) as deadline,
    ):
        for address in addresses_of(url):
            try:
                answer = client.post(
                    parsed.copy_with(host=str(address)), content=content, headers=all_headers,
                    extensions={"sni_hostname": parsed.raw_host.decode("ascii"), "trace": deadline.watch},
                )  # fmt: skip
            except httpx.ConnectError as error:  # another address of the name may answer
                failure = error
            else:
                if deadline.is_over:  # an answer without a length looks complete when it is cut off
                    raise httpx.ReadTimeout(f"{parsed.host} did not answer in {seconds} seconds")
                return answer
    raise failure or httpx.ConnectError(f"{parsed.host} has no address")


class Deadline:
    """Closes the connections of a call when its time is over: httpx limits only each read, which a byte a second always
    meets."""

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

    def watch(self, event: str, details: dict[str, Any]) -> None:
        """The trace function for httpx: collects the sockets; TLS replaces the first one by its own."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._sockets.append(details["return_value"].get_extra_info("socket"))
            if self.is_over:
                self._hang_up()

    def _hang_up(self) -> None:
        self.is_over = True
        for opened in self._sockets:
            with contextlib.suppress(OSError):  # closed already
                # Not the TLS socket's own shutdown: it drops the cipher first, and what is being sent would go out readable.
                socket.socket.shutdown(opened, socket.SHUT_RDWR)


def addresses_of(url: str) -> list[Address]:
    """The IP addresses of a URL's host; refused if one is that of a service which machines ask for their own credentials."""
    host = urlsplit(url).hostname or ""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(ipaddress.ip_address(str(info[4][0]).split("%")[0]) for info in found))
    if any(is_own_service(address) for address in addresses):
        raise Invalid(f"{host} is an address of this machine's own network services.", code="invalid_url")
    return addresses


def is_own_service(address: Address) -> bool:
    """Whether an address, in any notation, is one that a machine asks about itself (pure)."""
    plain = as_ipv4(address)
    return plain.is_link_local or plain in _METADATA


def as_ipv4(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, if it does; else the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
