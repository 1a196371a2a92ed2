"""Every call of the REST contract, for both clients."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import Any

from .base import HubBase, paused_waits
from .calls import (
    API,
    MAX_QUERY,
    Answer,
    Call,
    as_record,
    encoded,
    file_address,
    items,
    outcome,
    read_key,
    virtual,
    without_none,
)
from .errors import HubUnavailable, NotFound
from .records import FileText, Outcome, Prompt, Record, Records
from .steps import Steps, verb


class Proposal(Record):
    """A change that waits, or waited, for a person; of an `AsyncMemoryHub` its methods are awaited."""

    _hub: Verbs

    @verb
    def refresh(self) -> Steps[Proposal]:
        return self._refresh()

    @verb
    def wait(self, seconds: float = 60) -> Steps[Proposal]:
        """Asks again until it is decided or the time is over; look at `state` afterwards."""
        for pause in paused_waits(seconds):
            with contextlib.suppress(HubUnavailable):  # a hub that restarts does not end the waiting
                yield from self._refresh()
            if self["state"] != "pending":
                break
            yield pause
        return self

    def _refresh(self) -> Steps[Proposal]:
        self.update((yield from self._hub._send(proposal_call(self["number"]))))
        return self

    def _run(self, steps: Steps[Any]) -> Any:
        return self._hub._run(steps)


class Verbs(HubBase):
    """The methods of a hub; `HubBase._send` makes the steps of one call."""

    # Prompt

    @verb
    def prompt(self, **options: Any) -> Steps[Prompt]:
        """The exact text this agent gets (`query`, `task`, `thread`, `dialect`, `at`, `system_prompt`)."""
        return self._send(prompt_call("text/plain", prompt_text, **options))

    @verb
    def prompt_details(self, **options: Any) -> Steps[Record]:
        """The prompt with its fragment, sources, parts and warnings."""
        return self._send(prompt_call("application/json", prompt_details, **options))

    @verb
    def report_template(self, *, library: str, version: str, text: str) -> Steps[Record]:
        body = {"library": library, "version": version, "text": text}
        return self._send(Call("POST", f"{API}/templates", body=body, repeatable=True))

    # Files

    @verb
    def list(self, prefix: str = "/", *, thread_id: str | None = None) -> Steps[Records]:
        return self._send(list_call(prefix, thread_id))

    @verb
    def walk(self, prefix: str = "/", *, thread_id: str | None = None) -> Steps[Records]:
        """Every file below a prefix, hidden ones too, sorted by path."""
        folders, files = [prefix.rstrip("/") + "/"], []
        while folders:
            with contextlib.suppress(NotFound):
                for entry in (yield from self._send(list_call(folders.pop(), thread_id))):
                    if entry["is_dir"]:
                        folders.append(entry["path"].rstrip("/") + "/")
                    else:
                        files.append(entry)
        return sorted(files, key=lambda entry: entry["path"])

    @verb
    def read(self, path: str, *, thread_id: str | None = None) -> Steps[FileText]:
        """The published text; the last good copy (`stale`) while the hub is away."""
        call = Call(
            "GET",
            file_address(path),
            params=without_none(thread_id=thread_id),
            repeatable=True,
            cache_key=read_key(path, thread_id),
            parse=lambda answer: FileText.from_json(answer.json, stale=answer.stale),
        )
        try:
            return (yield from self._send(call))
        except HubUnavailable:
            copy = self._cached_file(path, thread_id)
            if copy is None:
                raise
            return FileText.from_json(copy, stale=True)
        except NotFound:
            self._drop_copies(path, thread_id)
            raise

    @verb
    def batch(
        self, paths: Sequence[str], *, thread_id: str | None = None, waiting: bool | None = None
    ) -> Steps[Records]:
        """Many files in one request, in the same order, each with `content` or `error`. With `waiting`, what this agent wrote
        and a person has not decided on stands in their place, and `proposal` is its number."""
        try:
            found = yield from self._send_batch([*paths], thread_id, waiting)
            return found if waiting else self._cache_files(found, thread_id)
        except HubUnavailable:
            return self._cached_files(paths, thread_id)

    @verb
    def grep(
        self, pattern: str, *, prefix: str | None = None, glob: str | None = None, thread_id: str | None = None
    ) -> Steps[Record]:
        params = without_none(pattern=pattern, prefix=prefix, glob=glob, thread_id=thread_id)
        return self._send(Call("GET", f"{API}/grep", params=params, repeatable=True))

    @verb
    def glob(
        self,
        pattern: str,
        *,
        prefix: str | None = None,
        thread_id: str | None = None,
        oldest: int | None = None,
        offset: int | None = None,
    ) -> Steps[Record]:
        """The files whose path fits; with `oldest` so many at most, in the order they were made, the first `offset` passed by."""
        params = without_none(pattern=pattern, prefix=prefix, thread_id=thread_id, oldest=oldest, offset=offset)
        return self._send(Call("GET", f"{API}/glob", params=params, repeatable=True))

    @verb
    def write(
        self, path: str, content: str | bytes, *, if_match: str | None = None, **notes: str | None
    ) -> Steps[Outcome]:
        """Writes a file (`reason`, `thread_id`, `tool_call_id`); the path's policy decides whether at once or as a proposal."""
        call = Call(
            "PUT",
            file_address(path),
            body={**encoded(content), **without_none(**notes)},
            headers={"If-Match": f'"{if_match.strip(chr(34))}"'} if if_match else {},
            repeatable=if_match is None,  # sent twice, the second would meet its own change and be refused
            parse=outcome,
        )
        return self._send_write(call)

    @verb
    def edit(self, path: str, old: str, new: str, *, replace_all: bool = False, **notes: str | None) -> Steps[Outcome]:
        """Replaces `old`, which must stand there once, unless `replace_all` is true."""
        body = {"path": virtual(path), "old_string": old, "new_string": new, "replace_all": replace_all}
        return self._send_write(Call("POST", f"{API}/edits", body={**body, **without_none(**notes)}, parse=outcome))

    @verb
    def delete(self, path: str, **notes: str | None) -> Steps[Outcome]:
        return self._send_write(Call("DELETE", file_address(path), params=without_none(**notes), parse=outcome))

    @verb
    def move(self, source: str, target: str, **notes: str | None) -> Steps[Outcome]:
        body = {"from": virtual(source), "to": virtual(target), **without_none(**notes)}
        return self._send_write(Call("POST", f"{API}/moves", body=body, parse=outcome))

    @verb
    def memory_tool(self, command: dict[str, Any]) -> Steps[Record]:
        """One command of Anthropic's memory tool, as a model gives it; the answer has `content` and `is_error`."""
        repeatable = command.get("command") == "view"
        return self._send(Call("POST", f"{API}/memory-tool", body=command, repeatable=repeatable))

    # Proposals

    @verb
    def proposal(self, number: int) -> Steps[Proposal]:
        return self._as_proposal((yield from self._send(proposal_call(number))))

    @verb
    def proposals(
        self, state: str | None = None, *, limit: int | None = None, cursor: str | None = None
    ) -> Steps[Sequence[Proposal]]:
        params = without_none(state=state, limit=limit, cursor=cursor)
        found = yield from self._send(Call("GET", f"{API}/proposals", params=params, repeatable=True, parse=items))
        return [self._as_proposal(item) for item in found]

    @verb
    def withdraw(self, number: int) -> Steps[Record]:
        return self._send(Call("DELETE", f"{API}/proposals/{int(number)}"))

    @verb
    def approve(self, number: int, *, seen: str, note: str | None = None, content: str | None = None) -> Steps[Record]:
        """For people's tokens: `seen` is the `result_sha256` of what was looked at."""
        body = {"seen": seen, **without_none(note=note, content=content)}
        return self._send(Call("POST", f"{API}/proposals/{int(number)}/approve", body=body))

    @verb
    def reject(self, number: int, *, note: str) -> Steps[Record]:
        return self._send(Call("POST", f"{API}/proposals/{int(number)}/reject", body={"note": note}))

    # Layers

    @verb
    def log(
        self,
        content: str,
        *,
        session_id: str = "default",
        node_id: str = "agent",
        node_kind: str = "agent",
        scope: str = "group",
        metadata: dict[str, Any] | None = None,
    ) -> Steps[Record]:
        """Logs raw output to quarantine."""
        body = {"session_id": session_id, "node_id": node_id, "node_kind": node_kind, "scope": scope}
        body = {"content": content, **body, **without_none(metadata=metadata)}
        return self._send(Call("POST", f"{API}/quarantine", body=body))

    @verb
    def working(self, limit: int = 10) -> Steps[Records]:
        return self._send(Call("GET", f"{API}/working", params={"limit": limit}, repeatable=True, parse=items))

    @verb
    def retrieve(self, query: str, **options: Any) -> Steps[Records]:
        """Working memory and long-term memory for a query (`hot`, `cold`, `threshold`, `max_chars`, `scope`)."""
        return self._send(retrieve_call("application/json", items, query, **options))

    @verb
    def retrieve_text(self, query: str, **options: Any) -> Steps[str]:
        """What `retrieve` finds as one formatted summary, to be put into a prompt."""
        return self._send(retrieve_call("text/plain", lambda answer: answer.body.decode("utf-8"), query, **options))

    @verb
    def promote(
        self,
        *,
        reason: str,
        quarantine_id: int | str | None = None,
        content: str | None = None,
        **notes: str | None,
    ) -> Steps[Outcome]:
        body = {"reason": reason, **without_none(quarantine_id=quarantine_id, content=content, **notes)}
        return self._send_write(Call("POST", f"{API}/promotions", body=body, parse=outcome))

    @verb
    def search(self, q: str, *, layers: str | None = None, limit: int | None = None) -> Steps[Records]:
        params = without_none(q=q, layers=layers, limit=limit)
        return self._send(Call("GET", f"{API}/search", params=params, repeatable=True, parse=items))

    def _send_write(self, call: Call) -> Steps[Outcome]:
        outcome = yield from self._send(call)
        if outcome.get("proposal"):
            outcome["proposal"] = self._as_proposal(outcome["proposal"])
        return outcome

    def _as_proposal(self, data: dict[str, Any]) -> Proposal:
        proposal = Proposal(data)
        proposal._hub = self
        return proposal


