from django.db import migrations, models

# Until now a request for changes was a rejection whose reason began with these words.
MARK = """
UPDATE memoryhub_proposal SET changes_requested = true
WHERE state = 'rejected' AND note LIKE 'Please try again: %'
"""


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0006_views")]

    operations = [
        migrations.AddField(
            model_name="proposal",
            name="changes_requested",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RunSQL(MARK, migrations.RunSQL.noop),
    ]
