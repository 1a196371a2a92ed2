"""Mounts whose changes another hub on the machine puts back."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0006_nodes")]

    operations = [
        migrations.AddField("mount", "put_back_elsewhere", models.BooleanField(db_default=False, default=False)),
    ]
