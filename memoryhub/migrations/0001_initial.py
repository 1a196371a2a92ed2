"""All tables as they are in this version, made at once.

It stands for the 21 migrations that led here. Django takes it as applied where all of them are recorded; `_older` brings
databases that stopped at one of them so far.
"""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
import pgvector.django.halfvec
from django.conf import settings
from django.db import migrations, models

import memoryhub.models.prompts

# What is kept apart has a schema of its own. The extension needs no superuser where it exists already: then nothing is said about
# it, since Citus would ask its other servers, which refuse whoever does not own it.
SCHEMAS = """
CREATE SCHEMA IF NOT EXISTS quarantine;
CREATE SCHEMA IF NOT EXISTS activity;
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector') THEN CREATE EXTENSION vector; END IF;
END $$;
"""

# What is kept for good refuses to be changed. The one door: a transaction that named the space it erases.
APPEND_ONLY = """
CREATE FUNCTION memoryhub_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND current_setting('memoryhub.erasing', true) = OLD.space_id::text THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME, TG_OP
    USING ERRCODE = 'restrict_violation';
END $$;

CREATE FUNCTION memoryhub_state_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF to_jsonb(NEW) - 'is_newest' <> to_jsonb(OLD) - 'is_newest' OR NEW.is_newest THEN
    RAISE EXCEPTION 'quarantine.state is append-only: UPDATE refused' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION memoryhub_no_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: TRUNCATE refused', TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME
    USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON activity.line
  FOR EACH ROW EXECUTE FUNCTION memoryhub_append_only();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON quarantine.record
  FOR EACH ROW EXECUTE FUNCTION memoryhub_append_only();
CREATE TRIGGER append_only BEFORE DELETE ON quarantine.state
  FOR EACH ROW EXECUTE FUNCTION memoryhub_append_only();
CREATE TRIGGER state_kept BEFORE UPDATE ON quarantine.state
  FOR EACH ROW EXECUTE FUNCTION memoryhub_state_kept();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON activity.line
  FOR EACH STATEMENT EXECUTE FUNCTION memoryhub_no_truncate();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON quarantine.record
  FOR EACH STATEMENT EXECUTE FUNCTION memoryhub_no_truncate();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON quarantine.state
  FOR EACH STATEMENT EXECUTE FUNCTION memoryhub_no_truncate();
"""
NO_FUNCTIONS = "DROP FUNCTION memoryhub_append_only, memoryhub_state_kept, memoryhub_no_truncate CASCADE"

