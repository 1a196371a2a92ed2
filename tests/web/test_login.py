import importlib
import re
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.utils import timezone

from memoryhub.domain import accounts, jobs, spaces
from memoryhub.errors import Conflict, Invalid
from memoryhub.models import HUB, Actor, FailedTry, SignIn, SignInLink
from memoryhub.sessions import stored
from tests.running import CSRF_FIELD

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"
digests = importlib.import_module("memoryhub.migrations.0003_second_release")


@pytest.fixture
def rk():
    return accounts.create_person(HUB, "rk", password=PASSWORD)


def sign_in(client, username="rk", password=PASSWORD, **more):
    return client.post("/login/", {"username": username, "password": password, **more})


def test_name_and_password_lead_where_one_wanted_to_go(client, rk):
    space = spaces.create(Actor.of_person(rk, "owner"), "books")
    asked = client.get("/s/books/?who=disk")
    assert (asked.status_code, asked["Location"]) == (302, "/login/?next=%2Fs%2Fbooks%2F%3Fwho%3Ddisk")
    done = sign_in(client, next="/s/books/?who=disk")
    assert (done.status_code, done["Location"]) == (303, "/s/books/?who=disk")
    assert client.get(f"/s/{space.slug}/").status_code == 200
    assert SignIn.objects.get(person=rk).session_key == client.session.stored_key


def test_a_name_is_found_however_it_is_spelled(client, rk):
    assert sign_in(client, username="RK").status_code == 303


def test_the_one_time_link_signs_in_once(client, rk):
    secret = accounts.make_sign_in_link(HUB, rk, leads_to="/s/books/")
    first = client.post(f"/login/once/{secret}/")
    assert (first.status_code, first["Location"]) == (303, "/s/books/")
    assert client.get("/account/").status_code in (200, 404)
    client.logout()
    second = client.get(f"/login/once/{secret}/")
    assert second.status_code == 404
    assert "used already" in second.content.decode()


def test_a_link_dies_after_a_quarter_of_an_hour(client, rk):
    secret = accounts.make_sign_in_link(HUB, rk)
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert client.get(f"/login/once/{secret}/").status_code == 404


def test_a_look_at_the_link_does_not_spend_it(client):
    secret = accounts.make_sign_in_link(HUB, accounts.create_person(HUB, "bartholomew"))
    for look in (client.head, client.get, client.options):
        page = look(f"/login/once/{secret}/")
        assert "bartholomew" not in page.content.decode()
        assert "sessionid" not in page.cookies and "memoryhub_session" not in page.cookies
    assert client.get(f"/login/once/{secret}/")["Referrer-Policy"] == "no-referrer"
    assert client.post(f"/login/once/{secret}/").status_code == 303


def test_a_form_of_another_site_spends_no_link(rk):
    strict = Client(enforce_csrf_checks=True)
    address = f"/login/once/{accounts.make_sign_in_link(HUB, rk)}/"
    assert strict.post(address, headers={"Origin": "null"}).status_code == 403
    field = CSRF_FIELD.search(strict.get(address).content.decode())[1]
    elsewhere = {"Origin": "https://example.com"}
    assert strict.post(address, {"csrfmiddlewaretoken": field}, headers=elsewhere).status_code == 403
    # A browser sends `null` from a page without a referrer.
    assert strict.post(address, {"csrfmiddlewaretoken": field}, headers={"Origin": "null"}).status_code == 303


def test_a_link_for_a_colleague_works_as_long_as_was_chosen(rk):
    for name, lasts in (("15m", timedelta(minutes=15)), ("3d", timedelta(days=3))):
        accounts.make_sign_in_link(HUB, rk, lasts=accounts.link_time(name))
        until = SignInLink.objects.get().expires_at
        assert abs(until - timezone.now() - lasts) < timedelta(seconds=30)
    with pytest.raises(Invalid, match="3 days"):
        accounts.make_sign_in_link(HUB, rk, lasts=timedelta(days=4))
    with pytest.raises(Invalid, match="15m"):
        accounts.link_time("9w")


