import re
from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.domain import accounts, spaces
from memoryhub.models import HUB, Actor, FailedTry, SignIn, SignInLink

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"


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
    assert SignIn.objects.get(person=rk).session_key == client.session.session_key


def test_a_name_is_found_however_it_is_spelled(client, rk):
    assert sign_in(client, username="RK").status_code == 303


def test_the_one_time_link_signs_in_once(client, rk):
    secret = accounts.make_sign_in_link(HUB, rk, leads_to="/s/books/")
    first = client.get(f"/login/once/{secret}/")
    assert (first.status_code, first["Location"]) == (302, "/s/books/")
    assert client.get("/account/").status_code in (200, 404)
    client.logout()
    second = client.get(f"/login/once/{secret}/")
    assert second.status_code == 404
    assert "used already" in second.content.decode()


def test_a_link_dies_after_a_quarter_of_an_hour(client, rk):
    secret = accounts.make_sign_in_link(HUB, rk)
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert client.get(f"/login/once/{secret}/").status_code == 404


def test_a_look_at_the_link_does_not_spend_it(client, rk):
    secret = accounts.make_sign_in_link(HUB, rk)
    client.head(f"/login/once/{secret}/")
    assert client.get(f"/login/once/{secret}/").status_code == 302


def test_leaving_needs_a_form_and_ends_the_session(client, rk):
    sign_in(client)
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/")["Location"] == "/login/"
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
    FailedTry.objects.update(blocked_until=timezone.now())
    assert sign_in(client).status_code == 303


def test_failures_also_slow_the_address_down(client, rk):
    for number in range(5):
        sign_in(client, username=f"nobody{number}")
    assert sign_in(client).status_code == 429
    assert client.post("/login/", {"username": "rk", "password": PASSWORD}, REMOTE_ADDR="10.9.8.7").status_code == 303


@pytest.mark.parametrize(
    "elsewhere", ["https://example.com/", "//example.com/", "javascript:alert(1)", "/\\example.com"]
)
def test_it_never_leads_to_another_host(client, rk, elsewhere):
    assert sign_in(client, next=elsewhere)["Location"] == "/"


def test_somebody_switched_off_does_not_get_in(client, rk):
    link = accounts.make_sign_in_link(HUB, rk)
    rk.is_active = False
    rk.save()
    assert sign_in(client).status_code == 422
    assert client.get(f"/login/once/{link}/").status_code == 404
