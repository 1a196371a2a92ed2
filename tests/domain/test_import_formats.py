"""What other programs keep, read as files and entries."""

import json
import sqlite3

import pytest

from memoryhub.client import langgraph_items
from memoryhub.domain.exchange.import_formats import read_import
from memoryhub.errors import Invalid


def as_json(value):
    return json.dumps(value).encode()


def texts(items):
    return {item.name: item.content.decode() for item in items}


def test_a_folder_of_agents_files_keeps_their_places():
    folder = {"AGENTS.md": b"one", "api/AGENTS.md": b"two", "api/README.md": b"no", ".git/AGENTS.md": b"no"}
    assert texts(read_import("agents-md", folder)) == {"AGENTS.md": "one", "api/AGENTS.md": "two"}


def test_an_anthropic_folder_with_and_without_its_root():
    assert texts(read_import("anthropic", {"memories/a/b.txt": b"x", "memories/.hid": b"no"})) == {"a/b.txt": "x"}
    assert texts(read_import("anthropic", {"notes.xml": b"x"})) == {"notes.xml": "x"}


def test_basic_memory_notes_are_kept_byte_for_byte():
    note = b"---\r\ntitle: 'Coffee'\r\npermalink: coffee\r\n---\r\n- [taste] strong #drink\r\n"
    (item,) = read_import("basic-memory", {"drinks/coffee.md": note, "x.png": b"\x89PNG"})
    assert (item.name, item.content) == ("drinks/coffee.md", note)
    assert item.details == {"title": "Coffee", "permalink": "coffee"}


def test_mem0_export():
    export = {"results": [{"id": "1", "memory": "Likes tea", "user_id": "u", "metadata": {"a": 1}}, {"memory": " "}]}
    (item,) = read_import("mem0", {"export.json": as_json(export)})
    assert (item.kind, item.name, item.content) == ("entry", "mem0:1", b"Likes tea")
    assert item.details == {"user_id": "u", "metadata": {"a": 1}}


def events():
    return [
        ("e1", "m1", None, "Likes tea", "ADD", "2026-01-01", 0),
        ("e2", "m1", "Likes tea", "Likes coffee", "UPDATE", "2026-01-02", 0),
        ("e3", "m2", None, "Old", "ADD", "2026-01-01", 0),
        ("e4", "m2", "Old", None, "DELETE", "2026-01-03", 1),
    ]


def test_mem0_history_database_gives_the_newest_text_of_what_is_left():
    database = sqlite3.connect(":memory:")
    database.execute(
        "CREATE TABLE history (id TEXT, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, "
        "created_at TEXT, is_deleted INTEGER)"
    )
    database.executemany("INSERT INTO history VALUES (?,?,?,?,?,?,?)", events())
    database.commit()
    (item,) = read_import("mem0", {"history.db": database.serialize()})
    assert (item.name, item.content, item.details) == ("mem0:m1", b"Likes coffee", {"history": ["Likes tea"]})


@pytest.mark.parametrize(
    "schema",
    [
        "CREATE VIEW history AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id FROM n",
        "CREATE TABLE history (id TEXT, old_memory TEXT AS (hex(zeroblob(900000))))",
        "CREATE TABLE other (id TEXT)",
    ],
)
def test_a_history_that_would_never_end_is_refused(schema):
    database = sqlite3.connect(":memory:")
    database.execute(schema)
    database.commit()
    with pytest.raises(Invalid, match="no history database"):
        read_import("mem0", {"history.db": database.serialize()})


def test_mem0_history_as_json_gives_the_same():
    names = ("id", "memory_id", "old_memory", "new_memory", "event", "created_at", "is_deleted")
    rows = [dict(zip(names, event, strict=True)) for event in events()]
    (item,) = read_import("mem0", {"history.json": as_json(rows)})
    assert item.content == b"Likes coffee"


