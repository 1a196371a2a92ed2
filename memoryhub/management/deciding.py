"""Helpers of the commands for proposals: arguments, actor, text that is safe for a terminal."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from memoryhub.domain import accounts, spaces
from memoryhub.errors import NotFound
from memoryhub.models import Actor, Role, Space
from memoryhub.text.unseen import spelled_out


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--space", default="main", metavar="SLUG", help="default: main")
    parser.add_argument("--as", dest="as_user", default="", metavar="USER", help="default: the owner of the hub")


def finding_lines(one: dict[str, Any]) -> list[str]:
    """The findings of a proposal, one line each."""
    return [spelled_out(f"line {found['line']}, {found['code']}: {found['message']}") for found in one["findings"]]


def space_and_actor(options: dict[str, Any]) -> tuple[Space, Actor]:
    """The space, and the person of --as (else the owner of the hub) as actor in it."""
    space = spaces.get_by_slug(options["space"])
    person = accounts.person_by_name(options["as_user"]) if options["as_user"] else accounts.hub_owner()
    try:
        _, role = spaces.get_for_person(person, space.slug)
    except NotFound:
        if options["as_user"]:
            raise NotFound(f"{person.username} is not in the space {space.slug!r}.") from None
        role = Role.OWNER
    return space, Actor.of_person(person, role)