def test_a_link_ends_when_its_maker_could_not_make_it_any_more(client, rk):
    books, other = (spaces.create(HUB, slug) for slug in ("books", "other"))
    lead, nina = (accounts.create_person(HUB, name) for name in ("lead", "nina"))
    spaces.add_member(books, HUB, lead, "owner")
    spaces.add_member(books, HUB, nina, "viewer")
    secret = accounts.make_sign_in_link(Actor.of_person(lead, "owner"), nina, lasts=timedelta(days=3))
    assert client.get(f"/login/once/{secret}/").status_code == 200
    spaces.add_member(other, HUB, nina, "owner")
    assert client.get(f"/login/once/{secret}/").status_code == 404
    assert client.post(f"/login/once/{secret}/").status_code == 404


@pytest.mark.parametrize("typed", ["UEDITOR", "ued\u0131tor", "\uff55editor", " ueditor"])
def test_other_spellings_share_the_throttle(client, typed):
    accounts.create_person(HUB, "ueditor", password=PASSWORD)
    for number in range(5):
        client.post("/login/", {"username": "ueditor", "password": "wrong"}, REMOTE_ADDR=f"10.0.0.{number}")
    sent = {"username": typed, "password": PASSWORD}
    assert client.post("/login/", sent, REMOTE_ADDR="10.0.1.1").status_code == (429 if spelled_like(typed) else 422)
    assert client.post("/login/", {**sent, "username": "ueditor"}, REMOTE_ADDR="10.0.1.2").status_code == 429


def spelled_like(typed):
    return accounts.find_person(typed) is not None


def test_names_that_nobody_has_are_slowed_down_however_they_are_typed(client):
    for number, typed in enumerate(["ghost", "GHOST", "\uff47host", "Ghost", " ghost"]):
        client.post("/login/", {"username": typed, "password": "wrong"}, REMOTE_ADDR=f"10.0.0.{number}")
    assert client.post("/login/", {"username": "gHost", "password": "x"}, REMOTE_ADDR="10.0.1.1").status_code == 429


def test_a_network_of_version_6_counts_as_one_address(client, rk):
    for number in range(5):
        client.post("/login/", {"username": f"n{number}", "password": "x"}, REMOTE_ADDR=f"2001:db8::{number + 1}")
    sent = {"username": "rk", "password": PASSWORD}
    assert client.post("/login/", sent, REMOTE_ADDR="2001:db8::ffff:1").status_code == 429
    assert client.post("/login/", sent, REMOTE_ADDR="2001:db8:0:1::1").status_code == 303


def test_nobody_gets_a_name_that_finds_somebody_else(rk):
    accounts.create_person(HUB, "ueditor")
    for name in ("UEditor", "\uff55editor"):
        with pytest.raises(Conflict):
            accounts.create_person(HUB, name)


def test_an_idle_session_ends_and_so_does_an_old_one(client, rk, settings):
    settings.SESSION_IDLE, settings.SESSION_LASTS = timedelta(hours=2), timedelta(days=30)
    sign_in(client)
    SignIn.objects.update(seen_at=timezone.now() - timedelta(hours=1))
    assert client.get("/account/").status_code == 200
    SignIn.objects.update(seen_at=timezone.now() - timedelta(hours=3))
    assert client.get("/account/").status_code == 302
    sign_in(client)
    SignIn.objects.update(created_at=timezone.now() - timedelta(days=31))
    assert client.get("/account/").status_code == 302
    settings.SESSION_IDLE = timedelta(0)
    sign_in(client)
    SignIn.objects.update(seen_at=timezone.now() - timedelta(days=20))
    assert client.get("/account/").status_code == 200


def test_a_copy_of_the_database_signs_nobody_in(client, rk):
    client.post("/login/", {"username": "rk", "password": PASSWORD})
    key = client.cookies["memoryhub_session"].value
    with connection.cursor() as cursor:
        cursor.execute("SELECT session_key FROM django_session UNION ALL SELECT session_key FROM memoryhub_signin")
        kept = {row[0] for row in cursor.fetchall()}
    assert key not in kept
    for stolen in kept:
        client.cookies["memoryhub_session"] = stolen
        assert client.get("/account/").status_code == 302
    client.cookies["memoryhub_session"] = key
    assert client.get("/account/").status_code == 200


