"""Anthropic's memory tool on the hub's files: six commands in, the texts its models know out, the gate in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from memoryhub.domain import files, proposals
from memoryhub.domain.files import Applied, ChangeRequest, Pending
from memoryhub.errors import HubError, Invalid, NotFound
from memoryhub.models import Actor, Proposal, Space
from memoryhub.text.lines import text_as_bytes, text_of

ROOT = "/memories"
MAX_LINES = 999_999
AROUND = 2  # lines shown around a change


@dataclass(frozen=True)
class ToolAnswer:
    """What the model reads, and whether it is an error."""

    text: str
    is_error: bool = False
    proposal: Proposal | None = None


class ToolError(Exception):
    """A sentence for the model instead of what it asked for."""


def run_memory_tool(
    space: Space,
    actor: Actor,
    command: dict[str, Any],
    *,
    thread_id: str = "",
    tool_call_id: str = "",
    may_read: bool = True,
) -> ToolAnswer:
    """Carries out one command; refusals that a model can act on come back as text. Who may not read gets no text shown."""
    name = command.get("command")
    if not isinstance(name, str) or name not in MEMORY_TOOL_COMMANDS:
        raise Invalid(
            f"There is no command {str(name)[:60]!r}. There is: {', '.join(MEMORY_TOOL_COMMANDS)}.",
            code="unknown_command",
        )
    for note in (thread_id, tool_call_id):
        text_as_bytes(note)
    call = Call(space, actor, thread_id, tool_call_id, may_read)
    try:
        return MEMORY_TOOL_COMMANDS[name](call, command)
    except ToolError as error:
        return ToolAnswer(str(error), is_error=True)
    except HubError as refused:
        if refused.status >= 500 or refused.status in (401, 413):
            raise
        return ToolAnswer(refused.message, is_error=True)


@dataclass(frozen=True)
class Call:
    """Who asks, where."""

    space: Space
    actor: Actor
    thread_id: str
    tool_call_id: str
    may_read: bool

    def text(self, path: str, missing: str) -> str:
        found = self.found(path.rstrip("/"))
        if found is None:
            found = self.waiting(path.rstrip("/"))
        if found is not None:
            return found
        raise ToolError(
            f"The path {path} is not a file." if self.is_folder(path.rstrip("/")) else missing.format(path=path)
        )

    def waiting(self, path: str) -> str | None:
        """The text that the agent's own pending proposal gives a file; None without one."""
        if self.actor.agent is None:
            return None
        found = proposals.waiting_text(self.space, self.actor.agent, path, self.thread_id)
        return None if found is None else text_of(found)

    def found(self, path: str) -> str | None:
        """The text of a file; nothing for a folder and for what is not there."""
        try:
            return text_of(files.read(self.space, path, thread_id=self.thread_id).content)
        except HubError as refused:
            if isinstance(refused, NotFound) or refused.code == "is_directory":
                return None
            raise

    def is_folder(self, path: str) -> bool:
        return path == ROOT or files.is_folder(self.space, path)

    def exists(self, path: str) -> bool:
        return files.exists(self.space, path, thread_id=self.thread_id) or self.is_folder(path)

    def below(self, path: str) -> list[str]:
        return sorted(entry.path for entry in files.walk(self.space, path + "/", thread_id=self.thread_id))

    def submit(self, done: str, **change: Any) -> ToolAnswer:
        """Through the gate: the text for a change that was made, or for one that waits."""
        asked = ChangeRequest(**change, thread_id=self.thread_id, tool_call_id=self.tool_call_id)
        answer = proposals.submit(self.space, self.actor, asked)
        return pending(answer.proposal) if isinstance(answer, Pending) else ToolAnswer(done)

    def submit_folder(self, done: str, what: str, changes: list[dict[str, Any]]) -> ToolAnswer:
        """Submits a change of every file of a folder, all or none; the reason of each names the folder's change."""
        many = len(changes)
        asked = [
            ChangeRequest(
                **change,
                thread_id=self.thread_id,
                tool_call_id=self.tool_call_id,
                reason=f"{what} (file {n} of {many})",
            )
            for n, change in enumerate(changes, 1)
        ]
        try:
            answers = proposals.submit_all(self.space, self.actor, asked)
        except HubError as refused:
            if many > 1 and refused.status < 500:
                refused.message += (
                    f" Nothing was changed: it is one of {many} files, and all of a folder changes or nothing."
                )
            raise
        return together(done, answers)


