"""Erasures with their receipts, marks on erased revisions, and triggers that let an erasure put its mark and nothing else."""

import django.utils.timezone
from django.db import migrations, models

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


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0008_seen_entries")]

    operations = [
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
        migrations.RunSQL(TOMBSTONES, migrations.RunSQL.noop),
    ]
