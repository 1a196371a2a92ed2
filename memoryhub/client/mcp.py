"""MCP: the hub's memory as tools, resources and a prompt, for any client that speaks the protocol."""

from __future__ import annotations

import base64
import functools
import uuid
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Annotated, Any

from mcp import MCPError
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp_types import INTERNAL_ERROR, Resource, ToolAnnotations
from pydantic import Field

from memoryhub import __version__

from .errors import HubError, NotFound
from .hub import AsyncMemoryHub
from .records import FileText, Outcome

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
EDITS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
FILES = "memory://files"
MAX_RESOURCES = 1000
MAX_BINARY = 64 * 1024  # bytes
SESSION = f"mcp-{uuid.uuid4().hex[:8]}"  # the protocol names no thread: this says which changes came of one process
tool_call: ContextVar[str | None] = ContextVar("memoryhub_tool_call", default=None)
OTHER_NAMES = {  # what models call them as well
    "memory_list": {"path": "prefix"},
    "memory_search": {"query": "q"},
    "memory_move": {"path": "from", "source": "from", "old_path": "from", "target": "to", "new_path": "to"},
}
INSTRUCTIONS = (
    "The team's memory. Read it before you start. Changes may wait for a person: then the answer names a proposal, "
    "which is expected; do not retry and do not write the same elsewhere."
)


class HubServer(MCPServer):
    """An MCP server whose resources are the files that the hub has published."""

    def __init__(self, hub: AsyncMemoryHub):
        super().__init__(
            "memoryhub", title="memoryhub", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING"
        )
        self.hub = hub
        self._known: dict[str, list[str]] = {}  # the arguments of each tool
        for add in (add_reading, add_writing, add_memory, add_resources_and_prompt):
            add(self, hub)

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Known arguments alone: one that is dropped in silence would make the model believe it was heeded."""
        if not self._known:
            self._known = {tool.name: [*tool.input_schema.get("properties", {})] for tool in await self.list_tools()}
        if name in self._known:
            arguments = with_known_names(name, arguments, self._known[name])
        mark = tool_call.set(call_id(context))
        try:
            return await super().call_tool(name, arguments, context)
        finally:
            tool_call.reset(mark)

    async def list_resources(self) -> list[Resource]:
        try:
            files = await self.hub.walk("/")
        except HubError as problem:
            raise MCPError(INTERNAL_ERROR, problem.message) from problem
        return [
            Resource(uri=FILES + file["path"], name=file["path"], mime_type=mime_type(file["path"]))
            for file in files[:MAX_RESOURCES]
        ]


def taking_from(tool: Callable[..., Awaitable[str]]) -> Callable[..., Awaitable[str]]:
    """A tool whose `source` is called `from`, as in REST: a word that Python has taken."""

    @functools.wraps(tool)
    async def renamed(**given: Any) -> str:
        return await tool(source=given.pop("from"), **given)

    return renamed


def add_reading(server: MCPServer, hub: AsyncMemoryHub) -> None:
    @server.tool(title="List memory files", annotations=READS)
    async def memory_list(prefix: str = "/") -> dict[str, Any]:
        """List files and folders directly below a prefix such as /memories/."""
        return {"entries": await or_tool_error(hub.list(prefix))}

    @server.tool(title="Read a memory file", annotations=READS, structured_output=False)
    async def memory_read(path: str) -> str:
        """Read the published text of one file, such as /memories/AGENTS.md."""
        return as_text(path, await or_tool_error(hub.read(path)))

    @server.tool(title="Search memory", annotations=READS)
    async def memory_search(q: str, layers: str | None = None, limit: int = 20) -> dict[str, Any]:
        """Search words in files, working memory, long-term memory and proposals; layers is a comma-separated list."""
        return {"items": await or_tool_error(hub.search(q, layers=layers, limit=limit))}

    @server.tool(title="Retrieve memories", annotations=READS, structured_output=False)
    async def memory_retrieve(
        query: str,
        hot: int | None = None,
        cold: int | None = None,
        threshold: float | None = None,
        scope: str | None = None,
    ) -> str:
        """Get a summary of what is remembered about a query: recent work first, then long-term knowledge."""
        return await or_tool_error(hub.retrieve_text(query, hot=hot, cold=cold, threshold=threshold, scope=scope))

    @server.tool(title="See a proposal", annotations=READS)
    async def memory_proposal(number: int) -> dict[str, Any]:
        """See what became of a change you proposed: its state, and the reviewer's note."""
        return dict(await or_tool_error(hub.proposal(number)))


