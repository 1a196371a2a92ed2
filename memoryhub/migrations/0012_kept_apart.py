"""What is kept for good refuses TRUNCATE too; and what belonged to an agent that is gone is nobody's, never the group's."""

from django.db import migrations

NO_TRUNCATE = """
CREATE FUNCTION memoryhub_no_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: TRUNCATE refused', TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME
    USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON "activity"."line"
  FOR EACH STATEMENT EXECUTE FUNCTION memoryhub_no_truncate();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON "quarantine"."record"
  FOR EACH STATEMENT EXECUTE FUNCTION memoryhub_no_truncate();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON "quarantine"."state"
  FOR EACH STATEMENT EXECUTE FUNCTION memoryhub_no_truncate();
"""
BACK = """
DROP TRIGGER no_truncate ON "activity"."line";
DROP TRIGGER no_truncate ON "quarantine"."record";
DROP TRIGGER no_truncate ON "quarantine"."state";
DROP FUNCTION memoryhub_no_truncate();
"""

# Until now a corrected entry of a deleted agent lost its owner, and everybody found it.
NOBODYS = """
UPDATE memoryhub_embedding e SET agent_id = 0 FROM memoryhub_chunk c
WHERE c.scope = 'agent' AND c.agent_id IS NULL AND e.space_id = c.space_id AND e.chunk_id = c.id;
UPDATE memoryhub_posting p SET agent_id = 0 FROM memoryhub_chunk c
WHERE c.scope = 'agent' AND c.agent_id IS NULL AND p.space_id = c.space_id AND p.chunk_id = c.id;
UPDATE memoryhub_chunk SET agent_id = 0 WHERE scope = 'agent' AND agent_id IS NULL;
"""


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0011_files_printed")]
    operations = [
        migrations.RunSQL(NO_TRUNCATE, BACK),
        migrations.RunSQL(NOBODYS, migrations.RunSQL.noop),
    ]
