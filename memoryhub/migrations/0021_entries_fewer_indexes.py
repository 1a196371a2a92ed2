"""A promotion and a logged output write into fewer indexes: those that nothing reads go, and two hold no row that says nothing.

Postings and telltales were numbered under an index of their own, which nothing asks: what finds them is their words. The number
stays, and who takes one away goes by its place. An index of records that 0019 meant to drop stands in quarantine's own schema,
where that did not look.

What locks: long-term entries while two small indexes are made of those that have a date or an agent (far under a second for a
million); all else goes at once.
"""

import django.db.models.deletion
from django.db import migrations, models

UNASKED = """
ALTER TABLE memoryhub_posting DROP CONSTRAINT IF EXISTS memoryhub_posting_pkey;
ALTER TABLE memoryhub_telltale DROP CONSTRAINT IF EXISTS memoryhub_telltale_pkey;
DROP INDEX IF EXISTS "quarantine"."record_agent";
"""
AS_BEFORE = """
ALTER TABLE memoryhub_posting ADD CONSTRAINT memoryhub_posting_pkey PRIMARY KEY (id);
ALTER TABLE memoryhub_telltale ADD CONSTRAINT memoryhub_telltale_pkey PRIMARY KEY (id);
"""


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0020_working_kept_whole")]
    operations = [
        migrations.RemoveIndex("longtermentry", "entry_review"),
        migrations.AlterField(
            "longtermentry",
            "space",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="entries",
                to="memoryhub.space",
            ),
        ),
        migrations.AlterField(
            "longtermentry",
            "agent",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="entries",
                to="memoryhub.agent",
            ),
        ),
        migrations.AddIndex(
            "longtermentry",
            models.Index(
                fields=["space", "review_by"], condition=models.Q(("review_by__isnull", False)), name="entry_review_due"
            ),
        ),
        migrations.AddIndex(
            "longtermentry",
            models.Index(fields=["agent"], condition=models.Q(("agent__isnull", False)), name="entry_agent"),
        ),
        migrations.RunSQL(UNASKED, AS_BEFORE),
    ]
