"""The hook of the hub in the settings of a coding agent: where it stands in the JSON, put in and taken out as text.

All else in the file stays byte for byte. What is no plain JSON, such as a file with comments, is refused and not touched.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from typing import Any

from memoryhub.errors import Invalid


@dataclass(frozen=True)
class AgentHook:
    """Where a coding agent asks before its tools write: the event, the tools, and how long it waits, in its own unit."""

    program: str  # as `memoryhub hook` calls it
    agent: str
    title: str
    folder: str  # in a home or project
    event: str
    matcher: str
    timeout: int
    file: str = "settings.json"
    project_folder: str = ""  # where it is another than in a home
    is_flat: bool = False  # an entry is the command itself, in a file that names its version

    @property
    def command_key(self) -> str:
        return "bash" if self.is_flat else "command"

    def new_file(self, entry: dict[str, Any]) -> dict[str, Any]:
        """What a file that is made for the hook says."""
        hooks = {"hooks": {self.event: [entry]}}
        return {"version": 1} | hooks if self.is_flat else hooks


HOOKS = {
    "claude": AgentHook(
        "claude", "claude-code", "Claude Code", ".claude", "PreToolUse", "Write|Edit|MultiEdit|NotebookEdit|Bash", 20
    ),
    "codex": AgentHook("codex", "codex", "Codex", ".codex", "PreToolUse", "apply_patch|Bash", 20, "hooks.json"),
    "copilot": AgentHook(
        "copilot", "copilot-cli", "Copilot CLI", ".copilot", "preToolUse", "", 20, "hooks/memoryhub.json", ".github", True
    ),
    "gemini": AgentHook(
        "gemini", "gemini-cli", "Gemini CLI", ".gemini", "BeforeTool", "write_file|replace|run_shell_command", 20_000
    ),
}  # fmt: skip


def entry_of(hook: AgentHook, command: str) -> dict[str, Any]:
    """What stands in the list of the event."""
    if hook.is_flat:
        return {"type": "command", hook.command_key: command, "timeoutSec": hook.timeout}
    return {
        "matcher": hook.matcher,
        "hooks": [{"type": "command", "command": command, "timeout": hook.timeout}],
    }


def is_ours(hook: AgentHook, entry: Any) -> bool:
    """Whether an entry of the event's list runs the hub's hook, from wherever it was installed."""
    commands = _commands(hook, entry)
    pattern = re.compile(rf"memoryhub\b.*\bhook {hook.program}\b")
    return len(commands) == 1 and isinstance(commands[0], str) and bool(pattern.search(commands[0]))


def _commands(hook: AgentHook, entry: Any) -> list[Any]:
    """What an entry runs."""
    inner = [entry] if hook.is_flat else entry.get("hooks") if isinstance(entry, dict) else None
    return [one.get(hook.command_key) for one in inner if isinstance(one, dict)] if isinstance(inner, list) else []


# ---- texts


def installed_command(hook: AgentHook, text: str) -> str:
    """The command of the hub's hook in these settings; empty where there is none, or the settings cannot be read."""
    try:
        entries = _entries(hook, _parsed(text)) if text.strip() else []
    except Invalid:
        return ""
    return next((str(_commands(hook, one)[0]) for one in entries if is_ours(hook, one)), "")


def with_hook(hook: AgentHook, text: str, command: str) -> str:
    """The settings with the hook, in place of an earlier one of the hub."""
    text = without_hook(hook, text) if installed_command(hook, text) else text
    new = entry_of(hook, command)
    if not text.strip():
        return json.dumps(hook.new_file(new), indent=2) + "\n"
    settings = _parsed(text)
    hooks = settings.get("hooks")
    if hooks is None:
        return _checked(text, _added(text, (), "hooks", {hook.event: [new]}), settings | {"hooks": {hook.event: [new]}})
    _entries(hook, settings)
    if hook.event not in hooks:
        after = settings | {"hooks": hooks | {hook.event: [new]}}
        return _checked(text, _added(text, ("hooks",), hook.event, [new]), after)
    after = settings | {"hooks": hooks | {hook.event: [*hooks[hook.event], new]}}
    return _checked(text, _added(text, ("hooks", hook.event), None, new), after)


