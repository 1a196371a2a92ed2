"""Ask people before a coding agent writes a held file: the hook that the agent runs, and its installation (needs no database)."""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from dataclasses import dataclass
from typing import Any, TextIO

from memoryhub.errors import HubError, Invalid
from memoryhub.server import datadir
from memoryhub.stores import held_list
from memoryhub.stores.held_list import HeldDirectory
from memoryhub.text import tool_calls

MAX_INPUT = 16 << 20
SECONDS_TO_ANSWER = 15.0
AGENTS = {
    "claude": "claude-code", "codex": "codex", "copilot": "copilot-cli", "gemini": "gemini-cli", "opencode": "opencode",
}  # fmt: skip
UNREADABLE = "memoryhub: this call could not be read, and some files are held, so it is not let through. Do not retry it as it is."
AWAY = (
    "memoryhub: {path} is held, and the hub that records changes of it does not answer. The file was not written and the change "
    "was not recorded. Do not retry, carry on, and tell the user to start memoryhub."
)


def parser() -> argparse.ArgumentParser:
    parsed = argparse.ArgumentParser(prog="memoryhub hook", description=__doc__)
    parsed.add_argument("agent", choices=list(AGENTS), help="the agent that runs it, with the call on standard input")
    parsed.add_argument("--data-dir", metavar="PATH", help="the hub's data directory")
    act = parsed.add_mutually_exclusive_group()
    act.add_argument(
        "--install", action="store_true", help="show how the agent's settings change, ask, and change them"
    )
    act.add_argument("--uninstall", action="store_true", help="take it out of the settings again")
    act.add_argument("--status", action="store_true", help="say whether it is installed")
    where = parsed.add_mutually_exclusive_group()
    where.add_argument("--project", metavar="DIR", help="the settings of this project; default: yours")
    where.add_argument("--settings", metavar="FILE", help="another settings file")
    parsed.add_argument("--yes", action="store_true", help="do not ask")
    return parsed


def main(arguments: list[str]) -> int:
    """Without an option: decides on one call of the agent, on standard input. Exit 0, and the answer in the agent's format."""
    options = parser().parse_args(arguments)
    if not (options.install or options.uninstall or options.status):
        data_dir = options.data_dir or str(datadir.default_data_dir())
        return run_hook(options.agent, data_dir, sys.stdin, sys.stdout)
    # Inside: it loads every coding agent's rules, which a hook that runs at each write of an agent must not wait for.
    from memoryhub.management import hook_settings

    try:
        print(hook_settings.change_settings(options))
    except HubError as refusal:
        print(" ".join(refusal.message.split()), file=sys.stderr)
        return 1
    return 0


# ---- the hook


@dataclass(frozen=True)
class Answer:
    """Whether the call goes on, and what the agent is told if it does not."""

    allows: bool
    says: str = ""


GOES_ON = Answer(True)


def run_hook(program: str, data_dir: str, given: TextIO, output: TextIO) -> int:
    """Reads the call, decides and prints. Whatever goes wrong, the agent gets an answer that it understands."""
    raw = given.buffer.read(MAX_INPUT + 1)
    held = held_list.read_held(data_dir)
    if held == []:
        return 0
    try:
        answer = answer_for(AGENTS[program], data_dir, raw, held)
    except Exception as error:  # an agent that is shown a traceback would go on and write
        print(f"memoryhub hook: {type(error).__name__}: {error}", file=sys.stderr)
        answer = Answer(False, UNREADABLE) if held else GOES_ON
    if not answer.allows:
        output.write(json.dumps(as_output(program, answer)) + "\n")
        output.flush()
    return 0


def answer_for(agent: str, data_dir: str, raw: bytes, held: list[HeldDirectory] | None) -> Answer:
    """The answer to one call. `held` is None where no list of held directories can be read: then the hub is asked about all."""
    try:
        call = read_input(agent, raw)
    except Invalid:
        return Answer(False, UNREADABLE) if held else GOES_ON
    if call is None:
        return GOES_ON
    concerned = [one for path in call.paths for one in above(held, path, call.folder)]
    if not concerned and held is not None:
        return GOES_ON
    decided = ask(
        data_dir,
        {"agent": agent, "tool": call.tool, "input": call.arguments, "cwd": call.folder, "session": call.session},
    )
    if decided is not None:
        return Answer(decided["decision"] == "allow", str(decided.get("says", "")))
    # The hub is away. What is put back would not stay; what is only held may lie on disk until somebody decides.
    if any(one.puts_back for one in concerned):
        return Answer(False, AWAY.format(path=", ".join(call.paths)[:500]))
    return GOES_ON


def above(held: list[HeldDirectory] | None, path: str, folder: str) -> list[HeldDirectory]:
    return held_list.held_above(held or [], held_list.real_paths(path, folder))


@dataclass(frozen=True)
class Input:
    """One call of a tool that writes files, as the agent described it."""

    tool: str
    arguments: Any
    paths: tuple[str, ...]
    folder: str
    session: str


def read_input(agent: str, raw: bytes) -> Input | None:
    """The call of a tool that writes files; None for other tools and events. What is no such document is refused."""
    if len(raw) > MAX_INPUT:
        raise Invalid("The call is too long.")
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        raise Invalid("The call is no JSON document.") from None
    if not isinstance(document, dict):
        raise Invalid("The call is no object.")
    names = (
        ("toolName", "toolArgs", "sessionId") if agent == "copilot-cli" else ("tool_name", "tool_input", "session_id")
    )
    tool, arguments, session = (document.get(name) for name in names)
    if not isinstance(tool, str):
        raise Invalid("The call names no tool.")
    if agent == "copilot-cli" and isinstance(arguments, str) and arguments.lstrip().startswith("{"):
        arguments = as_object(arguments)  # earlier versions
    calls = tool_calls.read_calls(agent, tool, arguments)
    if not calls:
        return None
    paths, folder = tuple(path for call in calls for path in call.paths), document.get("cwd")
    folder = folder if isinstance(folder, str) and "\x00" not in folder else ""
    return Input(tool, arguments, paths, folder or os.getcwd(), session if isinstance(session, str) else "")


def as_object(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Invalid("The arguments of the call are no JSON.") from None


def ask(data_dir: str, request: dict[str, Any]) -> dict[str, Any] | None:
    """The hub's decision; None where it does not answer."""
    try:
        with held_list.socket_address(data_dir) as address, socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(SECONDS_TO_ANSWER)
            asking.connect(address)
            asking.sendall(json.dumps(request).encode())
            asking.shutdown(socket.SHUT_WR)
            pieces = list(iter(lambda: asking.recv(1 << 16), b""))
        found = json.loads(b"".join(pieces))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("decision") in ("allow", "deny") else None


def as_output(program: str, answer: Answer) -> dict[str, Any]:
    """A refusal in the format of the agent."""
    if program == "copilot":
        return {"permissionDecision": "deny", "permissionDecisionReason": answer.says}
    if program in ("claude", "codex"):
        return {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": answer.says,
            }
        }  # fmt: skip
    return {"decision": "deny", "reason": answer.says}
