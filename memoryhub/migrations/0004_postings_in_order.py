"""Postings in the order in which retrieval reads the best of a common word, and indexes that every log writes: one of the codes of
findings, for those records alone that have some, and none of the paths of lines, which nothing asks for.

Indexes are made beside the hub's work. Tables that were partitioned by hand cannot be indexed so: they are not written meanwhile.
"""

import django.contrib.postgres.indexes
from django.db import migrations, models

POSTING, RECORD = "memoryhub_posting", "quarantine.record"
PARTITIONED = "SELECT relkind = 'p' FROM pg_class WHERE oid = to_regclass(%s)"
BEST = ["space_id", "lexeme", "agent_id", "count", "length", "chunk_id"]
ONE = ["space_id", "lexeme", "chunk_id"]
PATHS = "CREATE INDEX activity_path ON activity.line (space_id, path, id DESC)"


def replace(editor, table, old, new):
    """One index in the place of another; what an interrupted run left of the new one is dropped first."""
    name, definition = new
    schema = table.rpartition(".")[0] or "public"
    with editor.connection.cursor() as cursor:
        cursor.execute(PARTITIONED, [table])
        concurrently = "" if cursor.fetchone()[0] else "CONCURRENTLY"
    editor.execute(f"DROP INDEX {concurrently} IF EXISTS {schema}.{name}")
    editor.execute(f"CREATE {definition.format(concurrently=concurrently, table=table)}")
    editor.execute(f"DROP INDEX {concurrently} IF EXISTS {schema}.{old}")


def forward(apps, editor):
    made = f"INDEX {{concurrently}} posting_best ON {{table}} ({', '.join(BEST)})"
    replace(editor, POSTING, "one_posting", ("posting_best", made))


def backward(apps, editor):
    made = (
        f"UNIQUE INDEX {{concurrently}} one_posting ON {{table}} ({', '.join(ONE)}) INCLUDE (agent_id, count, length)"
    )
    replace(editor, POSTING, "posting_best", ("one_posting", made))


def findings_alone(apps, editor):
    made = "INDEX {concurrently} record_findings ON {table} USING gin (codes) WHERE codes <> '{{}}'"
    replace(editor, RECORD, "record_codes", ("record_findings", made))


def all_codes(apps, editor):
    made = "INDEX {concurrently} record_codes ON {table} USING gin (codes)"
    replace(editor, RECORD, "record_findings", ("record_codes", made))


class Migration(migrations.Migration):
    atomic = False  # as CONCURRENTLY needs
    replaces = [("memoryhub", "0008_postings_in_order"), ("memoryhub", "0010_fewer_indexes")]
    dependencies = [("memoryhub", "0003_second_release")]

    operations = [
        migrations.SeparateDatabaseAndState(
            [migrations.RunPython(forward, backward)],
            [
                migrations.RemoveConstraint("posting", "one_posting"),
                migrations.AddIndex("posting", models.Index(fields=BEST, name="posting_best")),
            ],
        ),
        migrations.SeparateDatabaseAndState(
            [migrations.RunPython(findings_alone, all_codes)],
            [
                migrations.RemoveIndex("record", "record_codes"),
                migrations.AddIndex(
                    "record",
                    django.contrib.postgres.indexes.GinIndex(
                        condition=models.Q(("codes", []), _negated=True), fields=["codes"], name="record_findings"
                    ),
                ),
            ],
        ),
        migrations.RunSQL(
            "DROP INDEX IF EXISTS activity.activity_path",
            PATHS,
            state_operations=[migrations.RemoveIndex("activityline", "activity_path")],
        ),
    ]
