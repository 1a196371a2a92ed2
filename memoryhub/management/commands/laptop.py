"""Find the coding agents of this home and their projects, and show their memory (--list only looks, no database needed)."""

from __future__ import annotations

import sys
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from memoryhub.domain import accounts, coding_agents, contexts, first_start
from memoryhub.domain.coding_agents import FoundAgent, short_path
from memoryhub.errors import HubError, Invalid
from memoryhub.languages import translated
from memoryhub.management.base import HubCommand
from memoryhub.management.commands.up import Command as Up
from memoryhub.management.database import database
from memoryhub.management.laptop_list import add_arguments, find, home_of, lines_of, named_projects
from memoryhub.management.terminal import one_line
from memoryhub.models import HUB
from memoryhub.server import datadir
from memoryhub.server.migrate import migrate_if_needed


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
            *(f"  {one_line(one)}" for one in shown),
        ]

    def agreed(self) -> bool:
        """One question. Without a terminal nobody can answer it."""
        if not sys.stdin.isatty():
            raise Invalid("Add --yes to show them, or --list to only list them.")
        self.stdout.write(translated("Show them? [y/N]") + " ", ending="")
        self.stdout.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def show(self, home: str, found: list[FoundAgent], projects: list[str], slug: str) -> str:
        """Makes the space; answers a one-time sign-in link to it where the hub runs already."""
        migrate_if_needed()
        name = "" if slug == contexts.LAPTOP else slug
        shown = contexts.show_laptop(HUB, home, found, projects, slug=slug, name=name)
        first_start.join(shown.space, accounts.hub_owner())
        for directory, why in shown.refused:
            self.stderr.write(translated(f"{one_line(short_path(directory, home))} is not shown: {why}"))
        for prefix, directory in shown.mounts:
            self.tell(f"{prefix} shows {one_line(short_path(directory, home))}")
        if not is_running():
            return ""
        secret = accounts.make_sign_in_link(HUB, accounts.hub_owner(), leads_to=f"/s/{shown.space.slug}/contexts/")
        address = settings.PUBLIC_URL or datadir.hub_address(settings.DATA_DIR)
        says = "Open" if address else "At the address of the hub that runs, open"
        return f"{translated(says)} {address}/login/once/{secret}/"

    def start(self, options: dict[str, Any]) -> None:
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
