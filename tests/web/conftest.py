"""A space with somebody in each role, and a browser signed in as any of them."""

from types import SimpleNamespace

import pytest
from django.test import Client

from memoryhub.domain import spaces
from memoryhub.models import HUB, Actor, Membership, Person, Role


@pytest.fixture
def house(db):
    """`house.space`, and for each role its actor: `house.viewer` … `house.owner`.

    Put in by two statements, without lines of activity: the verbs send fifty, and hundreds of tests begin here."""
    space = spaces.create(HUB, "books", "Books")
    people = [Person(username=f"a-{role}", is_hub_owner=role == "owner") for role in Role.values]
    for person in people:
        person.set_unusable_password()
    members = zip(Role.values, Person.objects.bulk_create(people), strict=True)
    joined = Membership.objects.bulk_create(
        Membership(space=space, person=person, role=role) for role, person in members
    )
    return SimpleNamespace(space=space, **{one.role: Actor.of_person(one.person, one.role) for one in joined})


@pytest.fixture
def as_role(house):
    def sign_in(role):
        client = Client()
        client.force_login(getattr(house, role).person)
        return client

    return sign_in
