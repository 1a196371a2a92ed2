"""The language that a person chose."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0003_recall")]

    operations = [
        migrations.AddField(
            "person", "language", models.CharField(blank=True, db_default="", default="", max_length=12)
        ),
    ]
