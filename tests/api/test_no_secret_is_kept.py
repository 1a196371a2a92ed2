"""A fresh key through every free field that an agent sends or a file brings: afterwards it stands in no table."""

from __future__ import annotations

import contextlib
import json
import random
import string
import zlib
from functools import cache

import pytest
from django.db import connection

from memoryhub.domain import exchange, files, longterm, spaces
from memoryhub.domain.jobs import queue
from memoryhub.domain.longterm import bulk_import
from memoryhub.errors import Invalid
from memoryhub.models import HUB, ActivityLine, Job, PromptText, Proposal
from tests.api.calling import as_person

pytestmark = pytest.mark.django_db
DOORS = {
    "path": lambda key: ("PUT", f"files/open/a-{key}.md", {"content": "fine"}),
    "pair in a path": lambda key: ("PUT", f"files/open/password={key}.md", {"content": "fine"}),
    "asked path": lambda key: ("PUT", f"files/m/a-{key}.md", {"content": "fine"}),
    "move": lambda key: ("POST", "moves", {"from": "/open/old.md", "to": f"/open/b-{key}.md"}),
    "reason": lambda key: ("PUT", "files/m/a.md", {"content": "fine", "reason": f"for {key}"}),
    "reason of what is applied": lambda key: ("PUT", "files/open/a.md", {"content": "fine", "reason": f"for {key}"}),
    "tool call": lambda key: ("PUT", "files/m/b.md", {"content": "fine", "tool_call_id": key}),
    "thread": lambda key: ("PUT", "files/m/c.md", {"content": "fine", "thread_id": key}),
    "thread of a file": lambda key: ("PUT", "files/threads/c.md", {"content": "fine", "thread_id": key}),
    "tool": lambda key: ("POST", "memory-tool", {"command": "create", "path": "/m/d.md", "file_text": "fine", "thread_id": key}),
    "rename": lambda key: ("POST", "memory-tool", {"command": "rename", "old_path": "/open/old.md", "new_path": f"/open/x_{key}"}),
    "prompt thread": lambda key: ("GET", f"prompt?thread={key}", None),
    "prompt query": lambda key: ("GET", f"prompt?query={key}", None),
    "prompt task": lambda key: ("GET", f"prompt?task=use+{key}", None),
    "system prompt": lambda key: ("POST", "prompt", {"system_prompt": f"You know {key} by heart.", "thread": "t"}),
    "session": lambda key: ("POST", "quarantine", logged(session_id=key)),
    "node": lambda key: ("POST", "quarantine", logged(node_id=key)),
    "content": lambda key: ("POST", "quarantine", logged(content=f"It is {key} there.")),
    "metadata": lambda key: ("POST", "quarantine", logged(metadata={"a": [{"b": key}]})),
    "name in metadata": lambda key: ("POST", "quarantine", logged(metadata={key: 1})),
    "promotion": lambda key: ("POST", "promotions", {"content": "Tills close at nine.", "reason": f"see {key}"}),
    "thread of a promotion": lambda key: ("POST", "promotions", {"content": "Tills close at nine.", "thread_id": key}),
    "call of a promotion": lambda key: ("POST", "promotions", {"content": "Tills close at nine.", "tool_call_id": key}),
    "search": lambda key: ("GET", f"search?q={key}", None),
    "retrieve": lambda key: ("GET", f"retrieve?query={key}", None),
}  # fmt: skip


def logged(**more):
    names = {"session_id": "s", "node_id": "n", "node_kind": "agent", "scope": "group"}
    return {"content": "Tills close at nine.", **names, **more}


def fresh(door: str) -> str:
    as_text = "".join(random.Random(f"{door} of today").choices(string.ascii_letters + string.digits, k=34))
    return as_text[:24] if door == "pair in a path" else "gh" + "p_" + as_text + "7Q"


@pytest.fixture
def space():
    space = spaces.create(HUB, "ledger")
    files.add_mount(space, HUB, "/m/")
    files.add_mount(space, HUB, "/open/", policy="trusted")
    files.add_mount(space, HUB, "/threads/", store="thread", policy="trusted")
    files.write(space, HUB, "/open/old.md", b"old")
    return space


@pytest.mark.parametrize("door", DOORS)
def test_a_key_is_kept_nowhere(space, forge, door: str) -> None:
    key = fresh(door)
    method, path, body = DOORS[door](key)
    answer = forge(method, path, body, X_Request_Id=f"call-{key}"[:64])
    assert answer.status_code < 500
    assert holding(key) == []


OLD, NEW, TOOL = "/memories/old.md", "/memories/new.md", "memory-tool"
# Every way to write a text; KEY is to stand in it.
TEXT_DOORS = {
    "write": ("PUT", f"files{NEW}", {"content": "It is KEY there."}),
    "overwrite": ("PUT", f"files{OLD}", {"content": "It is KEY there."}),
    "edit": ("POST", "edits", {"path": OLD, "old_string": "old", "new_string": "KEY"}),
    "create": ("POST", TOOL, {"command": "create", "path": NEW, "file_text": "It is KEY there."}),
    "replace": ("POST", TOOL, {"command": "str_replace", "path": OLD, "old_str": "old", "new_str": "KEY"}),
    "insert": ("POST", TOOL, {"command": "insert", "path": OLD, "insert_line": 0, "insert_text": "It is KEY there."}),
}


