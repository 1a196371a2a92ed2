import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memoryhub", "0019_layers_cheaper_to_add"),
    ]

    operations = [
        migrations.CreateModel(
            name="WorkingRevision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "actor_kind",
                    models.CharField(
                        choices=[
                            ("person", "person"),
                            ("agent", "agent"),
                            ("disk", "disk"),
                            ("hub", "hub"),
                            ("import", "import"),
                        ],
                        max_length=8,
                    ),
                ),
                ("actor_id", models.BigIntegerField(null=True)),
                ("actor_name", models.CharField(max_length=150)),
                ("space_id", models.BigIntegerField()),
                ("entry_id", models.BigIntegerField()),
                ("session_id", models.CharField(blank=True, max_length=200)),
                ("content", models.TextField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["space_id", "entry_id", "id"], name="working_revision"),
                    models.Index(fields=["space_id", "session_id"], name="working_revision_session"),
                ],
            },
        ),
    ]
