"""Postings in the order in which retrieval reads the best of a common word: one index in the place of another.

It is made beside the hub's work. Tables that were partitioned by hand cannot be indexed so: they are not written meanwhile.
"""

from django.db import migrations, models

POSTING = "memoryhub_posting"
PARTITIONED = "SELECT relkind = 'p' FROM pg_class WHERE oid = to_regclass(%s)"
BEST = ["space_id", "lexeme", "agent_id", "count", "length", "chunk_id"]
ONE = ["space_id", "lexeme", "chunk_id"]


def replace(editor, old, new):
    """One index in the place of another; what an interrupted run left of the new one is dropped first."""
    name, definition = new
    with editor.connection.cursor() as cursor:
        cursor.execute(PARTITIONED, [POSTING])
        concurrently = "" if cursor.fetchone()[0] else "CONCURRENTLY"
    editor.execute(f"DROP INDEX {concurrently} IF EXISTS {name}")
    editor.execute(definition.format(concurrently=concurrently))
    editor.execute(f"DROP INDEX {concurrently} IF EXISTS {old}")


def forward(apps, editor):
    made = f"CREATE INDEX {{concurrently}} posting_best ON {POSTING} ({', '.join(BEST)})"
    replace(editor, "one_posting", ("posting_best", made))


def backward(apps, editor):
    rest = "INCLUDE (agent_id, count, length)"
    made = f"CREATE UNIQUE INDEX {{concurrently}} one_posting ON {POSTING} ({', '.join(ONE)}) {rest}"
    replace(editor, "posting_best", ("one_posting", made))


class Migration(migrations.Migration):
    atomic = False  # as CONCURRENTLY needs
    replaces = [("memoryhub", "0008_postings_in_order")]
    dependencies = [("memoryhub", "0003_second_release")]

    operations = [
        migrations.SeparateDatabaseAndState(
            [migrations.RunPython(forward, backward)],
            [
                migrations.RemoveConstraint("posting", "one_posting"),
                migrations.AddIndex("posting", models.Index(fields=BEST, name="posting_best")),
            ],
        )
    ]
