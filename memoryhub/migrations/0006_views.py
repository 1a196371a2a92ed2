"""The store `views`, and entries of long-term memory that people pinned for it."""

from django.db import migrations, models

STORES = ["filesystem", "database", "thread", "views"]


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0005_short_term_files")]

    operations = [
        migrations.AlterField(
            "mount",
            "store",
            models.CharField(choices=[(name, name.capitalize()) for name in STORES], default="database", max_length=10),
        ),
        migrations.AddField("space", "has_views", models.BooleanField(db_default=False, default=False)),
        migrations.AddField("longtermentry", "pin", models.IntegerField(null=True)),
        migrations.AddIndex(
            "longtermentry",
            models.Index(condition=models.Q(("pin__isnull", False)), fields=["space", "pin"], name="entry_pinned"),
        ),
    ]
