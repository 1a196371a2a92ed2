"""`MemoryHub`: the hub from plain Python."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from . import calls, wire
from .base import HubBase, chunks_within, from_environment, paused_waits
from .errors import HubUnavailable, NotFound
from .records import FileText, Outcome, Prompt, Record, Records


class Proposal(Record):
    """A change that waits, or waited, for a person."""

    _hub: MemoryHub

    def refresh(self) -> Proposal:
        self.update(self._hub.send(calls.proposal(self["number"])))
        return self

    def wait(self, seconds: float = 60) -> Proposal:
        """Asks again until it is decided or the time is over; look at `state` afterwards."""
        for pause in paused_waits(seconds):
            with contextlib.suppress(HubUnavailable):  # a hub that restarts does not end the waiting
                self.refresh()
            if self["state"] != "pending":
                break
            time.sleep(pause)
        return self


class MemoryHub(HubBase):
    """A hub, its address and an agent's token. Thread-safe; keeps its connections open until `close()`."""

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
        super().__init__(wire.Settings(url, token, timeout, patience, retries), cache_dir)
        self._http: httpx.BaseTransport = httpx.HTTPTransport(proxy=self.settings.proxy)

    @classmethod
    def from_env(cls, **options: Any) -> MemoryHub:
        """The hub that `MEMORYHUB_URL` and `MEMORYHUB_TOKEN` name."""
        return cls(*from_environment(), **options)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> MemoryHub:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def send(self, call: calls.Call) -> Any:
        """Carries one call through its tries to its result."""
        exchange = self.exchange(call)
        while True:
            try:
                pause = exchange.heard(*self._once(exchange))
            except httpx.HTTPError as problem:
                pause = exchange.failed(problem)
            if pause is None:
                return self.finish(exchange)
            time.sleep(pause)

    def _once(self, exchange: wire.Exchange) -> tuple[int, dict[str, str], bytes]:
        deadline = time.monotonic() + self.settings.timeout
        response = self._http.handle_request(exchange.request())
        try:
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunks_within(chunk, len(body), deadline)
            return response.status_code, wire.headers_of(response), bytes(body)
        finally:
            response.close()

    # Prompt

    def prompt(self, **options: Any) -> Prompt:
        """The exact text this agent gets (`query`, `task`, `thread`, `dialect`, `at`, `system_prompt`)."""
        return self.send(calls.prompt(**options))

    def prompt_details(self, **options: Any) -> Record:
        """The prompt with its fragment, sources, parts and warnings."""
        return self.send(calls.prompt(**options, details=True))

    def report_template(self, **template: str) -> Record:
        return self.send(calls.report_template(**template))

    # Files

    def list(self, prefix: str = "/", *, thread_id: str | None = None) -> Records:
        return self.send(calls.list_files(prefix, thread_id=thread_id))

    def walk(self, prefix: str = "/", *, thread_id: str | None = None) -> Records:
        """Every file below a prefix, hidden ones too, sorted by path."""
        folders, files = [prefix.rstrip("/") + "/"], []
        while folders:
            with contextlib.suppress(NotFound):
                for entry in self.send(calls.list_files(folders.pop(), thread_id=thread_id)):
                    if entry["is_dir"]:
                        folders.append(entry["path"].rstrip("/") + "/")
                    else:
                        files.append(entry)
        return sorted(files, key=lambda entry: entry["path"])

    def read(self, path: str, *, thread_id: str | None = None) -> FileText:
        """The published text; the last good copy (`stale`) while the hub is away."""
        try:
            return self.send(calls.read(path, thread_id=thread_id))
        except HubUnavailable:
            kept = self.kept_file(path, thread_id)
            if kept is None:
                raise
            return FileText.of(kept, stale=True)
        except NotFound:
            self.forget_file(path, thread_id)
            raise

    def batch(self, paths: Sequence[str], *, thread_id: str | None = None) -> Records:
        """Many files in one request, in the same order, each with `content` or `error`."""
        try:
            return self.keep_files(self.send(calls.batch(paths, thread_id=thread_id)), thread_id)
        except HubUnavailable:
            return self.kept_files(paths, thread_id)

    def grep(self, pattern: str, **options: Any) -> Record:
        return self.send(calls.grep(pattern, **options))

    def glob(self, pattern: str, **options: Any) -> Record:
        return self.send(calls.glob(pattern, **options))

    def write(self, path: str, content: str | bytes, **options: Any) -> Outcome:
        """Writes a file (`reason`, `if_match`); the path's policy decides whether at once or as a proposal."""
        return self._own(self.send(calls.write(path, content, **options)))

    def edit(self, path: str, old: str, new: str, **options: Any) -> Outcome:
        """Replaces `old`, which must stand there once, unless `replace_all` is true."""
        return self._own(self.send(calls.edit(path, old, new, **options)))

    def delete(self, path: str, **options: Any) -> Outcome:
        return self._own(self.send(calls.delete(path, **options)))

    def move(self, source: str, target: str, **options: Any) -> Outcome:
        return self._own(self.send(calls.move(source, target, **options)))

    # Proposals

    def proposal(self, number: int) -> Proposal:
        return self._proposal(self.send(calls.proposal(number)))

    def proposals(self, state: str | None = None, **options: Any) -> Sequence[Proposal]:
        return [self._proposal(item) for item in self.send(calls.proposals(state, **options))]

    def withdraw(self, number: int) -> Record:
        return self.send(calls.withdraw(number))

    def approve(self, number: int, *, seen: str, **options: Any) -> Record:
        """For people's tokens: `seen` is the `result_sha256` of what was looked at."""
        return self.send(calls.approve(number, seen=seen, **options))

    def reject(self, number: int, *, note: str) -> Record:
        return self.send(calls.reject(number, note=note))

    # Layers

    def log(self, content: str, **options: Any) -> Record:
        """Logs raw output to quarantine (`session_id`, `node_id`, `node_kind`, `scope`, `metadata`)."""
        return self.send(calls.log(content, **options))

    def working(self, limit: int = 10) -> Records:
        return self.send(calls.working(limit))

    def retrieve(self, query: str, **options: Any) -> Records:
        """Working memory (`hot`) and long-term memory (`cold`) for a query."""
        return self.send(calls.retrieve(query, **options))

    def retrieve_text(self, query: str, **options: Any) -> str:
        """The same as one formatted summary, to be put into a prompt."""
        return self.send(calls.retrieve(query, summary=True, **options))

    def promote(self, *, reason: str, **options: Any) -> Outcome:
        return self._own(self.send(calls.promote(reason=reason, **options)))

    def search(self, q: str, **options: Any) -> Records:
        return self.send(calls.search(q, **options))

    def _proposal(self, data: dict[str, Any]) -> Proposal:
        proposal = Proposal(data)
        proposal._hub = self
        return proposal

    def _own(self, outcome: Outcome) -> Outcome:
        if outcome.get("proposal"):
            outcome["proposal"] = self._proposal(outcome["proposal"])
        return outcome
