"""Every list that is cut into pages: all of it, once, in order, and a last page that is full names no next one."""

from __future__ import annotations

import pytest

from memoryhub.domain import accounts, files, prompts, proposals, spaces
from memoryhub.models import HUB
from tests.api.calling import Caller, code
from tests.outputs import admit

pytestmark = pytest.mark.django_db
ROWS = 4
LISTS = {"proposals": "proposals?", "working": "working?", "search": "search?q=lighthouse&"}


@pytest.fixture
def call(way_in):
    space = spaces.create(HUB, "harbour")
    files.add_mount(space, HUB, "/memories/")
    forge = prompts.create_agent(space, HUB, "forge")
    for number in range(ROWS):
        path = f"/memories/{number}.md"
        files.write(space, HUB, path, f"lighthouse {number}\n".encode())
        admit(space, f"Note {number}.")
        proposals.propose(space, forge, kind="delete", path=path)
    return Caller(way_in, accounts.create_token(space, HUB, agent=forge)[1])


def key(item):
    return item.get("number") or item["id"]


def pages(call, address, limit):
    found, cursor = [], ""
    for _ in range(ROWS + 2):
        page = call("GET", f"{address}limit={limit}" + (f"&cursor={cursor}" if cursor else "")).json()
        found.append([key(item) for item in page["items"]])
        if not (cursor := page["next"]):
            assert cursor is None
            return found
    raise AssertionError("the list does not end")


@pytest.mark.parametrize("address", LISTS.values(), ids=LISTS)
def test_a_list_ends_where_its_rows_end(call, address):
    (whole,) = pages(call, address, 50)
    assert len(set(whole)) == len(whole) >= ROWS
    for limit in (1, 2, 3, len(whole)):
        cut = [whole[start : start + limit] for start in range(0, len(whole), limit)]
        assert pages(call, address, limit) == cut


@pytest.mark.parametrize("address", LISTS.values(), ids=LISTS)
def test_a_page_holds_one_row_at_least_and_two_hundred_at_most(call, address):
    most = 50 if address.startswith("working") else 200
    assert call("GET", f"{address}limit={most}").status_code == 200
    for limit in (0, most + 1):
        assert code(call("GET", f"{address}limit={limit}")) == (422, "invalid")


@pytest.mark.parametrize("address", ["agents?", "revisions?path=/memories/0.md&"])
def test_limits_of_all_lists_are_the_same(call, address):
    assert call("GET", f"{address}limit=200").status_code == 200
    for limit in (-1, 0, 201):
        assert code(call("GET", f"{address}limit={limit}")) == (422, "invalid")
