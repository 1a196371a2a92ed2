"""The one index of paths in pattern order, by which all that lies below a folder is found in one look."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memoryhub", "0014_space_setup_mark"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="file",
            name="one_file_per_path",
        ),
        migrations.AddConstraint(
            model_name="file",
            constraint=models.UniqueConstraint(
                fields=("space", "path", "thread_id"),
                name="one_file_per_path",
                opclasses=["int8_ops", "varchar_pattern_ops", "varchar_ops"],
            ),
        ),
    ]
