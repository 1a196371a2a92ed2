"""What one call sends, and what its answers mean: headers, retries, failures. No input or output happens here."""

from __future__ import annotations

import email.utils
import json
import random
import ssl
import time
import urllib.request
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from memoryhub import __version__

from .cache import Cache
from .calls import Answer, Call
from .errors import BY_STATUS, HubError, HubRefused, HubUnavailable, Invalid, RateLimited, Unauthenticated
from .http1 import Failed, NotSent, Request, TooMuch, TooSlow, header_lines

MAX_ADDRESS = 60_000  # bytes of path and query: the hub reads heads of 64 kB
WARNINGS = "memoryhub-warnings"
CACHED_HEADERS = ("etag", "content-type", WARNINGS)
TEMPORARY = (502, 503, 504)  # statuses that may pass
FIRST_PAUSE = 0.4  # seconds at most between the first two tries of a call; each next pause is twice as long


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
    def path(self) -> str:
        """What stands before each path of a call, as it stands in an address."""
        return quote(urlsplit(self.url).path.rstrip("/"), safe="/%:@!$&'()*+,;=~")

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Those of every call."""
        return [
            ("Authorization", f"Bearer {self.token}"),
            ("User-Agent", f"memoryhub-client/{__version__}"),
            ("Accept-Encoding", "gzip"),
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

    def request(self) -> Request:
        """The next try. No redirect is followed, so the token never goes to another host."""
        headers, content = [("Accept", self.call.accept), *self.call.headers.items()], b""
        if self.copy and self.copy.etag:
            headers.append(("If-None-Match", self.copy.etag))
        if self.call.body is not None:
            content = body_bytes(self.call.body)
            headers += [("Content-Type", "application/json"), ("Content-Length", str(len(content)))]
        target = f"{self.call.path}?{query(self.call.params)}" if self.call.params else self.call.path
        if len(target) > MAX_ADDRESS:
            raise Invalid("The query is too long for one call. Ask with fewer words.", code="too_long")
        try:
            return Request(self.call.method, self.settings.path + target, header_lines(headers), content)
        except ValueError as problem:
            raise Invalid(f"This cannot be sent: {problem}.") from None

    def received(self, status: int, headers: dict[str, str], body: bytes) -> float | None:
        if status == 304 and self.copy:
            self.answer = Answer(200, self.copy.body, kept_headers({**self.copy.headers, WARNINGS: ""}, headers))
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

    def failed(self, problem: Failed) -> float | None:
        self.problem = self._unreachable(problem)
        again = self.call.repeatable or isinstance(problem, NotSent)
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
            self.cache.put(self.call.cache_key, answer.body, kept_headers(answer.headers))

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
            return self._refusal(status, headers, error_of(answer) if kind == "application/json" else {})
        if (kind or "application/json") != self.call.accept or (kind == "application/json" and not is_json(answer)):
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
            return HubUnavailable(f"The hub is in trouble ({status}): {message} Try again a little later.", **facts)
        return BY_STATUS.get(status, HubRefused)(message, **facts)

    def _unreachable(self, problem: Failed) -> HubUnavailable:
        place = self.settings.place
        if isinstance(problem, NotSent) and isinstance(problem.__cause__, ssl.SSLError | FileNotFoundError):
            text = f"TLS with {place} failed: {problem}. SSL_CERT_FILE can name the authorities that certificates are checked by."
            return HubUnavailable(text, code="unreachable")
        if isinstance(problem, NotSent):
            text = f"{place} cannot be reached. Start the hub (`memoryhub up`) or check its address (MEMORYHUB_URL)."
            return HubUnavailable(text, code="unreachable")
        if isinstance(problem, TooSlow):
            text = f"{place} did not answer within {self.settings.timeout:g} seconds. Try again a little later."
            return HubUnavailable(text, code="timeout")
        if isinstance(problem, TooMuch):
            return HubUnavailable(f"{place} sent more than any answer of a hub holds.", code="not_a_hub")
        text = f"The connection to {place} broke in the middle of an answer. Try again."
        return HubUnavailable(text, code="broken_answer")


def kept_headers(*given: dict[str, str]) -> dict[str, str]:
    """The headers of an answer that are kept with its copy, the later ones where several have one."""
    found = {name: value for headers in given for name, value in headers.items() if name in CACHED_HEADERS}
    return {name: value for name, value in found.items() if value}


def query(params: dict[str, Any]) -> str:
    """The query of an address; truth as JSON has it."""
    given = {name: str(value).lower() if isinstance(value, bool) else value for name, value in params.items()}
    try:
        return urlencode(given)
    except UnicodeEncodeError:
        raise Invalid("The query holds half a character (a lone surrogate).", code="invalid_content") from None


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
    if value.isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def target(headers: dict[str, str]) -> str:
    """Where a redirect leads, without a query that may hold secrets."""
    return headers.get("location", "nowhere").partition("?")[0]
