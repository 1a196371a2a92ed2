"""How fast reviewing is; run with `-s` to read the figures. Limits are wide, so that a busy machine does not make the suite red."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection
from django.test import Client
from django.utils import timezone

from memoryhub.domain import accounts, files, prompts, proposals, spaces
from memoryhub.models import HUB, Actor, Proposal

pytestmark = pytest.mark.django_db(transaction=True)
PATH = "/memories/AGENTS.md"


@pytest.fixture
def house():
    space = spaces.create(HUB, "books")
    files.add_mount(space, HUB, "/memories/", store="database", policy="review")
    files.write(space, HUB, PATH, b"- one\n")
    forge = prompts.create_agent(space, HUB, "forge")
    person = accounts.create_person(HUB, "rk")
    spaces.add_member(space, HUB, person, "owner")
    client = Client()
    client.force_login(person)
    return space, forge, Actor.of_person(person, "owner"), client


def median(act: Callable[[], Any], times: int = 7) -> float:
    act()
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        act()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


MANY = """
INSERT INTO memoryhub_proposal ({names})
SELECT {names} FROM generate_series(%s::int, %s::int) n CROSS JOIN LATERAL
  jsonb_populate_record(NULL::memoryhub_proposal, %s::jsonb || jsonb_build_object(
    'number', n, 'same_as', n::text, 'risk', n %% 3, 'reason', 'Reason ' || n,
    'change', jsonb_build_object('old_string', 'one', 'new_string', 'one and ' || n, 'replace_all', false)))
"""


def many(space, forge, count: int, start: int = 0) -> None:
    one = Proposal(
        space=space, number=0, kind="edit", path=PATH, agent=forge, agent_name="forge", created_at=timezone.now(),
        base_revision=1,
    )  # fmt: skip
    fields = [field for field in Proposal._meta.concrete_fields if not field.primary_key]
    names = ", ".join(f'"{field.column}"' for field in fields)
    values = {field.column: getattr(one, field.attname) for field in fields}
    with connection.cursor() as cursor:
        cursor.execute(MANY.format(names=names), [start + 1, start + count, json.dumps(values, cls=DjangoJSONEncoder)])


def test_the_inbox_stays_quick(house):
    space, forge, _, client = house
    url = f"/s/{space.slug}/proposals/"
    many(space, forge, 50)
    few = median(lambda: client.get(url))
    many(space, forge, 50_000, 50)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE memoryhub_proposal")
    lots = median(lambda: client.get(url))
    print(f"\ninbox: 50 in {few * 1000:.0f} ms, 50,000 in {lots * 1000:.0f} ms, {lots / few:.1f} times")
    assert lots < 5 * few  # the aim is 3


def test_the_review_of_a_large_file(house):
    """100 kB with 100 changes, against a page of one line in the same run."""
    space, forge, _, client = house
    small = proposals.propose(space, forge, kind="write", path=PATH, content=b"- two\n")
    lines = [f"- Line {n}: the ledger keeps what happened in month {n % 12} of the year, and why." for n in range(1300)]
    path = "/memories/ledger.md"
    files.write(space, HUB, path, "\n".join(lines).encode())
    prompts.add_source(space, HUB, path)
    changed = [line.replace("why", "for whom") if n % 13 == 0 else line for n, line in enumerate(lines)]
    large = proposals.propose(space, forge, kind="write", path=path, content="\n".join(changed).encode())
    one, many = (
        median(lambda n=asked.number: client.get(f"/s/{space.slug}/proposals/{n}/"), 5) for asked in (small, large)
    )
    print(
        f"\nreview: one line {one * 1000:.0f} ms, 98 kB with 100 changes {many * 1000:.0f} ms, {many / one:.1f} times"
    )
    assert many < 12 * one  # about four times


def test_a_decision_asks_a_fixed_number_of_times(house, statements):
    """However long the file and its history are. `python -m tests.bench proposals` says how long that takes."""
    space, forge, rk, _ = house
    for turn in range(20):
        files.write(space, HUB, PATH, b"- one of many lines\n" * (turn + 1))
    change = {"line": 0, "text": "- zero\n"}
    asked = proposals.propose(space, forge, kind="insert", path=PATH, change=change)
    seen = proposals.result(asked).seen
    with statements() as sent:
        proposals.approve(space, rk, asked.number, seen=seen)
    assert len(sent) == 7, sent


def test_waiting_is_cheap(house, client, statements):
    space, forge, _, _ = house
    files.write(space, HUB, PATH, b"- one of many lines\n" * 3000)
    asked = proposals.propose(space, forge, kind="write", path=PATH, content=b"- two of many lines\n" * 3000)
    _, secret = accounts.create_token(space, HUB, agent=forge)
    headers = {"Authorization": f"Bearer {secret}"}
    url = f"/api/v1/proposals/{asked.number}"
    etag = client.get(url, headers=headers)["ETag"]
    whole = median(lambda: client.get(url, headers=headers), 30)
    waiting = median(lambda: client.get(url, headers={**headers, "If-None-Match": etag}), 30)
    print(f"\na poll with the whole answer {whole * 1000:.1f} ms, with 304 {waiting * 1000:.1f} ms")
    with statements() as sent:
        client.get(url, headers={**headers, "If-None-Match": etag})
    assert len(sent) <= 4
