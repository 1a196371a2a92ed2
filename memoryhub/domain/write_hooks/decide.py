"""What becomes of a write that an agent's own file tool is about to do: it goes on, or it is refused and kept as a proposal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from memoryhub.domain import files, proposals
from memoryhub.domain.files import HeldPlace
from memoryhub.errors import HubError, Invalid
from memoryhub.models import Proposal
from memoryhub.stores import held_list
from memoryhub.stores.disk import MAX_BYTES, too_large
from memoryhub.text import tool_calls
from memoryhub.text.lines import bytes_of, is_text, text_of
from memoryhub.text.tool_calls import SHELL, ToolCall, text_after

RECORDED = (
    "memoryhub: recorded as proposal {number}, do not retry, carry on. A person decides on changes of {path}; until then the file "
    "stays as it is."
)
BY_COMMAND = (
    "memoryhub: {path} is held, so a person decides on its changes. Change it with the tool that writes or edits files: the change "
    "is then recorded as a proposal. Do not retry this command."
)
SEVERAL = (
    "memoryhub: recorded as proposals {numbers}, do not retry, carry on. A person decides on changes of {paths}; until then the files "
    "stay as they are."
)
OTHERS = "The other files of this patch were not changed: send their changes in a patch without held files."
NOT_RECORDED = "memoryhub: {why} The change of {path} was not recorded and not written. Do not retry it."


@dataclass(frozen=True)
class Decision:
    """Whether the write goes on; else the message for the agent, and the proposal with its text."""

    allows: bool
    says: str = ""
    proposal: int | None = None
    path: str = ""


ALLOWED = Decision(True)


def decide(program: str, tool: str, arguments: Any, folder: str, session: str = "") -> Decision:
    """Decides on one call of a tool of a coding agent that was started in `folder`.

    A write to a file that no mount holds goes on. A file that mounts of several spaces hold is recorded in each of them.
    """
    calls = tool_calls.read_calls(program, tool, arguments)
    of_calls = [list(_refusals(program, call, folder, session)) for call in calls]
    refused = [one for found in of_calls for one in found]
    if not refused:
        return ALLOWED
    # A refusal without a proposal says why nothing was recorded: it comes before those that were recorded elsewhere.
    answer = next((one for one in refused if one.proposal is None), refused[0])
    firsts = [found[0] for found in of_calls if found]
    if answer.proposal is not None and len(firsts) > 1:
        numbers = ", ".join(str(one.proposal) for one in firsts)
        answer = replace(answer, says=SEVERAL.format(numbers=numbers, paths=", ".join(one.path for one in firsts)))
    return answer if all(of_calls) else replace(answer, says=f"{answer.says} {OTHERS}")


def _refusals(program: str, call: ToolCall, folder: str, session: str) -> Iterator[Decision]:
    for path in call.paths:
        for held in files.held_places(held_list.real_paths(path, folder)):
            if call.kind == SHELL:
                yield Decision(False, BY_COMMAND.format(path=held.path))
                continue
            try:
                proposal = _record(program, call, held, session)
            except HubError as refusal:
                yield Decision(False, NOT_RECORDED.format(why=_sentence(refusal), path=held.path))
                continue
            if proposal is not None:
                yield Decision(
                    False, RECORDED.format(number=proposal.number, path=held.path), proposal.number, held.path
                )


def _record(program: str, call: ToolCall, held: HeldPlace, session: str) -> Proposal | None:
    """The proposal that keeps what the call makes of the file; None where it changes nothing."""
    files.sync_path(held.space, held.path)  # so that the proposal stands on what lies there
    on_disk = held.bytes_on_disk()
    if on_disk is not None and call.content is None and not is_text(on_disk):
        raise Invalid("The file is no UTF-8 text.", code="invalid_utf8")
    after = _after(program, call, held, on_disk)
    if after == on_disk:
        return None
    if len(after) > MAX_BYTES:
        raise too_large(held.path, len(after), MAX_BYTES)
    return proposals.propose_before_write(
        held.space, program, path=held.path, content=files.storable_text(held.space, on_disk, after), tool=call.tool,
        session=session,
    )  # fmt: skip


def _after(program: str, call: ToolCall, held: HeldPlace, on_disk: bytes | None) -> bytes:
    """The text after the call; of an edit that needs what the agent asked for before, with that."""
    try:
        return bytes_of(text_after(call, None if on_disk is None else text_of(on_disk)))
    except HubError as refusal:
        if refusal.code != "string_not_found" or call.content is not None:
            raise
        for waiting in proposals.writes_waiting(held.space, program, held.path):
            try:
                return bytes_of(text_after(call, text_of(bytes(waiting.content or b""))))
            except HubError:
                continue
        raise


def _sentence(refusal: HubError) -> str:
    """A refusal as one sentence without the words of the agent, which knows them."""
    if refusal.code in ("string_not_found", "string_not_unique"):
        times = "is not in the file" if refusal.code == "string_not_found" else "stands in several places of the file"
        return f"The text to replace {times}; read it again."
    return re.sub(r"\s+", " ", refusal.message).strip()