def test_langgraph_items_of_both_file_forms_and_others():
    v1 = {"namespace": ["fs"], "key": "/AGENTS.md", "value": {"content": ["a", "b"], "created_at": "x"}}
    v2 = {"prefix": "fs.deep", "key": "/b/c.md", "value": {"content": "text\n", "encoding": "utf-8"}}
    pic = {"namespace": ["fs"], "key": "/p.png", "value": {"content": "iVA=", "encoding": "base64"}}
    other = {"namespace": ["users", "7"], "key": "pre.fs", "value": {"theme": "dark"}, "created_at": "2026-01-01"}
    lines = b"\n".join(as_json(row) for row in (v1, v2, pic, other))
    items = {item.name: item.content for item in read_import("langgraph", {"items.jsonl": lines})}
    assert items["AGENTS.md"] == b"a\nb"
    assert items["b/c.md"] == b"text\n"
    assert items["p.png"] == b"\x89P"
    assert json.loads(items["store/users/7/pre%2Efs.json"])["value"] == {"theme": "dark"}


def test_langgraph_items_get_the_names_that_the_store_finds_them_by():
    keys = ["prefs", "a.b", "~", "é /漢", "con", "Lpt1", "", "%", "\ud800"]
    rows = [{"namespace": [key], "key": key, "value": {"v": "\udfff"}} for key in keys]
    items = read_import("langgraph", {"items.json": as_json(rows)})
    names = [langgraph_items.escaped(key) for key in keys]
    assert [item.name for item in items] == [f"store/{name}/{name}.json" for name in names]
    assert [langgraph_items.unescaped(name) for name in names] == keys


def test_letta_blocks_alone_and_in_an_agent_file():
    block = {"id": "block-1", "label": "human", "value": "Name: Ann", "limit": 5000}
    assert texts(read_import("letta", {"blocks.json": as_json([block])})) == {"human.md": "Name: Ann"}
    agent = {"agents": [{"name": "x"}], "blocks": [block, {**block, "id": "block-2", "value": "Name: Bo"}]}
    assert texts(read_import("letta", {"agent.af": as_json(agent)})) == {
        "human.md": "Name: Ann",
        "human-block-2.md": "Name: Bo",
    }


def test_what_no_database_keeps_does_not_keep_the_others_out():
    row = {"id": "1\x00", "memory": "Likes tea", "metadata": {"a\x00": ["\ud800", float("nan")]}, "user_id": "\udfff"}
    (item,) = read_import("mem0", {"m.json": as_json([row])})
    assert item.name == "mem0:1\ufffd"
    assert item.details["metadata"] == {"a\ufffd": ["?", None]}
    json.dumps(item.details, allow_nan=False).encode()
    deep = b'[{"id": "1", "memory": "Likes tea", "metadata": ' + b'{"a": ' * 900 + b"1" + b"}" * 900 + b"}]"
    assert "nested" in read_import("mem0", {"m.json": deep})[0].details["refused"]
    (block,) = read_import("letta", {"b.json": as_json([{"id": "\x00", "label": "a\x00\ud800", "value": "v"}])})
    assert not {"\x00", "\ud800"} & {*block.name, *str(block.details)}


@pytest.mark.parametrize(
    ("kind", "folder", "code"),
    [
        ("chatgpt", {}, "unknown_format"),
        ("mem0", {}, "nothing_found"),
        ("mem0", {"a.json": b"{nope"}, "invalid_import"),
        ("mem0", {"a.json": b"\xff\xfe"}, "invalid_import"),
        ("mem0", {"h.db": b"SQLite format 3\x00 broken"}, "invalid_import"),
        ("letta", {"a.json": b"[1, 2]"}, "nothing_found"),
        ("langgraph", {"a.json": b'[{"key": 1}]'}, "nothing_found"),
        ("basic-memory", {"a.txt": b"x"}, "nothing_found"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_sentence(kind, folder, code):
    with pytest.raises(Invalid) as refused:
        read_import(kind, folder)
    assert refused.value.code == code
