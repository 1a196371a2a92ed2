import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

# The files of existing mounts were taken in: what is new on their disks from now on is a change. What earlier versions stored of
# them may hold secrets, which a job replaces by marks.
MARK = """
UPDATE memoryhub_mount SET taken_in_at = now();
INSERT INTO memoryhub_job (space_id, kind, payload, state, done, total, result, tries, last_error, asked_by, run_after, created_at)
SELECT 0, 'exchange.mark_stored', '{}', 'waiting', 0, 0, '{}', 0, '', '', now(), now()
WHERE EXISTS (SELECT 1 FROM memoryhub_file)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("memoryhub", "0004_approvers"),
    ]

    operations = [
        migrations.CreateModel(
            name="AllowedValue",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "actor_kind",
                    models.CharField(
                        choices=[
                            ("person", "person"),
                            ("agent", "agent"),
                            ("disk", "disk"),
                            ("hub", "hub"),
                            ("import", "import"),
                        ],
                        max_length=8,
                    ),
                ),
                ("actor_id", models.BigIntegerField(null=True)),
                ("actor_name", models.CharField(max_length=150)),
                ("digest", models.CharField(max_length=64)),
                ("kind", models.CharField(max_length=100)),
                ("path", models.CharField(blank=True, max_length=1024)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.AddField(
            model_name="file",
            name="disk_secrets",
            field=models.JSONField(db_default=models.Value([], models.JSONField()), default=list),
        ),
        migrations.AddField(
            model_name="file",
            name="held",
            field=models.CharField(blank=True, db_default="", default="", max_length=7),
        ),
        migrations.AddField(
            model_name="file",
            name="held_proposal",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="file",
            name="put_backs",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="file",
            name="unreviewed_from",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="mount",
            name="on_disk",
            field=models.CharField(
                choices=[("apply", "Apply"), ("hold", "Hold")], db_default="apply", default="apply", max_length=5
            ),
        ),
        migrations.AddField(
            model_name="mount",
            name="put_back",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="mount",
            name="taken_in_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="proposal",
            name="from_disk",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="revision",
            name="git_author",
            field=models.CharField(blank=True, db_default="", default="", max_length=150),
        ),
        migrations.AddField(
            model_name="revision",
            name="git_commit",
            field=models.CharField(blank=True, db_default="", default="", max_length=40),
        ),
        migrations.AddIndex(
            model_name="file",
            index=models.Index(
                condition=models.Q(("unreviewed_from__isnull", False)), fields=["space", "id"], name="file_unreviewed"
            ),
        ),
        migrations.AddIndex(
            model_name="file",
            index=models.Index(
                condition=models.Q(("held", ""), _negated=True), fields=["space", "id"], name="file_held"
            ),
        ),
        migrations.AddField(
            model_name="allowedvalue",
            name="space",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memoryhub.space"
            ),
        ),
        migrations.AddConstraint(
            model_name="allowedvalue",
            constraint=models.UniqueConstraint(fields=("space", "digest"), name="one_allowed_value"),
        ),
        migrations.RunSQL(MARK, migrations.RunSQL.noop),
    ]
