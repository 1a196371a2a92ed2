"""Who is in a space, and in which role."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memoryhub.domain import activity
from memoryhub.domain.accounts import require
from memoryhub.errors import Conflict, Invalid, NotFound
from memoryhub.models import Actor, Membership, Person, Role, Space


def members(space: Space) -> QuerySet[Membership]:
    return Membership.objects.within(space).select_related("person").order_by("person__username")


@transaction.atomic
def add_member(space: Space, actor: Actor, person: Person, role: str) -> Membership:
    """Lets a person into the space; somebody who is in it already gets the role."""
    require(actor, "manage")
    lock_members(space)
    existing = Membership.objects.within(space).filter(person=person).first()
    if existing:
        return change_role(space, actor, person, role)
    membership = Membership.objects.create(space=space, person=person, role=checked_role(role))
    activity.record(space, actor, "people.add", "added", person.username, url="settings/people/", adds=f"as {role}")
    return membership


@transaction.atomic
def change_role(space: Space, actor: Actor, person: Person, role: str) -> Membership:
    """Gives a member another role; a space always keeps an owner."""
    require(actor, "manage")
    lock_members(space)
    membership = member(space, person)
    if membership.role == checked_role(role):
        return membership
    if membership.role == Role.OWNER:
        keep_an_owner(space, person)
    was, membership.role = membership.role, role
    membership.save(update_fields=["role"])
    says = ("made", person.username)
    activity.record(space, actor, "people.change_role", *says, url="settings/people/", adds=f"{role}, was {was}")
    return membership


@transaction.atomic
def remove_member(space: Space, actor: Actor, person: Person) -> None:
    """Takes a person out of the space and ends their tokens here; what they did stays."""
    require(actor, "manage")
    lock_members(space)
    membership = member(space, person)
    if membership.role == Role.OWNER:
        keep_an_owner(space, person)
    membership.delete()
    person.tokens.within(space).filter(revoked_at=None).update(revoked_at=timezone.now())
    activity.record(space, actor, "people.remove", "removed", person.username, url="settings/people/")


def lock_members(space: Space) -> None:
    """Two owners who demote each other at one moment must not both succeed."""
    Space.objects.select_for_update().get(pk=space.pk)


def member(space: Space, person: Person) -> Membership:
    membership = Membership.objects.within(space).filter(person=person).first()
    if membership is None:
        raise NotFound(f"{person.username} is not a member of this space.")
    return membership


def member_by_person(space: Space, person_id: int) -> Membership:
    membership = members(space).filter(person_id=person_id).first()
    if membership is None:
        raise NotFound("There is no such member in this space.")
    return membership


def checked_role(role: str) -> str:
    if role not in Role.values:
        raise Invalid(f"A role is one of: {', '.join(Role.values)}.", field="role")
    return role


def keep_an_owner(space: Space, leaving: Person) -> None:
    if not Membership.objects.within(space).filter(role=Role.OWNER).exclude(person=leaving).exists():
        raise Conflict("A space needs an owner. Make somebody else owner first.", code="last_owner")
