"""Anthropic's memory tool over plain HTTP: the tool call's input in, the text for the model out."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Field, Router, Schema

from memoryhub.api.base import ERRORS, Given, needs_by_body
from memoryhub.domain import exchange
from memoryhub.domain.accounts import Caller
from memoryhub.models import Scope

router = Router()


class CommandIn(Given):
    command: str = Field(json_schema_extra={"enum": list(exchange.MEMORY_TOOL_COMMANDS)})
    path: str | None = None
    view_range: list[int] | None = None
    file_text: str | None = None
    old_str: str | None = None
    new_str: str | None = None
    insert_line: int | None = None
    insert_text: str | None = None
    old_path: str | None = None
    new_path: str | None = None
    thread_id: str = ""
    tool_call_id: str = ""


class Result(Schema):
    content: str
    is_error: bool
    proposal: int | None


def needed(command: CommandIn) -> tuple[str, str]:
    """What the same thing takes as a call of its own: to look is to read files, everything else is a write."""
    looks = command.command in exchange.MEMORY_TOOL_READS or command.command not in exchange.MEMORY_TOOL_COMMANDS
    return (Scope.FILES, "read") if looks else (Scope.PROPOSE, "edit")


TEXT = {
    "responses": {
        200: {"content": {"text/plain": {"schema": {"type": "string"}, "example": "File created successfully at: …"}}}
    }
}


@router.post(
    "/memory-tool",
    response={200: Result, **ERRORS},
    openapi_extra=TEXT,
    summary="Anthropic's memory tool: the call's input in, the text for the model out",
)
@needs_by_body(needed)
def run(request: HttpRequest, command: CommandIn) -> Any:
    """Text unless `Accept: application/json`, whose `content` and `is_error` fit a tool_result block.

    What a model can act on (a missing path, a text that stands there twice, a change that waits for a person) is an
    answer, not an HTTP error.
    """
    caller: Caller = request.auth
    given = command.dict(exclude_none=True)
    notes = {key: given.pop(key) for key in ("thread_id", "tool_call_id")}
    notes["may_read"] = caller.has(Scope.FILES)
    answer = exchange.run_memory_tool(caller.space, caller.actor, given, **notes)
    if request.get_preferred_type(["text/plain", "application/json"]) != "application/json":
        # The text may quote half a character of what was sent, which UTF-8 does not hold.
        return HttpResponse(answer.text.encode("utf-8", "replace"), content_type="text/plain; charset=utf-8")
    return {"content": answer.text, "is_error": answer.is_error, "proposal": answer.proposal and answer.proposal.number}
