"""Hubs that share a database: nodes, their key, and which of them a mounted directory belongs to."""

import django.db.models.functions.datetime
from django.db import migrations, models

import memoryhub.models.spaces

NOW = django.db.models.functions.datetime.Now()
MARK = memoryhub.models.spaces.first_mark


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0005_fought_files")]

    operations = [
        migrations.CreateModel(
            "Node",
            [
                ("id", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                ("version", models.CharField(max_length=40)),
                ("run", models.CharField(max_length=40)),
                ("key_digest", models.CharField(max_length=64)),
                ("started_at", models.DateTimeField(db_default=NOW)),
                ("seen_at", models.DateTimeField(db_default=NOW)),
                ("stopped_at", models.DateTimeField(null=True)),
                ("is_told_to_stop", models.BooleanField(db_default=False, default=False)),
                ("clock_ahead", models.FloatField(db_default=0, default=0)),
            ],
            options={"ordering": ["name", "id"]},
        ),
        migrations.CreateModel(
            "SharedKey",
            [
                ("id", models.BigIntegerField(default=1, primary_key=True, serialize=False)),
                ("digest", models.CharField(max_length=64)),
                ("sealed", models.TextField()),
            ],
        ),
        migrations.AddField("mount", "node", models.CharField(blank=True, db_default="", default="", max_length=64)),
        migrations.AddField(
            "mount", "next_node", models.CharField(blank=True, db_default="", default="", max_length=64)
        ),
        # Only what Django fills in: the columns stay as they are.
        migrations.AlterField("space", "revision", models.BigIntegerField(default=MARK)),
        migrations.AlterField("space", "longterm_mark", models.BigIntegerField(default=MARK)),
        migrations.AlterField("space", "setup_mark", models.BigIntegerField(default=MARK)),
    ]
