"""What the sync and the async client share: settings, copies of files, waiting."""

from __future__ import annotations

import json
import logging
import os
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from . import wire
from .cache import Cache
from .calls import Call, read_key, virtual
from .errors import HubUnavailable
from .records import Record

AWAY_FOR = 5.0  # seconds
SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 20.0  # between two questions whether a person has decided
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
        pause = min(max(SHORTEST_PAUSE, waited / 4), LONGEST_PAUSE) * random.uniform(0.8, 1.2)  # noqa: S311  no secret
        yield max(0.0, min(pause, seconds - waited))
        if waited >= seconds:
            return


def chunks_within(chunk: bytes, so_far: int, deadline: float) -> bytes:
    if time.monotonic() > deadline:
        raise wire.TooSlow("the answer took too long")
    if so_far + len(chunk) > wire.MAX_ANSWER:
        raise wire.TooMuch("the answer is too large")
    return chunk


def file_key(path: str, thread_id: str | None) -> str:
    return json.dumps(["file", virtual(path), thread_id])


class HubBase:
    def __init__(self, settings: wire.Settings, cache_dir: Path | str | None):
        self.settings = settings
        self.cache = Cache(settings.url, settings.token, cache_dir)
        self._known: dict[str, str] = {}  # sha256 of the copies already on disk, to write each only once
        self._away_until = 0.0

    def exchange(self, call: Call) -> wire.Exchange:
        """A call; one try only while the hub was away a moment ago, so that an agent does not wait at every step."""
        return wire.Exchange(self.settings, self.cache, call, hasty=time.monotonic() < self._away_until)

    def finish(self, exchange: wire.Exchange) -> Any:
        away = isinstance(exchange.problem, HubUnavailable) and exchange.answer is None
        self._away_until = time.monotonic() + AWAY_FOR if away else 0.0
        return exchange.result()

    @property
    def url(self) -> str:
        return self.settings.url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.settings.place!r}, token='mh_…')"

    # Last good copies of files

    def keep_files(self, files: list[Record], thread_id: str | None) -> list[Record]:
        for file in files:
            if not file.get("error"):
                self._keep(file, thread_id)
            elif file["error"] == "file_not_found":
                self.forget_file(file["path"], thread_id)
        return files

    def forget_file(self, path: str, thread_id: str | None) -> None:
        """What is gone on the hub leaves no copy here."""
        self._known.pop(key := file_key(path, thread_id), None)
        self.cache.drop(key)
        self.cache.drop(read_key(path, thread_id))

    def _keep(self, file: Record, thread_id: str | None) -> None:
        key = file_key(file["path"], thread_id)
        body = json.dumps({name: file.get(name) for name in ("path", "content", "encoding")}).encode()
        if self._known.get(key) != (known := wire.digest(body)):
            self.cache.put(key, body)
            self._known[key] = known

    def kept_file(self, path: str, thread_id: str | None) -> Record | None:
        """The newer of what the last batch and the last single read brought."""
        copies = [self.cache.get(file_key(path, thread_id)), self.cache.get(read_key(path, thread_id))]
        kept = max(filter(None, copies), key=lambda copy: copy.at, default=None)
        if kept is None:
            return None
        log.warning("The hub is away; %s is the last good copy.", path)
        return Record(json.loads(kept.body))

    def kept_files(self, paths: Sequence[str], thread_id: str | None) -> list[Record]:
        """The last good copies while the hub is away; a file without one counts as not found."""
        found = []
        for path in paths:
            kept = self.kept_file(path, thread_id)
            missing = {"path": path, "content": None, "encoding": None, "error": "file_not_found"}
            found.append(Record({**kept, "path": path, "error": None} if kept else missing, stale=True))
        return found
