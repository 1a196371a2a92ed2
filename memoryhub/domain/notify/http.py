"""Outgoing HTTP to addresses that people enter: one request that cannot be led elsewhere, and an answer that cannot be large."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import threading
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import certifi
from django.conf import settings

from memoryhub.domain.notify.addresses import addresses_of
from memoryhub.errors import HubError

if TYPE_CHECKING:
    import httpx

MAX_ANSWER = 64 * 1024  # bytes; what comes after them is not read


def absolute_url(path: str) -> str:
    """The address of a page for mails and notices: with the host where PUBLIC_URL is set, else the path alone."""
    return settings.PUBLIC_URL + path


def failures() -> tuple[type[Exception], ...]:
    """What `post_json` may raise, for `except`; asked only when something was raised, and httpx is loaded then."""
    return (httpx_library().HTTPError, httpx_library().InvalidURL, OSError, HubError)


def httpx_library() -> ModuleType:
    # Inside: importing it takes a tenth of a second and 4.5 MB, which most processes of a hub can spare.
    import httpx

    return httpx


def tls_context() -> ssl.SSLContext:
    """What the certificates of addresses are checked by: those of certifi as they stand in its file now."""
    certificates = certifi.where()
    return _read_certificates(certificates, os.stat(certificates).st_mtime_ns)


@lru_cache(maxsize=1)
def _read_certificates(file: str, changed_at: int) -> ssl.SSLContext:
    """Reading them takes 15 ms of a processor, so all calls share one context until the file changes."""
    return ssl.create_default_context(cafile=file)


def post_json(url: str, *, content: bytes, headers: dict[str, str], seconds: float) -> httpx.Response:
    """Posts JSON and returns the answer, cut at 64 kB; refuses addresses that the hub may not connect to (`addresses`).

    The name is looked up once, and the connection goes to the address that was checked, so a name that resolves otherwise
    a moment later leads nowhere else. No redirects, no proxies; `seconds` is the limit for the whole call.
    """
    httpx = httpx_library()
    parsed = httpx.URL(url)
    all_headers = {**headers, "Host": parsed.netloc.decode("ascii"), "Accept-Encoding": "identity"}
    failure: Exception | None = None
    with (
        httpx.Client(verify=tls_context(), timeout=seconds, follow_redirects=False, trust_env=False) as client,
        Deadline(seconds) as deadline,
    ):
        for address in addresses_of(url):
            try:
                with client.stream(
                    "POST", parsed.copy_with(host=str(address)), content=content, headers=all_headers,
                    extensions={"sni_hostname": parsed.raw_host.decode("ascii"), "trace": deadline.watch},
                ) as coming:  # fmt: skip
                    answer = cut_answer(coming)
            except httpx.ConnectError as error:  # another address of the name may answer
                failure = error
            else:
                if deadline.is_over:  # an answer without a length looks complete when it is cut off
                    raise httpx.ReadTimeout(f"{parsed.host} did not answer in {seconds} seconds")
                return answer
    raise failure or httpx.ConnectError(f"{parsed.host} has no address")


def cut_answer(coming: httpx.Response) -> httpx.Response:
    """The answer with the first bytes of its body. A compressed one, which was not asked for, has none."""
    body = bytearray()
    if coming.headers.get("Content-Encoding", "identity") == "identity":
        for part in coming.iter_raw():
            body += part
            if len(body) >= MAX_ANSWER:
                break
    headers = {"Content-Type": coming.headers.get("Content-Type", "")}
    return type(coming)(coming.status_code, headers=headers, content=bytes(body[:MAX_ANSWER]), request=coming.request)


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
