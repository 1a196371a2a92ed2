"""What mounts of directories take in. Directories that are projects take in memory and documents alone from now on."""

from django.db import migrations, models

from memoryhub.stores.survey import kind_of


def look_at_directories(apps, schema_editor):
    for mount in apps.get_model("memoryhub", "Mount").objects.filter(store="filesystem"):
        mount.takes = kind_of(mount.directory)
        mount.save(update_fields=["takes"])


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0009_erasures")]

    operations = [
        migrations.AddField(
            "mount",
            "takes",
            models.CharField(
                choices=[("all", "Every file"), ("documents", "Memory and documents")],
                db_default="all",
                default="all",
                max_length=9,
            ),
        ),
        migrations.AddField("mount", "include", models.TextField(blank=True, db_default="", default="")),
        migrations.AddField("mount", "exclude", models.TextField(blank=True, db_default="", default="")),
        migrations.AddField("mount", "is_full", models.BooleanField(db_default=False, default=False)),
        migrations.RunPython(look_at_directories, migrations.RunPython.noop),
    ]
