"""`memoryhub hook --install`, `--uninstall` and `--status`: the hook in the settings of a coding agent."""

from __future__ import annotations

import argparse
import os
import sys

from memoryhub.domain import coding_agents
from memoryhub.domain.coding_agents import AgentHook, SettingsChange
from memoryhub.errors import Invalid


def change_settings(options: argparse.Namespace) -> str:
    """Changes the settings of an agent, or says what they have."""
    if options.agent == "opencode":
        return change_plugin(options)
    hook = coding_agents.HOOKS[options.agent]
    path = settings_path(hook, options)
    if options.status:
        text = (coding_agents.read_settings(path) or b"").decode("utf-8", "replace")
        return status_line(path, coding_agents.installed_command(hook, text))
    if options.install:
        command = coding_agents.own_command(options.agent, chosen_data_dir(options))
        return make(options, coding_agents.plan_install(hook, path, command))
    return make(options, coding_agents.plan_uninstall(hook, path))


def change_plugin(options: argparse.Namespace) -> str:
    """As `change_settings`, for an agent that takes a file of its own."""
    home = os.path.expanduser("~")
    folder = (
        os.path.join(home, ".config", "opencode") if not options.project else os.path.join(options.project, ".opencode")
    )
    path = os.path.abspath(options.settings or os.path.join(folder, coding_agents.PLUGIN_NAME))
    if options.status:
        return status_line(path, coding_agents.plugin_command(coding_agents.read_settings(path)))
    if options.install:
        command = coding_agents.own_command(options.agent, chosen_data_dir(options))
        return make(options, coding_agents.plan_plugin(path, command))
    return make(options, coding_agents.plan_plugin_removal(path))


def status_line(path: str, command: str) -> str:
    return f"{path} runs {command}" if command else f"{path} has no hook of memoryhub."


def make(options: argparse.Namespace, change: SettingsChange) -> str:
    """Shows a change, asks, and makes it; answers what was done."""
    path = change.path
    if change.is_none:
        return f"{path} {'has it already' if options.install else 'has no hook of memoryhub'}. Nothing is changed."
    print(change.diff, end="")
    if not (options.yes or agreed(path)):
        return "Nothing is changed."
    kept = coding_agents.make_change(change)
    if options.install and options.agent == "codex":
        print("Codex runs the hook once you trust it: it asks at its next start, or under /hooks.")
    done = f"{path} is removed: it was made for the hook alone."
    if change.after is not None:
        done = f"{path} is {'created' if change.before is None else 'changed'}."
    return f"{done} The file before is kept as {kept}." if kept else done


def settings_path(hook: AgentHook, options: argparse.Namespace) -> str:
    if options.settings:
        return os.path.abspath(options.settings)
    if options.project:
        if not os.path.isdir(options.project):
            raise Invalid(f"{options.project} is no folder.")
        return os.path.join(os.path.abspath(options.project), hook.project_folder or hook.folder, hook.file)
    home = os.path.expanduser("~")
    moved = coding_agents.agent_home(hook.agent, home, os.environ)
    return os.path.join(moved or os.path.join(home, hook.folder), hook.file)


def chosen_data_dir(options: argparse.Namespace) -> str:
    """The data directory, where it is not the one that the hook finds by itself."""
    chosen = options.data_dir or os.environ.get("MEMORYHUB_DATA_DIR") or ""
    return os.path.abspath(os.path.expanduser(chosen)) if chosen else ""


def agreed(path: str) -> bool:
    """One question. Without a terminal nobody can answer it."""
    if not sys.stdin.isatty():
        raise Invalid(f"Add --yes to change {path}.")
    print("Change it? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
