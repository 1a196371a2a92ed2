"""The database keeps a digest of the key of each session. Who is signed in stays signed in."""

from django.db import migrations

DIGEST = "left(encode(sha256(convert_to(session_key, 'UTF8')), 'hex'), 40)"
SESSIONS = f"UPDATE django_session SET session_key = {DIGEST}"  # noqa: S608 (an expression of ours)
SIGN_INS = f"UPDATE memoryhub_signin SET session_key = {DIGEST}"  # noqa: S608


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0003_retrieval"), ("sessions", "0001_initial")]

    operations = [migrations.RunSQL([SESSIONS, SIGN_INS], migrations.RunSQL.noop)]
