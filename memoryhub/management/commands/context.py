"""Print the exact text that a coding agent puts into its context in a folder (no database needed)."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from typing import Any

from memoryhub.dialects import coding
from memoryhub.dialects.coding import installed
from memoryhub.domain import coding_agents
from memoryhub.errors import HubError
from memoryhub.management.terminal import say, with_help

MAX_WALKED = 2_000  # folders below the one it is started in


def main(arguments: list[str]) -> int:
    """The bytes on stdout and nothing else, or with --json one document that says where each file stands, or why it does not."""
    options = with_help(parser()).parse_args(arguments)
    try:
        answer = context(options.agent, options.directory, options.home, options.touch)
    except HubError as refusal:
        print(say(str(refusal)), file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(answer, ensure_ascii=True, indent=2))
    else:
        sys.stdout.buffer.write(answer["text"].encode())
    return 0


def context(name: str, directory: str, home: str | None, touched: list[str]) -> dict[str, Any]:
    """The document that --json prints. Without `home` it is that of whoever calls, with the settings of their environment."""
    agent = coding.agent(name)
    if not os.path.isdir(directory):
        raise HubError(f"{directory} is no folder.")
    heading = installed.claude_heading() if name == "claude-code" else ""
    start = os.path.realpath(directory)
    own_home = home or os.path.expanduser("~")
    found = coding_agents.context_in(
        name,
        start,
        own_home,
        below=list(coding_agents.memory_files(start, [name], most=MAX_WALKED)),
        touched=touched,
        env={} if home else os.environ,
        heading=heading,
    )
    version = installed.installed_version(agent.program, own_home)
    return {
        "agent": agent.name,
        "version": agent.version,
        "installed": version or None,
        "verified": agent.verified and not installed.is_newer(version, agent.version),
        "text": found.text.decode("utf-8", "replace"),
        "blocks": [asdict(one) for one in found.blocks],
        "ignored": [asdict(one) for one in found.ignored],
        "later": [asdict(one) for one in found.later],
    }


def parser() -> argparse.ArgumentParser:
    parsed = argparse.ArgumentParser(prog="memoryhub context", description=__doc__)
    parsed.add_argument("agent", metavar="AGENT", help=", ".join(coding.agents()))
    parsed.add_argument("directory", metavar="DIR", help="the folder that the agent is started in")
    parsed.add_argument("--home", metavar="HOME", help="the home of the person who starts it; default: yours")
    parsed.add_argument(
        "--touch", action="append", default=[], metavar="FILE", help="a file that it reads after the start"
    )
    parsed.add_argument("--json", action="store_true", help="print one JSON document")
    return parsed
