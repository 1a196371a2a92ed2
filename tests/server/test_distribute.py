"""`memoryhub distribute`: on a stand-in for Citus that keeps its rules, and on a real one where TEST_CITUS_URL names it: an empty
database of a coordinator with the extensions citus and vector, owned by the role of the address.
"""

from __future__ import annotations

import json
import os
from typing import Any

import httpx
import psycopg
import pytest
from django.db import connection, transaction

from memoryhub.errors import Conflict, Invalid, Unavailable
from memoryhub.management.commands.distribute import Command
from memoryhub.models import Node
from memoryhub.server import distribute
from tests import walking
from tests.running import Hub, command, sign_in_by_link
from tests.test_databases import use_it

# What Citus 13 refuses is refused here too; rows stay where they are.
STAND_IN = """
CREATE SCHEMA stand_in;
CREATE TABLE stand_in.pg_dist_partition (logicalrelid regclass, partmethod "char", repmodel "char");
CREATE TABLE stand_in.functions (name text);
CREATE FUNCTION stand_in.create_distributed_function(name regprocedure) RETURNS void LANGUAGE sql
  AS $$ INSERT INTO stand_in.functions VALUES (name::text) $$;
CREATE FUNCTION stand_in.create_distributed_table(one regclass, col text, colocate_with text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('stand_in.fails_at', true) = one::text THEN
    RAISE EXCEPTION 'a server is away';
  ELSIF EXISTS (SELECT FROM stand_in.pg_dist_partition WHERE logicalrelid = one) THEN
    RAISE EXCEPTION 'table "%" is already distributed', one;
  ELSIF colocate_with <> 'none' AND NOT EXISTS (
      SELECT FROM stand_in.pg_dist_partition WHERE logicalrelid = colocate_with::regclass AND partmethod = 'h') THEN
    RAISE EXCEPTION 'relation % is not distributed', colocate_with;
  ELSIF EXISTS (SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attname = col
      WHERE i.indrelid = one AND i.indisunique AND a.attnum <> ALL (i.indkey::int2[])) THEN
    RAISE EXCEPTION 'cannot create constraint on "%"', one;
  ELSIF EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND one IN (conrelid, confrelid)) THEN
    RAISE EXCEPTION 'cannot create foreign key constraint';
  ELSIF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = one AND NOT tgisinternal)
      AND coalesce(current_setting('citus.enable_unsafe_triggers', true), '') <> 'on' THEN
    RAISE EXCEPTION 'cannot distribute relation "%" because it has triggers', one;
  END IF;
  INSERT INTO stand_in.pg_dist_partition VALUES (one, 'h', 's');
END $$;
CREATE FUNCTION stand_in.create_reference_table(one regclass) RETURNS void LANGUAGE sql
  AS $$ INSERT INTO stand_in.pg_dist_partition VALUES (one, 'n', 't') $$;
CREATE FUNCTION stand_in.truncate_local_data_after_distributing_table(one regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = one AND NOT tgisinternal AND tgtype & 32 > 0 AND tgenabled <> 'D') THEN
    RAISE EXCEPTION '% is append-only: TRUNCATE refused', one;
  END IF;
END $$;
SET LOCAL search_path = public, stand_in;
"""


@pytest.fixture
def citus(db, settings, tmp_path) -> None:
    settings.DATA_DIR = tmp_path
    with connection.cursor() as cursor:
        cursor.execute(STAND_IN)


def run_distribute(*, dry_run: bool = False) -> dict[str, Any]:
    return Command().run(dry_run=dry_run, stop_nodes=False, json=True)


