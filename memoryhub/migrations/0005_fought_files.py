"""Files that a program changes again each time they are put back: changes of these count."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0004_language")]

    operations = [
        migrations.AddField("file", "put_back_at", models.DateTimeField(null=True)),
        migrations.AddField("file", "applies_since", models.DateTimeField(null=True)),
    ]