STORAGE = """
-- The hub packs these texts itself.
ALTER TABLE memoryhub_prompttext ALTER COLUMN text SET STORAGE EXTERNAL;
-- What has entered leaves a dead entry in the index of what stands outside, and every search walks over it until the table
-- is vacuumed: so that is done sooner than by default, and never without the indexes.
ALTER TABLE memoryhub_embedding
    SET (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.005, vacuum_index_cleanup = on);
-- A row that changes in place needs room on its page.
ALTER TABLE memoryhub_lexemecount SET (fillfactor = 80);
-- Found by their words and removed by their place: nothing asks for the number, so no index of it is paid for.
ALTER TABLE memoryhub_posting DROP CONSTRAINT memoryhub_posting_pkey;
ALTER TABLE memoryhub_telltale DROP CONSTRAINT memoryhub_telltale_pkey;
"""


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    replaces = [
        ("memoryhub", "0001_schemas"),
        ("memoryhub", "0002_nouns"),
        ("memoryhub", "0003_append_only"),
        ("memoryhub", "0004_layers_found_by_words"),
        ("memoryhub", "0005_layers_lexeme_counts"),
        ("memoryhub", "0006_made"),
        ("memoryhub", "0007_files_fewer_indexes"),
        ("memoryhub", "0008_layers_marks"),
        ("memoryhub", "0009_prompts_packed"),
        ("memoryhub", "0010_proposals_warned"),
        ("memoryhub", "0011_files_printed"),
        ("memoryhub", "0012_kept_apart"),
        ("memoryhub", "0013_layers_telltales"),
        ("memoryhub", "0014_space_setup_mark"),
        ("memoryhub", "0015_files_below_a_folder"),
        ("memoryhub", "0016_proposals_fewer_indexes"),
        ("memoryhub", "0017_proposals_end"),
        ("memoryhub", "0018_vectors_enter_later"),
        ("memoryhub", "0019_layers_cheaper_to_add"),
        ("memoryhub", "0020_working_kept_whole"),
        ("memoryhub", "0021_entries_fewer_indexes"),
    ]
    operations = [
        migrations.RunSQL(SCHEMAS, "DROP SCHEMA quarantine CASCADE; DROP SCHEMA activity CASCADE"),
        migrations.CreateModel(
            name="Space",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "slug",
                    models.CharField(
                        max_length=64,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$", "Use small letters, digits and hyphens."
                            )
                        ],
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("description", models.CharField(blank=True, max_length=500)),
                ("is_demo", models.BooleanField(default=False)),
                ("revision", models.BigIntegerField(default=1)),
                ("longterm_mark", models.BigIntegerField(default=0)),
                ("setup_mark", models.BigIntegerField(default=0)),
                ("last_proposal", models.BigIntegerField(default=0)),
                ("last_entry", models.BigIntegerField(default=0)),
                ("settings", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Person",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "username",
                    models.CharField(
                        max_length=64,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[\\w.@+-]{1,64}$", "Use letters, digits and . @ + - _ (64 at most)."
                            )
                        ],
                    ),
                ),
                ("email", models.EmailField(blank=True, max_length=254)),
                ("is_active", models.BooleanField(default=True)),
                ("is_hub_owner", models.BooleanField(default=False)),
                ("preferences", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "last_space",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="memoryhub.space",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(django.db.models.functions.text.Lower("username"), name="one_username")
                ],
            },
        ),
        migrations.CreateModel(
            name="Agent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "slug",
                    models.CharField(
                        max_length=64,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$", "Use small letters, digits and hyphens."
                            )
                        ],
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("description", models.CharField(blank=True, max_length=500)),
                ("dialect", models.CharField(default="hub", max_length=64)),
                ("system_prompt", models.TextField(blank=True)),
                ("persona", models.TextField(blank=True)),
                ("is_on", models.BooleanField(default=True)),
                ("memory_is_on", models.BooleanField(default=True)),
                ("template", models.TextField(blank=True)),
                ("budget", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "gives_way",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=16), blank=True, default=list, size=None
                    ),
                ),
                ("reported", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("seen_at", models.DateTimeField(null=True)),
                (
                    "space",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="agents", to="memoryhub.space"
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [models.UniqueConstraint(fields=("space", "slug"), name="one_agent_slug")],
            },
        ),
        migrations.CreateModel(
            name="ActivityLine",
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
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                ("verb", models.CharField(max_length=64)),
                ("says", models.CharField(max_length=200)),
                ("thing", models.CharField(blank=True, max_length=300)),
                ("url", models.CharField(blank=True, max_length=1200)),
                ("adds", models.CharField(blank=True, max_length=600)),
                ("aside", models.CharField(blank=True, max_length=100)),
                ("path", models.CharField(blank=True, max_length=1100)),
                ("details", models.JSONField(default=dict)),
                ("request_id", models.CharField(blank=True, max_length=64)),
            ],
            options={
                "db_table": '"activity"."line"',
                "indexes": [
                    models.Index(fields=["space_id", "-id"], name="activity_space"),
                    models.Index(fields=["space_id", "actor_kind", "-id"], name="activity_kind"),
                    models.Index(fields=["space_id", "path", "-id"], name="activity_path"),
                    models.Index(fields=["space_id", "at"], name="activity_at"),
                ],
            },
        ),
        migrations.CreateModel(
            name="AgentChange",
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
                ("values", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "indexes": [models.Index(fields=["space_id", "agent_id", "created_at"], name="agent_change_at")],
            },
        ),
        migrations.CreateModel(
            name="Chunk",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("space_id", models.BigIntegerField()),
                ("entry_id", models.BigIntegerField()),
                ("scope", models.CharField(default="group", max_length=5)),
                ("agent_id", models.BigIntegerField(null=True)),
                ("position", models.IntegerField()),
                ("start", models.IntegerField()),
                ("end", models.IntegerField()),
                ("text", models.TextField()),
                ("words", django.contrib.postgres.search.SearchVectorField(null=True)),
                ("length", models.IntegerField(default=0)),
            ],
            options={
                "indexes": [models.Index(fields=["space_id", "entry_id", "position"], name="chunk_entry")],
            },
        ),
        migrations.CreateModel(
            name="ChunkCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("space_id", models.BigIntegerField(unique=True)),
                ("chunks", models.BigIntegerField(default=0)),
                ("lexemes", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("space_id", models.BigIntegerField()),
                ("agent_id", models.BigIntegerField()),
                ("thread_id", models.CharField(blank=True, max_length=200)),
                ("sha256", models.CharField(max_length=64)),
                ("dialect", models.CharField(blank=True, max_length=64)),
                ("revisions", models.JSONField(default=dict)),
                ("first_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("last_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("count", models.BigIntegerField(default=1)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["space_id", "agent_id", "-last_at"], name="delivery_last"),
                    models.Index(fields=["last_at"], name="delivery_old"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("space_id", "agent_id", "thread_id", "sha256"), name="one_delivery")
                ],
            },
        ),
        migrations.CreateModel(
            name="DialectTemplate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("space_id", models.BigIntegerField(default=0)),
                ("family", models.CharField(max_length=32)),
                ("form", models.CharField(max_length=64)),
                ("version", models.CharField(max_length=32)),
                ("text", models.TextField()),
                ("sha256", models.CharField(max_length=64)),
                ("came_from", models.CharField(max_length=200)),
                ("is_known", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("space_id", "family", "version", "sha256"), name="one_template_text"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Editing",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("path", models.CharField(max_length=1024)),
                ("seen_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "space",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memoryhub.space"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("space", "path", "person"), name="one_editing")],
            },
        ),
        migrations.CreateModel(
            name="Embedding",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("space_id", models.BigIntegerField()),
                ("chunk_id", models.BigIntegerField()),
                ("embedded_by", models.CharField(max_length=100)),
                ("agent_id", models.BigIntegerField(null=True)),
                ("vector", pgvector.django.halfvec.HalfVectorField()),
                ("in_index", models.BooleanField(db_default=False, default=False)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("in_index", False)),
                        fields=["space_id", "embedded_by"],
                        name="embedding_outside",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("space_id", "embedded_by", "chunk_id"), name="one_vector_per_embedder"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="EntryPair",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("space_id", models.BigIntegerField()),
                ("older_id", models.BigIntegerField()),
                ("newer_id", models.BigIntegerField()),
                ("kind", models.CharField(max_length=13)),
                ("cosine", models.FloatField()),
                ("verdict", models.CharField(blank=True, max_length=12)),
                ("settled_at", models.DateTimeField(null=True)),
                ("settled_by", models.CharField(blank=True, max_length=150)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="EntryRevision",
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
                ("entry_id", models.BigIntegerField()),
                ("number", models.IntegerField()),
                ("content", models.TextField()),
                ("state", models.CharField(default="active", max_length=8)),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("space_id", "entry_id", "number"), name="one_entry_revision")
                ],
            },
        ),
        migrations.CreateModel(
            name="FailedTry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=100, unique=True)),
                ("failures", models.IntegerField(default=0)),
                ("last_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("blocked_until", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="File",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("path", models.CharField(max_length=1024)),
                ("thread_id", models.CharField(blank=True, max_length=200)),
                ("revision", models.BigIntegerField(default=0)),
                ("is_deleted", models.BooleanField(default=False)),
                ("size", models.BigIntegerField(default=0)),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("author_kind", models.CharField(blank=True, max_length=8)),
                ("author_name", models.CharField(blank=True, max_length=150)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("modified_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("used_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("written_revision", models.BigIntegerField(null=True)),
                ("written_sha256", models.CharField(blank=True, max_length=64)),
                ("stat", models.JSONField(null=True)),
                ("problem", models.CharField(blank=True, max_length=300)),
                (
                    "space",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="files",
                        to="memoryhub.space",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="FileWords",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("space_id", models.BigIntegerField()),
                ("file_id", models.BigIntegerField(unique=True)),
                ("revision", models.BigIntegerField()),
                ("words", django.contrib.postgres.search.SearchVectorField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["space_id", "file_id"], name="file_words_of"),
                    django.contrib.postgres.indexes.GinIndex(fields=["words"], name="file_words"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Job",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("space_id", models.BigIntegerField(default=0)),
                ("kind", models.CharField(max_length=64)),
                ("payload", models.JSONField(default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "waiting"),
                            ("running", "running"),
                            ("done", "done"),
                            ("failed", "failed"),
                        ],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("done", models.BigIntegerField(default=0)),
                ("total", models.BigIntegerField(default=0)),
                ("result", models.JSONField(default=dict)),
                ("tries", models.IntegerField(default=0)),
                ("last_error", models.TextField(blank=True)),
                ("run_after", models.DateTimeField(default=django.utils.timezone.now)),
                ("asked_by", models.CharField(blank=True, max_length=150)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "waiting")), fields=["run_after", "id"], name="job_waiting"
                    ),
                    models.Index(fields=["space_id", "kind", "-id"], name="job_of_space"),
                ],
            },
        ),
        migrations.CreateModel(
            name="LexemeCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("space_id", models.BigIntegerField()),
                ("lexeme", models.TextField()),
                ("chunks", models.BigIntegerField(default=0)),
                ("mark", models.BigIntegerField(default=0)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("space_id", "lexeme"), name="one_lexeme")],
            },
        ),
        migrations.CreateModel(
            name="LongtermEntry",
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
                ("number", models.BigIntegerField()),
                ("content", models.TextField()),
                ("scope", models.CharField(default="group", max_length=5)),
                ("revision", models.IntegerField(default=1)),
                ("state", models.CharField(default="active", max_length=8)),
                ("record_id", models.BigIntegerField(null=True)),
                ("session_id", models.CharField(blank=True, max_length=200)),
                ("proposal", models.BigIntegerField(null=True)),
                ("reason", models.CharField(blank=True, max_length=2000)),
                ("metadata", models.JSONField(default=dict)),
                ("review_by", models.DateField(blank=True, null=True)),
                ("checked_at", models.DateTimeField(null=True)),
                ("checked_by", models.CharField(blank=True, max_length=150)),
                ("retired_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("modified_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="entries",
                        to="memoryhub.agent",
                    ),
                ),
                (
                    "space",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="entries",
                        to="memoryhub.space",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Made",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("space_id", models.BigIntegerField()),
                ("kind", models.CharField(max_length=64)),
                ("key", models.CharField(max_length=100)),
                ("name", models.CharField(blank=True, max_length=255)),
                ("content", models.BinaryField()),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("space_id", "kind", "key"), name="one_made")],
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "Viewer"),
                            ("editor", "Editor"),
                            ("reviewer", "Reviewer"),
                            ("owner", "Owner"),
                        ],
                        max_length=8,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "space",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="memberships", to="memoryhub.space"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("space", "person"), name="one_membership")],
            },
        ),
        migrations.CreateModel(
            name="Mount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("prefix", models.CharField(max_length=1024)),
                (
                    "store",
                    models.CharField(
                        choices=[("filesystem", "Filesystem"), ("database", "Database"), ("thread", "Thread")],
                        default="database",
                        max_length=10,
                    ),
                ),
                ("directory", models.CharField(blank=True, max_length=4096)),
                (
                    "policy",
                    models.CharField(
                        choices=[("trusted", "Trusted"), ("review", "Review"), ("read_only", "Read Only")],
                        default="review",
                        max_length=9,
                    ),
                ),
                ("problem", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "space",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="mounts",
                        to="memoryhub.space",
                    ),
                ),
            ],
            options={
                "ordering": ["prefix"],
                "constraints": [models.UniqueConstraint(fields=("space", "prefix"), name="one_prefix")],
            },
        ),
        migrations.CreateModel(
            name="PolicyRule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.IntegerField(default=0)),
                ("pattern", models.CharField(max_length=1024)),
                (
                    "policy",
                    models.CharField(
                        choices=[("trusted", "Trusted"), ("review", "Review"), ("read_only", "Read Only")], max_length=9
                    ),
                ),
                ("max_added", models.PositiveIntegerField(blank=True, null=True)),
                ("unless_findings", models.BooleanField(default=False)),
                ("reviewers", models.PositiveSmallIntegerField(default=1)),
                ("is_on", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "agent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="policy_rules",
                        to="memoryhub.agent",
                    ),
                ),
                (
                    "space",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="policy_rules", to="memoryhub.space"
                    ),
                ),
            ],
            options={
                "ordering": ["position", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Posting",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("space_id", models.BigIntegerField()),
                ("lexeme", models.TextField()),
                ("chunk_id", models.BigIntegerField()),
                ("agent_id", models.BigIntegerField(null=True)),
                ("count", models.IntegerField()),
                ("length", models.IntegerField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("space_id", "lexeme", "chunk_id"),
                        include=("agent_id", "count", "length"),
                        name="one_posting",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PromptText",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("space_id", models.BigIntegerField()),
                ("sha256", models.CharField(max_length=64)),
                ("text", memoryhub.models.prompts.PackedField()),
                ("tokens", models.IntegerField(default=0)),
                ("parts", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("space_id", "sha256"), name="one_prompt_text")],
            },
        ),
        migrations.CreateModel(
            name="Proposal",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.BigIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("approved", "Approved"),
                            ("rejected", "Rejected"),
                            ("withdrawn", "Withdrawn"),
                            ("outdated", "Outdated"),
                            ("expired", "Expired"),
                        ],
                        default="pending",
                        max_length=9,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("edit", "Edit"),
                            ("write", "Write"),
                            ("insert", "Insert"),
                            ("delete", "Delete"),
                            ("move", "Move"),
                            ("promotion", "Promotion"),
                        ],
                        max_length=9,
                    ),
                ),
                ("path", models.CharField(blank=True, max_length=1024)),
                ("change", models.JSONField(default=dict)),
                ("content", models.BinaryField(null=True)),
                ("same_as", models.CharField(max_length=64)),
                ("agent_name", models.CharField(max_length=150)),
                ("thread_id", models.CharField(blank=True, max_length=200)),
                ("tool_call_id", models.CharField(blank=True, max_length=200)),
                ("reason", models.CharField(blank=True, max_length=2000)),
                ("base_revision", models.BigIntegerField(null=True)),
                ("base_sha256", models.CharField(blank=True, max_length=64)),
                ("stacked_on", models.BigIntegerField(null=True)),
                ("findings", models.JSONField(default=list)),
                ("risk", models.PositiveSmallIntegerField(default=0)),
                ("reviewers", models.PositiveSmallIntegerField(default=1)),
                ("approvals", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField(null=True)),
                ("warned_at", models.DateTimeField(null=True)),
                ("decided_at", models.DateTimeField(null=True)),
                ("decided_by_id", models.BigIntegerField(null=True)),
                ("decided_by_name", models.CharField(blank=True, max_length=150)),
                ("note", models.CharField(blank=True, max_length=2000)),
                ("with_edits", models.BooleanField(default=False)),
                ("applied_revision", models.BigIntegerField(null=True)),
                ("undone_revision", models.BigIntegerField(null=True)),
                ("entry_number", models.BigIntegerField(null=True)),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="proposals",
                        to="memoryhub.agent",
                    ),
                ),
                (
                    "space",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="proposals",
                        to="memoryhub.space",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ProposalComment",
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
                ("text", models.CharField(max_length=4000)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "proposal",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="comments", to="memoryhub.proposal"
                    ),
                ),
                (
                    "space",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memoryhub.space"
                    ),
                ),
            ],
            options={
                "ordering": ["created_at", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Record",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("space_id", models.BigIntegerField()),
                ("agent_id", models.BigIntegerField(null=True)),
                ("agent_name", models.CharField(max_length=150)),
                ("session_id", models.CharField(max_length=200)),
                ("node_id", models.CharField(max_length=200)),
                (
                    "node_kind",
                    models.CharField(
                        choices=[
                            ("agent", "Agent"),
                            ("fact_check", "Fact Check"),
                            ("memory_retrieval", "Memory Retrieval"),
                        ],
                        max_length=16,
                    ),
                ),
                ("scope", models.CharField(default="group", max_length=5)),
                ("content", models.TextField()),
                ("sha256", models.CharField(max_length=64)),
                ("metadata", models.JSONField(default=dict)),
                ("findings", models.JSONField(default=list)),
                (
                    "codes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=32), default=list, size=None
                    ),
                ),
                ("words", django.contrib.postgres.search.SearchVectorField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "db_table": '"quarantine"."record"',
                "indexes": [
                    models.Index(fields=["space_id", "-id"], name="record_space"),
                    models.Index(fields=["space_id", "session_id", "id"], name="record_session"),
                    models.Index(fields=["space_id", "created_at"], name="record_created"),
                    django.contrib.postgres.indexes.GinIndex(fields=["codes"], name="record_codes"),
                    django.contrib.postgres.indexes.GinIndex(fields=["words"], name="record_words"),
                ],
            },
        ),
        migrations.CreateModel(
            name="RecordState",
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
                ("record_id", models.BigIntegerField()),
                ("state", models.CharField(max_length=9)),
                ("is_newest", models.BooleanField(default=True)),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("working_id", models.BigIntegerField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "db_table": '"quarantine"."state"',
                "indexes": [
                    models.Index(fields=["space_id", "record_id", "-id"], name="state_record"),
                    models.Index(
                        condition=models.Q(("is_newest", True)),
                        fields=["space_id", "state", "-record_id"],
                        name="state_newest",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Revision",
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
                ("number", models.BigIntegerField()),
                ("kind", models.CharField(default="write", max_length=8)),
                ("path", models.CharField(max_length=1024)),
                ("content", models.BinaryField(default=b"")),
                ("size", models.BigIntegerField(default=0)),
                ("sha256", models.CharField(max_length=64)),
                ("is_deleted", models.BooleanField(default=False)),
                ("added", models.IntegerField(default=0)),
                ("removed", models.IntegerField(default=0)),
                ("reason", models.CharField(blank=True, max_length=1000)),
                ("proposal", models.BigIntegerField(null=True)),
                ("restored_from", models.BigIntegerField(null=True)),
                ("moved_from", models.CharField(blank=True, max_length=1024)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "file",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="revisions",
                        to="memoryhub.file",
                    ),
                ),
                (
                    "space",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="revisions",
                        to="memoryhub.space",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["space", "created_at"], name="revision_created"),
                    models.Index(fields=["space", "file", "created_at"], name="revision_at"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("space", "file", "number"), name="one_revision_number")
                ],
            },
        ),
        migrations.CreateModel(
            name="SavedQuery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("query", models.CharField(max_length=1000)),
                ("expects", models.JSONField(default=list)),
                ("last_result", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "space",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="saved_queries", to="memoryhub.space"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SignIn",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("session_key", models.CharField(max_length=40, unique=True)),
                ("address", models.GenericIPAddressField(null=True)),
                ("browser", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("seen_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sign_ins",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SignInLink",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("leads_to", models.CharField(blank=True, max_length=200)),
                ("made_by", models.CharField(blank=True, max_length=150)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="links", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Source",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("path", models.CharField(max_length=1024)),
                ("printed", models.CharField(blank=True, db_default="", default="", max_length=1024)),
                ("position", models.IntegerField(default=0)),
                ("is_on", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "agent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sources",
                        to="memoryhub.agent",
                    ),
                ),
                (
                    "space",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="sources", to="memoryhub.space"
                    ),
                ),
            ],
            options={
                "ordering": ["position", "pk"],
            },
        ),
        migrations.CreateModel(
            name="SourceChange",
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
                ("agent_key", models.BigIntegerField(default=0)),
                ("sources", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "space",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memoryhub.space"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["space", "agent_key", "created_at"], name="source_change_at")],
            },
        ),
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
            options={
                "indexes": [
                    models.Index(
                        fields=["space_id", "code", "size", "chunk_id"],
                        include=("agent_id", "mask"),
                        name="telltale_word",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Token",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("label", models.CharField(blank=True, max_length=100)),
                ("prefix", models.CharField(max_length=90)),
                ("digest", models.CharField(max_length=64, unique=True)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=16), default=list, size=None
                    ),
                ),
                ("made_by", models.CharField(blank=True, max_length=150)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                ("used_at", models.DateTimeField(null=True)),
                ("used_from", models.GenericIPAddressField(null=True)),
                (
                    "agent",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tokens",
                        to="memoryhub.agent",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "space",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tokens", to="memoryhub.space"
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at", "-pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("agent__isnull", True), ("person__isnull", True), _connector="XOR"),
                        name="token_of_agent_or_person",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Webhook",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("url", models.URLField(max_length=500)),
                ("secret", models.CharField(max_length=100)),
                ("shape", models.CharField(choices=[("hub", "hub"), ("slack", "slack")], default="hub", max_length=8)),
                ("events", models.JSONField(default=list)),
                ("is_on", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "space",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="webhooks", to="memoryhub.space"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="WebhookNotice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("event", models.CharField(max_length=64)),
                ("body", models.JSONField(default=dict)),
                ("tries", models.IntegerField(default=0)),
                ("status", models.IntegerField(null=True)),
                ("error", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("delivered_at", models.DateTimeField(null=True)),
                (
                    "space",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memoryhub.space"
                    ),
                ),
                (
                    "webhook",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="notices", to="memoryhub.webhook"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="WorkingEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("space_id", models.BigIntegerField()),
                ("agent_key", models.BigIntegerField(default=0)),
                ("agent_id", models.BigIntegerField(null=True)),
                ("agent_name", models.CharField(blank=True, max_length=150)),
                ("scope", models.CharField(default="group", max_length=5)),
                ("content", models.TextField()),
                ("metadata", models.JSONField(default=dict)),
                ("findings", models.JSONField(default=list)),
                ("record_id", models.BigIntegerField(null=True)),
                ("session_id", models.CharField(blank=True, max_length=200)),
                ("is_pinned", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField()),
                ("removed_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["space_id", "agent_key", "-id"], name="working_newest")],
            },
        ),
        migrations.CreateModel(
            name="WorkingRevision",
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
                ("entry_id", models.BigIntegerField()),
                ("session_id", models.CharField(blank=True, max_length=200)),
                ("content", models.TextField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["space_id", "entry_id", "id"], name="working_revision"),
                    models.Index(fields=["space_id", "session_id"], name="working_revision_session"),
                ],
            },
        ),
        # One by one, in the order in which they came to be: of two indexes that seem to cost the same, as on a table that
        # was never counted, PostgreSQL takes the younger one.
        migrations.AddIndex(
            model_name="entrypair",
            index=models.Index(fields=["space_id", "newer_id"], name="pair_newer"),
        ),
        migrations.AddConstraint(
            model_name="entrypair",
            constraint=models.UniqueConstraint(fields=("space_id", "older_id", "newer_id"), name="one_pair"),
        ),
        migrations.AddIndex(
            model_name="file",
            index=models.Index(fields=["space", "modified_at"], name="file_modified"),
        ),
        migrations.AddIndex(
            model_name="file",
            index=models.Index(
                condition=models.Q(
                    ("written_revision__lt", models.F("revision")),
                    models.Q(("problem", ""), _negated=True),
                    _connector="OR",
                ),
                fields=["space", "id"],
                name="file_unwritten",
            ),
        ),
        migrations.AddConstraint(
            model_name="file",
            constraint=models.UniqueConstraint(
                fields=("space", "path", "thread_id"),
                name="one_file_per_path",
                opclasses=["int8_ops", "varchar_pattern_ops", "varchar_ops"],
            ),
        ),
        migrations.AddIndex(
            model_name="longtermentry",
            index=models.Index(fields=["space", "state", "-id"], name="entry_state"),
        ),
        migrations.AddConstraint(
            model_name="longtermentry",
            constraint=models.UniqueConstraint(fields=("space", "number"), name="one_entry_number"),
        ),
        migrations.AddIndex(
            model_name="longtermentry",
            index=models.Index(
                condition=models.Q(("review_by__isnull", False)), fields=["space", "review_by"], name="entry_review_due"
            ),
        ),
        migrations.AddIndex(
            model_name="longtermentry",
            index=models.Index(condition=models.Q(("agent__isnull", False)), fields=["agent"], name="entry_agent"),
        ),
        migrations.AddIndex(
            model_name="proposal",
            index=models.Index(fields=["space", "state", "-risk", "created_at"], name="proposal_inbox"),
        ),
        migrations.AddIndex(
            model_name="proposal",
            index=models.Index(fields=["space", "state", "number"], name="proposal_state"),
        ),
        migrations.AddIndex(
            model_name="proposal",
            index=models.Index(fields=["space", "path", "state"], name="proposal_path"),
        ),
        migrations.AddIndex(
            model_name="proposal",
            index=models.Index(fields=["space", "agent", "state"], name="proposal_agent"),
        ),
        migrations.AddConstraint(
            model_name="proposal",
            constraint=models.UniqueConstraint(fields=("space", "number"), name="one_proposal_number"),
        ),
        migrations.AddConstraint(
            model_name="proposal",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "pending")), fields=("space", "same_as"), name="one_pending_of_a_kind"
            ),
        ),
        migrations.AddIndex(
            model_name="proposal",
            index=models.Index(
                condition=models.Q(("state__in", ["pending", "outdated"])),
                fields=["space", "expires_at"],
                name="proposal_ends",
            ),
        ),
        migrations.AddIndex(
            model_name="webhooknotice",
            index=models.Index(fields=["space", "webhook", "-id"], name="webhook_notice"),
        ),
        migrations.RunSQL(APPEND_ONLY, NO_FUNCTIONS),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
    ]
