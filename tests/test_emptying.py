"""What takes back a test: also where some tables are deleted from and others begin anew."""

import pytest
from django.db import connection

from memoryhub.domain import files, spaces
from memoryhub.models import HUB, File, Space
from tests.emptying import empty_database


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("counted", ["memoryhub_space", "memoryhub_mount", "memoryhub_file", "memoryhub_revision"])
def test_counted_tables_beside_others_are_emptied(counted):
    space = spaces.create(HUB, "harbour")
    files.add_mount(space, HUB, "/notes/", store="database")
    files.write(space, HUB, "/notes/a.md", b"one\n")
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {counted}")  # such a table begins anew by TRUNCATE
    empty_database()
    assert (Space.objects.count(), File.objects.count()) == (0, 0)
    assert connection.get_autocommit()
