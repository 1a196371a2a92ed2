"""What both clients are made of: settings, one call with its tries, copies of files on disk, waiting."""

from __future__ import annotations

import json
import logging
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import httpx

from . import wire
from .cache import Cache
from .calls import API, Call, as_record, read_key, virtual, without_none
from .errors import HubUnavailable, Invalid
from .records import Record, sha256_of
from .steps import Steps

AWAY_FOR = 5.0  # seconds
MIN_PAUSE, MAX_PAUSE = 0.1, 20.0  # between two questions whether a person has decided
log = logging.getLogger("memoryhub.client")


def from_environment() -> tuple[str, str]:
    missing = [name for name in ("MEMORYHUB_URL", "MEMORYHUB_TOKEN") if not os.environ.get(name)]
    if missing:
        raise ValueError(f"Set {' and '.join(missing)}: both stand on the agent's Connect page.")
    return os.environ["MEMORYHUB_URL"], os.environ["MEMORYHUB_TOKEN"]


def paused_waits(seconds: float) -> Iterator[float]:
    """Pauses between questions: short at first, then about a quarter of the time that was waited, so that who waits long asks
    seldom; the last question at the end of the time. No two agents keep in step."""
    start = time.monotonic()
    while True:
        waited = time.monotonic() - start
        pause = min(max(MIN_PAUSE, waited / 4), MAX_PAUSE) * random.uniform(0.8, 1.2)  # noqa: S311  no secret
        yield max(0.0, min(pause, seconds - waited))
        if waited >= seconds:
            return


def file_key(path: str, thread_id: str | None) -> str:
    """The name of the copy of a file that a batch brought."""
    return json.dumps(["file", virtual(path), thread_id])


class HubBase:
    _transport: Callable[..., Any]

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 10.0,
        patience: float = 30.0,
        retries: int = 3,
        cache_dir: Path | str | None = None,
    ):
        self.settings = wire.Settings(url, token, timeout, patience, retries)
        self.cache = Cache(url, token, cache_dir)
        self._http = self._opened()
        self._written: dict[str, str] = {}  # sha256 of the copies that this process wrote, to write each only once
        self._away_until = 0.0

    def _opened(self) -> Any:
        """The transport; `ValueError` where the environment asks for one that cannot be made."""
        try:
            return self._transport(proxy=self.settings.proxy)
        except OSError as problem:
            why = problem.strerror or problem
            raise ValueError(f"The certificates of SSL_CERT_FILE or SSL_CERT_DIR cannot be read: {why}.") from None
        except ImportError as problem:  # the parts of httpx for SOCKS
            raise ValueError(f"The proxy of the environment cannot be used: {problem}") from None

    @classmethod
    def from_env(cls, **options: Any) -> Self:
        """The hub that `MEMORYHUB_URL` and `MEMORYHUB_TOKEN` name."""
        return cls(*from_environment(), **options)

    def _send(self, call: Call) -> Steps[Any]:
        """One call through its tries to its result; one try only while the hub was away a moment ago, so that an agent does
        not wait at every step."""
        is_away = time.monotonic() < self._away_until
        exchange = wire.Exchange(self.settings, self.cache, call, retries=0 if is_away else self.settings.retries)
        while True:
            received = yield exchange.request()
            pause = exchange.failed(received) if isinstance(received, httpx.HTTPError) else exchange.received(*received)
            if pause is None:
                break
            yield pause
        is_away = isinstance(exchange.problem, HubUnavailable) and exchange.answer is None
        self._away_until = time.monotonic() + AWAY_FOR if is_away else 0.0
        return exchange.result()

    def _send_batch(self, paths: list[str], thread_id: str | None, waiting: bool | None) -> Steps[list[Record]]:
        """The files by one request; by one for each half where all are more bytes than the hub answers at once."""
        call = Call(
            "POST",
            f"{API}/batch",
            body={"paths": [virtual(path) for path in paths], **without_none(thread_id=thread_id, waiting=waiting)},
            repeatable=True,
            cache_key=None if waiting else json.dumps(["batch", paths, thread_id]),
            parse=lambda answer: as_record(answer.json["files"]),
        )
        try:
            return (yield from self._send(call))
        except Invalid as refusal:
            if refusal.code != "too_many_bytes" or len(paths) < 2:
                raise
        found: list[Record] = []
        for half in (paths[: len(paths) // 2], paths[len(paths) // 2 :]):
            found += yield from self._send_batch(half, thread_id, waiting)
        return found

    def _run(self, steps: Steps[Any]) -> Any:
        """Carries steps out: sends the requests and waits the pauses."""
        raise NotImplementedError

    @property
    def url(self) -> str:
        return self.settings.url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.settings.place!r}, token='mh_…')"

    # Last good copies of files

    def _cache_files(self, files: list[Record], thread_id: str | None) -> list[Record]:
        """Writes copies of files that a batch brought, and drops those of files that it did not find."""
        for file in files:
            if not file.get("error"):
                self._cache_file(file, thread_id)
            elif file["error"] == "file_not_found":
                self._drop_copies(file["path"], thread_id)
        return files

    def _drop_copies(self, path: str, thread_id: str | None) -> None:
        """What is gone on the hub leaves no copy here."""
        self._written.pop(key := file_key(path, thread_id), None)
        self.cache.drop(key)
        self.cache.drop(read_key(path, thread_id))

    def _cache_file(self, file: Record, thread_id: str | None) -> None:
        key = file_key(file["path"], thread_id)
        body = json.dumps({name: file.get(name) for name in ("path", "content", "encoding")}).encode()
        if self._written.get(key) != (digest := sha256_of(body)):
            self.cache.put(key, body)
            self._written[key] = digest

    def _cached_file(self, path: str, thread_id: str | None) -> Record | None:
        """The newer of what the last batch and the last single read brought."""
        copies = [self.cache.get(file_key(path, thread_id)), self.cache.get(read_key(path, thread_id))]
        newest = max(filter(None, copies), key=lambda copy: copy.at, default=None)
        if newest is None:
            return None
        log.warning("The hub is away; %s is the last good copy.", path)
        return Record(json.loads(newest.body))

    def _cached_files(self, paths: Sequence[str], thread_id: str | None) -> list[Record]:
        """The last good copies while the hub is away; a file without one counts as not found."""
        found = []
        for path in paths:
            copy = self._cached_file(path, thread_id)
            missing = {"path": path, "content": None, "encoding": None, "error": "file_not_found"}
            found.append(Record({**copy, "path": path, "error": None} if copy else missing, stale=True))
        return found
