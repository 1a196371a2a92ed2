"""The plugin with which OpenCode asks before its tools write: a file of its own in the plugins folder of its configuration."""

from __future__ import annotations

import json
import os
import shlex

from memoryhub.domain.coding_agents.hook_files import SettingsChange, read_settings
from memoryhub.errors import Conflict

NAME = os.path.join("plugin", "memoryhub.js")
FIRST_LINE = "// Made by memoryhub hook opencode --install; --uninstall removes it."
SOURCE = """\
{first_line}
import {{ spawnSync }} from "node:child_process"

const COMMAND = {command}

export const Memoryhub = async ({{ directory }}) => ({{
  "tool.execute.before": async (input, output) => {{
    const call = {{ tool_name: input.tool, tool_input: output.args, cwd: directory, session_id: input.sessionID }}
    const asked = spawnSync(COMMAND[0], COMMAND.slice(1), {{ input: JSON.stringify(call), encoding: "utf8", timeout: 20000 }})
    const said = (asked.stdout || "").trim()
    if (said && JSON.parse(said).decision === "deny") throw new Error(JSON.parse(said).reason)
  }},
}})
"""


def plugin_text(command: str) -> str:
    """The plugin that runs this command."""
    return SOURCE.format(first_line=FIRST_LINE, command=json.dumps(shlex.split(command)))


def plan_plugin(path: str, command: str) -> SettingsChange:
    """What installing makes; a file of somebody else in its place is not touched."""
    before = read_settings(path)
    _check_ours(path, before)
    return SettingsChange(path, before, plugin_text(command).encode())


def plan_plugin_removal(path: str) -> SettingsChange:
    """What uninstalling removes."""
    before = read_settings(path)
    _check_ours(path, before)
    return SettingsChange(path, before, None)


def _check_ours(path: str, content: bytes | None) -> None:
    if content is not None and not content.startswith(FIRST_LINE.encode()):
        raise Conflict(f"{path} was not made by memoryhub: it is not touched.", code="not_ours")


def plugin_command(content: bytes | None) -> str:
    """The line of a plugin of ours that names its command; empty for none."""
    lines = (content or b"").decode("utf-8", "replace").splitlines()
    found = next((line for line in lines if line.startswith("const COMMAND = ")), "")
    return found.removeprefix("const COMMAND = ") if lines[:1] == [FIRST_LINE] else ""
