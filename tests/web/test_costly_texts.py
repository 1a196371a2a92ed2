"""Pages that show a text stay quick, whatever the text: a megabyte of shapes that are hard on parsers."""

from __future__ import annotations

import time

import pytest

from memoryhub.domain import files, prompts
from memoryhub.models import HUB, Actor
from tests.fixtures.shapes import SHAPES

pytestmark = pytest.mark.django_db
PATH = "/memories/AGENTS.md"
HERE = "/s/books/files/memories/AGENTS.md"
SECONDS = 3.0  # of a busy machine; a quiet one takes a third
HARD = ("comment opened", "stars", "zero width")


def seconds(client, address: str) -> float:
    start = time.thread_time()
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.status_code)
    return time.thread_time() - start


def slow(client, addresses: list[str]) -> list[tuple[str, float]]:
    client.get(addresses[0])  # templates are read once
    return [(one, taken) for one in addresses if (taken := seconds(client, one)) > SECONDS]


@pytest.fixture
def changed(house):
    """Makes a file and a proposal of an agent that changes each third line of it."""

    def make(text: str) -> None:
        files.add_mount(house.space, HUB, "/memories/", policy="review")
        agent = prompts.create_agent(house.space, HUB, "forge")
        prompts.add_source(house.space, HUB, PATH)
        files.write(house.space, HUB, PATH, text.encode())
        lines = text.split("\n")
        after = "\n".join(line if at % 3 else f"x{line}" for at, line in enumerate(lines)).encode()[: 1 << 20]
        wish = files.ChangeRequest("write", PATH, content=after, reason="quicker")
        files.submit(house.space, Actor.of_agent(agent), wish)

    return make


@pytest.mark.parametrize("name", HARD)
def test_pages_of_a_file_and_of_its_proposal(house, as_role, changed, name):
    changed(SHAPES[name])
    pages = [HERE, *(f"{HERE}?view={view}" for view in ("source", "edit", "history", "blame", "diff"))]
    pages += [
        "/s/books/proposals/1/",
        "/s/books/proposals/1/?view=split",
        "/s/books/prompt/forge/",
        "/s/books/search/?q=a",
    ]
    assert slow(as_role("owner"), pages) == []
