"""Find faults of memory files in a folder: unread, cut, dead paths, secrets (no database needed)."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict

from memoryhub.dialects import coding
from memoryhub.domain import coding_agents
from memoryhub.errors import HubError
from memoryhub.management.terminal import one_line, say, with_help


def main(arguments: list[str]) -> int:
    """0 without a finding, 1 with findings or a refusal."""
    options = with_help(parser()).parse_args(arguments)
    try:
        for name in options.agent:
            coding.agent(name)
        if not os.path.exists(options.path):
            raise HubError(f"{options.path} does not exist.")
        if not os.access(options.path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
            raise HubError(f"{options.path} cannot be read: run the check as somebody who may read it.")
    except HubError as refusal:
        print(say(str(refusal)), file=sys.stderr)
        return 1
    folder = options.path if os.path.isdir(options.path) else os.path.dirname(os.path.abspath(options.path))
    found = coding_agents.check_folder(folder, options.agent or None)
    if folder != options.path:
        found = [one for one in found if one.path == os.path.realpath(options.path)]
    if options.json:
        print(json.dumps({"findings": [asdict(one) for one in found]}, ensure_ascii=True, indent=2))
    else:
        print("\n".join(line_of(one) for one in found) or say("No findings."))
    return 1 if found else 0


def line_of(one: coding_agents.FindingInFile) -> str:
    whose = f" [{', '.join(one.agents)}]" if one.agents else ""
    near = os.path.relpath(one.path)
    path = one.path if near.startswith(os.pardir) else near
    return one_line(f"{path}:{one.line}: {one.code}: {say(one.message)}{whose}")


def parser() -> argparse.ArgumentParser:
    parsed = argparse.ArgumentParser(prog="memoryhub check", description=__doc__)
    parsed.add_argument(
        "path", nargs="?", default=".", metavar="PATH", help="a folder or one file; default: the current folder"
    )
    parsed.add_argument(
        "--agent", action="append", default=[], metavar="NAME", help="only what matters to this agent; may be repeated"
    )
    parsed.add_argument("--json", action="store_true", help="print one JSON document")
    return parsed
