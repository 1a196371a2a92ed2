"""What other programs keep of memory, read into files and long-term entries. Pure: names and bytes in, items out."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from memoryhub.errors import Invalid
from memoryhub.stores import paths

Folder = dict[str, bytes]  # name below the folder, with slashes -> bytes
LARGEST = 1024 * 1024
MAX_ITEMS = 50_000
STEPS = 3_000  # of ten thousand instructions each, for a database that is read
JUNK = ("__MACOSX/", ".git/", ".DS_Store")


@dataclass(frozen=True)
class Item:
    """One thing to bring in: a file at a path below the target, or an entry of long-term memory."""

    kind: str  # file | entry
    name: str  # the path below the target, or what the entry is called where it comes from
    content: bytes
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Format:
    label: str
    says: str
    read: Callable[[Folder], list[Item]]


def read_import(kind: str, folder: Folder) -> list[Item]:
    """The items of a folder, or a refusal that says what was expected."""
    if kind not in IMPORT_FORMATS:
        raise Invalid(f"{kind[:40]!r} is not known. There is: {', '.join(IMPORT_FORMATS)}.", code="unknown_format")
    kept = {name: data for name, data in sorted(folder.items()) if not is_junk(name)}
    items = IMPORT_FORMATS[kind].read(kept)
    if not items:
        raise Invalid(f"Nothing to import was found. Expected: {IMPORT_FORMATS[kind].says}", code="nothing_found")
    if len(items) > MAX_ITEMS:
        raise Invalid(f"These are {len(items):,} items; {MAX_ITEMS:,} go into one import.", code="too_many")
    return [as_storable(item) for item in items]


def as_storable(item: Item) -> Item:
    try:
        return replace(item, name=storable(item.name), details=storable(item.details))
    except RecursionError:
        return Item(item.kind, storable(item.name), b"", {"refused": "Its metadata is nested too deeply."})


def storable(value: Any) -> Any:
    """JSON of another program as the database can keep it: it has no NUL, half a character, or endless number."""
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [storable(one) for one in value]
    if isinstance(value, dict):
        return {storable(name): storable(one) for name, one in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def is_junk(name: str) -> bool:
    return any(name.startswith(junk) or f"/{junk}" in name or name.endswith(junk) for junk in JUNK)


# Folders of files


def whole_folder(folder: Folder) -> list[Item]:
    """Anthropic's memory tool: everything below `memories`, or the folder itself."""
    inside = {name.removeprefix("memories/"): data for name, data in folder.items() if name.startswith("memories/")}
    return [as_file(name, data) for name, data in (inside or folder).items() if not hidden(name)]


def agents_files(folder: Folder) -> list[Item]:
    """A tree with AGENTS.md files in it; each keeps its place."""
    return [as_file(name, data) for name, data in folder.items() if name.rsplit("/", 1)[-1] == "AGENTS.md"]


def markdown_notes(folder: Folder) -> list[Item]:
    """Basic Memory: Markdown notes with front matter, kept as they are."""
    notes = {name: data for name, data in folder.items() if name.lower().endswith(".md") and not hidden(name)}
    return [as_file(name, data, title_of(data)) for name, data in notes.items()]


def title_of(data: bytes) -> dict[str, str]:
    found = re.match(rb"---\r?\n(.*?)\r?\n---", data, re.DOTALL)
    if not found:
        return {}
    lines = found[1].decode("utf-8", "replace").splitlines()
    pairs = (line.partition(":") for line in lines if re.match(r"(title|permalink|type):", line))
    return {key.strip(): value.strip().strip("'\"") for key, _, value in pairs}


def hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def as_file(name: str, data: bytes, details: dict[str, Any] | None = None) -> Item:
    return Item("file", name, data, details or {})


# mem0: what get_all() and exports give, or its history database


def mem0(folder: Folder) -> list[Item]:
    items: dict[str, Item] = {}
    for name, data in folder.items():
        found = history(data) if data.startswith(b"SQLite format 3\x00") else memories(documents(name, data))
        items |= {item.name: item for item in found}
    return list(items.values())


def memories(found: Iterable[Any]) -> Iterable[Item]:
    rows = [row for document in found for row in rows_of(document, "results", "memories", "history")]
    if any("event" in row and ("new_memory" in row or "old_memory" in row) for row in rows):
        yield from replay(rows)
        return
    for row in rows:
        text = row.get("memory") or row.get("text") or row.get("data")
        if isinstance(text, str) and text.strip():
            kept = ("user_id", "agent_id", "run_id", "categories", "metadata", "created_at", "updated_at")
            yield entry(row.get("id") or text, text, {key: row[key] for key in kept if row.get(key)})


def replay(events: Iterable[dict[str, Any]]) -> Iterable[Item]:
    """The newest text of each memory, with what it was before; deleted ones stay away."""
    texts: dict[str, str | None] = {}
    before: dict[str, list[str]] = {}
    ordered = sorted(events, key=lambda event: str(event.get("updated_at") or event.get("created_at") or ""))
    for event in ordered:
        key = str(event.get("memory_id") or event.get("id") or "")
        if texts.get(key):
            before.setdefault(key, []).append(str(texts[key]))
        gone = event.get("event") == "DELETE" or event.get("is_deleted")
        texts[key] = None if gone else event.get("new_memory")
    for key, text in texts.items():
        if key and isinstance(text, str) and text.strip():
            yield entry(key, text, {"history": before[key]} if key in before else {})


def history(data: bytes) -> Iterable[Item]:
    try:
        with sqlite3.connect(":memory:") as database:
            database.deserialize(data)
            distrust(database)
            database.row_factory = sqlite3.Row
            rows = [dict(row) for row in database.execute("SELECT * FROM history")]
    except sqlite3.Error as problem:
        raise Invalid(f"This is no history database of mem0: {problem}.", code="invalid_import") from None
    return replay(rows)


