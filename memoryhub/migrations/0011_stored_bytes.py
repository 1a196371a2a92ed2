"""What spaces and agents have stored, as a job counts it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0010_intake")]

    operations = [
        migrations.AddField("space", "stored_bytes", models.BigIntegerField(db_default=0, default=0)),
        migrations.AddField("space", "stored", models.JSONField(db_default={}, default=dict)),
        migrations.AddField("agent", "stored_bytes", models.BigIntegerField(db_default=0, default=0)),
    ]