def add_writing(server: MCPServer, hub: AsyncMemoryHub) -> None:
    @server.tool(title="Edit a memory file", annotations=EDITS, structured_output=False)
    async def memory_edit(
        path: str, old_string: str, new_string: str, replace_all: bool = False, reason: str | None = None
    ) -> str:
        """Replace old_string, which must stand in the file exactly once, by new_string; say why in reason."""
        notes = {"reason": reason, "tool_call_id": tool_call.get()}
        call = hub.edit(path, old_string, new_string, replace_all=replace_all, **notes)
        return outcome_text(await or_tool_error(call), f"Edited {path}.")

    @server.tool(title="Write a memory file", annotations=WRITES, structured_output=False)
    async def memory_write(path: str, content: str, reason: str | None = None) -> str:
        """Write a whole file, new or in place of the old text; say why in reason."""
        call = hub.write(path, content, reason=reason, tool_call_id=tool_call.get())
        return outcome_text(await or_tool_error(call), f"Wrote {path}.")

    @server.tool(title="Delete a memory file", annotations=WRITES, structured_output=False)
    async def memory_delete(path: str, reason: str | None = None) -> str:
        """Delete a file; its history stays with the team. Say why in reason."""
        call = hub.delete(path, reason=reason, tool_call_id=tool_call.get())
        return outcome_text(await or_tool_error(call), f"Deleted {path}.")

    @server.tool(title="Move a memory file", annotations=EDITS, structured_output=False)
    @taking_from
    async def memory_move(source: Annotated[str, Field(alias="from")], to: str, reason: str | None = None) -> str:
        """Give a file another path, such as /memories/notes.md; say why in reason."""
        call = hub.move(source, to, reason=reason, tool_call_id=tool_call.get())
        return outcome_text(await or_tool_error(call), f"Moved {source} to {to}.")


def add_memory(server: MCPServer, hub: AsyncMemoryHub) -> None:
    @server.tool(title="Ask for long-term memory", annotations=ADDS, structured_output=False)
    async def memory_promote(
        content: str | None = None, reason: str = "", quarantine_id: int | None = None, scope: str | None = None
    ) -> str:
        """Ask people to keep a text, or a record of yours by quarantine_id, in long-term memory; say why in reason."""
        notes = {"scope": scope, "tool_call_id": tool_call.get()}
        call = hub.promote(reason=reason, quarantine_id=quarantine_id, content=content, **notes)
        return outcome_text(await or_tool_error(call), "Promoted.")

    @server.tool(title="Log output", annotations=ADDS, structured_output=False)
    async def memory_log(
        content: str,
        session_id: str = "mcp",
        node_id: str = "agent",
        node_kind: str = "agent",
        scope: str = "group",
        metadata: dict[str, Any] | None = None,
    ) -> str:
        """Log what was found out or done, for the team's working memory; it is checked before it counts."""
        facts = {"session_id": session_id, "node_id": node_id, "node_kind": node_kind, "scope": scope}
        record = await or_tool_error(hub.log(content, **facts, metadata=metadata))
        return f"Logged as record {record['id']}, {record['state']}."


def add_resources_and_prompt(server: MCPServer, hub: AsyncMemoryHub) -> None:
    @server.resource(FILES + "/{+path}", name="file", title="A memory file", mime_type="text/markdown")
    async def file(path: str) -> str | bytes:
        try:
            found = await hub.read(path)
        except NotFound as problem:
            raise ResourceNotFoundError(problem.message) from problem
        except HubError as problem:
            raise ResourceError(problem.message) from problem
        return found.data if found.info.get("encoding") == "base64" else str(found)

    @server.prompt(title="Memory", description="The exact memory prompt of this agent, fresh from the hub.")
    async def memory(query: str | None = None, task: str | None = None) -> str:
        try:
            return str(await hub.prompt(query=query or None, task=task or None))
        except HubError as problem:
            raise MCPError(INTERNAL_ERROR, problem.message) from problem


def call_id(context: Any) -> str | None:
    """Which call this is: the model's own id where the client tells it, else the number of the request in this process."""
    if context is None:
        return None
    for key, value in dict(context.request_context.meta or {}).items():
        if isinstance(value, str) and key.lower().endswith(("tooluseid", "toolcallid", "tool_use_id", "tool_call_id")):
            return value[:200]
    session = (context.headers or {}).get("mcp-session-id")
    return f"{f'mcp-{session[:32]}' if session else SESSION}/{context.request_id}"


def with_known_names(tool: str, arguments: dict[str, Any], known: list[str]) -> dict[str, Any]:
    """The arguments by the names the tool has for them; refused in one sentence when it has none."""
    second = OTHER_NAMES.get(tool, {})
    given: dict[str, Any] = {}
    for name, value in (arguments or {}).items():
        key = second.get(name, name)
        if key not in known or (key != name and key in arguments):
            raise ToolError(f"{tool} has no argument {name!r}; it takes: {', '.join(known)}.")
        given[key] = value
    return given


def as_text(path: str, file: FileText) -> str:
    """A file for a model: text as it is; of anything else, what it is, and small ones as base64."""
    if file.info.get("encoding") != "base64":
        return str(file)
    size = f"{path} is a binary file of {len(file.data):,} bytes, not text"
    if len(file.data) > MAX_BINARY:
        return f"{size}; it is too large to be shown here."
    return f"{size}. Its bytes as base64:\n{base64.b64encode(file.data).decode('ascii')}"


async def or_tool_error(call: Any) -> Any:
    """The result of a call; what goes wrong is a sentence that the model reads."""
    try:
        return await call
    except HubError as problem:
        raise ToolError(problem.message + problem.advice) from problem


def outcome_text(outcome: Outcome, done: str) -> str:
    return outcome.message if outcome.pending else done


def mime_type(path: str) -> str:
    return "text/markdown" if path.lower().endswith((".md", ".markdown")) else "text/plain"


def serve(hub: AsyncMemoryHub, *, http_port: int | None = None, host: str = "127.0.0.1") -> None:
    """Serves on stdio, or as streamable HTTP at /mcp of a port; returns when the client is gone or on Ctrl-C."""
    server = HubServer(hub)
    if http_port is None:
        server.run("stdio")
    else:
        server.run("streamable-http", host=host, port=http_port)
