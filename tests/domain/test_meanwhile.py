"""A statement on its way: the database works while this process does; nothing is mixed up, lost or left behind."""

import time
from contextlib import nullcontext

import pytest
from django.db import OperationalError, ProgrammingError, connection, transaction

from memoryhub.db import statements
from memoryhub.db.meanwhile import Asking

from .test_hot import hang_up

pytestmark = pytest.mark.django_db(transaction=True)
SLOWLY = "SELECT 'slept' FROM pg_sleep(%s)"


def is_free():
    return getattr(connection, "on_its_way", None) is None and statements.rows("SELECT 7") == [(7,)]


@pytest.mark.parametrize("is_in_a_transaction", [False, True])
def test_the_database_works_while_this_process_does(is_in_a_transaction):
    statements.rows("SELECT 1")
    with transaction.atomic() if is_in_a_transaction else nullcontext():
        for turn in range(8):  # the first of a transaction begins it, and at the sixth time it is prepared
            start = time.monotonic()
            with Asking(SLOWLY, [0.2]) as asked:
                time.sleep(0.2)
                assert asked.rows() == [("slept",)]
            assert turn in (0, 5) or time.monotonic() - start < 0.35
    assert is_free()


def test_in_a_transaction_it_sees_what_was_changed_there():
    with transaction.atomic():
        with Asking("SELECT txid_current()") as asked:  # the first of its transaction
            pass
        assert asked.rows() == statements.rows("SELECT txid_current()")
        statements.rows("CREATE TEMP TABLE here (n int) ON COMMIT DROP")
        statements.rows("INSERT INTO here VALUES (3)")
        with Asking("SELECT n FROM here") as asked:
            assert asked.rows() == [(3,)]
    assert is_free()


def test_another_statement_waits_until_it_is_done():
    with Asking(SLOWLY, [0.05]) as asked:
        assert statements.rows("SELECT 2") == [(2,)]
        with Asking("SELECT 3") as other:
            assert asked.rows() == [("slept",)]
        assert other.rows() == [(3,)]
    assert is_free()


def test_it_is_prepared_as_the_others_are():
    sql = "SELECT %s::bigint + 17"
    for number in range(8):
        with Asking(sql, [number]) as asked:
            assert asked.rows() == [(number + 17,)]
    assert [row for row in statements.rows("SELECT statement FROM pg_prepared_statements") if "+ 17" in row[0]]


def test_what_goes_wrong_meanwhile_leaves_the_connection_free():
    with pytest.raises(ZeroDivisionError), Asking(SLOWLY, [0.05]):
        raise ZeroDivisionError
    assert is_free()
    with pytest.raises(ZeroDivisionError), Asking("SELECT nothing"):
        raise ZeroDivisionError
    assert is_free()


def test_an_error_of_the_database_is_djangos_and_said_once():
    with pytest.raises(ProgrammingError, match="nothing"), Asking("SELECT nothing") as asked:
        asked.rows()
    with pytest.raises(ProgrammingError, match="nothing"), Asking("SELECT nothing"):
        pass
    statements.rows("SET statement_timeout = '20ms'")
    try:
        with pytest.raises(OperationalError, match="statement timeout"), Asking(SLOWLY, [2]) as asked:
            asked.rows()
    finally:
        statements.rows("SET statement_timeout = 0")
    assert is_free()


@pytest.mark.parametrize("is_lost_meanwhile", [False, True])
def test_where_the_connection_was_lost_it_is_asked_again(is_lost_meanwhile):
    (backend,) = statements.row("SELECT pg_backend_pid()")
    if not is_lost_meanwhile:
        hang_up()
    with Asking("SELECT pg_backend_pid(), pg_sleep(0.2)") as asked:
        if is_lost_meanwhile:
            other = connection.copy()
            with other.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [backend])
            other.close()
        assert asked.rows()[0][0] != backend
    assert is_free()


def test_a_connection_that_is_lost_in_a_transaction_is_an_error():
    def lose():
        statements.rows("SELECT 1")
        hang_up()
        with Asking("SELECT 1") as asked:
            asked.rows()

    with pytest.raises(OperationalError):
        transaction.atomic(lose)()
    assert is_free()
