"""Texts of the ledger are packed by the hub, no longer by the database."""

import zlib

from django.db import migrations

import memoryhub.models.prompts


def pack(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT max(id) FROM memoryhub_prompttext")
        for start in range(0, (cursor.fetchone()[0] or 0) + 1, 500):
            cursor.execute("SELECT id, text FROM memoryhub_prompttext WHERE id >= %s AND id < %s", [start, start + 500])
            packed = [[zlib.compress(bytes(text), 1), pk] for pk, text in cursor.fetchall()]
            cursor.executemany("UPDATE memoryhub_prompttext SET text = %s WHERE id = %s", packed)


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0008_layers_marks")]

    operations = [
        migrations.AlterField("prompttext", "text", memoryhub.models.prompts.PackedField()),
        migrations.RunSQL(
            "ALTER TABLE memoryhub_prompttext ALTER COLUMN text SET STORAGE EXTERNAL",
            "ALTER TABLE memoryhub_prompttext ALTER COLUMN text SET STORAGE EXTENDED",
        ),
        migrations.RunPython(pack),
    ]
