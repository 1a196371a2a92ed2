"""Logs the output of every node to quarantine without slowing the graph, and gives nodes that read memory."""

from __future__ import annotations

import atexit
import json
import logging
import queue
import threading
import time
import weakref
from collections.abc import Callable, Collection, Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage

from .errors import HubError, HubRefused, HubUnavailable
from .hub import MemoryHub
from .records import Record

log = logging.getLogger("memoryhub.client")

MAX_CONTENT = 200_000  # characters of one output; the hub takes 1 MiB
MAX_QUEUE = 10_000  # outputs that wait while the hub is away
NOT_NODES = ("__start__", "__end__")


class MemoryHubRecorder(BaseCallbackHandler):
    """A callback handler: `graph.invoke(input, {"callbacks": [recorder]})`.

    `kinds` names nodes that are not plain agents (`{"check": "fact_check", "recall": "memory_retrieval"}`), `scopes`
    nodes whose output is the agent's own experience; `only` or `skip` choose nodes. Outputs wait in a bounded queue
    and are sent by one thread; while the hub is away they stay there. `flush()` waits until all are sent.
    """

    run_inline = True  # in the order of the run; only a queue is filled here

    def __init__(
        self,
        hub: MemoryHub,
        *,
        session: str | None = None,
        kinds: Mapping[str, str] | None = None,
        scopes: Mapping[str, str] | None = None,
        scope: str = "group",
        only: Collection[str] | None = None,
        skip: Collection[str] = ("tools",),
        size: int = MAX_QUEUE,
    ):
        super().__init__()
        self.hub, self.session, self.scope = hub, session, scope
        self.kinds, self.scopes = dict(kinds or {}), dict(scopes or {})
        self.only, self.skip = only, set(skip)
        self.sent = self.dropped = 0
        self.refused: list[HubRefused] = []
        self._runs: dict[UUID, tuple[str, str, dict[str, Any]]] = {}
        self._queue: queue.Queue[dict[str, Any]] = queue.Queue(size)
        self._start = threading.Lock()
        self._thread: threading.Thread | None = None
        atexit.register(_flush_at_exit, weakref.ref(self))

    def __enter__(self) -> MemoryHubRecorder:
        return self

    def __exit__(self, *_: Any) -> None:
        self.flush()

    # Callbacks: a node's own run is the one whose name is the node's

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        metadata = kwargs.get("metadata") or {}
        node = metadata.get("langgraph_node")
        if node and kwargs.get("name") == node and node not in NOT_NODES and self._wants(node):
            session = self.session or str(metadata.get("thread_id") or kwargs.get("parent_run_id") or run_id)
            facts = {name: metadata[name] for name in ("langgraph_step", "langgraph_checkpoint_ns") if name in metadata}
            self._runs[run_id] = (node, session, facts)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        if (run := self._runs.pop(run_id, None)) is None:
            return
        text = output_text(outputs)
        if text.strip():
            self.record(text, node=run[0], session=run[1], metadata=run[2])

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._runs.pop(run_id, None)

    def _wants(self, node: str) -> bool:
        return node in self.only if self.only is not None else node not in self.skip

    # Sending

    def record(self, content: str, *, node: str, session: str, metadata: dict[str, Any] | None = None) -> None:
        """Puts one output into the queue; also for programs without LangGraph."""
        entry = {
            "content": content[:MAX_CONTENT],
            "session_id": session,
            "node_id": node,
            "node_kind": self.kinds.get(node, "agent"),
            "scope": self.scopes.get(node, self.scope),
            "metadata": metadata or {},
        }
        try:
            self._queue.put_nowait(entry)
        except queue.Full:
            self.dropped += 1
            log.error("%d outputs were not recorded: the hub is away and the queue is full.", self.dropped)
            return
        self._ensure_thread()

    def flush(self, timeout: float = 60.0) -> bool:
        """Waits until everything is sent; False when time is over first."""
        end = time.monotonic() + timeout
        while self._queue.unfinished_tasks and time.monotonic() < end:
            self._ensure_thread()
            time.sleep(0.01)
        return not self._queue.unfinished_tasks

    def _ensure_thread(self) -> None:
        with self._start:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._send_all, name="memoryhub-recorder", daemon=True)
                self._thread.start()

    def _send_all(self) -> None:
        while True:
            entry = self._queue.get()
            self._send_one(entry)
            self._queue.task_done()

    def _send_one(self, entry: dict[str, Any]) -> None:
        pause = 0.2
        while True:
            try:
                self.hub.log(**entry)
                self.sent += 1
                return
            except HubUnavailable as problem:
                log.warning("The recorder waits for the hub: %s", problem)
                time.sleep(pause)
                pause = min(pause * 2, 5.0)
            except HubError as problem:
                log.error("An output of node %s was not recorded: %s", entry["node_id"], problem)
                if isinstance(problem, HubRefused):
                    self.refused.append(problem)
                return

    # Nodes that read memory

    def retrieval_node(
        self, *, into: str = "memory", query: str | Callable[[Any], str] = "query", **options: Any
    ) -> Callable[[Any], dict[str, str]]:
        """A node that puts the formatted summary of what the hub remembers into the state; empty while it is away."""

        def retrieve(state: Any) -> dict[str, str]:
            try:
                return {into: self.hub.retrieve_text(query_of(state, query), **options)}
            except HubError as problem:
                log.warning("Nothing was retrieved: %s", problem)
                return {into: ""}

        return retrieve

    def evidence(self, claim: str, *, hot: int = 0, cold: int = 5, **options: Any) -> list[Record]:
        """What long-term memory says about a claim, for a fact-check node; nothing while the hub is away."""
        try:
            return self.hub.retrieve(claim, hot=hot, cold=cold, **options)
        except HubError as problem:
            log.warning("No evidence was retrieved: %s", problem)
            return []


def _flush_at_exit(recorder: weakref.ref[MemoryHubRecorder]) -> None:
    if (found := recorder()) is not None and not found.flush(timeout=10):
        log.error("%d outputs were not recorded: the hub is away.", found._queue.unfinished_tasks)


def query_of(state: Any, query: str | Callable[[Any], str]) -> str:
    """The query of a state: what a function says, a key holds, or the last message."""
    if callable(query):
        return query(state)
    found = state.get(query) if isinstance(state, Mapping) else getattr(state, query, None)
    if isinstance(found, str) and found:
        return found
    messages = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
    return output_text(messages[-1]) if messages else ""


def output_text(output: Any) -> str:
    """What a node said, as text: its messages, its only text, or its state as JSON."""
    if output is None or isinstance(output, str):
        return output or ""
    if isinstance(output, BaseMessage):
        return output.text if isinstance(output.text, str) else output.text()
    if isinstance(output, list | tuple):
        return "\n\n".join(text for text in map(output_text, output) if text)
    update = getattr(output, "update", None)
    if update is not None and not callable(update):  # a Command
        return output_text(update)
    if isinstance(output, Mapping):
        if "messages" in output:
            return output_text(output["messages"])
        if len(output) == 1 and isinstance(value := next(iter(output.values())), str):
            return value
        return json.dumps(output, ensure_ascii=False, default=str)
    return str(output)
