"""What is kept for good refuses to be changed. The one door: a transaction that named the space it erases."""

from django.db import migrations

FUNCTION = """
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

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON "activity"."line"
  FOR EACH ROW EXECUTE FUNCTION memoryhub_append_only();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON "quarantine"."record"
  FOR EACH ROW EXECUTE FUNCTION memoryhub_append_only();
CREATE TRIGGER append_only BEFORE DELETE ON "quarantine"."state"
  FOR EACH ROW EXECUTE FUNCTION memoryhub_append_only();
CREATE TRIGGER state_kept BEFORE UPDATE ON "quarantine"."state"
  FOR EACH ROW EXECUTE FUNCTION memoryhub_state_kept();
"""

BACK = """
DROP TRIGGER append_only ON "activity"."line";
DROP TRIGGER append_only ON "quarantine"."record";
DROP TRIGGER append_only ON "quarantine"."state";
DROP TRIGGER state_kept ON "quarantine"."state";
DROP FUNCTION memoryhub_append_only();
DROP FUNCTION memoryhub_state_kept();
"""


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0002_nouns")]
    operations = [migrations.RunSQL(FUNCTION, BACK)]
