"""Anthropic's memory tool (`memory_20250818`) on the hub's files, with the hub's gate.

    tool = MemoryHubTool(MemoryHub.from_env())
    client.beta.messages.run_tools(model=…, messages=…, tools=[tool])

The six commands run on the hub (`POST /api/v1/memory-tool`), so that people without the SDK get the same answers.
`MemoryHubTool(hub, thread_id="…")` tells reviewers which conversation asks.
"""

from __future__ import annotations

from typing import Any

from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool

from .errors import HubError
from .hub import AsyncMemoryHub, MemoryHub
from .records import Record

__all__ = ["AsyncMemoryHubTool", "MemoryHubTool"]


class MemoryHubTool(BetaAbstractMemoryTool):
    """The SDK's abstract memory tool, filled in; what goes wrong is a `ToolError` that the model reads."""

    def __init__(self, hub: MemoryHub, *, thread_id: str | None = None, **options: Any):
        super().__init__(**options)
        self.hub, self.thread_id = hub, thread_id

    def _run(self, command: Any) -> str:
        try:
            return result_text(self.hub.memory_tool(as_input(command, self.thread_id)))
        except HubError as problem:
            raise ToolError(problem.message) from problem

    view = create = str_replace = insert = delete = rename = _run


class AsyncMemoryHubTool(BetaAsyncAbstractMemoryTool):
    """`MemoryHubTool` for the asynchronous SDK."""

    def __init__(self, hub: AsyncMemoryHub, *, thread_id: str | None = None, **options: Any):
        super().__init__(**options)
        self.hub, self.thread_id = hub, thread_id

    async def _run(self, command: Any) -> str:
        try:
            return result_text(await self.hub.memory_tool(as_input(command, self.thread_id)))
        except HubError as problem:
            raise ToolError(problem.message) from problem

    view = create = str_replace = insert = delete = rename = _run


def as_input(command: Any, thread_id: str | None) -> dict[str, Any]:
    data = command if isinstance(command, dict) else command.model_dump(exclude_none=True)
    given = {name: value for name, value in data.items() if value is not None}
    return {**given, "thread_id": thread_id} if thread_id else given


def result_text(result: Record) -> str:
    if result["is_error"]:
        raise ToolError(result["content"])
    return result["content"]
