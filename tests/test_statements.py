"""The fixture `statements` hears of every statement, whichever way it is sent."""

import psycopg
import pytest
from django.db import connection, transaction
from psycopg import sql

from memoryhub.models import Space

pytestmark = pytest.mark.django_db


def test_statements_of_django_and_those_that_go_past_it_are_heard_of(statements):
    with statements() as sent:
        assert not Space.objects.filter(slug="nowhere").exists()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 -- Django's cursor")
        with psycopg.Cursor(connection.connection) as cursor:
            cursor.execute(b"SELECT 2", prepare=True)
            cursor.execute(sql.SQL("SELECT {}").format(3))
            cursor.executemany("SELECT %s -- many", [(1,), (2,)])
    assert "memoryhub_space" in sent[0]
    assert sent[1:] == ["SELECT 1 -- Django's cursor", "SELECT 2", "SELECT 3", "SELECT %s -- many"]


def test_a_prepared_statement_counts_each_time(statements):
    with statements() as sent, psycopg.Cursor(connection.connection) as cursor:
        for number in range(8):
            cursor.execute("SELECT %s::int", [number], prepare=True)
    assert sent == ["SELECT %s::int"] * 8


def test_one_list_inside_another_and_none_afterwards(statements):
    with statements() as outer:
        connection.ensure_connection()
        with statements() as inner, transaction.atomic():
            Space.objects.count()
        Space.objects.count()
    Space.objects.count()
    assert [one.split()[0] for one in inner] == ["SAVEPOINT", "SELECT", "RELEASE"]
    assert outer == [*inner, inner[1]]
