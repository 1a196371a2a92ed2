"""What the hub keeps for trust: what mounts take in, holds of changes on disk, authors and approvers, erasures, quotas."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from memoryhub.stores.survey import kind_of

# Rows with a proposal alone are looked at, each found by the index of numbers. A move is recorded at its new path.
FILL = """
UPDATE memoryhub_revision r SET approver_kind = CASE WHEN p.decided_by_id IS NULL THEN 'hub' ELSE 'person' END,
  approver_id = p.decided_by_id, approver_name = p.decided_by_name
FROM memoryhub_proposal p JOIN memoryhub_file f ON f.space_id = p.space_id AND f.thread_id IN ('', p.thread_id)
  AND f.path = CASE WHEN p.kind = 'move' THEN p.change ->> 'to' ELSE p.path END
WHERE p.state = 'approved' AND p.decided_by_name <> '' AND r.space_id = p.space_id AND r.file_id = f.id
  AND r.number = p.applied_revision AND r.proposal = p.number
"""


# The files of existing mounts were taken in: what is new on their disks from now on is a change. What earlier versions stored of
# them may hold secrets, which a job replaces by marks.
MARK = """
UPDATE memoryhub_mount SET taken_in_at = now();
INSERT INTO memoryhub_job (space_id, kind, payload, state, done, total, result, tries, last_error, asked_by, run_after, created_at)
SELECT 0, 'exchange.mark_stored', '{}', 'waiting', 0, 0, '{}', 0, '', '', now(), now()
WHERE EXISTS (SELECT 1 FROM memoryhub_file)
"""


# What is kept for good refuses to be changed, but for an erasure that named the space in its transaction: it may delete a
# row, or put its mark in the place of words. When, by whom and about what stays as it was.
TOMBSTONES = r"""
CREATE FUNCTION memoryhub_only_erased(before jsonb, after jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT before - words - derived = after - words - derived AND NOT EXISTS (
    SELECT FROM unnest(words) one WHERE after ->> one IS DISTINCT FROM before ->> one
      AND coalesce(after ->> one, '') NOT IN ('', '{}', '[]') AND after ->> one !~ '\[erased\]|erased-[0-9a-f]{8}')
  FROM (VALUES (ARRAY['says', 'thing', 'url', 'adds', 'aside', 'path', 'details', 'request_id', 'actor_name', 'agent_name',
    'session_id', 'node_id', 'content', 'metadata', 'findings', 'codes', 'reason'], ARRAY['sha256', 'words'])) v (words, derived)
$$;

CREATE OR REPLACE FUNCTION memoryhub_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('memoryhub.erasing', true) = OLD.space_id::text THEN
    IF TG_OP = 'DELETE' THEN
      RETURN OLD;
    ELSIF memoryhub_only_erased(to_jsonb(OLD), to_jsonb(NEW)) THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME, TG_OP
    USING ERRCODE = 'restrict_violation';
END $$;

CREATE OR REPLACE FUNCTION memoryhub_state_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('memoryhub.erasing', true) = OLD.space_id::text
     AND memoryhub_only_erased(to_jsonb(OLD), to_jsonb(NEW)) THEN
    RETURN NEW;
  END IF;
  IF to_jsonb(NEW) - 'is_newest' <> to_jsonb(OLD) - 'is_newest' OR NEW.is_newest THEN
    RAISE EXCEPTION 'quarantine.state is append-only: UPDATE refused' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
"""


def look_at_directories(apps, schema_editor):
    for mount in apps.get_model("memoryhub", "Mount").objects.filter(store="filesystem"):
        mount.takes = kind_of(mount.directory)
        mount.save(update_fields=["takes"])


class Migration(migrations.Migration):
    # Steps that were apart before they were released.
    replaces = [
        ("memoryhub", "0002_sign_in_link_maker"),
        ("memoryhub", "0003_templates_decided"),
        ("memoryhub", "0004_approvers"),
        ("memoryhub", "0005_disk"),
        ("memoryhub", "0006_asked_dialect"),
        ("memoryhub", "0007_person_email_is_given"),
        ("memoryhub", "0008_seen_entries"),
        ("memoryhub", "0009_erasures"),
        ("memoryhub", "0010_intake"),
        ("memoryhub", "0011_stored_bytes"),
    ]
    dependencies = [("memoryhub", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="signinlink",
            name="maker",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.CreateModel(
            name="TemplateChoice",
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
                ("space_id", models.BigIntegerField()),
                ("agent_id", models.BigIntegerField()),
                ("form", models.CharField(max_length=64)),
                ("template_id", models.BigIntegerField()),
                ("proposal", models.BigIntegerField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("ended_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.AlterField(
            model_name="proposal",
            name="kind",
            field=models.CharField(
                choices=[
                    ("edit", "Edit"),
                    ("write", "Write"),
                    ("insert", "Insert"),
                    ("delete", "Delete"),
                    ("move", "Move"),
                    ("promotion", "Promotion"),
                    ("template", "Template"),
                ],
                max_length=9,
            ),
        ),
        migrations.AddIndex(
            model_name="proposal",
            index=models.Index(
                condition=models.Q(("kind", "template")), fields=["space", "agent"], name="proposal_template"
            ),
        ),
        migrations.AddIndex(
            model_name="templatechoice",
            index=models.Index(fields=["space_id", "agent_id", "form", "-id"], name="template_choice"),
        ),
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
        migrations.AddField(
            model_name="agent",
            name="asked_dialect",
            field=models.CharField(blank=True, db_default="", default="", max_length=200),
        ),
        migrations.AddField(
            model_name="delivery",
            name="asked",
            field=models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        migrations.AlterField(
            model_name="agent",
            name="dialect",
            field=models.CharField(default="auto", max_length=64),
        ),
        migrations.AddField(
            model_name="person",
            name="email_is_given",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="workingentry",
            name="seen_by",
            field=models.CharField(blank=True, db_default="", default="", max_length=150),
        ),
        migrations.AddField(
            model_name="workingentry",
            name="times",
            field=models.IntegerField(db_default=1, default=1),
        ),
        migrations.AddField("revision", "erased_at", models.DateTimeField(null=True)),
        migrations.AddField(
            "revision", "erased_by", models.CharField(blank=True, db_default="", default="", max_length=150)
        ),
        migrations.AddField("revision", "erasure", models.BigIntegerField(null=True)),
        migrations.CreateModel(
            "Erasure",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "actor_kind",
                    models.CharField(
                        choices=[(k, k) for k in ("person", "agent", "disk", "hub", "import")], max_length=8
                    ),
                ),
                ("actor_id", models.BigIntegerField(null=True)),
                ("actor_name", models.CharField(max_length=150)),
                ("space_id", models.BigIntegerField(default=0)),
                ("kind", models.CharField(max_length=8)),
                ("state", models.CharField(default="counting", max_length=8)),
                ("digest", models.CharField(max_length=64)),
                ("on_disk", models.BooleanField(default=True)),
                ("work", models.BinaryField(null=True)),
                ("job_id", models.BigIntegerField(null=True)),
                ("step", models.IntegerField(default=0)),
                ("plan", models.JSONField(default=list)),
                ("rows", models.JSONField(default=dict)),
                ("found", models.JSONField(default=dict)),
                ("elsewhere", models.JSONField(default=dict)),
                ("searched", models.IntegerField(default=0)),
                ("problems", models.JSONField(default=list)),
                ("backups", models.JSONField(default=list)),
                ("first_seen", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("confirmed_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
            ],
            options={"indexes": [models.Index(fields=["space_id", "-id"], name="erasure_space")]},
        ),
        migrations.AddField(
            "mount",
            "takes",
            models.CharField(
                choices=[("all", "Every file"), ("documents", "Memory and documents")],
                db_default="all",
                default="all",
                max_length=9,
            ),
        ),
        migrations.AddField("mount", "include", models.TextField(blank=True, db_default="", default="")),
        migrations.AddField("mount", "exclude", models.TextField(blank=True, db_default="", default="")),
        migrations.AddField("mount", "is_full", models.BooleanField(db_default=False, default=False)),
        migrations.AddField("space", "stored_bytes", models.BigIntegerField(db_default=0, default=0)),
        migrations.AddField("space", "stored", models.JSONField(db_default={}, default=dict)),
        migrations.AddField("agent", "stored_bytes", models.BigIntegerField(db_default=0, default=0)),
        # Rows last: what they fill must have its final shape.
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RunSQL(MARK, migrations.RunSQL.noop),
        migrations.RunSQL(TOMBSTONES, migrations.RunSQL.noop),
        migrations.RunPython(look_at_directories, migrations.RunPython.noop),
    ]
