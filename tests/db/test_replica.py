"""Which of two servers a statement goes to. Both are the same one here; `tests/server/test_replica.py` has a real replica."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, OperationalError, connection, connections, transaction

from memoryhub.db import replica, statements
from memoryhub.domain import spaces
from memoryhub.models import HUB, Space

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def databases_asked(settings, monkeypatch):
    """The databases that were asked by `statements` and the ORM, in their order; the replica has everything."""
    settings.REPLICA_URL = "postgresql://replica/memoryhub"
    monkeypatch.setattr("django.db.router.routers", [replica.Router()])
    connections.databases["replica"] = connection.settings_dict
    connections["replica"].connect()
    connection.ensure_connection()  # what a new connection asks first is not counted
    monkeypatch.setattr(replica, "_has_everything", lambda: True)
    monkeypatch.setattr(replica.state, "rests_until", 0.0)
    seen: list[str] = []
    execute = statements.execute

    def noted(wrapper, *more):
        seen.append(wrapper.alias)
        return execute(wrapper, *more)

    def noted_too(run, sql, params, many, context):
        seen.append(context["connection"].alias)
        return run(sql, params, many, context)

    monkeypatch.setattr(statements, "execute", noted)
    with connections["replica"].execute_wrapper(noted_too), connection.execute_wrapper(noted_too):
        yield seen
    connections["replica"].close()
    del connections.databases["replica"]
    del connections["replica"]


def names() -> list[str]:
    return list(Space.objects.order_by("slug").values_list("slug", flat=True))


def count() -> int:
    return statements.row("SELECT count(*) FROM memoryhub_space")[0]


def test_what_is_read_comes_from_the_replica_and_only_inside(databases_asked):
    assert replica.read(lambda: (names(), count(), replica.read(count))) == ([], 0, 0)
    assert databases_asked == ["replica"] * 3
    assert (names(), databases_asked[3:]) == ([], ["default"])


def test_after_a_write_the_primary_is_asked(databases_asked):
    def write_with_the_orm():
        found = [names()]
        space = Space.objects.create(slug="books", name="Books")
        return [*found, names(), count(), space._state.db]

    assert replica.read(write_with_the_orm) == [[], ["books"], 1, "default"]
    assert (databases_asked[0], set(databases_asked[1:])) == ("replica", {"default"})
    databases_asked.clear()
    renamed = "UPDATE memoryhub_space SET name = 'Tales' RETURNING slug"
    assert replica.read(lambda: (count(), statements.changed(renamed, []), names())) == (1, [("books",)], ["books"])
    assert databases_asked == ["replica", "default", "default"]


def test_a_row_of_the_replica_is_saved_at_the_primary(databases_asked):
    spaces.create(HUB, "books")

    def rename():
        space = Space.objects.get(slug="books")
        space.name = "Tales"
        space.save()
        return Space.objects.get(slug="books").name

    assert replica.read(rename) == "Tales"


def test_within_a_transaction_the_primary_is_asked(databases_asked):
    def in_transaction():
        with transaction.atomic():
            return names(), count()

    assert replica.read(in_transaction) == ([], 0)
    assert set(databases_asked) == {"default"}


def fail_at_replica(error: Exception):
    """Makes what the replica is asked fail."""

    def refuse(run, sql, params, many, context):
        raise error

    return connections["replica"].execute_wrapper(refuse)


def test_what_fails_at_the_replica_is_done_again_at_the_primary_and_the_replica_rests(databases_asked):
    spaces.create(HUB, "books")
    with fail_at_replica(OperationalError("the connection is closed")):
        assert replica.read(names) == ["books"]
    assert replica.state.rests_until > 0


def test_a_prepared_statement_that_fails_there_is_sent_again_and_what_was_done_before_is_not(
    databases_asked, monkeypatch
):
    spaces.create(HUB, "books")
    calls, execute = [], statements.execute

    def broken_there(wrapper, *more):
        if wrapper.alias == "replica":
            raise OperationalError("the connection is closed")
        return execute(wrapper, *more)

    monkeypatch.setattr(statements, "execute", broken_there)
    assert replica.read(lambda: (calls.append("once"), count(), names())[1:]) == (1, ["books"])
    assert calls == ["once"] and set(databases_asked[-2:]) == {"default"}


def test_what_wrote_is_never_done_twice(databases_asked):
    def write_and_fail():
        Space.objects.create(slug="books", name="Books")
        raise OperationalError("the connection is closed")

    with pytest.raises(OperationalError):
        replica.read(write_and_fail)
    assert names() == ["books"]


def test_a_statement_that_is_wrong_is_not_sent_twice(databases_asked):
    with pytest.raises(DatabaseError):
        replica.read(lambda: Space.objects.extra(where=["nothing = 1"]).count())
    assert databases_asked == ["replica"]
