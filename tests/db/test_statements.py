"""The statements of the hot path on a connection that breaks: read again, but never written twice."""

from contextlib import nullcontext

import psycopg
import pytest
from django.db import InternalError, OperationalError, connection, transaction

from memoryhub.db import statements
from memoryhub.domain import activity, quarantine, spaces, working
from memoryhub.errors import Unavailable
from memoryhub.models import HUB, ActivityLine, Record
from tests.domain.layers import counter, forge, space  # noqa: F401

pytestmark = pytest.mark.django_db(transaction=True)
FACT = "Customer of invoice 20931 asks for the refund of 12 November; it left on the 13th by card."


def log(space, agent):
    return quarantine.log(space, agent, content=FACT, session_id="c-1", node_id="answer", node_kind="agent")


def hang_up():
    """The server ends this connection, as it does when it is started anew."""
    (backend,) = statements.row("SELECT pg_backend_pid()")
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [backend])
    other.close()


@pytest.fixture
def broken_answer(monkeypatch):
    """Of the first statement that writes a record, the connection breaks when it is done and before its answer is read."""
    sent = []

    class Breaking(psycopg.Cursor):
        def execute(self, sql, *args, **kwargs):
            done = super().execute(sql, *args, **kwargs)
            if "INSERT INTO" in sql:
                sent.append(sql)
                if len(sent) == 1:
                    self.connection.close()
                    raise psycopg.OperationalError("server closed the connection unexpectedly")
            return done

    monkeypatch.setattr(psycopg, "Cursor", Breaking)
    return sent


def test_what_comes_after_the_server_hung_up_is_stored(space, forge):
    log(space, forge)
    hang_up()
    log(space, forge)
    hang_up()
    assert spaces.mark_longterm(space)
    assert sum(one.times for one in working.newest(space)) == 2  # copies of one text count up


def test_a_write_whose_answer_was_lost_is_not_sent_again(space, forge, broken_answer):
    with pytest.raises(Unavailable, match="Look whether this was done"):
        log(space, forge)
    assert Record.objects.count() == 1
    log(space, forge)
    assert Record.objects.count() == 2 and len(broken_answer) == 2


def test_a_refusal_by_the_database_is_no_broken_connection(space, forge):
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '20ms'")
    with pytest.raises(OperationalError, match="statement timeout"):
        statements.changed("SELECT pg_sleep(2)", [])
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
    assert log(space, forge).state == "admitted"


@pytest.mark.parametrize("slug", ["ledgerline", "another"])
def test_a_row_made_of_what_is_held_is_there_only_where_it_holds(space, slug):
    numbered = "UPDATE memoryhub_space SET last_entry = last_entry + 1 WHERE id = %s AND slug = %s RETURNING last_entry"
    line = activity.make_line(space, HUB, "tests.hold", "held")
    its_number = "jsonb_build_object('aside', 'L-' || held.last_entry)"
    told = statements.insert_rows(ActivityLine, line, of="held", over=its_number)
    with nullcontext() if slug == space.slug else pytest.raises(statements.NotHeld):
        statements.together(told, held=statements.Change(numbered, [space.pk, slug]))
    asides = list(ActivityLine.objects.filter(verb="tests.hold").values_list("aside", flat=True))
    assert asides == (["L-1"] if slug == space.slug else [])


def test_what_would_happen_in_any_case_cannot_be_held(space):
    with pytest.raises(ValueError, match="in any case"):
        statements.together(statements.Change("SELECT 1", []), held=statements.Change("SELECT 1 WHERE false", []))


def test_a_column_that_a_row_does_not_name_gets_its_default(space):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE activity.line ADD COLUMN later text NOT NULL DEFAULT 'as the table says'")
    try:
        statements.send_change(activity.lines_as_change(activity.make_line(space, HUB, "tests.later", "came")))
        with connection.cursor() as cursor:
            cursor.execute("SELECT later FROM activity.line WHERE verb = 'tests.later'")
            assert cursor.fetchall() == [("as the table says",)]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE activity.line DROP COLUMN later")


def test_an_answer_that_breaks_off_is_of_a_lost_connection():
    """As PgBouncer ends one whose server was killed; what a server numbers stays what it is."""
    with pytest.raises(OperationalError), connection.wrap_database_errors:
        raise psycopg.InternalError("received 2 results from command 'BEGIN'")
    with pytest.raises(InternalError), connection.wrap_database_errors:
        raise psycopg.errors.InFailedSqlTransaction("current transaction is aborted")


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("failure on connection marked as essential: db-2.example.org:5432", OperationalError),
        ("server closed the connection unexpectedly", OperationalError),
        ("cache lookup failed for type 7", InternalError),
    ],
)
def test_what_citus_says_of_a_lost_server_is_of_a_lost_connection(message, kind):
    with pytest.raises(kind, match=message), transaction.atomic():
        statements.rows(f"DO $$ BEGIN RAISE '{message}' USING ERRCODE = 'XX000'; END $$")


def test_a_statement_too_long_to_be_parsed_once_has_its_values_in_order():
    assert statements.rows("SELECT %s::int, '%%', %s::text" + " " * statements.PARSED_ONCE, [1, "%s"]) == [
        (1, "%", "%s")
    ]
