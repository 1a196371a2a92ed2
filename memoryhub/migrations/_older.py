"""Databases that took one by one the steps that are one migration now: the 21 before `0001_initial`, which makes the tables of the
first release at once; those after `0003_recall`, which `0003_second_release` takes together; and one after `0008_postings_in_order`.

Django takes a migration as applied where all that it replaces are recorded, without running anything. Where a database stopped
between, the missing steps are taken here first, as plain SQL: `_older.sql` has a section for each, and each is one transaction
with its record, so that an upgrade that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from pathlib import Path

from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder

APP = "memoryhub"
SCHEMAS, TABLES, RECALL = "0001_schemas", "0002_nouns", "0003_recall"
AFTER_RECALL = ("0004_language", "0005_fought_files", "0006_nodes", "0007_put_back_elsewhere", "0009_checked_digest")
BEGAN = dict.fromkeys(AFTER_RECALL, RECALL) | {"0010_fewer_indexes": "0008_postings_in_order"}
BATCH = 2000
CHUNKS = "SELECT id, space_id, agent_id, text FROM memoryhub_chunk WHERE id > %s ORDER BY id LIMIT %s"
COPY = "COPY memoryhub_telltale (space_id, chunk_id, agent_id, code, size, mask) FROM STDIN"


def finish() -> None:
    """Takes the steps that this database lacks; none on a new one, nor on one that knows the migrations of today."""
    recorder = MigrationRecorder(connection)
    applied = {name for app, name in recorder.applied_migrations() if app == APP}
    if SCHEMAS in applied and TABLES not in applied:  # interrupted before it had a table: as good as new
        recorder.record_unapplied(APP, SCHEMAS)
    for name, script in steps().items():
        if BEGAN.get(name, TABLES) in applied and name not in applied:
            _take(name, script, recorder)


def steps() -> dict[str, str]:
    """The sections of `_older.sql` by the name of their migration, in order."""
    text = Path(__file__).with_suffix(".sql").read_text()
    _, *parts = re.split(r"^-- (\d{4}_\w+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@transaction.atomic
def _take(name: str, script: str, recorder: MigrationRecorder) -> None:
    with connection.cursor() as cursor:
        cursor.execute(script)
    if name in IN_PYTHON:
        IN_PYTHON[name]()
    recorder.record_applied(APP, name)


def pack_prompt_texts() -> None:
    """Since 0009 the hub packs the texts of deliveries, no longer the database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(id) FROM memoryhub_prompttext")
        for start in range(0, (cursor.fetchone()[0] or 0) + 1, 500):
            cursor.execute("SELECT id, text FROM memoryhub_prompttext WHERE id >= %s AND id < %s", [start, start + 500])
            packed = [[zlib.compress(bytes(text), 1), pk] for pk, text in cursor.fetchall()]
            cursor.executemany("UPDATE memoryhub_prompttext SET text = %s WHERE id = %s", packed)


def fill_fingerprints() -> None:
    """Since 0013 each chunk has fingerprints; they are made as the domain makes those of a new one."""
    from memoryhub.detectors import fingerprints  # half of the detectors, for a step that almost no start takes

    with connection.cursor() as cursor:
        last = 0
        while True:
            cursor.execute(CHUNKS, [last, BATCH])
            chunks = cursor.fetchall()
            if not chunks:
                break
            with cursor.copy(COPY) as copy:
                for pk, space, agent, text in chunks:
                    for one in fingerprints.to_store(text):
                        copy.write_row((space, pk, agent, *one))
            last = chunks[-1][0]


IN_PYTHON: dict[str, Callable[[], None]] = {
    "0009_prompts_packed": pack_prompt_texts,
    "0013_layers_telltales": fill_fingerprints,
}
