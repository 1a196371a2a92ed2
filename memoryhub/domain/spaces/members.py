"""The members of a space and their roles."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from memoryhub.domain import accounts, activity
from memoryhub.domain.accounts import require
from memoryhub.domain.spaces.space import memberships_of, spaces_of_person
from memoryhub.errors import Conflict, Invalid, NotFound
from memoryhub.models import Actor, Membership, Person, Role, Space


def members(space: Space) -> QuerySet[Membership]:
    """The memberships of a space with their people, by name."""
    return Membership.objects.within(space).select_related("person").order_by("person__username")


@transaction.atomic
def add_member(space: Space, actor: Actor, person: Person, role: str, *, because: str = "") -> Membership:
    """Makes a person a member; one who is a member already gets the role."""
    require(actor, "manage")
    lock_members(space)
    existing = Membership.objects.within(space).filter(person=person).first()
    if existing:
        return change_role(space, actor, person, role, because=because)
    membership = Membership.objects.create(space=space, person=person, role=checked_role(role))
    adds = f"as {role} {because}".strip()
    activity.record(space, actor, "people.add", "added", person.username, url="settings/people/", adds=adds)
    return membership


@transaction.atomic
def change_role(space: Space, actor: Actor, person: Person, role: str, *, because: str = "") -> Membership:
    """Gives a member another role; a space always keeps an owner."""
    require(actor, "manage")
    lock_members(space)
    membership = membership_of(space, person)
    if membership.role == checked_role(role):
        return membership
    if membership.role == Role.OWNER:
        require_another_owner(space, person)
    old_role, membership.role = membership.role, role
    membership.save(update_fields=["role"])
    adds = f"{role}, was {old_role}" + (f", {because}" if because else "")
    activity.record(space, actor, "people.change_role", "made", person.username, url="settings/people/", adds=adds)
    return membership


@transaction.atomic
def remove_member(space: Space, actor: Actor, person: Person, *, because: str = "") -> None:
    """Removes a member and revokes their tokens for this space; what they did stays."""
    require(actor, "manage")
    lock_members(space)
    membership = membership_of(space, person)
    if membership.role == Role.OWNER:
        require_another_owner(space, person)
    membership.delete()
    person.tokens.within(space).filter(revoked_at=None).update(revoked_at=timezone.now())
    activity.record(space, actor, "people.remove", "removed", person.username, url="settings/people/", adds=because)


def lock_members(space: Space) -> None:
    """Lets one change of the members at a time through: else two owners who demote each other could both succeed."""
    Space.objects.select_for_update().get(pk=space.pk)


def membership_of(space: Space, person: Person) -> Membership:
    """The membership of a person; NotFound names the person."""
    membership = Membership.objects.within(space).filter(person=person).first()
    if membership is None:
        raise NotFound(f"{person.username} is not a member of this space.")
    return membership


def get_member(space: Space, person_id: int) -> Membership:
    """The membership of the person with this id."""
    membership = members(space).filter(person_id=person_id).first()
    if membership is None:
        raise NotFound("There is no such member in this space.")
    return membership


def checked_role(role: str) -> str:
    if role not in Role.values:
        raise Invalid(f"A role is one of: {', '.join(Role.values)}.", field="role")
    return role


def require_another_owner(space: Space, leaving: Person) -> None:
    owners = Membership.objects.within(space).filter(role=Role.OWNER, person__is_active=True)
    if not owners.exclude(person=leaving).exists():
        raise Conflict(f"The space {space.name} needs an owner. Make somebody else owner first.", code="last_owner")


@transaction.atomic
def deactivate_person(actor: Actor, person: Person) -> None:
    """Ends a person's sessions, links and tokens until `reactivate_person`. Roles and what they did stay."""
    accounts.require_hub_owner(actor, "deactivates people")
    if actor.person and actor.person.pk == person.pk:
        raise Conflict("You cannot deactivate yourself. Another owner of the hub can.", code="own_account")
    for membership in memberships_of(person).filter(role=Role.OWNER).order_by("space_id"):
        lock_members(membership.space)
        require_another_owner(membership.space, person)
    others = Person.objects.select_for_update().filter(Q(pk=person.pk) | Q(is_hub_owner=True, is_active=True))
    if not any(one.is_hub_owner and one.pk != person.pk for one in others.order_by("pk")):
        raise Conflict("The hub needs an owner who can sign in.", code="last_owner")
    if not Person.objects.filter(pk=person.pk, is_active=True).update(is_active=False):
        return
    person.links.filter(used_at=None).delete()
    for sign_in in person.sign_ins.all():
        accounts.end_session(person, sign_in.pk)
    record_account_change(actor, person, "people.deactivate", "deactivated")


@transaction.atomic
def reactivate_person(actor: Actor, person: Person) -> None:
    """Lets a person sign in again, with their roles and tokens of before."""
    accounts.require_hub_owner(actor, "reactivates people")
    if Person.objects.filter(pk=person.pk, is_active=False).update(is_active=True):
        record_account_change(actor, person, "people.reactivate", "reactivated")


def record_account_change(actor: Actor, person: Person, verb: str, says: str) -> None:
    """A line of activity for the hub and for each space of the person."""
    for space in (None, *spaces_of_person(person)):
        activity.record(space, actor, verb, says, person.username, url="settings/people/" if space else "")
