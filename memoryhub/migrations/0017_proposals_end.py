"""What waits past its date is found at once, before any list shows it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memoryhub", "0016_proposals_fewer_indexes"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="proposal",
            index=models.Index(
                condition=models.Q(("state__in", ["pending", "outdated"])),
                fields=["space", "expires_at"],
                name="proposal_ends",
            ),
        ),
    ]
