"""deepagents (0.7 and newer): files of the hub as a backend, memory of the hub as a middleware.

    hub = MemoryHub.from_env()
    agent = create_deep_agent(
        model,
        backend=CompositeBackend(default=StateBackend(), routes={"/memories/": MemoryHubBackend(hub)}),
        middleware=[MemoryHubMiddleware(hub)],
    )

Nothing here raises into the agent: a hub that is away costs freshness, never the run.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any

from deepagents.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepMatch,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from deepagents.backends.utils import perform_string_replacement, slice_read_response, validate_path

from . import parts
from .calls import encoded
from .errors import Conflict, Forbidden, HubError, Invalid, NotFound, Unauthenticated
from .hub import MemoryHub
from .records import PENDING_START, FileText, Outcome, Record, file_bytes
from .threads import current_thread

__all__ = ["MemoryHubBackend", "MemoryHubMiddleware"]

log = logging.getLogger("memoryhub.client")

BINARY_ENDINGS = {
    *(".png", ".jpeg", ".jpg", ".webp", ".gif", ".heic", ".heif"),
    *(".mp4", ".mpeg", ".mov", ".avi", ".flv", ".mpg", ".webm", ".wmv", ".3gpp", ".mkv"),
    *(".wav", ".mp3", ".aiff", ".aac", ".ogg", ".flac", ".pdf", ".ppt", ".pptx"),
}
MAX_PREVIEW = 512_000  # bytes of a binary file that fit into an answer to a model
MAX_BATCH = 200  # files in one request

tool_call: ContextVar[str | None] = ContextVar("memoryhub_tool_call", default=None)
reason: ContextVar[str | None] = ContextVar("memoryhub_reason", default=None)


def never_raises(fallback: Callable[..., Any]) -> Callable[..., Any]:
    """A backend method that answers with an error instead of raising one."""

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return method(self, *args, **kwargs)
            except HubError as problem:
                log.warning("%s: %s", method.__name__, problem)
                return fallback(f"Error: {problem.message}")
            except Exception as problem:  # the agent's run is worth more than our traceback
                log.exception("%s failed", method.__name__)
                return fallback(f"Error: the memory hub's client failed: {type(problem).__name__}")

        return guarded

    return decorate


class MemoryHubBackend(BackendProtocol):
    """Files of the hub below `mount`, as a backend of its own or as a route of a CompositeBackend."""

    def __init__(self, hub: MemoryHub, mount: str = "/memories/"):
        self.hub = hub
        self.mount = "/" + mount.strip("/")
        if self.mount == "/":
            self.mount = ""

    def __repr__(self) -> str:
        return f"MemoryHubBackend({self.hub!r}, mount={self.mount + '/'!r})"

    # Paths: the agent's inside the route, the hub's from the root

    def _there(self, path: str) -> str:
        try:
            return self.mount + "/" + validate_path(path).lstrip("/")
        except ValueError as problem:
            raise Invalid(str(problem), code="invalid_path", status=422) from None

    def _here(self, path: str) -> str:
        return path[len(self.mount) :] if path.startswith(self.mount + "/") else path

    def _info(self, entry: Record) -> FileInfo:
        path = self._here(entry["path"])
        if entry.get("is_dir"):
            return FileInfo(
                path=path.rstrip("/") + "/", is_dir=True, size=0, modified_at=entry.get("modified_at") or ""
            )
        modified = entry.get("modified_at") or ""
        return FileInfo(path=path, is_dir=False, size=int(entry.get("size") or 0), modified_at=modified)

    # Reading

    @never_raises(lambda error: LsResult(error=error))
    def ls(self, path: str) -> LsResult:
        prefix = self._there(path).rstrip("/") + "/"
        try:
            entries = self.hub.list(prefix, thread_id=current_thread())
        except NotFound:
            entries = []
        return LsResult(entries=sorted((self._info(entry) for entry in entries), key=lambda info: info["path"]))

    @never_raises(lambda error: ReadResult(error=error))
    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        try:
            file = self._whole(self.hub.read(self._there(file_path), thread_id=current_thread()))
        except NotFound:
            return ReadResult(error=f"File '{file_path}' not found")
        dates = {name: file.info[name] for name in ("created_at", "modified_at") if file.info.get(name)}
        binary = any(file_path.lower().endswith(ending) for ending in BINARY_ENDINGS)
        if binary or file.info.get("encoding") == "base64":
            if len(file.data) > MAX_PREVIEW:
                return ReadResult(
                    error=f"File '{file_path}': Binary file exceeds maximum preview size of {MAX_PREVIEW} bytes"
                )
            content = base64.b64encode(file.data).decode("ascii")
            return ReadResult(file_data={"content": content, "encoding": "base64", **dates})
        return slice_read_response({"content": str(file), "encoding": "utf-8", **dates}, offset, limit)

    def _whole(self, file: FileText) -> FileText:
        data = parts.whole(file.data, self._batch)
        if data is file.data:
            return file
        return FileText.from_json({**file.info, "encoding": None, **encoded(data)})

    @never_raises(lambda error: GrepResult(matches=[]))
    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        found = self.hub.grep(pattern, prefix=self._there(path or "/"), glob=glob, thread_id=current_thread())
        matches = [
            GrepMatch(path=self._here(match["path"]), line=match["line"], text=match["text"])
            for match in found["matches"]
        ]
        truncated = bool(found.get("truncated"))
        if max_count is not None and len(matches) > max_count:
            matches, truncated = matches[: max(max_count, 0)], True
        return GrepResult(matches=matches, truncated=truncated)

    @never_raises(lambda error: GlobResult(matches=[]))
    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        try:
            found = self.hub.glob(pattern, prefix=self._there(path or "/"), thread_id=current_thread())
        except Invalid as refused:
            return GlobResult(error=refused.message)
        except NotFound:
            return GlobResult(matches=[])
        matches = [self._info(match) for match in found["matches"] if not match.get("is_dir")]
        truncated = bool(found.get("truncated"))
        return GlobResult(matches=matches, truncated=truncated, truncation_reason="budget" if truncated else None)

    # Writing: applied, or recorded as a proposal whose sentence is the `error`, the only free text of the protocol

    @never_raises(lambda error: WriteResult(error=error))
    def write(self, file_path: str, content: str) -> WriteResult:
        data: str | bytes = content if len(content) <= parts.PART_SIZE // 4 else content.encode()
        outcome = self._write(self._there(file_path), data)
        return WriteResult(error=outcome.message) if outcome.pending else WriteResult(path=file_path)

    def _write(self, there: str, content: str | bytes) -> Outcome:
        if isinstance(content, bytes) and len(content) > parts.PART_SIZE:
            return parts.write(self.hub, there, content, **self._notes())
        return self.hub.write(there, content, **self._notes())

    @never_raises(lambda error: EditResult(error=error))
    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        if not old_string:
            return EditResult(error="Error: old_string cannot be empty. Provide the exact text to replace.")
        try:
            outcome = self.hub.edit(
                self._there(file_path), old_string, new_string, replace_all=replace_all, **self._notes()
            )
        except NotFound:
            return EditResult(error=f"Error: File '{file_path}' not found")
        except Invalid as refused:
            return EditResult(error=self._edit_error(file_path, old_string, refused))
        if outcome.pending:
            return EditResult(error=outcome.message)
        return EditResult(path=file_path, occurrences=int(outcome.get("occurrences") or 1))

    def _edit_error(self, file_path: str, old: str, refused: Invalid) -> str:
        if refused.code == "string_not_unique":
            return (
                f"Error: String '{old}' appears {refused.details.get('occurrences')} times in file. Use "
                "replace_all=True to replace all instances, or provide a more specific string with surrounding context."
            )
        if refused.code != "string_not_found":
            return f"Error: {refused.message}"
        if old.endswith("\n"):  # the library explains a missing final newline; let it
            text = self.hub.read(self._there(file_path), thread_id=current_thread())
            refusal = perform_string_replacement(str(text), old, "", False)
            if isinstance(refusal, str):
                return refusal
        return f"Error: String not found in file: '{old}'{refused.advice}"

    @never_raises(lambda error: DeleteResult(error=error))
    def delete(self, file_path: str) -> DeleteResult:
        there = self._there(file_path)
        if there == self.mount + "/":
            return DeleteResult(error="Error: the root of the memory is never deleted. Name a file or a directory.")
        try:
            outcomes = [self.hub.delete(there, **self._notes())]
        except (NotFound, Invalid, Conflict) as refused:
            if refused.code not in ("file_not_found", "not_found", "is_directory"):
                raise
            outcomes = [
                self.hub.delete(entry["path"], **self._notes())
                for entry in self.hub.walk(there, thread_id=current_thread())
            ]
        else:
            outcomes += [
                self.hub.delete(entry["path"], **self._notes())
                for folder in (parts.folder_of(there), parts.former_folder_of(there))
                for entry in self.hub.walk(folder, thread_id=current_thread())
            ]
        if not outcomes:
            return DeleteResult(error=f"Error: File '{file_path}' not found")
        waiting = [outcome.message for outcome in outcomes if outcome.pending]
        return DeleteResult(error="\n".join(waiting)) if waiting else DeleteResult(path=file_path)

    def _notes(self) -> dict[str, str | None]:
        return {"thread_id": current_thread(), "tool_call_id": tool_call.get(), "reason": reason.get()}

    # Whole files

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return [FileUploadResponse(path=path, error=self._upload(path, content)) for path, content in files]

    @never_raises(lambda error: error)
    def _upload(self, path: str, content: bytes) -> str | None:
        try:
            if not path.startswith("/"):
                return "invalid_path"
            outcome = self._write(self._there(path), content)
        except Invalid as refused:
            if refused.code == "is_directory":
                return "is_directory"
            return "invalid_path" if refused.code in ("invalid_path", "no_mount") else f"Error: {refused.message}"
        except Forbidden:
            return "permission_denied"
        return outcome.message if outcome.pending else None

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        answers = [FileDownloadResponse(path=path, error="file_not_found") for path in paths]
        wanted: dict[int, str] = {}
        for index, path in enumerate(paths):
            try:
                if not path.startswith("/"):
                    raise Invalid("relative", code="invalid_path")
                wanted[index] = self._there(path)
            except HubError:
                answers[index].error = "invalid_path"
        for start in range(0, len(wanted), MAX_BATCH):
            part = dict(list(wanted.items())[start : start + MAX_BATCH])
            for index, file in zip(part, self._batch(list(part.values())), strict=True):
                self._fill(answers[index], file)
        return answers

    @never_raises(lambda error: None)
    def _batch_or_none(self, paths: list[str]) -> list[Record] | None:
        try:
            return self.hub.batch(paths, thread_id=current_thread())
        except Unauthenticated as problem:
            log.error("The agent runs without its memory: %s", problem)
            return None

    def _batch(self, paths: list[str]) -> list[Record]:
        """The files of the hub, or its last good copies; any other error than `file_not_found` would end the run."""
        files = self._batch_or_none(paths)
        if files is None or len(files) != len(paths):
            return [Record(path=path, error="file_not_found") for path in paths]
        return files

    def _fill(self, answer: FileDownloadResponse, file: Record) -> None:
        answer.error = file.get("error") or None
        if answer.error is None:
            answer.content = parts.whole(file_bytes(file), self._batch)
            if answer.path.lower().endswith(".md"):
                answer.content = readable(answer.content)
        elif answer.error not in ("permission_denied", "is_directory", "invalid_path"):
            answer.error = "file_not_found"

    # The async twins run the same code in a thread, as the protocol's own do; only the grep twin had a time limit

    async def agrep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        return await asyncio.to_thread(self.grep, pattern, path, glob, max_count=max_count)


def readable(content: bytes) -> bytes:
    """Memory files are decoded strictly by deepagents, which ends the run; broken UTF-8 is shown instead."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("utf-8", "replace").encode("utf-8")
    return content


def is_pending(text: Any) -> bool:
    return isinstance(text, str) and text.startswith(PENDING_START)


from .deepagents_middleware import MemoryHubMiddleware  # noqa: E402  (it needs the backend above)
