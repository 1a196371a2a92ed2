"""What `memoryhub laptop --list` prints: the coding agents of a home and their projects. It needs no database."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict

from memoryhub.dialects import coding
from memoryhub.domain import coding_agents
from memoryhub.domain.coding_agents import FoundAgent, short_path
from memoryhub.errors import HubError, Invalid
from memoryhub.management.terminal import one_line, say, with_help
from memoryhub.text.counted import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="projects; default: the current folder")
    parser.add_argument("--home", metavar="DIR", help="the home to look into; default: yours")
    parser.add_argument("--list", action="store_true", help="only look: nothing is made or asked")


def main(arguments: list[str]) -> int:
    """`--list`, or `--json`: prints what was found, and needs neither a database nor a data directory."""
    parser = argparse.ArgumentParser(prog="memoryhub laptop", description=__doc__)
    add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--yes", action="store_true", help=argparse.SUPPRESS)
    options = with_help(parser).parse_args(arguments)
    try:
        found = find(options.home, options.paths)
    except HubError as refusal:
        print(say(str(refusal)), file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps({"agents": [asdict(one) for one in found]}, ensure_ascii=True, indent=2))
    else:
        print("\n".join(translated_line(line) for line in lines_of(found, home_of(options.home))))
    return 0


def home_of(given: str | None) -> str:
    home = os.path.abspath(given or os.path.expanduser("~"))
    if not os.path.isdir(home):
        raise Invalid(f"{home} is no folder: name a home directory with --home.")
    return home


def find(home: str | None, paths: Sequence[str]) -> list[FoundAgent]:
    """The agents of a home with the projects named, by default that of the current folder. The variables that move folders of
    agents count for one's own home alone."""
    for path in paths:
        if not os.path.isdir(path):
            raise Invalid(f"{path} is no folder.")
    return coding_agents.find_agents(home_of(home), named_projects(paths), env={} if home else os.environ)


def named_projects(paths: Sequence[str]) -> list[str]:
    """The real paths of the projects named; of the current folder its repository."""
    return [os.path.realpath(path) for path in paths] or [coding_agents.project_of(os.path.abspath("."))]


def lines_of(found: list[FoundAgent], home: str) -> list[str]:
    """What was found, for people."""
    if not found:
        return [f"No coding agent was found in {home}."]
    lines = [f"Coding agents in {home}:"]
    for one in found:
        version = f" {one.version}" if one.version else ""
        lines.append(
            f"  {coding.agent(one.agent).title}{version}{f', {one_line(short_path(one.home, home))}' if one.home else ''}"
        )
        for project in one.projects:
            loaded = [file for file in project.files if file.kind != "ignored"]
            size = sum(file.bytes for file in loaded)
            lines.append(
                f"    {one_line(short_path(project.path, home))}: {counted(len(loaded), 'file')}, {counted(size, 'byte')}"
            )
    return lines


def translated_line(line: str) -> str:
    """A line in the language of the terminal; what it is indented by stays."""
    return line[: len(line) - len(line.lstrip())] + say(line.strip())
