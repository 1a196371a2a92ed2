"""The memory of the hub in a deepagents agent's system prompt, fresh at every run."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from importlib.metadata import version
from typing import Any

from deepagents.middleware.memory import MEMORY_SYSTEM_PROMPT, MemoryMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig

from .deepagents import MemoryHubBackend, is_pending, reason, tool_call
from .errors import HubError
from .hub import MemoryHub
from .threads import current_thread

log = logging.getLogger("memoryhub.client")

FRAGMENT = ""  # the key, no path, under which a text stands that the hub assembled
FILE_TOOLS = ("edit_file", "write_file", "delete")
MAX_REASON = 500  # characters


class MemoryHubMiddleware(MemoryMiddleware):
    """Takes the place of the stock memory middleware.

    Without `sources` the hub decides what this agent remembers and records what was delivered to which thread. With
    `sources`, those paths are read instead, below the root of the hub or of `backend`.
    """

    name = "MemoryMiddleware"

    def __init__(
        self,
        hub: MemoryHub | MemoryHubBackend | None = None,
        *,
        backend: Any = None,
        sources: list[str] | None = None,
        system_prompt: str | None = MEMORY_SYSTEM_PROMPT,
        add_cache_control: bool = True,
    ):
        if isinstance(hub, MemoryHubBackend):
            backend, hub = backend or hub, hub.hub
        if hub is None and isinstance(backend, MemoryHubBackend):
            hub = backend.hub
        if hub is None:
            hub = MemoryHub.from_env()
        super().__init__(
            backend=backend or MemoryHubBackend(hub, mount="/"),
            sources=list(sources or []),
            system_prompt=system_prompt,
            add_cache_control=add_cache_control,
        )
        self.hub = hub
        self._reported = False

    # Loading: at every run, also of a thread whose state holds an older memory

    def before_agent(self, state: Any, runtime: Any, config: RunnableConfig) -> dict[str, Any]:
        thread = current_thread() or (config.get("configurable") or {}).get("thread_id")
        return self._load(None if thread is None else str(thread))

    async def abefore_agent(self, state: Any, runtime: Any, config: RunnableConfig) -> dict[str, Any]:
        return await asyncio.to_thread(self.before_agent, state, runtime, config)

    def _load(self, thread: str | None) -> dict[str, Any]:
        try:
            return {"memory_contents": self._download() if self.sources else self._ask(thread)}
        except HubError as problem:
            log.warning("This run starts without memory. %s", problem)
        except Exception:  # the agent's run is worth more than our traceback
            log.exception("This run starts without memory: the client failed")
        return {"memory_contents": {}}

    def _ask(self, thread: str | None) -> dict[str, str]:
        self._report_once()
        prompt = self.hub.prompt_details(dialect=f"deepagents/{version('deepagents')}", thread=thread)
        fragment = prompt["fragment"]
        if any(warning["code"] == "template_unknown" for warning in prompt["warnings"]):
            fragment = self.system_prompt.format(agent_memory=fragment) if self.system_prompt else fragment
        return {FRAGMENT: fragment}

    def _download(self) -> dict[str, str]:
        found = zip(self.sources, self._backend.download_files(list(self.sources)), strict=True)
        return {path: file.content.decode("utf-8", "replace") for path, file in found if file.content is not None}

    def _report_once(self) -> None:
        """Tells the hub which template this library has, so that its preview is exact; failing costs nothing here."""
        if self._reported:
            return
        text = self.system_prompt or MEMORY_SYSTEM_PROMPT
        try:
            self.hub.report_template(library="deepagents", version=version("deepagents"), text=text)
        except HubError as problem:
            log.info("The template was not reported: %s", problem)
        self._reported = True

    # Injecting: the library places the text, as it does with its own

    def _format_agent_memory(self, contents: dict[str, str], template: str = MEMORY_SYSTEM_PROMPT) -> str:
        return contents[FRAGMENT] if FRAGMENT in contents else super()._format_agent_memory(contents, template)

    def modify_request(self, request: Any) -> Any:
        if request.state.get("memory_contents") == {FRAGMENT: ""}:  # memory is switched off for this agent
            return request
        return super().modify_request(request)

    # A change that waits for a person is an expected outcome, not a failed tool call

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        with call_noted(request):
            return as_success(request, handler(request))

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        with call_noted(request):
            return as_success(request, await handler(request))


@contextlib.contextmanager
def call_noted(request: Any) -> Iterator[None]:
    """What a reviewer wants to know of a change that is made meanwhile: which tool call it was, and why."""
    call, why = tool_call.set(request.tool_call.get("id")), reason.set(text_of_call(request))
    try:
        yield
    finally:
        tool_call.reset(call)
        reason.reset(why)


def text_of_call(request: Any) -> str | None:
    """The library's file tools take no reason: what the model said in the message of the call stands for it."""
    messages = request.state.get("messages") if isinstance(request.state, dict) else None
    for message in reversed(messages or []):
        calls = getattr(message, "tool_calls", None) or []
        if any(one.get("id") == request.tool_call.get("id") for one in calls):
            return " ".join(message.text.split())[:MAX_REASON] or None
    return None


def as_success(request: Any, result: Any) -> Any:
    """The tool's answer; when it says that the change waits for a person, as a success."""
    waits = isinstance(result, ToolMessage) and result.status == "error" and is_pending(result.content)
    if waits and request.tool_call.get("name") in FILE_TOOLS:
        return result.model_copy(update={"status": "success"})
    return result
