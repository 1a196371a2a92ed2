"""A change as the API receives it, and its outcome: applied, or pending as a proposal (pure)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memoryhub.errors import Invalid
from memoryhub.models import Proposal, Revision
from memoryhub.text.lines import text_as_bytes, text_of

TextBefore = Callable[[], str]  # reads the published text, where it is needed


def decode_content(content: str, encoding: str = "utf-8") -> bytes:
    """The bytes that an API caller sent as text or as base64; refused when they are neither."""
    if encoding == "base64":
        try:
            return base64.b64decode(content, validate=True)
        except (binascii.Error, ValueError):
            raise Invalid("The content is not valid base64.", code="invalid_content") from None
    if encoding != "utf-8":
        raise Invalid("The encoding is utf-8 or base64.", code="invalid_content", field="encoding")
    return text_as_bytes(content)


@dataclass(frozen=True)
class ChangeRequest:
    """A change that the API was asked for; which fields count depends on its kind."""

    kind: str  # write edit insert delete move
    path: str
    content: bytes | None = None
    old: str = ""
    new: str = ""
    replace_all: bool = False
    line: int = 0
    text: str = ""
    to: str = ""
    reason: str = ""
    thread_id: str = ""
    tool_call_id: str = ""
    if_match: str | None = None
    if_none_match: str | None = None


def request_of(proposal: Proposal) -> ChangeRequest:
    """The change that a proposal of a file asks for, as it came in."""
    change, content = proposal.change, proposal.content
    return ChangeRequest(
        proposal.kind, proposal.path, None if content is None else bytes(content), change.get("old_string", ""),
        change.get("new_string", ""), change.get("replace_all", False), change.get("line", 0), change.get("text", ""),
        change.get("to", ""),
    )  # fmt: skip


def texts_of(request: ChangeRequest, before: TextBefore) -> tuple[str, str | None]:
    """The text that stands there and what the change makes of it, or as much of both as it touches; none for a deletion or a
    move."""
    match request.kind:
        case "edit" if request.replace_all and request.old:
            return before(), before().replace(request.old, request.new)
        case "edit":
            return request.old, request.new
        case "insert":
            return "", request.text
        case "write":
            return before(), text_of(request.content or b"")
    return "", None


@dataclass(frozen=True)
class Applied:
    """The change is made: its revision."""

    revision: Revision
    created: bool
    occurrences: int | None = None  # how many places an edit changed

    @property
    def why_waiting(self) -> str:
        """Why the revision is not on disk yet; empty where it is, or has no place there."""
        file = self.revision.file if Revision.file.is_cached(self.revision) else None
        return file.problem if file is not None else ""


@dataclass(frozen=True)
class Pending:
    """The change waits for a decision: its proposal, and the proposal's result where it is known."""

    proposal: Any
    found: Any = None