def pending(proposal: Proposal) -> ToolAnswer:
    below = proposal.stacked_on
    stacked = f" It builds on your proposal {below} and is decided after that one." if below else ""
    text = (
        f"Recorded as proposal {proposal.number} for {proposal.path}. A person reviews it before it takes effect; "
        "until then the file is unchanged. This is expected and not a failure: do not retry, do not write it "
        f"elsewhere, carry on with the task. Sending the same change again leads to the same proposal {proposal.number}."
        f"{stacked}"
    )
    return ToolAnswer(text, proposal=proposal)


# The commands


def view(call: Call, command: dict[str, Any]) -> ToolAnswer:
    path, named = place(command, "path"), command["path"]
    content = call.found(path)
    if content is None:
        if call.is_folder(path):
            return ToolAnswer(listing(call, path, named))
        raise ToolError(f"The path {named} does not exist. Please provide a valid path.")
    lines = content.split("\n")
    if len(lines) > MAX_LINES:
        raise ToolError(f"File {named} exceeds maximum line limit of 999,999 lines.")
    first, last = view_range(command, len(lines))
    return ToolAnswer(f"Here's the content of {named} with line numbers:\n" + numbered(lines, first, last))


def view_range(command: dict[str, Any], length: int) -> tuple[int, int]:
    """First and last line, counted from 1; the whole file when none are named."""
    wanted = command.get("view_range")
    if not wanted:
        return 1, length
    if not isinstance(wanted, list) or len(wanted) != 2 or not all(type(line) is int for line in wanted):
        raise ToolError(
            "`view_range` is a list of two line numbers, such as [1, 20]; -1 as the second means to the end."
        )
    return max(1, wanted[0]), length if wanted[1] == -1 else min(wanted[1], length)


def numbered(lines: list[str], first: int, last: int) -> str:
    return "\n".join(f"{number:>6}\t{lines[number - 1]}" for number in range(first, last + 1))


def listing(call: Call, path: str, named: str) -> str:
    rows = [f"{size(sum(entry.size for entry in files.walk(call.space, path + '/')))}\t{path}"]
    rows += listed(call, path, 2)
    head = f"Here're the files and directories up to 2 levels deep in {named}, excluding hidden items:"
    return "\n".join([head, *rows])


def listed(call: Call, path: str, depth: int) -> list[str]:
    """The names of a folder in their order, each folder followed by what it holds."""
    rows = []
    found = files.list_entries(call.space, path + "/", thread_id=call.thread_id)
    for entry in sorted(found, key=lambda entry: entry.name):
        if entry.name.startswith("."):
            continue
        if not entry.is_dir:
            rows.append(f"{size(entry.size)}\t{entry.path}")
            continue
        inside = entry.path.rstrip("/")
        rows.append(f"{size(sum(file.size for file in files.walk(call.space, entry.path)))}\t{inside}/")
        if depth > 1:
            rows += listed(call, inside, depth - 1)
    return rows


def size(number: int) -> str:
    """0B, 12B, 1.5K: the largest unit that leaves a number of one or more."""
    amount, units = float(number), ["B", "K", "M", "G"]
    while amount >= 1024 and len(units) > 1:
        amount /= 1024
        units.pop(0)
    return f"{amount:.0f}{units[0]}" if amount == int(amount) else f"{amount:.1f}{units[0]}"


def create(call: Call, command: dict[str, Any]) -> ToolAnswer:
    path, text = place(command, "path"), word(command, "file_text")
    if command["path"].endswith("/"):
        raise ToolError(no_name(command["path"]))
    if call.exists(path):
        raise ToolError(f"File {path} already exists")
    done = f"File created successfully at: {path}"
    return call.submit(done, kind="write", path=path, content=text_as_bytes(text), if_none_match="*")


def no_name(path: str) -> str:
    return f"The path {path} ends in a slash, which names a folder. Name a file, such as {path.rstrip('/')}/notes.md."


def str_replace(call: Call, command: dict[str, Any]) -> ToolAnswer:
    path, old, new = place(command, "path"), word(command, "old_str"), word(command, "new_str", "")
    before = call.text(command["path"], "The path {path} does not exist. Please provide a valid path.")
    found = places_of(before, old)
    if len(found) > 1:
        lines = ", ".join(str(before.count("\n", 0, spot) + 1) for spot in found)
        raise ToolError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
            "Please ensure it is unique"
        )
    done = "The memory file has been edited."
    if found and call.may_read:
        done = snippet(before.replace(old, new), before.count("\n", 0, found[0]))
    try:
        return call.submit(done, kind="edit", path=path, old=old, new=new)
    except HubError as refused:  # the published text may lack what the agent's own pending proposal has
        if refused.code != "string_not_found":
            raise
        raise ToolError(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {command['path']}."
        ) from None