def keys() -> set[str]:
    """The columns of the primary keys of large tables."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'p' AND conrelid = ANY (%s::regclass[])",
            [list(distribute.SPLIT)],
        )
        return {row[0] for row in cursor.fetchall()}


def test_every_table_is_distributed_once(citus):
    assert keys() == {"PRIMARY KEY (id)"}
    every = [*distribute.SPLIT, *distribute.COPIED]
    first = run_distribute()
    assert (first["distributed"], first["before"]) == (every, [])
    assert keys() == {"PRIMARY KEY (space_id, id)"}
    with connection.cursor() as cursor:
        cursor.execute("SELECT logicalrelid::text, partmethod FROM stand_in.pg_dist_partition")
        assert dict(cursor.fetchall()) == {name: "h" if name in distribute.SPLIT else "n" for name in every}
        cursor.execute("SELECT name FROM stand_in.functions")
        assert cursor.fetchall() == [("memoryhub_only_erased(jsonb,jsonb)",)]
        cursor.execute("SELECT count(*) FROM pg_trigger WHERE tgname = 'no_truncate' AND tgenabled = 'O'")
        assert cursor.fetchone() == (3,)
    again = run_distribute()
    assert (again["distributed"], again["before"], again["statements"]) == ([], every, [])


def test_a_dry_run_says_what_it_would_do_and_does_nothing(citus):
    planned = run_distribute(dry_run=True)
    assert (planned["distributed"], keys()) == ([], {"PRIMARY KEY (id)"})
    assert run_distribute()["statements"] == planned["statements"]
    text = "\n".join(planned["statements"])
    assert 'DROP CONSTRAINT "memoryhub_revision_file_id' in text
    assert "create_distributed_table('quarantine.record', 'space_id', colocate_with => 'memoryhub_revision')" in text


def test_what_failed_half_way_is_repeated_from_there(citus):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL stand_in.fails_at = 'memoryhub_chunk'")
        with pytest.raises(
            Unavailable,
            match=r"memoryhub_chunk could not be distributed \(a server is away\).* remains: memoryhub_chunk, ",
        ):
            distribute.distribute()
        assert keys() == {"PRIMARY KEY (space_id, id)", "PRIMARY KEY (id)"}
        cursor.execute("SET LOCAL stand_in.fails_at = ''")
    rest = run_distribute()
    assert rest["distributed"][0] == "memoryhub_chunk" and len(rest["before"]) == distribute.SPLIT.index(
        "memoryhub_chunk"
    )


def test_nothing_happens_without_citus_under_a_node_or_to_a_table_that_cannot_be_split(db, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    with pytest.raises(Unavailable, match="has no Citus"):
        run_distribute()
    with connection.cursor() as cursor:
        cursor.execute(STAND_IN)
    Node.objects.create(id="other", name="web-2")
    with pytest.raises(Conflict, match="web-2"):
        run_distribute()
    Node.objects.all().delete()
    with connection.cursor() as cursor, transaction.atomic():
        cursor.execute("CREATE UNIQUE INDEX by_hand ON memoryhub_chunk (text)")
        with pytest.raises(Invalid, match="Nothing was changed: by_hand is unique across spaces"):
            run_distribute()
    assert keys() == {"PRIMARY KEY (id)"}


# ---- a real one


CITUS = os.environ.get("TEST_CITUS_URL", "")


@pytest.mark.skipif(not CITUS, reason="TEST_CITUS_URL names no empty database with citus and vector")
def test_a_hub_on_a_real_citus(place):
    environment = {"DATABASE_URL": CITUS, "MEMORYHUB_DATA_DIR": str(place / "data")}
    assert "30 tables are distributed now" in _done("distribute", **environment).splitlines()[-1]
    assert _done("distribute", **environment).strip() == "0 tables are distributed now, 30 were before."
    hub = Hub(place / "data", "--demo", DATABASE_URL=CITUS).wait_ready()
    refused = command("distribute", **environment)
    assert refused.returncode == 1 and "is running" in refused.stderr, refused.stderr
    token = json.loads(_done("agent", "add", "forge", "--json", **environment))["token"]
    owner = json.loads(_done("user", "add", "rk", "--role", "owner", "--json", **environment))["token"]
    use_it(hub, token)
    _decide_and_promote(_client(hub, token), _client(hub, owner))
    _look_at_every_page(hub)
    assert "erased an exact text" in _done("erase", "--text", "seen 7", "--yes", **environment)
    with psycopg.connect(CITUS) as server:
        with pytest.raises(psycopg.errors.RestrictViolation), server.transaction():
            server.execute("UPDATE quarantine.record SET content = 'other words'")
        _require_equal_copies(server)
    _done("backup", str(place / "hub.tar"), **environment)
    assert hub.stop() == 0, hub.stderr()
    assert "Traceback" not in hub.stderr(), hub.stderr()
    _done("restore", str(place / "hub.tar"), "--data-dir", str(place / "drill"))
    _done("doctor", "--data-dir", str(place / "drill"))


def _done(*arguments: str, **environment: str) -> str:
    made = command(*arguments, **environment)
    assert made.returncode == 0, (arguments, made.stdout, made.stderr)
    return made.stdout


def _client(hub: Hub, token: str) -> httpx.Client:
    return httpx.Client(base_url=f"{hub.url}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=60)


def _decide_and_promote(agent: httpx.Client, owner: httpx.Client) -> None:
    asked = agent.get("/proposals").json()["items"]
    assert asked
    for one in asked[:2]:
        shown = owner.get(f"/proposals/{one['number']}").json()
        answer = owner.post(f"/proposals/{one['number']}/approve", json={"seen": shown["result_sha256"]})
        assert answer.status_code == 200, answer.text
    for text in ("Refunds above 500 euros need a second signature.", "The warehouse closes at nine in the evening."):
        answer = owner.post("/promotions", json={"content": text, "reason": "known"})
        assert answer.status_code == 200, answer.text
    for _ in range(2):
        found = agent.get("/retrieve", params={"query": "who signs a refund of 600 euros?"})
        assert found.status_code == 200 and "second signature" in found.text, found.text
        prompt = agent.get("/prompt", params={"query": "refund"})
        assert prompt.status_code == 200 and "second signature" in prompt.text, prompt.text


def _look_at_every_page(hub: Hub) -> None:
    with httpx.Client(base_url=hub.url, timeout=60) as browser:
        sign_in_by_link(browser, hub.link)

        def get(path: str) -> walking.Answer:
            answer = browser.get(path)
            kind = answer.headers.get("Content-Type", "").partition(";")[0]
            text = answer.text if kind == "text/html" else ""
            return walking.Answer(answer.status_code, kind, text, answer.headers.get("Location", ""))

        found = walking.walk(get, ["/s/main/", "/s/demo/", "/s/demo/search/?q=refund"], each=1, most=200)
    assert len(found) > 60
    assert {(one.path, one.answer.status) for one in found if one.answer.status >= 400} == set()


def _require_equal_copies(server: psycopg.Connection) -> None:
    """Each copied table has the same rows on every server."""
    for name in distribute.COPIED:
        rows = server.execute(
            "SELECT DISTINCT result FROM run_command_on_placements(%s, "
            "$$SELECT coalesce(md5(string_agg(t::text, '' ORDER BY id)), 'none') FROM %%s t$$)", [name]
        ).fetchall()  # fmt: skip
        assert len(rows) == 1, name
