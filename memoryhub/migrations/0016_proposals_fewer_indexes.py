import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memoryhub", "0015_files_below_a_folder"),
    ]

    operations = [
        migrations.AlterField(
            model_name="proposal",
            name="agent",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="proposals",
                to="memoryhub.agent",
            ),
        ),
        migrations.AlterField(
            model_name="proposal",
            name="space",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="proposals",
                to="memoryhub.space",
            ),
        ),
    ]