def places_of(text: str, part: str) -> list[int]:
    """Where a text stands in another, overlaps included."""
    found, spot = [], text.find(part) if part else -1
    while spot != -1:
        found.append(spot)
        spot = text.find(part, spot + 1)
    return found


def snippet(text: str, line: int) -> str:
    lines = text.split("\n")
    shown = numbered(lines, max(0, line - AROUND) + 1, min(len(lines), line + AROUND + 1))
    return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{shown}"


def insert(call: Call, command: dict[str, Any]) -> ToolAnswer:
    path, text, line = place(command, "path"), word(command, "insert_text"), command.get("insert_line")
    if type(line) is not int:
        raise ToolError("`insert_line` is a line number; 0 is the beginning.")
    before = call.text(command["path"], "The path {path} does not exist. Please provide a valid path.")
    length = before.removesuffix("\n").count("\n") + 1 if before else 0
    if not 0 <= line <= length:
        raise ToolError(f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {length}].")
    done = f"The file {command['path']} has been edited."
    return call.submit(done, kind="insert", path=path, line=line, text=text.rstrip("\n") + "\n")


def delete(call: Call, command: dict[str, Any]) -> ToolAnswer:
    path = place(command, "path")
    if path == ROOT:
        raise ToolError(f"Cannot delete the {ROOT} directory itself")
    done = f"Successfully deleted {command['path']}"
    if files.exists(call.space, path, thread_id=call.thread_id):
        return call.submit(done, kind="delete", path=path)
    inside = call.below(path)
    if not inside:
        raise ToolError(f"The path {command['path']} does not exist")
    return call.submit_folder(done, f"Delete the folder {path}", [{"kind": "delete", "path": one} for one in inside])


def rename(call: Call, command: dict[str, Any]) -> ToolAnswer:
    old, new = place(command, "old_path"), place(command, "new_path")
    if old == ROOT:
        raise ToolError(f"Cannot rename the {ROOT} directory itself")
    if call.exists(new):
        raise ToolError(f"The destination {command['new_path']} already exists")
    done = f"Successfully renamed {command['old_path']} to {command['new_path']}"
    if files.exists(call.space, old, thread_id=call.thread_id):
        if command["new_path"].endswith("/"):
            raise ToolError(no_name(command["new_path"]))
        return call.submit(done, kind="move", path=old, to=new)
    inside = call.below(old)
    if not inside:
        raise ToolError(f"The path {command['old_path']} does not exist")
    moves = [{"kind": "move", "path": one, "to": new + one[len(old) :]} for one in inside]
    return call.submit_folder(done, f"Rename the folder {old} to {new}", moves)


def together(done: str, answers: Sequence[Applied | Pending]) -> ToolAnswer:
    """One answer for a folder: that it is done, else what waits, and how much does not."""
    waiting = [pending(one.proposal) for one in answers if isinstance(one, Pending)]
    if not waiting:
        return ToolAnswer(done)
    at_once = len(answers) - len(waiting)
    some = [f"{at_once} of {len(answers)} files were changed at once; the others wait for a person."] if at_once else []
    return ToolAnswer("\n".join([*some, *(one.text for one in waiting)]), proposal=waiting[0].proposal)


# Arguments


def place(command: dict[str, Any], key: str) -> str:
    """A path at or below /memories, without a slash at its end."""
    path = word(command, key)
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    if any(part in (".", "..") for part in path.split("/")):
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    return path.rstrip("/")


def word(command: dict[str, Any], key: str, default: str | None = None) -> str:
    value = command.get(key, default)
    if not isinstance(value, str):
        raise ToolError(f"The command needs `{key}` as text.")
    return value


MEMORY_TOOL_READS = ("view",)  # every other command writes
MEMORY_TOOL_COMMANDS: dict[str, Callable[[Call, dict[str, Any]], ToolAnswer]] = {
    "view": view,
    "create": create,
    "str_replace": str_replace,
    "insert": insert,
    "delete": delete,
    "rename": rename,
}
