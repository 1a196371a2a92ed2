"""What the tests of the layers share: a space with two agents, and people in it."""

import pytest

from memoryhub.domain import agents, hot, people, spaces
from memoryhub.domain.access import HUB, Actor


@pytest.fixture
def space(db):
    return spaces.create(HUB, "ledgerline")


@pytest.fixture
def forge(space):
    return agents.create(space, HUB, "forge")


@pytest.fixture
def counter(space):
    return agents.create(space, HUB, "counter")


def person(space, name, role):
    one = people.create(HUB, name)
    spaces.add_member(space, HUB, one, role)
    return Actor.of_person(one, role)


@pytest.fixture
def rk(space):
    return person(space, "rk", "reviewer")


@pytest.fixture
def viewer(space):
    return person(space, "vi", "viewer")


@pytest.fixture
def hot_statements(monkeypatch):
    """The SQL of every hot statement from now on."""
    whole, said = hot.fetched, []
    monkeypatch.setattr(hot, "fetched", lambda wrapper, sql, *more: said.append(sql) or whole(wrapper, sql, *more))
    return said
