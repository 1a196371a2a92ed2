"""What the commands about proposals share: which space, in whose name."""

from __future__ import annotations

import unicodedata
from typing import Any

from django.core.management.base import CommandParser

from memoryhub.domain import accounts, spaces
from memoryhub.errors import NotFound
from memoryhub.models import Actor, Role, Space


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--space", default="main", metavar="SLUG", help="default: main")
    parser.add_argument("--as", dest="as_user", default="", metavar="USER", help="default: the owner of the hub")


def shown(text: str) -> str:
    """For a terminal, with what it would hide or obey (zero-width, bidi, escape sequences) written out."""
    return "".join(f"<U+{ord(char):04X}>" if is_unseen(char) else char for char in text)


def is_unseen(char: str) -> bool:
    return char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def found_in(one: dict[str, Any]) -> list[str]:
    """What the gate found in a proposal, a line each."""
    return [shown(f"line {found['line']}, {found['code']}: {found['message']}") for found in one["findings"]]


def space_and_actor(options: dict[str, Any]) -> tuple[Space, Actor]:
    """The space, and the person in whose name it is done, with their role there."""
    space = spaces.get_by_slug(options["space"])
    person = accounts.person_by_name(options["as_user"]) if options["as_user"] else accounts.hub_owner()
    try:
        _, role = spaces.get_for_person(person, space.slug)
    except NotFound:
        if options["as_user"]:
            raise NotFound(f"{person.username} is not in the space {space.slug!r}.") from None
        role = Role.OWNER
    return space, Actor.of_person(person, role)