def proposal_call(number: int) -> Call:
    return Call("GET", f"{API}/proposals/{int(number)}", repeatable=True, cache_key=f'["proposal", {int(number)}]')


def list_call(prefix: str, thread_id: str | None) -> Call:
    return Call(
        "GET",
        f"{API}/files",
        params=without_none(prefix=virtual(prefix), thread_id=thread_id),
        repeatable=True,
        parse=lambda answer: as_record(answer.json["entries"]),
    )


def prompt_call(
    accept: str,
    parse: Any,
    *,
    dialect: str | None = None,
    query: str | None = None,
    task: str | None = None,
    thread: str | None = None,
    at: str | None = None,
    system_prompt: str | None = None,
) -> Call:
    fields = without_none(dialect=dialect, query=query, task=task, thread=thread, at=at)
    is_posted = system_prompt is not None or sum(len(str(value)) for value in fields.values()) > MAX_QUERY
    return Call(
        "POST" if is_posted else "GET",
        f"{API}/prompt",
        params={} if is_posted else fields,
        body={**fields, **without_none(system_prompt=system_prompt)} if is_posted else None,
        accept=accept,
        repeatable=True,
        cache_key=json.dumps(["prompt", accept == "application/json", fields, system_prompt], sort_keys=True),
        stale_ok=True,
        parse=parse,
    )


def prompt_text(answer: Answer) -> Prompt:
    warnings = answer.headers.get("memoryhub-warnings", "")
    return Prompt.from_text(answer.body.decode("utf-8"), stale=answer.stale, warnings=warnings)


def prompt_details(answer: Answer) -> Record:
    return Record({**as_record(answer.json), "stale": answer.stale})


def retrieve_call(
    accept: str,
    parse: Any,
    query: str,
    *,
    hot: int | None = None,
    cold: int | None = None,
    threshold: float | None = None,
    max_chars: int | None = None,
    scope: str | None = None,
) -> Call:
    params = without_none(query=query, hot=hot, cold=cold, threshold=threshold, max_chars=max_chars, scope=scope)
    return Call("GET", f"{API}/retrieve", params=params, accept=accept, repeatable=True, parse=parse)
