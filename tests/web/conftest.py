"""A space with somebody in each role, and a browser signed in as any of them."""

from types import SimpleNamespace

import pytest
from django.test import Client

from memoryhub.domain import accounts, spaces
from memoryhub.models import HUB, Actor, Role


@pytest.fixture
def house(db):
    """`house.space`, and for each role its actor: `house.viewer` … `house.owner`."""
    space = spaces.create(HUB, "books", "Books")
    found = SimpleNamespace(space=space)
    for role in Role.values:
        person = accounts.create_person(HUB, f"a-{role}", is_hub_owner=role == "owner")
        spaces.add_member(space, HUB, person, role)
        setattr(found, role, Actor.of_person(person, role))
    return found


@pytest.fixture
def as_role(house):
    def sign_in(role):
        client = Client()
        client.force_login(getattr(house, role).person)
        return client

    return sign_in
