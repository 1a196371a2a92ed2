"""GET /api/v1/search: what a token may find there, and how the list ends."""

from __future__ import annotations

import pytest

from memoryhub.domain import accounts, files, longterm, prompts, proposals, spaces
from memoryhub.models import HUB
from tests.api.calling import Caller, code
from tests.outputs import admit

pytestmark = pytest.mark.django_db
FACT = "The lighthouse on the north pier is lit at dusk.\n"


@pytest.fixture
def space():
    """The same word in every layer that an agent may search."""
    space = spaces.create(HUB, "harbour")
    files.add_mount(space, HUB, "/memories/")
    forge = prompts.create_agent(space, HUB, "forge")
    files.write(space, HUB, "/memories/AGENTS.md", FACT.encode())
    admit(space, FACT)
    longterm.store(space, HUB, FACT)
    proposals.propose(space, forge, kind="write", path="/memories/b.md", content=FACT.encode())
    return space


def caller(way_in, space, *scopes):
    agent = prompts.agents_of_space(space).get(slug="forge")
    return Caller(way_in, accounts.create_token(space, HUB, agent=agent, scopes=list(scopes))[1])


def layers_found(answer):
    return {hit["layer"] for hit in answer.json()["items"]}


@pytest.mark.parametrize(
    ("scopes", "found"),
    [
        (["retrieve"], {"working", "longterm"}),
        (["retrieve", "files"], {"working", "longterm", "files"}),
        (["retrieve", "propose"], {"working", "longterm", "proposals"}),
        (["retrieve", "files", "propose"], {"working", "longterm", "files", "proposals"}),
    ],
)
def test_a_search_finds_what_the_scopes_open(way_in, space, scopes, found):
    call = caller(way_in, space, *scopes)
    for _ in range(2):  # the second time the caller is known
        assert layers_found(call("GET", "search?q=lighthouse")) == found
    for layer in ("files", "proposals"):
        answer = call("GET", f"search?q=lighthouse&layers={layer}")
        if layer in found:
            assert layers_found(answer) == {layer}
        else:
            assert code(answer) == (403, "scope_missing")
            assert code(call("GET", f"search?q=lighthouse&layers=working,{layer}")) == (403, "scope_missing")


def test_a_token_that_may_not_retrieve_searches_nothing(way_in, space):
    assert code(caller(way_in, space, "files", "propose")("GET", "search?q=lighthouse")) == (403, "scope_missing")
