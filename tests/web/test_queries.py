"""No page asks the database more often because there is more to show."""

from __future__ import annotations

import pytest

from memoryhub.domain import accounts, files, prompts, spaces
from memoryhub.models import HUB
from tests.planting import PK, plant
from tests.web.test_walls import IN_SPACE

pytestmark = pytest.mark.django_db
# Two queries more as soon as there are other proposals at all, never more than that; and in quarantine one for each agent
# whose prompt is assembled, of which there are four at most.
ONCE_MORE = {"proposals.detail": 2, "quarantine.page": 2, "quarantine.record": 2}


def queries_of(client, path: str, statements) -> list[str]:
    """The queries of a page that works, caches warm."""
    first = client.get(path)
    if first.status_code != 200 or first.streaming or "html" not in first.headers["Content-Type"]:
        return []
    with statements() as sent:
        client.get(path)
    return sent


def test_every_page_costs_the_same_queries_for_one_row_and_for_three(house, as_role, statements):
    owner = as_role("owner")
    owner.raise_request_exception = False
    plant(house.space, accounts.create_person(HUB, "first"))
    paths = {address.name: address.at(house.space.slug) for address in IN_SPACE}
    before = {name: queries_of(owner, path, statements) for name, path in paths.items()}
    for number in (1, 2):
        plant(house.space, accounts.create_person(HUB, f"more-{number}"), PK + number)
    after = {name: queries_of(owner, path, statements) for name, path in paths.items()}
    faults = []
    for name in paths:
        if before[name] and after[name] and len(before[name]) + ONCE_MORE.get(name, 0) < len(after[name]):
            more = {sql[:60] for sql in after[name] if sum(sql[:60] == one[:60] for one in after[name]) > 1}
            faults.append(
                f"{name}: {len(before[name])} queries with one row, {len(after[name])} with three: {sorted(more)[:3]}"
            )
    assert sum(bool(found) for found in before.values()) > 12, "too few pages were looked at"
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("number", [1, 3])
def test_the_list_of_spaces_costs_the_same_for_any_number(house, as_role, number, statements):
    owner = as_role("owner")
    for index in range(number):
        spaces.create(house.owner, f"more-{index}")
    owner.get("/?all")
    with statements() as sent:
        assert owner.get("/?all").content.count(b'href="/s/more-') >= number
    assert len(sent) <= 8


def test_what_stands_around_a_page_takes_five_statements(house, as_role, statements):
    owner = as_role("owner")
    owner.get(f"/s/{house.space.slug}/")
    with statements() as sent:
        owner.get("/shortcuts/")
    said = "\n".join(" ".join(sql.split())[:120] for sql in sent)
    assert len(sent) <= 5, f"more than session, person, space with role, counts and the menu's spaces:\n{said}"
    assert "UPDATE" not in said


def test_a_prompt_asks_once_which_sources_nobody_reviewed(house, as_role, statements):
    agent = prompts.create_agent(house.space, HUB, "scout")
    files.add_mount(house.space, HUB, "/memories/", store="database", policy="trusted")
    for name in ("one.md", "two.md"):
        files.write(house.space, HUB, f"/memories/{name}", b"Be kind.\n")
        prompts.add_source(house.space, HUB, f"/memories/{name}")
    sent = queries_of(as_role("owner"), f"/s/{house.space.slug}/prompt/{agent.slug}/", statements)
    assert sum('"memoryhub_file"."unreviewed_from" IS NOT NULL' in sql for sql in sent) == 1


def test_the_page_of_a_file_asks_once_for_mounts_sources_and_agents(house, as_role, statements):
    prompts.create_agent(house.space, HUB, "scout")
    files.add_mount(house.space, HUB, "/memories/", store="database", policy="trusted")
    files.write(house.space, HUB, "/memories/a/one.md", b"Be kind.\n")
    prompts.add_source(house.space, HUB, "/memories/a/one.md")
    sent = queries_of(as_role("owner"), f"/s/{house.space.slug}/files/memories/a/one.md", statements)
    said = [sql.replace('"', "") for sql in sent]
    for table in ("mount WHERE space_id = %(space)s ORDER", "source WHERE", "agent WHERE"):
        assert sum(f"FROM memoryhub_{table} " in sql for sql in said) == 1, [s for s in said if table in s]
    assert len(sent) <= 18
