"""Limits of retrieval that people set for one agent."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0002_trust")]

    operations = [
        migrations.AddField("agent", "retrieval", models.JSONField(blank=True, db_default={}, default=dict)),
    ]
