"""Find the coding agents of this home and their projects, and show their memory (--list only looks, no database needed)."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from memoryhub.dialects import coding
from memoryhub.domain import coding_agents
from memoryhub.domain.coding_agents import FoundAgent, short_path
from memoryhub.errors import HubError, Invalid
from memoryhub.languages import translated
from memoryhub.management.base import HubCommand, database
from memoryhub.management.terminal import one_line, say, with_help
from memoryhub.server import datadir


def add_arguments(parser: argparse.ArgumentParser | CommandParser) -> None:
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
        print("\n".join(said(line) for line in lines_of(found, home_of(options.home))))
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
            f"  {coding.agent(one.agent).title}{version}{f', {printable(short_path(one.home, home))}' if one.home else ''}"
        )
        for project in one.projects:
            loaded = [file for file in project.files if file.kind != "ignored"]
            size = sum(file.bytes for file in loaded)
            lines.append(
                f"    {printable(short_path(project.path, home))}: {len(loaded)} file{'' if len(loaded) == 1 else 's'}, {size:,} bytes"
            )
    return lines


def said(line: str) -> str:
    """A line in the language of the terminal; what it is indented by stays."""
    return line[: len(line) - len(line.lstrip())] + say(line.strip())


def printable(path: str) -> str:
    """A path as a terminal can print it."""
    return one_line(path)


class Command(HubCommand):
    help = "Find the coding agents of this home and their projects, and show their memory."
    needs_database = False  # nothing is opened before the question is answered

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_arguments(parser)
        parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.add_argument("--space", default="laptop", metavar="SLUG", help="the space that shows them (laptop)")
        parser.add_argument("--port", default="8000", help="the port, where the hub is started (8000)")
        parser.add_argument("--no-start", action="store_true", help="make the space, but do not start the hub")

    def run(self, **options: Any) -> str | None:
        home, named = home_of(options["home"]), named_projects(options["paths"])
        found = find(options["home"], options["paths"])
        projects = coding_agents.projects_to_show(found, named if options["paths"] else [], home)
        self.tell("\n".join(lines_of(found, home)))
        if not found and not projects:
            return None
        self.tell("\n".join(self.plan(found, projects, home)))
        if not (options["yes"] or self.agreed()):
            return translated("Nothing was created.")
        with database():
            address = self.show(home, found, projects, options["space"])
        if address or options["no_start"]:
            return address
        self.start(options)
        return None

    def plan(self, found: list[FoundAgent], projects: list[str], home: str) -> list[str]:
        shown = [short_path(path, home) for path in [*coding_agents.folders_to_show(found), *projects]]
        return [
            "",
            "memoryhub will show, and write nothing there by itself:",
            *(f"  {printable(one)}" for one in shown),
        ]

    def agreed(self) -> bool:
        """One question. Without a terminal nobody can answer it."""
        if not sys.stdin.isatty():
            raise Invalid("Say --yes to show them, or --list to look only.")
        self.stdout.write(translated("Show them? [y/N]") + " ", ending="")
        self.stdout.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def show(self, home: str, found: list[FoundAgent], projects: list[str], slug: str) -> str:
        """Makes the space; answers a one-time sign-in link to it where the hub runs already."""
        from memoryhub.domain import accounts, contexts, first_start  # models need Django to be set up
        from memoryhub.models import HUB
        from memoryhub.server.migrate import migrate_if_needed

        migrate_if_needed()
        name = "" if slug == contexts.LAPTOP else slug
        shown = contexts.show_laptop(HUB, home, found, projects, slug=slug, name=name)
        first_start.join(shown.space, accounts.hub_owner())
        for directory, why in shown.refused:
            self.stderr.write(translated(f"{printable(short_path(directory, home))} is not shown: {why}"))
        for prefix, directory in shown.mounts:
            self.tell(f"{prefix} shows {printable(short_path(directory, home))}")
        if not is_running():
            return ""
        secret = accounts.make_sign_in_link(HUB, accounts.hub_owner(), leads_to=f"/s/{shown.space.slug}/contexts/")
        says = "Open" if settings.PUBLIC_URL else "At the address of the hub that runs, open"
        return f"{translated(says)} {settings.PUBLIC_URL}/login/once/{secret}/"

    def start(self, options: dict[str, Any]) -> None:
        from memoryhub.management.commands.up import Command as Up  # it loads the servers

        given = ["--data-dir", options["data_dir"]] if options["data_dir"] else []
        Up(stdout=self.stdout._out, stderr=self.stderr._out).run_from_argv(
            ["memoryhub", "up", "--open", options["space"], "--port", options["port"], *given]
        )


def is_running() -> bool:
    """Whether a hub serves this data directory now."""
    if settings.DATABASE_URL:
        return True
    try:
        datadir.hub_lock(settings.DATA_DIR).release()
    except HubError:
        return True
    return False
