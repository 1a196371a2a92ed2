"""Large tables can be split by space, over partitions or servers: each statement about them names the space, and what is unique
in them is so within one."""

from __future__ import annotations

import json
import re

import pytest
from django.apps import apps
from django.db import models
from django.test import Client

from memoryhub.domain import accounts, demo, prompts, spaces
from memoryhub.models import HUB
from memoryhub.server import distribute
from tests import walking

LARGE = distribute.SPLIT
# A table where rows are read, joined or changed, by the name that follows these words or a comma.
USED = re.compile(rf'\b(?:FROM|JOIN|UPDATE|INTO)\s+"?({"|".join(LARGE)})"?\b')
READ = re.compile(r'\b(?:FROM|JOIN)\s+"?(memoryhub_\w+)"?')
# A copy on another server would get another value.
DRAWN = re.compile(r"\b(?:random|clock_timestamp|gen_random_uuid)\(\)")
CHANGED = re.compile(rf'\bUPDATE\s+"?(?:{"|".join(distribute.COPIED)})\b')
INSERTED = re.compile(r"\bINTO\s+\S+\s+(?:AS \w+\s+)?\([^)]*\bspace_id\b")
# A condition on the space: a column that only is read tells no server where to look.
NAMED = re.compile(r'\bspace_id"?\)?\s*(?:=|IN\b)|=\s*[\w."]*\bspace_id\b(?!"?\s*=)')
WRITTEN = re.compile(r'"(quarantine|activity)"\."(\w+)"')


def uses(statement: str) -> list[str]:
    return USED.findall(WRITTEN.sub(r"\1.\2", statement))


def lacks_space(statement: str) -> bool:
    """Whether a statement uses large tables more often than it names a space."""
    return len(uses(statement)) > len(NAMED.findall(statement)) + len(INSERTED.findall(statement.replace('"', "")))


def joins_elsewhere(statement: str) -> set[str]:
    """The tables that a statement reads beside large ones, and that no server with large ones has."""
    return set(READ.findall(statement)) - {*LARGE, *distribute.COPIED} if uses(statement) else set()


def test_what_a_statement_lacks_is_seen():
    assert uses('SELECT 1 FROM "quarantine"."record" r JOIN memoryhub_chunk c ON true') == [
        "quarantine.record",
        "memoryhub_chunk",
    ]
    assert lacks_space("SELECT 1 FROM memoryhub_chunk WHERE id = 3")
    assert lacks_space(
        'SELECT 1 FROM "memoryhub_chunk" c JOIN memoryhub_posting p ON p.chunk_id = c.id WHERE c.space_id = 1'
    )
    assert lacks_space('SELECT "memoryhub_chunk"."space_id" FROM "memoryhub_chunk" WHERE "memoryhub_chunk"."id" = 3')
    assert not lacks_space("SELECT 1 FROM memoryhub_chunk WHERE space_id = 1 AND id = 3")
    assert not lacks_space('INSERT INTO "memoryhub_chunk" ("id", "space_id") VALUES (1, 2)')
    assert not lacks_space("SELECT 1 FROM memoryhub_space WHERE id = 1")
    assert joins_elsewhere("SELECT 1 FROM memoryhub_chunk c JOIN memoryhub_job j ON true") == {"memoryhub_job"}
    assert not joins_elsewhere("SELECT 1 FROM memoryhub_chunk c JOIN memoryhub_space s ON s.id = c.space_id")


@pytest.mark.django_db(transaction=True)
def test_every_call_and_page_names_the_space_in_statements_about_large_tables(statements):
    space = demo.make()
    person = accounts.create_person(HUB, "looks-at-all")
    spaces.add_member(space, HUB, person, "owner")
    _, secret = accounts.create_token(space, HUB, agent=prompts.agent_by_slug(space, "forge"))
    with statements() as sent:
        calls(secret)
        pages(space, person)
        decisions(space, person)
    assert {one for statement in sent for one in uses(statement)} >= set(LARGE) - {"memoryhub_entryrevision"}
    assert {statement for statement in sent if lacks_space(statement)} == set()
    assert {statement for statement in sent if joins_elsewhere(statement)} == set()
    assert {statement for statement in sent if CHANGED.search(statement) and DRAWN.search(statement)} == set()


def calls(secret: str) -> None:
    """What agents ask for, twice: with nothing remembered and from what is."""
    client, token = Client(), {"Authorization": f"Bearer {secret}"}
    for number in range(2):
        for path in (
            "prompt", "prompt?query=refund", f"prompt?query=refund+{number}&task={number}", "files/memories/AGENTS.md",
            "files?prefix=/memories/", "grep?pattern=refund", "glob?pattern=**/*.md", "glob?pattern=**&oldest=2&offset=1",
            "retrieve?query=refund", "working", "proposals", "search?q=refund",
        ):  # fmt: skip
            assert client.get(f"/api/v1/{path}", headers=token).status_code == 200, path
        body = {"content": f"Refund {number} of the day was paid by card and the customer was told.", "session_id": "s"}
        sent = {"data": json.dumps(body | {"node_id": "n"}), "content_type": "application/json"}
        assert client.post("/api/v1/quarantine", headers=token, **sent).status_code == 201


def decisions(space, person) -> None:
    """What a person decides: a proposal is approved and undone, another one rejected, knowledge promoted."""
    client, token = Client(), {"Authorization": f"Bearer {accounts.create_token(space, HUB, person=person)[1]}"}

    def send(path: str, **body: str) -> None:
        answer = client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json", headers=token)
        assert answer.status_code == 200, (path, answer.content)

    asked = client.get("/api/v1/proposals", headers=token).json()["items"]
    shown = [client.get(f"/api/v1/proposals/{one['number']}", headers=token).json() for one in asked]
    first, second, *_ = [one for one in shown if one["result_sha256"]]
    send(f"proposals/{first['number']}/approve", seen=first["result_sha256"])
    browser = Client()
    browser.force_login(person)
    assert browser.post(f"{space.get_absolute_url()}proposals/{first['number']}/undo/").status_code == 303
    send(f"proposals/{second['number']}/reject", note="known")
    send("promotions", content="Refunds above 500 euros need a second signature.", reason="known")


def pages(space, person) -> None:
    client = Client()
    client.force_login(person)

    def get(path: str) -> walking.Answer:
        answer = client.get(path)
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        kind = answer.headers.get("Content-Type", "").partition(";")[0]
        text = content.decode("utf-8", "replace") if kind == "text/html" else ""
        return walking.Answer(answer.status_code, kind, text, answer.headers.get("Location", ""))

    searched = f"{space.get_absolute_url()}search/?q=refund"
    found = walking.walk(get, [space.get_absolute_url(), searched], each=1, most=120)
    assert len(found) > 60


@pytest.mark.django_db
def test_what_is_unique_in_a_large_table_is_so_within_a_space():
    """But for the id, to which `memoryhub distribute` adds the space: nothing refers to these rows by a foreign key."""
    assert distribute.faults() == []
    models_of = {one._meta.db_table.replace('"', ""): one for one in apps.get_app_config("memoryhub").get_models()}
    assert {name for name in LARGE if not isinstance(models_of[name]._meta.pk, models.BigAutoField)} == set()
