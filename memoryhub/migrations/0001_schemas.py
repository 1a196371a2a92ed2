"""Schemas of their own for what is kept apart, and the vector type. The extension needs no superuser where it exists already."""

from django.db import migrations


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.RunSQL("CREATE SCHEMA IF NOT EXISTS quarantine", "DROP SCHEMA quarantine CASCADE"),
        migrations.RunSQL("CREATE SCHEMA IF NOT EXISTS activity", "DROP SCHEMA activity CASCADE"),
        migrations.RunSQL("CREATE EXTENSION IF NOT EXISTS vector", migrations.RunSQL.noop),
    ]
