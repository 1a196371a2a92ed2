"""Who approved a revision and which lines its reviewer wrote; known approvals are filled in from the proposals."""

from django.db import migrations, models

# Rows with a proposal alone are looked at, each found by the index of numbers. A move is recorded at its new path.
FILL = """
UPDATE memoryhub_revision r SET approver_kind = CASE WHEN p.decided_by_id IS NULL THEN 'hub' ELSE 'person' END,
  approver_id = p.decided_by_id, approver_name = p.decided_by_name
FROM memoryhub_proposal p JOIN memoryhub_file f ON f.space_id = p.space_id AND f.thread_id IN ('', p.thread_id)
  AND f.path = CASE WHEN p.kind = 'move' THEN p.change ->> 'to' ELSE p.path END
WHERE p.state = 'approved' AND p.decided_by_name <> '' AND r.space_id = p.space_id AND r.file_id = f.id
  AND r.number = p.applied_revision AND r.proposal = p.number
"""


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0003_templates_decided")]

    operations = [
        migrations.AddField(
            "revision", "approver_kind", models.CharField(blank=True, db_default="", default="", max_length=8)
        ),
        migrations.AddField("revision", "approver_id", models.BigIntegerField(null=True)),
        migrations.AddField(
            "revision", "approver_name", models.CharField(blank=True, db_default="", default="", max_length=150)
        ),
        migrations.AddField("revision", "reviewer_lines", models.JSONField(null=True)),
        migrations.AddField("revision", "based_on", models.BigIntegerField(null=True)),
        migrations.AddField("revision", "merged_with", models.BigIntegerField(null=True)),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
