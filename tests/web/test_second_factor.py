"""Apps that show codes, recovery codes and what a space asks for. Passkeys need a browser: tests/browser/test_second_factor.py."""

import re
import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.core.management import call_command
from django.test import Client

from memoryhub.domain import accounts, spaces
from memoryhub.errors import Conflict, HubError, Invalid, Unauthenticated
from memoryhub.models import HUB, ActivityLine, Proposal
from tests.domain.test_people_at_once import at_once

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"


def code_of(secret, step=0):
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + step))


@pytest.fixture
def rk():
    return accounts.create_person(HUB, "rk", password=PASSWORD)


@pytest.fixture
def enrolled(rk):
    """The secret and recovery codes of a person with an app. The code of the step before was used."""
    secret = accounts.new_totp_secret()
    return secret, accounts.activate_totp(rk, secret, code_of(secret, -1))


def give_password(client, **more):
    return client.post("/login/", {"username": "rk", "password": PASSWORD, "next": "/account/"}, **more)


def give_code(client, code):
    return client.post("/login/second-factor/", {"code": code})


def test_an_app_is_added_on_the_page_and_asked_for_from_then_on(client, rk):
    give_password(client)
    page = client.get("/account/second-factor/app/").content.decode()
    secret = re.search(r'id="key">(\w+)<', page).group(1)
    assert "<svg" in page
    assert client.post("/account/second-factor/app/", {"code": "000000"}).status_code == 422
    done = client.post("/account/second-factor/app/", {"code": code_of(secret)})
    codes = re.search(r'id="codes">([\d\s]+)<', done.content.decode()).group(1).split()
    assert len(codes) == 10
    assert client.get("/account/").status_code == 200
    there = Client()
    assert give_password(there)["Location"] == "/login/second-factor/"
    assert there.get("/account/").status_code == 302  # the password alone opens nothing
    assert give_code(there, code_of(secret, 1))["Location"] == "/account/"
    assert there.get("/account/").status_code == 200
    assert codes[0] not in there.get("/account/second-factor/").content.decode()


def test_a_code_counts_once_whichever_process_it_is_sent_to(enrolled, rk):
    code = code_of(enrolled[0])
    assert accounts.check_code(rk, f" {code[:3]} {code[3:]} ", None) == "totp"
    with pytest.raises(Unauthenticated):
        accounts.check_code(rk, code, None)
    with pytest.raises(Unauthenticated):
        accounts.check_code(rk, code_of(enrolled[0], -1), None)


@pytest.mark.django_db(transaction=True)
def test_of_two_who_send_a_code_at_once_one_gets_in(enrolled, rk):
    code = code_of(enrolled[0])
    done = at_once(*[lambda: accounts.check_code(rk, code, None)] * 4)
    assert done.count("totp") == 1


def test_recovery_codes_work_once_each_and_new_ones_end_them(enrolled, rk):
    first, second, third = enrolled[1][:3]
    assert accounts.check_code(rk, first, None) == "recovery_codes"
    with pytest.raises(Unauthenticated):
        accounts.check_code(rk, first, None)
    assert accounts.second_factors(rk).codes_left == 9
    fresh = accounts.new_recovery_codes(rk)
    with pytest.raises(Unauthenticated):
        accounts.check_code(rk, second, None)
    assert third not in fresh
    assert accounts.check_code(rk, fresh[0], None) == "recovery_codes"


def test_wrong_codes_are_slowed_down_for_the_person(client, enrolled):
    give_password(client)
    for number in range(5):
        assert give_code(client, f"{number:06}").status_code == 422
    slowed = give_code(client, code_of(enrolled[0]))
    assert slowed.status_code == 429 and 0 < int(slowed["Retry-After"]) <= 60
    assert "seconds" in slowed.content.decode()
    there = Client()  # another browser and another address do not help
    give_password(there, REMOTE_ADDR="10.1.1.1")
    assert there.post("/login/second-factor/", {"code": "1"}, REMOTE_ADDR="10.1.1.1").status_code == 429


@pytest.mark.parametrize(
    "code", ["", "x", "12345", "1234567", "\u0661\u0662\u0663\u0664\u0665\u0666", "\x00", "9" * 5000]
)
def test_no_odd_code_gets_in_or_breaks(client, enrolled, code):
    give_password(client)
    assert give_code(client, code).status_code == 422


def test_a_link_asks_for_the_factor_too(client, enrolled, rk):
    secret = accounts.make_sign_in_link(HUB, rk, leads_to="/s/books/")
    assert client.post(f"/login/once/{secret}/")["Location"] == "/login/second-factor/"
    assert client.get("/account/").status_code == 302
    assert give_code(client, enrolled[1][0])["Location"] == "/s/books/"


def test_what_was_begun_ends_with_time_a_new_password_or_deactivation(enrolled, rk, monkeypatch):
    def begun():
        client = Client()
        give_password(client)
        return client

    late = begun()
    session = late.session
    session["sign_in_pending"] = session["sign_in_pending"] | {"at": time.time() - 3600}
    session.save()
    assert give_code(late, enrolled[1][0])["Location"] == "/login/"
    changed = begun()
    accounts.change_password(rk, "another horse battery")
    assert give_code(changed, enrolled[1][0])["Location"] == "/login/"
    accounts.change_password(rk, PASSWORD)
    out = begun()
    rk.is_active = False
    rk.save()
    assert give_code(out, enrolled[1][0])["Location"] == "/login/"