def without_hook(hook: AgentHook, text: str) -> str:
    """The settings without the hub's hook; a list or object that it leaves empty goes with it."""
    while text.strip() and installed_command(hook, text):
        settings = _parsed(text)
        entries, hooks = _entries(hook, settings), settings["hooks"]
        at = next(at for at, one in enumerate(entries) if is_ours(hook, one))
        if len(entries) > 1:
            trail: tuple[str | int, ...] = ("hooks", hook.event, at)
            after: dict[str, Any] = settings | {"hooks": hooks | {hook.event: [*entries[:at], *entries[at + 1 :]]}}
        elif len(hooks) > 1:
            trail = ("hooks", hook.event)
            after = settings | {"hooks": {name: one for name, one in hooks.items() if name != hook.event}}
        else:
            trail, after = ("hooks",), {name: one for name, one in settings.items() if name != "hooks"}
        text = _checked(text, _removed(text, trail), after)
    return text


def _parsed(text: str) -> dict[str, Any]:
    """The settings; refused with a sentence where they are anything but one plain JSON object without a name twice."""
    try:
        found = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, JSONDecodeError) else ""
        raise Invalid(
            f"The settings are no plain JSON{where}: they are not touched. Put the hook in by hand.", code="no_json"
        ) from None
    if not isinstance(found, dict):
        raise Invalid("The settings are no JSON object: they are not touched.", code="no_json")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Invalid("The settings have a name twice: they are not touched. Remove one of the two.", code="no_json")
    return found


def _entries(hook: AgentHook, settings: dict[str, Any]) -> list[Any]:
    hooks = settings.get("hooks", {})
    entries = hooks.get(hook.event, []) if isinstance(hooks, dict) else None
    if not isinstance(entries, list):
        raise Invalid(
            "The hooks of the settings have another shape than is known: they are not touched.", code="no_json"
        )
    return entries


def _checked(before: str, after: str, wanted: dict[str, Any]) -> str:
    """The text after a change, if it says just what it should."""
    if list(_parsed(after).items()) != list(wanted.items()):
        raise Invalid("The hook cannot be put into these settings: they are not touched.", code="no_json")
    return after


# ---- places in the text

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = JSONDecoder()


@dataclass(frozen=True)
class _Member:
    """A member of an object or a list: where it begins, with its name, and where its value begins and ends."""

    name: str | int
    start: int
    value: int
    end: int


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found  # it matches everywhere
    return found.end()


def _members(text: str, at: int) -> tuple[list[_Member], int]:
    """The members of the object or list that opens at a place, and where it closes."""
    found: list[_Member] = []
    is_object, closing = text[at] == "{", "}" if text[at] == "{" else "]"
    at = _skip(text, at + 1)
    while text[at] != closing:
        start: int = at
        name: str | int = len(found)
        if is_object:
            name, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        found.append(_Member(name, start, at, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found, at


def _opening(text: str, trail: tuple[str | int, ...]) -> int:
    """Where the object or list opens that these names lead to."""
    at = _skip(text, 1 if text.startswith("\ufeff") else 0)
    for name in trail:
        at = next(one.value for one in _members(text, at)[0] if one.name == name)
    return at


def _added(text: str, trail: tuple[str | int, ...], name: str | None, value: Any) -> str:
    """The text with a further member at the end of an object (`name`) or list, in the file's own indentation."""
    at = _opening(text, trail)
    members, closing = _members(text, at)
    line_end = "\r\n" if "\r\n" in text else "\n"
    unit = _indentation(text)
    inner = unit * (len(trail) + 1)
    written = json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", f"\n{inner}").replace("\n", line_end)
    member = f"{json.dumps(name)}: {written}" if name is not None else written
    if members:
        end = members[-1].end
        return f"{text[:end]},{line_end}{inner}{member}{text[end:]}"
    return f"{text[: at + 1]}{line_end}{inner}{member}{line_end}{unit * len(trail)}{text[closing:]}"


def _indentation(text: str) -> str:
    """What the file indents the members of its object with."""
    found = re.match(r"\ufeff?\s*\{[ \t]*\r?\n([ \t]+)\"", text)
    return found[1] if found else "  "


def _removed(text: str, trail: tuple[str | int, ...]) -> str:
    """The text without a member, with the comma and the blanks that belonged to it."""
    at = _opening(text, trail[:-1])
    members, closing = _members(text, at)
    place = next(number for number, one in enumerate(members) if one.name == trail[-1])
    if len(members) == 1:
        return text[: at + 1] + text[closing:]
    if place:
        return text[: members[place - 1].end] + text[members[place].end :]
    return text[: members[0].start] + text[members[1].start :]
