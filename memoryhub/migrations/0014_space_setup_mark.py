from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memoryhub", "0013_layers_telltales"),
    ]

    operations = [
        migrations.AddField(
            model_name="space",
            name="setup_mark",
            field=models.BigIntegerField(default=0),
        ),
    ]