def test_who_was_signed_in_before_keys_were_digested_stays_signed_in(client, rk):
    client.post("/login/", {"username": "rk", "password": PASSWORD})
    key = client.cookies["memoryhub_session"].value
    for table in ("django_session", "memoryhub_signin"):
        with connection.cursor() as cursor:
            cursor.execute(f"UPDATE {table} SET session_key = %s WHERE session_key = %s", [key, stored(key)])
    assert client.get("/account/").status_code == 302
    client.cookies["memoryhub_session"] = key
    with connection.cursor() as cursor:
        for statement in (digests.SESSIONS, digests.SIGN_INS):
            cursor.execute(statement)
    assert client.get("/account/").status_code == 200


def test_a_session_is_read_by_one_statement(client, rk, statements):
    sign_in(client)
    client.get("/account/")
    with statements() as sent:
        client.get("/account/")
    assert len([sql for sql in sent if "django_session" in sql and "session_data" in sql]) == 1


def test_what_sign_ins_left_behind_is_deleted(client, rk):
    sign_in(client)
    sign_in(Client())
    sign_in(Client(), username="ghost")
    Client().get("/login/passkey/")
    accounts.make_sign_in_link(HUB, rk)
    jobs.forget_sign_ins()
    assert (Session.objects.count(), SignIn.objects.count(), FailedTry.objects.count()) == (3, 2, 2)
    long_ago = timezone.now() - timedelta(days=40)
    SignIn.objects.exclude(session_key=client.session.stored_key).update(seen_at=long_ago)
    Session.objects.exclude(session_key__in=SignIn.objects.values("session_key")).update(expire_date=long_ago)
    FailedTry.objects.update(last_at=long_ago)
    SignInLink.objects.update(expires_at=long_ago)
    jobs.forget_sign_ins()
    assert [one.session_key for one in SignIn.objects.all()] == [client.session.stored_key]
    assert Session.objects.count() == 1
    assert not FailedTry.objects.exists() and not SignInLink.objects.exists()
    assert client.get("/account/").status_code == 200


def test_leaving_needs_a_form_and_ends_the_session(client, rk):
    sign_in(client)
    assert client.get("/logout/").status_code == 405
    left = client.post("/logout/")
    assert (left["Location"], left["Clear-Site-Data"]) == ("/login/", '"storage"')
    assert not SignIn.objects.exists()
    assert client.get("/")["Location"].startswith("/login/")


def test_five_failed_tries_slow_the_name_down_and_say_so(client, rk):
    said = [sign_in(client, password="wrong").content.decode() for _ in range(5)]
    assert "4 more tries" in said[0]
    assert "One more try" in said[3]
    assert "Wait a minute" in said[4]
    refused = sign_in(client)
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= 60
    assert re.search(r"Wait \d+ seconds", refused.content.decode())
    for longer in ("2 minutes", "4 minutes", "8 minutes", "15 minutes", "15 minutes"):
        FailedTry.objects.update(blocked_until=timezone.now())
        assert f"Wait {longer} before" in sign_in(client, password="wrong").content.decode()
    FailedTry.objects.update(blocked_until=timezone.now())
    assert sign_in(client).status_code == 303


def test_failures_also_slow_the_address_down(client, rk):
    for number in range(5):
        sign_in(client, username=f"nobody{number}")
    assert sign_in(client).status_code == 429
    assert client.post("/login/", {"username": "rk", "password": PASSWORD}, REMOTE_ADDR="10.9.8.7").status_code == 303


@pytest.mark.parametrize(
    "elsewhere",
    ["https://example.com/", "//example.com/", "javascript:alert(1)", "/\\example.com", "admin", "a:b", "["],
)
def test_it_never_leads_to_another_host(client, rk, elsewhere):
    assert sign_in(client, next=elsewhere)["Location"] == "/"
    assert client.post("/account/theme/", {"theme": "dark", "next": elsewhere})["Location"] == "/"


def test_somebody_switched_off_does_not_get_in(client, rk):
    link = accounts.make_sign_in_link(HUB, rk)
    rk.is_active = False
    rk.save()
    assert sign_in(client).status_code == 422
    assert client.get(f"/login/once/{link}/").status_code == 404
