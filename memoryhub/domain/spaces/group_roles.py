"""Roles that groups of a provider or proxy give: set and taken away at each sign-in, in the spaces that the setting names."""

from __future__ import annotations

from collections.abc import Iterable

from django.conf import settings
from django.db import transaction

from memoryhub.domain import activity
from memoryhub.domain.accounts import role_rank
from memoryhub.domain.spaces.members import add_member, remove_member
from memoryhub.errors import Conflict
from memoryhub.models import HUB, Membership, Person, Space


def apply_group_roles(person: Person, groups: Iterable[str], source: str) -> None:
    """Gives the person the highest role of their groups in each space that MEMORYHUB_GROUP_ROLES names, and takes away others
    there. Spaces that it does not name keep the roles that people gave. `source` is who told the groups."""
    wanted = roles_of(set(groups))
    governed = {slug for spaces in settings.GROUP_ROLES.values() for slug in spaces}
    current = dict(
        Membership.objects.filter(person=person, space__slug__in=governed).values_list("space__slug", "role")
    )
    changes = {slug for slug in governed if current.get(slug) != wanted.get(slug, (None,))[0]}
    for space in Space.objects.filter(slug__in=changes).order_by("pk"):
        apply_to(space, person, *wanted.get(space.slug, ("", "")), source)


def roles_of(groups: set[str]) -> dict[str, tuple[str, str]]:
    """The highest role of these groups by space, and the group that gives it."""
    found: dict[str, tuple[str, str]] = {}
    for group in sorted(groups & settings.GROUP_ROLES.keys()):
        for slug, role in settings.GROUP_ROLES[group].items():
            if slug not in found or role_rank(role) > role_rank(found[slug][0]):
                found[slug] = (role, group)
    return found


@transaction.atomic
def apply_to(space: Space, person: Person, role: str, group: str, source: str) -> None:
    """Sets or takes away one role. The last owner of a space keeps theirs, which stands in the activity."""
    why = f"by the group {group} of {source}" if role else f"in no group of {source} that has a role here"
    try:
        with transaction.atomic():
            if role:
                add_member(space, HUB, person, role, because=why)
            else:
                remove_member(space, HUB, person, because=why)
    except Conflict as refusal:
        activity.record(
            space,
            HUB,
            "people.keep_role",
            "kept the role of",
            person.username,
            url="settings/people/",
            adds=refusal.message,
        )
