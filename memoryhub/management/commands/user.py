"""Let a person in or keep one out: memoryhub user add NAME --role editor, memoryhub user link NAME, memoryhub user deactivate NAME."""

from __future__ import annotations

import sys
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import transaction

from memoryhub.domain import accounts, spaces
from memoryhub.errors import Invalid
from memoryhub.management.base import HubCommand
from memoryhub.models import HUB, Person, Role, Space
from memoryhub.server import datadir
from memoryhub.text.counted import counted


class Command(HubCommand):
    help = "Make a person, or let one into another space, and print a personal API token for it; deactivate or reactivate one."
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        self.parser = parser
        self.valid = "15m"
        parser.add_argument(
            "verb", choices=["add", "link", "deactivate", "reactivate", "sign-out", "reset-second-factor"]
        )
        parser.add_argument("name")
        parser.add_argument("--role", choices=Role.values, help="needed to add a person")
        parser.add_argument("--space", default="main")
        parser.add_argument("--email", default="")
        lasts = "how long the one-time link works: 15m, 1h, 1d or 3d (15m)"
        parser.add_argument("--valid", default="15m", metavar="TIME", help=lasts)
        parser.add_argument("--password-stdin", action="store_true", help="read the password from standard input")

    def run(self, **options: Any) -> dict[str, Any]:
        if options["verb"] == "add":
            return self.add(options)
        person = accounts.person_by_name(options["name"])
        if options["verb"] == "link":
            return self.make_link(person, options["valid"])
        if options["verb"] == "sign-out":
            return {"user": person.username, "ended": accounts.end_sessions(HUB, person)}
        if options["verb"] == "reset-second-factor":
            return {"user": person.username, "was_reset": accounts.reset_second_factor(HUB, person)}
        change = spaces.deactivate_person if options["verb"] == "deactivate" else spaces.reactivate_person
        change(HUB, person)
        return {"user": person.username, "is_active": options["verb"] == "reactivate"}

    def add(self, options: dict[str, Any]) -> dict[str, Any]:
        if not options["role"]:
            self.parser.error("the following arguments are required: --role")
        password = sys.stdin.readline().rstrip("\r\n") if options["password_stdin"] else ""
        if options["password_stdin"] and not password:
            raise Invalid("--password-stdin was given, but standard input was empty.")
        self.valid = options["valid"]
        with transaction.atomic():
            space = spaces.get_by_slug(options["space"])
            person = self.person(options, password)
            self.link = (
                ""
                if options["json"] or person.has_usable_password()
                else self.make_link(person, options["valid"])["link"]
            )
            return self.let_in(space, person, options["role"])

    def make_link(self, person: Person, valid: str) -> dict[str, Any]:
        secret = accounts.make_sign_in_link(HUB, person, lasts=accounts.link_time(valid))
        return {"user": person.username, "link": f"{self.address()}/login/once/{secret}/", "valid": valid}

    def person(self, options: dict[str, Any], password: str) -> Person:
        known = accounts.find_person(options["name"])
        if known is None:
            return accounts.create_person(HUB, options["name"], email=options["email"], password=password)
        if password and not known.check_password(password):
            accounts.change_password(known, password)
        return known

    def let_in(self, space: Space, person: Person, role: str) -> dict[str, Any]:
        spaces.add_member(space, HUB, person, role)
        _, secret = accounts.create_token(space, HUB, person=person, label="command line")
        return {"user": person.username, "space": space.slug, "role": role, "token": secret}

    def say(self, answer: dict[str, Any]) -> str:
        if "is_active" in answer:
            return f"{answer['user']} {'can sign in again' if answer['is_active'] else 'is deactivated'}."
        if "ended" in answer:
            return f"{answer['user']} is signed out of {counted(answer['ended'], 'browser')}."
        if "was_reset" in answer:
            done = "has no second factor any more, and is signed out everywhere" if answer["was_reset"] else "had none"
            return f"{answer['user']} {done}."
        if "link" in answer:
            return f"Sign-in for {answer['user']}, once within {answer['valid']}{self.where()}: {answer['link']}"
        lines = [
            f"{answer['user']} is {answer['role']} in {answer['space']}.",
            f"Personal API token, shown this once: {answer['token']}",
        ]
        if self.link:
            lines.append(f"Sign-in, once within {self.valid}{self.where()}: {self.link}")
        return "\n".join(lines)

    def address(self) -> str:
        return settings.PUBLIC_URL or datadir.hub_address(settings.DATA_DIR)

    def where(self) -> str:
        return "" if self.address() else ", at the hub's address"
