"""`pending` of a prompt: the numbers of the proposals that wait for its sources, and of no others."""

from __future__ import annotations

import pytest

from memoryhub.domain import accounts, files, prompts, proposals, spaces
from memoryhub.models import HUB
from tests.api.calling import Caller

pytestmark = pytest.mark.django_db
PATH = "/memories/AGENTS.md"


def furnished(slug):
    space = spaces.create(HUB, slug)
    files.add_mount(space, HUB, "/memories/", policy="review")
    for path in (PATH, "/memories/other.md"):
        files.write(space, HUB, path, b"- one\n- two\n")
    prompts.add_source(space, HUB, PATH)
    return space, prompts.create_agent(space, HUB, "forge")


def propose_edit(space, agent, old="one", path=PATH):
    change = {"old_string": old, "new_string": f"{old} of {space.slug}"}
    return proposals.propose(space, agent, kind="edit", path=path, change=change).number


def test_a_prompt_names_what_waits_for_its_own_sources(way_in):
    space, forge = furnished("ours")
    call = Caller(way_in, accounts.create_token(space, HUB, agent=forge)[1])
    other, stranger = furnished("theirs")
    for old in ("one", "two"):
        propose_edit(other, stranger, old)
    assert call("GET", "prompt", Accept="application/json").json()["pending"] == []
    propose_edit(space, forge, path="/memories/other.md")
    number = propose_edit(space, forge)
    propose_edit(other, stranger, "- two")
    assert call("GET", "prompt", Accept="application/json").json()["pending"] == [number]
    assert prompts.assemble(space, forge).pending == (number,)
    proposals.withdraw(space, forge, number)
    assert call("GET", "prompt", Accept="application/json").json()["pending"] == []
