"""Limits of retrieval, files that show memory or end with the run, requested changes, digests of sessions."""

from django.db import migrations, models

DIGEST = "left(encode(sha256(convert_to(session_key, 'UTF8')), 'hex'), 40)"
SESSIONS = f"UPDATE django_session SET session_key = {DIGEST}"  # noqa: S608 (an expression of ours)
SIGN_INS = f"UPDATE memoryhub_signin SET session_key = {DIGEST}"  # noqa: S608
STORES = ["filesystem", "database", "thread", "views"]
# Until now a request for changes was a rejection whose reason began with these words.
REQUESTED = """
UPDATE memoryhub_proposal SET changes_requested = true
WHERE state = 'rejected' AND note LIKE 'Please try again: %'
"""


class Migration(migrations.Migration):
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
        migrations.RunSQL([SESSIONS, SIGN_INS], migrations.RunSQL.noop),
        migrations.RunSQL(REQUESTED, migrations.RunSQL.noop),
    ]
