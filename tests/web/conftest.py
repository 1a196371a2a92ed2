"""A space with somebody in each role, and a browser signed in as any of them."""

import pytest
from django.test import Client

from memoryhub.domain import accounts, spaces
from memoryhub.models import HUB, Actor, Role


class House:
    """`house.space`, and for each role its actor: `house.viewer` … `house.owner`, who joins when first asked for."""

    def __init__(self):
        self.space = spaces.create(HUB, "books", "Books")

    def __getattr__(self, role):
        if role not in Role.values:
            raise AttributeError(role)
        person = accounts.create_person(HUB, f"a-{role}", is_hub_owner=role == "owner")
        spaces.add_member(self.space, HUB, person, role)
        setattr(self, role, Actor.of_person(person, role))
        return getattr(self, role)

    def with_everybody(self):
        for role in Role.values:
            getattr(self, role)
        return self


@pytest.fixture
def house(db):
    return House()


@pytest.fixture
def as_role(house):
    def sign_in(role):
        client = Client()
        client.force_login(getattr(house, role).person)
        return client

    return sign_in
