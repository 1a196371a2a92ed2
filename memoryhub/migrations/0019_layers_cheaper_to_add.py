"""What is counted anew with every text changes in place, and quarantine loses an index that nothing reads.

What locks: the table of lexeme counts, while its index is made anew without what it carried along (a second for each million
lexemes, about). The index of records goes at once.
"""

from django.db import migrations, models

# A row that changes in place needs room on its page, and nothing that an index holds may be another.
ROOM = "ALTER TABLE memoryhub_lexemecount SET (fillfactor = 80)"
AS_BEFORE = "ALTER TABLE memoryhub_lexemecount RESET (fillfactor)"


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0018_vectors_enter_later")]
    operations = [
        migrations.RemoveConstraint("lexemecount", "one_lexeme_mark"),
        migrations.AddConstraint(
            "lexemecount", models.UniqueConstraint(fields=["space_id", "lexeme"], name="one_lexeme")
        ),
        migrations.RunSQL(ROOM, AS_BEFORE),
        migrations.RemoveIndex("record", "record_agent"),
    ]
