"""Two people who click at the same moment, under PostgreSQL's real locks."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from memoryhub.domain import accounts, spaces
from memoryhub.errors import HubError
from memoryhub.models import HUB, Actor, FailedTry, Membership

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*calls):
    """Runs the calls in threads of their own, each on its own connection, all from the same moment on."""
    start = Barrier(len(calls))

    def run(call):
        try:
            start.wait(5)
            return call()
        except HubError as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_two_owners_who_demote_each_other_leave_one_owner():
    space = spaces.create(HUB, "books")
    ann, bob = (accounts.create_person(HUB, name) for name in ("ann", "bob"))
    for person in (ann, bob):
        spaces.add_member(space, HUB, person, "owner")
    done = at_once(
        lambda: spaces.change_role(space, Actor.of_person(ann, "owner"), bob, "viewer"),
        lambda: spaces.change_role(space, Actor.of_person(bob, "owner"), ann, "viewer"),
    )
    assert [isinstance(one, HubError) for one in done].count(True) == 1
    assert Membership.objects.within(space).filter(role="owner").count() == 1


def test_a_one_time_link_opened_by_many_lets_one_in():
    secret = accounts.make_sign_in_link(HUB, accounts.create_person(HUB, "ann"))
    done = at_once(*[lambda: accounts.use_sign_in_link(secret)] * 8)
    assert [isinstance(one, HubError) for one in done].count(False) == 1


def test_failed_tries_at_once_are_all_counted():
    key = f"person:{accounts.create_person(HUB, 'ann', password='correct horse battery').pk}"
    at_once(*[lambda: accounts.check_password("ann", "wrong", "10.0.0.1")] * 8)
    assert FailedTry.objects.get(key=key).failures >= 5
    assert FailedTry.objects.get(key=key).blocked_until is not None


def test_a_space_made_twice_at_once_is_made_once():
    done = at_once(*[lambda: spaces.create(HUB, "books")] * 4)
    assert [isinstance(one, HubError) for one in done].count(False) == 1