@pytest.mark.parametrize(("who", "policy"), [("forge", "trusted"), ("forge", "review"), ("rk", "review")])
@pytest.mark.parametrize("door", TEXT_DOORS)
def test_a_text_with_a_key_is_refused_and_told_of(client, space, forge, door: str, who: str, policy: str) -> None:
    key = fresh(f"{door} {who} {policy}")
    files.add_mount(space, HUB, "/memories/", policy=policy)
    files.write(space, HUB, OLD, b"old")
    call = forge if who == "forge" else as_person(client, space, who, "editor")
    method, path, body = TEXT_DOORS[door]
    as_text = call(method, path, json.dumps(body).replace("KEY", key)).content.decode()
    assert "secret" in as_text and key not in as_text
    assert holding(key) == []
    assert files.read(space, OLD).content == b"old"
    assert not files.exists(space, NEW) and not Proposal.objects.exists()
    told = ActivityLine.objects.get(verb="files.refuse_secret")
    assert (told.actor_name, told.path) == (who, NEW if NEW in f"{path} {body}" else OLD)


LINES = {
    "reason": lambda key: {"reason": f"for {key}"},
    "metadata": lambda key: {"metadata": {"a": [{"b": key}]}},
    "pair in metadata": lambda key: {"metadata": {"password": key}},
    "name in metadata": lambda key: {"metadata": {key: 1}},
    "session": lambda key: {"session_id": key},
    "who": lambda key: {"actor_name": key, "checked_by": key},
    "history": lambda key: {"history": [{"number": 1, "content": "Was.", "reason": key, "created_at": "2026-01-01T00:00:00Z"}]},
    "something else": lambda key: {"note": {"to": [key]}},
    "the text": lambda key: {"content": f"It is {key} there."},
    "no text": lambda key: {"content": {"is": key}},
    "a reason that is none": lambda key: {"reason": [key]},
    "not JSON": lambda key: key,
}  # fmt: skip


@pytest.mark.parametrize("checked", [500, 4], ids=["checked at once", "checked later"])
@pytest.mark.parametrize("place", LINES)
def test_a_key_in_a_file_of_long_term_memory_is_kept_nowhere(space, monkeypatch, place: str, checked: int) -> None:
    monkeypatch.setattr(bulk_import, "MAX_CHECKED_AT_ONCE", checked)
    monkeypatch.setattr(bulk_import, "MAX_AT_ONCE", 5)  # else a job would need more lines
    key = fresh("pair in a path" if place.startswith("pair") else place)
    lines = [json.dumps({"content": f"Fact {n} of many."}) for n in range(10)]
    line = LINES[place](key)
    lines[6] = line if isinstance(line, str) else json.dumps({"content": "Tills close at nine.", **line})
    with contextlib.suppress(Invalid):  # some it takes in without the key, some it refuses
        longterm.import_entries(space, HUB, "\n".join(lines).encode())
    assert holding(key) == []
    queue.run_waiting()
    assert holding(key) == []


ELSEWHERE = {
    "mem0 metadata": ("mem0", "m.json", lambda key: [{"id": "1", "memory": "Tills close at nine.", "metadata": {"from": key}}]),
    "mem0 id": ("mem0", "m.json", lambda key: [{"id": key, "memory": "Tills close at nine."}]),
    "description": ("letta", "b.json", lambda key: [{"label": "human", "value": "Tills.", "description": f"by {key}"}]),
    "label": ("letta", "b.json", lambda key: [{"label": key, "value": "Tills close at nine."}]),
    "namespace": ("langgraph", "s.json", lambda key: [{"namespace": [key], "key": "k", "value": {"note": "Tills."}}]),
    "value": ("langgraph", "s.json", lambda key: [{"namespace": ["a"], "key": "k", "value": {"note": key}}]),
}  # fmt: skip


@pytest.mark.parametrize("place", ELSEWHERE)
def test_a_key_in_what_comes_from_elsewhere_is_kept_nowhere(space, place: str) -> None:
    kind, name, rows = ELSEWHERE[place]
    key = fresh(place)
    job = exchange.preview_import(space, HUB, kind, {name: json.dumps(rows(key)).encode()}, target="/m/")
    assert len(job.payload["items"]) == 1 and holding(key) == []
    queue.run_waiting()
    exchange.start_import(space, HUB, Job.objects.get(pk=job.pk))
    queue.run_waiting()
    assert holding(key) == []


def holding(key: str) -> list[str]:
    """Every column of every table in which it stands, packed or not."""
    found = []
    with connection.cursor() as cursor:
        cursor.execute(filled())
        for (table,) in cursor.fetchall():
            cursor.execute(f"SELECT * FROM {table}")
            for column, values in zip(cursor.description, zip(*cursor.fetchall(), strict=True), strict=True):
                if any(key.lower() in as_text(value).lower() for value in values if value is not None):
                    found.append(f"{table}.{column.name}")
    return found


@cache
def filled() -> str:
    """The statement that names the tables in which anything stands."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables "
            "WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        )
        tables = [table for (table,) in cursor.fetchall()]
    return " UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT FROM {table})" for table in tables)


def as_text(value) -> str:
    if not isinstance(value, bytes | memoryview):
        return str(value)
    data = bytes(value)
    try:
        return zlib.decompress(data).decode("latin-1")
    except zlib.error:
        return data.decode("latin-1")


def test_what_is_kept_of_a_prompt_has_stars_and_its_parts_in_their_places(space, forge) -> None:
    key = fresh("stars")
    answer = forge("POST", "prompt", {"system_prompt": f"Süß: {key}.", "thread": "t"})
    assert key in answer.content.decode()
    kept = bytes(PromptText.objects.get().text)
    assert len(kept) == len(answer.content) and b"*" * len(key) in kept
