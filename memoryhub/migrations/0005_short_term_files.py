"""Files per thread that end with the hub's run."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0004_session_digests")]

    operations = [
        migrations.AddField("mount", "ends_with_run", models.BooleanField(db_default=False, default=False)),
    ]
