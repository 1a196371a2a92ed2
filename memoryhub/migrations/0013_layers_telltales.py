"""The telltales of all lines in long-term memory, by which the gate knows what comes back."""

from django.db import migrations, models

BATCH = 2000
CHUNKS = "SELECT id, space_id, agent_id, text FROM memoryhub_chunk WHERE id > %s ORDER BY id LIMIT %s"
COPY = "COPY memoryhub_telltale (space_id, chunk_id, agent_id, code, size, mask) FROM STDIN"


def tell(apps, schema_editor):
    """Makes them of every chunk, as the domain makes them of a new one."""
    from memoryhub.detectors import fingerprints

    with schema_editor.connection.cursor() as cursor:
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


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0012_kept_apart")]
    operations = [
        migrations.CreateModel(
            name="Telltale",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("space_id", models.BigIntegerField()),
                ("code", models.IntegerField()),
                ("size", models.SmallIntegerField()),
                ("chunk_id", models.BigIntegerField()),
                ("agent_id", models.BigIntegerField(null=True)),
                ("mask", models.BigIntegerField()),
            ],
        ),
        migrations.RunPython(tell, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="telltale",
            index=models.Index(
                fields=["space_id", "code", "size", "chunk_id"], include=["agent_id", "mask"], name="telltale_word"
            ),
        ),
    ]
