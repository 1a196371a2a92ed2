"""What a proposal was checked for secrets with, so that a decision on these texts by these rules need not look again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0008_postings_in_order")]

    operations = [
        migrations.AddField(
            "proposal", "checked_digest", models.CharField(blank=True, db_default="", default="", max_length=64)
        ),
    ]
