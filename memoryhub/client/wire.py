"""What one call sends, and what its answers mean: headers, retries, failures. No input or output happens here."""

from __future__ import annotations

import email.utils
import json
import random
import re
import time
import urllib.request
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import urlsplit

import httpx

from memoryhub import __version__

from .cache import Cache
from .calls import Answer, Call
from .errors import BY_STATUS, HubError, HubRefused, HubUnavailable, Invalid, RateLimited, Unauthenticated

MAX_ANSWER = 64 * 1024 * 1024
MAX_ADDRESS = 60_000  # bytes of path and query: the hub reads heads of 64 kB
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")  # a tab may stand in a header
WARNINGS = "memoryhub-warnings"
JSON = "application/json"
CACHED_HEADERS = ("etag", "content-type", WARNINGS)
TEMPORARY = (502, 503, 504)  # statuses that may pass
FIRST_PAUSE = 0.4  # seconds at most between the first two tries of a call; each next pause is twice as long


class TooSlow(httpx.ReadTimeout):
    """The answer dripped in for longer than one try may take."""


class TooMuch(httpx.TransportError):
    """The answer is larger than any the hub gives."""


class Body(bytearray):
    """The body of an answer as it comes in; refused when it takes too long or grows too large."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._deadline = time.monotonic() + seconds

    def add(self, chunk: bytes) -> None:
        if time.monotonic() > self._deadline:
            raise TooSlow("the answer took too long")
        if len(self) + len(chunk) > MAX_ANSWER:
            raise TooMuch("the answer is too large")
        self += chunk


@dataclass(frozen=True)
class Settings:
    """Where the hub is and how patient the client is."""

    url: str
    token: str
    timeout: float = 10.0  # seconds for one try, from sending to the last byte
    patience: float = 30.0  # seconds for a call with all its tries
    retries: int = 3

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"The hub's address must look like http://127.0.0.1:8000, not {self.url!r}.")
        if not self.token or any(char.isspace() for char in self.token):
            raise ValueError("The token is empty or holds blanks. Copy it again from the agent's Connect page.")

    def __repr__(self) -> str:
        return f"Settings(url={self.url!r}, token='mh_…')"

    @cached_property
    def place(self) -> str:
        """The address without a password that someone may have put into it."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"

    @cached_property
    def root(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"

    @cached_property
    def extensions(self) -> dict[str, Any]:
        return {"timeout": httpx.Timeout(self.timeout, connect=min(self.timeout, 5.0)).as_dict()}

    @cached_property
    def headers(self) -> list[tuple[bytes, bytes]]:
        return [
            (b"Host", httpx.URL(self.root).netloc),
            (b"Authorization", f"Bearer {self.token}".encode()),
            (b"User-Agent", f"memoryhub-client/{__version__}".encode()),
            (b"Accept-Encoding", b"gzip, deflate"),
        ]

    @property
    def proxy(self) -> str | None:
        """The proxy that the environment names for the hub, if any."""
        parts, named = urlsplit(self.url), urllib.request.getproxies()
        found = named.get(parts.scheme) or named.get("all")
        if not found or urllib.request.proxy_bypass(parts.netloc.rpartition("@")[2]):
            return None
        return found if "://" in found else f"http://{found}"


class Exchange:
    """One call from its first try to its result; `received` and `failed` say how long to wait before the next try, if there is one."""

    def __init__(self, settings: Settings, cache: Cache, call: Call, *, retries: int):
        self.settings, self.cache, self.call = settings, cache, call
        self.retries = retries
        self.copy = cache.get(call.cache_key) if call.cache_key else None
        self.tries = 0
        self.started = time.monotonic()
        self.answer: Answer | None = None
        self.problem: HubError | None = None

    def request(self) -> httpx.Request:
        """The next try, for a transport of httpx: its client does much for each call that none of ours needs.

        A transport follows no redirect, so the token never goes to another host.
        """
        headers = [*self.settings.headers, (b"Accept", self.call.accept.encode())]
        headers += [(name.encode(), header_value(value)) for name, value in self.call.headers.items()]
        if self.copy and self.copy.etag:
            headers.append((b"If-None-Match", self.copy.etag.encode()))
        content = b""
        if self.call.body is not None:
            content = body_bytes(self.call.body)
            headers += [(b"Content-Type", b"application/json"), (b"Content-Length", str(len(content)).encode())]
        query = query_of(self.call.params)
        if len(self.call.path) + len(query) > MAX_ADDRESS:
            raise Invalid("The query is too long for one call. Ask with fewer words.", code="too_long")
        url = address(f"{self.settings.root}{self.call.path}{query}")
        stream = httpx.ByteStream(content)
        return httpx.Request(self.call.method, url, headers=headers, stream=stream, extensions=self.settings.extensions)

    def received(self, status: int, headers: dict[str, str], body: bytes) -> float | None:
        if status == 304 and self.copy:
            self.answer = Answer(200, self.copy.body, headers_to_cache({**self.copy.headers, WARNINGS: ""}, headers))
            return None
        answer = Answer(status, body, headers)
        self.problem = self._problem_with(answer)
        if self.problem is None:
            self.answer = answer
            self._cache(answer)
            return None
        if isinstance(self.problem, RateLimited):
            return self._pause(self.problem.retry_after)
        if status in TEMPORARY and (self.call.repeatable or "retry-after" in headers):
            return self._pause(retry_after(headers))
        if isinstance(self.problem, HubUnavailable) and status < 300 and self.call.repeatable:
            return self._pause(None)  # half an answer
        return None

    def failed(self, problem: httpx.HTTPError) -> float | None:
        self.problem = self._unreachable(problem)
        again = self.call.repeatable or isinstance(problem, NOT_SENT)
        return self._pause(None) if again and not isinstance(problem, TooMuch) else None

    def result(self) -> Any:
        if self.answer is None and self.copy and self.call.stale_ok and isinstance(self.problem, HubUnavailable):
            self.answer = Answer(200, self.copy.body, self.copy.headers, stale=True)
        if self.answer is not None:
            return self.call.parse(self.answer)
        if isinstance(self.problem, Unauthenticated):
            self.cache.clear()
        elif self.call.cache_key and isinstance(self.problem, HubRefused):
            self.cache.drop(self.call.cache_key)  # what this token may not read (any more) leaves no copy
        raise self.problem or HubError("No answer.")

    def _pause(self, wanted: float | None) -> float | None:
        self.tries += 1
        pause = wanted if wanted is not None else random.uniform(0.5, 1.0) * FIRST_PAUSE * 2 ** (self.tries - 1)  # noqa: S311
        left = self.settings.patience - (time.monotonic() - self.started)
        return pause if self.tries <= self.retries and pause < left else None

    def _cache(self, answer: Answer) -> None:
        if self.call.cache_key and answer.status == 200:
            self.cache.put(self.call.cache_key, answer.body, headers_to_cache(answer.headers))

    def _problem_with(self, answer: Answer) -> HubError | None:
        status, headers = answer.status, answer.headers
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        place = self.settings.place
        if 300 <= status < 400:
            return HubRefused(
                f"{place} answers with a redirect to {target(headers)}. Set the hub's address (MEMORYHUB_URL) to the "
                "final one; the token is not sent along.",
                code="redirected",
                status=status,
            )
        if kind == "text/html":
            return HubUnavailable(
                f"{place} answers with a web page, not with memoryhub's API: a proxy, a sign-in page or another "
                "program stands there. Check the hub's address (MEMORYHUB_URL).",
                code="not_a_hub",
                status=status,
            )
        if status >= 400:
            return self._refusal(status, headers, error_of(answer) if kind == JSON else {})
        if (kind or JSON) != self.call.accept or (self.call.accept == JSON and not is_json(answer)):
            return HubUnavailable(
                f"{place} gave half an answer or one of another kind ({kind or 'none'}). Try again; if it stays, a "
                "proxy in between may change answers.",
                code="broken_answer",
                status=status,
            )
        return None

    def _refusal(self, status: int, headers: dict[str, str], error: dict[str, Any]) -> HubError:
        details = {name: value for name, value in error.items() if name not in ("code", "message")}
        facts: dict[str, Any] = {"code": error.get("code", "error"), "status": status, "details": details}
        message = error.get("message") or f"{self.settings.place} answered with status {status}."
        if status == 401:
            message = (
                f"{self.settings.place} does not accept this token: it may be mistyped, revoked or expired. Make a "
                "new one on the agent's Connect page and set MEMORYHUB_TOKEN."
            )
            facts["code"] = error.get("code", "unauthenticated")
        if status == 429:
            seconds = retry_after(headers)
            wait = f"in {seconds:g} seconds" if seconds is not None else "a little later"
            return RateLimited(f"The hub asks to slow down. Try again {wait}.", retry_after=seconds, **facts)
        if status >= 500:
            again = "" if message.endswith("try again.") else " Try again a little later."
            return HubUnavailable(f"The hub is in trouble ({status}): {message}{again}", **facts)
        return BY_STATUS.get(status, HubRefused)(message, **facts)

    def _unreachable(self, problem: httpx.HTTPError) -> HubUnavailable:
        place = self.settings.place
        if isinstance(problem, httpx.ConnectError) and "[SSL" in str(problem):
            text = f"TLS with {place} failed: {problem}. SSL_CERT_FILE can name the authorities that certificates are checked by."
            return HubUnavailable(text, code="unreachable")
        if isinstance(problem, httpx.ConnectTimeout | httpx.ConnectError):
            text = f"{place} cannot be reached. Start the hub (`memoryhub up`) or check its address (MEMORYHUB_URL)."
            return HubUnavailable(text, code="unreachable")
        if isinstance(problem, httpx.TimeoutException):
            text = f"{place} did not answer within {self.settings.timeout:g} seconds. Try again a little later."
            return HubUnavailable(text, code="timeout")
        if isinstance(problem, TooMuch):
            return HubUnavailable(f"{place} sent more than any answer of a hub holds.", code="not_a_hub")
        text = f"The connection to {place} broke in the middle of an answer. Try again."
        return HubUnavailable(text, code="broken_answer")


def headers_to_cache(*given: dict[str, str]) -> dict[str, str]:
    """The headers of an answer that are kept with its copy, the later ones where several have one."""
    found = {name: value for headers in given for name, value in headers.items() if name in CACHED_HEADERS}
    return {name: value for name, value in found.items() if value}


address = lru_cache(maxsize=512)(httpx.URL)  # taking one apart costs more than the rest of a request


def query_of(params: dict[str, Any]) -> str:
    """What follows the path in the address of a call."""
    try:
        return f"?{httpx.QueryParams(params)}" if params else ""
    except UnicodeEncodeError:
        raise Invalid("The query holds half a character (a lone surrogate).", code="invalid_content") from None


def header_value(value: str) -> bytes:
    """Invalid where it would end its line, or holds what no header can."""
    if CONTROL.search(value):
        raise Invalid("A header holds a control character.", code="invalid_content")
    return value.encode()


def body_bytes(body: dict[str, Any]) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode("ascii")
    except (TypeError, ValueError) as problem:
        raise HubRefused(f"This cannot be sent as JSON: {problem}.", code="invalid", status=422) from None


def is_json(answer: Answer) -> bool:
    try:
        answer.json  # noqa: B018 (parsed and cached)
    except ValueError:
        return False
    return True


def error_of(answer: Answer) -> dict[str, Any]:
    try:
        error = answer.json["error"]
    except (ValueError, KeyError, TypeError):
        return {}
    return error if isinstance(error, dict) else {}


def retry_after(headers: dict[str, str]) -> float | None:
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.isdecimal():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def target(headers: dict[str, str]) -> str:
    """Where a redirect leads, without a query that may hold secrets."""
    return headers.get("location", "nowhere").partition("?")[0]


def headers_of(response: httpx.Response) -> dict[str, str]:
    """The headers by their small names; of one that came twice, both."""
    found: dict[str, str] = {}
    for raw, value in response.headers.raw:
        name, text = raw.decode("ascii", "replace").lower(), value.decode("latin-1")
        found[name] = f"{found[name]}, {text}" if name in found else text
    return found
