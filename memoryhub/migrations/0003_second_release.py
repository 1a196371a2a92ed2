"""What came between 0002_trust and the second release: limits of retrieval, files that show memory or end with the run,
requested changes, digests of sessions, languages, files that programs fight over, nodes, what a proposal was checked with.
"""

import django.db.models.functions.datetime
from django.db import migrations, models

import memoryhub.models.spaces

DIGEST = "left(encode(sha256(convert_to(session_key, 'UTF8')), 'hex'), 40)"
SESSIONS = f"UPDATE django_session SET session_key = {DIGEST}"  # noqa: S608 (an expression of ours)
SIGN_INS = f"UPDATE memoryhub_signin SET session_key = {DIGEST}"  # noqa: S608
NOW = django.db.models.functions.datetime.Now()
MARK = memoryhub.models.spaces.first_mark
STORES = ["filesystem", "database", "thread", "views"]
# Until now a request for changes was a rejection whose reason began with these words.
REQUESTED = """
UPDATE memoryhub_proposal SET changes_requested = true
WHERE state = 'rejected' AND note LIKE 'Please try again: %'
"""


class Migration(migrations.Migration):
    # Steps that were apart before they were released; `_older` takes those that a database lacks.
    replaces = [
        ("memoryhub", "0003_recall"),
        ("memoryhub", "0004_language"),
        ("memoryhub", "0005_fought_files"),
        ("memoryhub", "0006_nodes"),
        ("memoryhub", "0007_put_back_elsewhere"),
        ("memoryhub", "0009_checked_digest"),
    ]
    dependencies = [("memoryhub", "0002_trust"), ("sessions", "0001_initial")]

    operations = [
        migrations.AddField("agent", "retrieval", models.JSONField(blank=True, db_default={}, default=dict)),
        migrations.AddField("mount", "ends_with_run", models.BooleanField(db_default=False, default=False)),
        migrations.AlterField(
            "mount",
            "store",
            models.CharField(choices=[(name, name.capitalize()) for name in STORES], default="database", max_length=10),
        ),
        migrations.AddField("space", "has_views", models.BooleanField(db_default=False, default=False)),
        migrations.AddField("longtermentry", "pin", models.IntegerField(null=True)),
        migrations.AddIndex(
            "longtermentry",
            models.Index(condition=models.Q(("pin__isnull", False)), fields=["space", "pin"], name="entry_pinned"),
        ),
        migrations.AddField("proposal", "changes_requested", models.BooleanField(db_default=False, default=False)),
        migrations.AddField(
            "proposal", "checked_digest", models.CharField(blank=True, db_default="", default="", max_length=64)
        ),
        migrations.AddField(
            "person", "language", models.CharField(blank=True, db_default="", default="", max_length=12)
        ),
        migrations.AddField("file", "put_back_at", models.DateTimeField(null=True)),
        migrations.AddField("file", "applies_since", models.DateTimeField(null=True)),
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
        migrations.AddField("mount", "put_back_elsewhere", models.BooleanField(db_default=False, default=False)),
        # Only what Django fills in: the columns stay as they are.
        migrations.AlterField("space", "revision", models.BigIntegerField(default=MARK)),
        migrations.AlterField("space", "longterm_mark", models.BigIntegerField(default=MARK)),
        migrations.AlterField("space", "setup_mark", models.BigIntegerField(default=MARK)),
        # Rows last: what they fill must have its final shape.
        migrations.RunSQL([SESSIONS, SIGN_INS], migrations.RunSQL.noop),
        migrations.RunSQL(REQUESTED, migrations.RunSQL.noop),
    ]