def test_factors_are_changed_only_by_who_showed_lately_that_it_is_them(client, enrolled):
    give_password(client)
    give_code(client, enrolled[1][0])
    session = client.session
    session["signed_in_at"] = time.time() - 3600
    session.save()
    for path in ("app/remove/", "codes/", "passkey/"):
        assert client.post(f"/account/second-factor/{path}")["Location"].startswith("/account/confirm/")
    assert client.get("/account/second-factor/app/")["Location"].endswith("next=%2Faccount%2Fsecond-factor%2Fapp%2F")
    sent = {"password": PASSWORD, "next": "/account/second-factor/"}
    assert client.post("/account/confirm/", sent).status_code == 422  # who has a factor shows that
    sent["code"] = enrolled[1][1]
    assert client.post("/account/confirm/", sent)["Location"] == "/account/second-factor/"
    assert client.post("/account/second-factor/app/remove/").status_code == 303
    assert not Authenticator.objects.exists()  # the recovery codes go with the last factor


def test_without_a_factor_the_password_confirms(client, rk):
    give_password(client)
    session = client.session
    session["signed_in_at"] = 0
    session.save()
    assert client.post("/account/confirm/", {"password": "wrong"}).status_code == 422
    before = client.session.session_key
    assert client.post("/account/confirm/", {"password": PASSWORD, "next": "//example.com/"})["Location"] == "/"
    assert client.session.session_key != before
    assert [one.session_key for one in accounts.live_sessions(rk)] == [client.session.stored_key]
    assert client.get("/account/second-factor/app/").status_code == 200


def test_a_space_may_ask_for_it(client, rk, house):
    spaces.add_member(house.space, HUB, rk, "editor")
    spaces.change_settings(house.space, house.owner, {"second_factor": "required"})
    give_password(client)
    assert client.get("/s/books/")["Location"] == "/account/second-factor/?required=books"
    assert client.get("/s/books/", headers={"HX-Request": "true"})["HX-Redirect"].startswith("/account/second-factor/")
    Proposal.objects.create(space=house.space, number=1, kind="write", path="/a.md", same_as="x", agent_name="forge")
    assert "1 proposal" not in client.get("/?all").content.decode()
    assert "books wants a second factor" in client.get("/account/second-factor/?required=books").content.decode()
    secret = re.search(r'id="key">(\w+)<', client.get("/account/second-factor/app/").content.decode()).group(1)
    client.post("/account/second-factor/app/", {"code": code_of(secret)})
    assert client.get("/s/books/").status_code == 200
    assert "1 proposal" in client.get("/?all").content.decode()


def test_no_token_opens_the_space_for_a_session_without_it(client, rk, house):
    spaces.add_member(house.space, HUB, rk, "editor")
    spaces.change_settings(house.space, house.owner, {"second_factor": "required"})
    give_password(client)
    made = client.post("/account/tokens/new/", {"space": "books"})
    assert made["Location"].startswith("/account/second-factor/")
    assert not rk.tokens.exists()


def test_an_older_session_without_it_is_asked_to_show_it(client, rk, house):
    spaces.add_member(house.space, HUB, rk, "editor")
    give_password(client)
    secret = accounts.new_totp_secret()
    accounts.activate_totp(rk, secret, code_of(secret))  # in another browser
    spaces.change_settings(house.space, house.owner, {"second_factor": "required"})
    asked = client.get("/s/books/")["Location"]
    assert asked.startswith("/account/confirm/")
    client.post(asked, {"code": code_of(secret, 1), "next": "/s/books/"})
    assert client.get("/s/books/").status_code == 200


@pytest.mark.parametrize("value", ["", "maybe", 1, True])
def test_only_known_answers_are_kept_as_that_setting(house, value):
    with pytest.raises(Invalid):
        spaces.change_settings(house.space, house.owner, {"second_factor": value})


def test_whoever_runs_the_hub_resets_it(client, enrolled, rk, capsys):
    give_password(client)
    give_code(client, enrolled[1][0])
    call_command("user", "reset-second-factor", "RK")
    assert "no second factor any more" in capsys.readouterr().out
    assert client.get("/account/").status_code == 302
    assert give_password(client)["Location"] == "/account/"
    assert ActivityLine.objects.filter(verb="people.reset_factor", thing="rk").count() == 1
    call_command("user", "reset-second-factor", "rk")
    assert "had none" in capsys.readouterr().out


def test_only_the_owner_of_the_hub_may_reset_it(house, rk):
    with pytest.raises(HubError):
        accounts.reset_second_factor(house.editor, rk)


def test_a_copy_of_the_database_holds_no_secret(enrolled):
    secret, codes = enrolled
    stored = str(list(Authenticator.objects.values_list("data", flat=True)))
    assert secret not in stored and codes[0] not in stored


def test_a_second_app_waits_until_the_first_is_removed(enrolled, rk):
    secret = accounts.new_totp_secret()
    with pytest.raises(Conflict):
        accounts.activate_totp(rk, secret, code_of(secret))


def test_a_passkey_question_counts_once_and_nonsense_is_refused(client):
    for answer in (
        "",
        "[]",
        "{}",
        '{"id": 1}',
        '{"id": "x"}',
        '{"id": "\\u0000"}',
        "[" * 9000,
        '{"id": "x", "response": 5}',
    ):
        assert client.get("/login/passkey/").json()["publicKey"]["userVerification"] == "required"
        assert client.post("/login/passkey/", {"credential": answer}).status_code == 422
        assert "took too long" in client.post("/login/passkey/", {"credential": answer}).content.decode()