def distrust(database: sqlite3.Connection) -> None:
    """A file of somebody's may call a view `history` that never ends: only a plain table is read, for so many steps."""
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2 * LARGEST)
    database.execute("PRAGMA trusted_schema = OFF")
    if database.execute("SELECT type FROM sqlite_master WHERE name = 'history'").fetchall() != [("table",)]:
        raise sqlite3.DatabaseError("it has no table named history")
    if database.execute("SELECT 1 FROM pragma_table_xinfo('history') WHERE hidden").fetchone():
        raise sqlite3.DatabaseError("its table history has computed columns")
    steps = iter(range(STEPS))
    database.set_progress_handler(lambda: next(steps, None) is None, 10_000)


def entry(key: Any, text: str, details: dict[str, Any]) -> Item:
    return Item("entry", f"mem0:{key}"[:200], text.encode("utf-8", "replace"), details)


# LangGraph stores: items with namespace, key and value; file data as a list of lines (v1) or a text (v2)


def langgraph(folder: Folder) -> list[Item]:
    rows = [row for name, data in folder.items() for doc in documents(name, data) for row in rows_of(doc, "items")]
    return [item for row in rows if (item := store_item(row)) is not None]


def store_item(row: dict[str, Any]) -> Item | None:
    namespace, key, value = row.get("namespace", row.get("prefix")), row.get("key"), row.get("value")
    if isinstance(namespace, str):
        namespace = namespace.split(".") if namespace else []
    if isinstance(value, str):
        value = loaded(value)
    if not isinstance(namespace, list) or not isinstance(key, str) or not isinstance(value, dict):
        return None
    dates = {name: row[name] for name in ("created_at", "updated_at") if row.get(name)}
    if (data := file_data(value)) is not None and key.startswith("/"):
        return Item("file", key.lstrip("/"), data, {"namespace": namespace, **dates})
    place = "/".join(["store", *(escaped(str(part)) for part in namespace), f"{escaped(key)}.json"])
    kept = {"value": value, "created_at": row.get("created_at"), "updated_at": row.get("updated_at")}
    return Item("file", place, (json.dumps(kept, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "surrogatepass"))


def file_data(value: dict[str, Any]) -> bytes | None:
    content = value.get("content")
    if isinstance(content, list) and all(isinstance(line, str) for line in content):
        return "\n".join(content).encode("utf-8", "surrogatepass")
    if not isinstance(content, str):
        return None
    if value.get("encoding") == "base64":
        try:
            return base64.b64decode(content, validate=True)
        except binascii.Error:
            return None
    return content.encode("utf-8", "surrogatepass")


def escaped(part: str) -> str:
    """As the client's store writes names (`client/langgraph_items.py`), so that it finds them again."""
    if part.casefold() in paths.DEVICES:
        return f"%{ord(part[0]):02X}{escaped(part[1:])}"
    return quote(part, safe="-_@+:", errors="surrogatepass").replace(".", "%2E").replace("~", "%7E") or "%"


# Letta: blocks, alone or inside an agent file


def letta(folder: Folder) -> list[Item]:
    rows = [row for name, data in folder.items() for doc in documents(name, data) for row in letta_blocks(doc)]
    items: dict[str, Item] = {}
    for row in rows:
        label, value = row.get("label") or row.get("name"), row.get("value")
        if isinstance(label, str) and isinstance(value, str):
            name = re.sub(r"[^\w.-]+", "-", label).strip("-.") or "block"
            name = name if f"{name}.md" not in items else f"{name}-{row.get('id') or len(items)}"
            details = {key: row[key] for key in ("id", "description", "limit", "read_only") if row.get(key) is not None}
            items[f"{name}.md"] = as_file(f"{name}.md", value.encode("utf-8", "surrogatepass"), details)
    return list(items.values())


def letta_blocks(document: Any) -> list[dict[str, Any]]:
    if isinstance(document, dict) and "label" in document:
        return [document]
    return rows_of(document, "blocks", "core_memory", "memory")


# JSON


def documents(name: str, data: bytes) -> list[Any]:
    """One JSON document, or one per line."""
    if not name.lower().endswith((".json", ".jsonl", ".ndjson", ".af")) and data[:1] not in b"[{":
        return []
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid(f"{name} is not UTF-8 text.", code="invalid_import") from None
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        pass
    lines = [loaded(line) for line in text.splitlines() if line.strip()]
    if not lines or any(line is None for line in lines):
        raise Invalid(f"{name} is neither JSON nor JSON lines.", code="invalid_import")
    return lines


def loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def rows_of(document: Any, *keys: str) -> list[dict[str, Any]]:
    """The objects of a list, of one of these keys, or the object itself."""
    if isinstance(document, dict):
        inner = next((document[key] for key in keys if isinstance(document.get(key), list | dict)), None)
        if inner is None:
            return [document]
        return rows_of(inner, *keys)
    return [row for row in document if isinstance(row, dict)] if isinstance(document, list) else []


IMPORT_FORMATS: dict[str, Format] = {
    "agents-md": Format("AGENTS.md files", "a folder (or zip) with AGENTS.md files in it.", agents_files),
    "anthropic": Format("Anthropic memory folder", "the folder (or zip) that the memory tool wrote.", whole_folder),
    "basic-memory": Format("Basic Memory notes", "a folder (or zip) of Markdown notes.", markdown_notes),
    "langgraph": Format("LangGraph store", "JSON or JSON lines of items with namespace, key and value.", langgraph),
    "letta": Format("Letta blocks", "JSON of blocks with label and value, or an agent file.", letta),
    "mem0": Format("mem0", "the JSON of get_all() or an export, or history.db.", mem0),
}
