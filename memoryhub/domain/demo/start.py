"""The demo: a small team that keeps books, with two agents. Made by the same verbs as everything else.

Each noun adds its part in a module of its own, `demo_<noun>.py` with `make(cast)`, called in the order of PARTS.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from django.db import transaction

from memoryhub.domain import accounts, prompts, spaces
from memoryhub.models import HUB, ActivityLine, Actor, Agent, Membership, Person, Role, Space

SLUG = "demo"
PARTS = ("files", "layers", "proposals", "prompts")


@dataclass(frozen=True)
class Cast:
    """Who plays: an owner, a reviewer, an editor, a coding agent and a support agent."""

    space: Space
    ops: Actor
    rk: Actor
    jt: Actor
    forge: Agent
    counter: Agent


def exists() -> bool:
    return Space.objects.filter(slug=SLUG).exists()


def was_deleted() -> bool:
    """Whether somebody deleted it: then it comes back only when asked for by name."""
    return ActivityLine.objects.filter(space_id=0, verb="spaces.erase", says="erased the demo").exists()


def make(owner: Person | None = None) -> Space:
    """Makes the demo and lets its owner in; where it stands already, only lets them in."""
    owner = owner or accounts.hub_owner()
    space = Space.objects.filter(slug=SLUG).first()
    if space is None:
        with transaction.atomic():
            space = spaces.create(HUB, SLUG, "Ledgerline", is_demo=True)
            cast = gather(space)
        for part in PARTS:
            if find_spec(f"memoryhub.domain.demo.demo_{part}"):
                import_module(f"memoryhub.domain.demo.demo_{part}").make(cast)
    Membership.objects.update_or_create(space=space, person=owner, defaults={"role": Role.OWNER})
    prompts.start_missing_download(space)
    return space


def gather(space: Space) -> Cast:
    description = "A team of four that keeps other people's books, with two agents."
    spaces.rename(space, HUB, "Ledgerline", description)
    ops, rk, jt = (player(space, *who) for who in (("ops", Role.OWNER), ("rk", Role.REVIEWER), ("jt", Role.EDITOR)))
    forge = prompts.create_agent(
        space, ops, "forge", description="writes code for books-api", dialect="deepagents/0.6.3", budget=8000,
        system_prompt="You are forge, a coding agent. You work in the repository books-api.",
    )  # fmt: skip
    counter = prompts.create_agent(
        space, ops, "counter", description="answers the support desk", dialect="hub", budget=4000,
        system_prompt="You answer customers of Ledgerline, a bookkeeping service for small shops.",
        persona="You are counter: calm, brief, exact. You never guess an amount.",
    )  # fmt: skip
    return Cast(space, ops, rk, jt, forge, counter)


def player(space: Space, name: str, role: str) -> Actor:
    """A person of the demo; where somebody real has the name already, with a suffix. Goes when the demo goes."""
    taken = Person.objects.filter(username__iexact=name).exists()
    person = accounts.create_person(HUB, f"{name}-demo" if taken else name)
    accounts.set_preference(person, "demo", "yes")
    spaces.add_member(space, HUB, person, role)
    return Actor.of_person(person, role)
