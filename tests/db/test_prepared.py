"""Query sets that are put into SQL once: what they find, and that Django does not do it again."""

import pytest
from django.db.models.sql.compiler import SQLCompiler

from memoryhub.db.prepared import any_of, prepared
from memoryhub.domain import accounts, prompts, spaces
from memoryhub.models import HUB, Actor, Agent, Membership, Role, Source

pytestmark = pytest.mark.django_db
AGENTS = prepared(
    lambda space, slugs: Agent.objects.within(space).filter(any_of("slug", slugs), is_on=True).order_by("slug")
)
NAMES = prepared(lambda space: Agent.objects.within(space).order_by("-slug").values_list("slug", "retrieval")[:2])
OWNERS = prepared(
    lambda space: Membership.objects.filter(space_id=space, role=Role.OWNER).values_list("role", flat=True)
)
SOURCES = prepared(lambda space: Source.objects.within(space).select_related("agent").order_by("position"))


@pytest.fixture
def space():
    return spaces.create(Actor.of_person(accounts.hub_owner(), "owner"), "prepared")


@pytest.fixture
def agents(space):
    return [prompts.create_agent(space, HUB, name) for name in ("one", "two", "three")]


def test_it_finds_what_the_query_set_finds(space, agents):
    found = AGENTS(space.pk, ["one", "two", "none"])
    assert found == agents[:2]
    assert [one.__dict__ | {"_state": 0} for one in found] == [
        one.__dict__ | {"_state": 0}
        for one in Agent.objects.within(space).filter(slug__in=["one", "two"]).order_by("slug")
    ]
    assert AGENTS(space.pk, []) == []
    assert AGENTS.first(space.pk, ["two"]) == agents[1]
    assert AGENTS.first(space.pk + 1, ["two"]) is None


def test_it_finds_values_and_what_is_related(space, agents):
    prompts.add_source(space, HUB, "/memories/a.md", agent=agents[0])
    assert NAMES(space.pk) == [("two", {}), ("three", {})]
    assert [one.agent for one in SOURCES(space.pk)] == agents[:1]
    assert OWNERS(space.pk) == ["owner"]


def test_django_puts_it_into_sql_once_and_postgresql_plans_it_for_any_value(space, agents, statements, monkeypatch):
    NAMES(space.pk)
    monkeypatch.setattr(SQLCompiler, "as_sql", None)
    with statements() as sent:
        assert len(NAMES(space.pk)) == 2
    assert "LIMIT 2" in sent[0] and len(sent) == 1
