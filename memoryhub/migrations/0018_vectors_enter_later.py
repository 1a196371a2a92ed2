"""Vectors enter their index in the background, and those of large spaces alone.

What locks: the table of vectors, against reading too, from the first statement to the last. The column is a word in the
catalogue, whatever the size of the table; the index of what stands outside reads the table once (a second for each million
vectors, about); the old indexes go at once. The new ones are not made here but by the background process, without a lock
(`vector_index`); until then large spaces are searched one by one, which is right and slower.

What has entered leaves a dead entry in the index of what stands outside, and every search walks over it until the table is
vacuumed: so that is done sooner than by default, and never without the indexes.
"""

from django.db import migrations, models

OLD_INDEXES = r"SELECT relname FROM pg_class WHERE relkind = 'i' AND relname LIKE 'embedding\_hnsw\_%'"

VACUUM_SOONER = """
ALTER TABLE memoryhub_embedding
    SET (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.005, vacuum_index_cleanup = on)
"""
AS_BEFORE = """
ALTER TABLE memoryhub_embedding
    RESET (autovacuum_vacuum_threshold, autovacuum_vacuum_scale_factor, vacuum_index_cleanup)
"""


def drop_old_indexes(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(OLD_INDEXES)
        for (name,) in cursor.fetchall():
            cursor.execute(f'DROP INDEX "{name}"')


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0017_proposals_end")]
    operations = [
        migrations.RunPython(drop_old_indexes, migrations.RunPython.noop),
        migrations.AddField("embedding", "in_index", models.BooleanField(default=False, db_default=False)),
        migrations.AddIndex(
            "embedding",
            models.Index(
                fields=["space_id", "embedded_by"], condition=models.Q(("in_index", False)), name="embedding_outside"
            ),
        ),
        migrations.RunSQL(VACUUM_SOONER, AS_BEFORE),
    ]
