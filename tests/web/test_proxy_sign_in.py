"""A trusted proxy that names who is signed in."""

import pytest
from django.test import Client

from memoryhub.domain import accounts, spaces
from memoryhub.models import HUB, Membership, Person
from memoryhub.settings_sign_in import Proxy, proxy_addresses
from tests.owners import create_hub_owner

pytestmark = pytest.mark.django_db


@pytest.fixture
def nina():
    return accounts.create_person(HUB, "nina")


@pytest.fixture
def proxied(settings):
    def change(**more):
        given = {"header": "Remote-User", "addresses": proxy_addresses("10.0.0.0/24,::1"), **more}
        settings.PROXY = Proxy(**given)

    change()
    return change


def open_account(client, user=None, peer="10.0.0.7", **more):
    headers = {"Remote-User": user} if user is not None else {}
    return client.get("/account/", headers=headers, REMOTE_ADDR=peer, **more)


def name_on(answer):
    return answer.context["request"].user.username if answer.status_code == 200 else ""


def test_whom_the_proxy_names_is_signed_in(client, proxied, nina):
    assert name_on(open_account(client, "nina")) == "nina"
    assert name_on(open_account(client, " NINA ")) == "nina"
    assert nina.sign_ins.count() == 1
    assert client.session["second_factor"] == "proxy"


@pytest.mark.parametrize("peer", ["10.0.1.7", "127.0.0.1", "203.0.113.9", "", "not an address"])
@pytest.mark.parametrize("path", ["/account/", "/login/", "/", "/s/books/"])
def test_the_header_is_refused_from_any_other_peer(client, proxied, nina, peer, path):
    refused = client.get(path, headers={"Remote-User": "nina"}, REMOTE_ADDR=peer)
    assert refused.status_code == 403 and "through its proxy" in refused.content.decode()
    assert not nina.sign_ins.exists()


def test_a_forwarded_address_makes_nobody_a_proxy(client, proxied, nina, settings):
    settings.BEHIND_TLS = True
    refused = open_account(client, "nina", "203.0.113.9", HTTP_X_FORWARDED_FOR="10.0.0.7")
    assert refused.status_code == 403


def test_without_the_setting_the_header_says_nothing(client, nina, settings):
    settings.PROXY = None
    assert open_account(client, "nina").status_code == 302


def test_nothing_behind_it_sees_the_header(client, proxied, nina):
    answer = open_account(client, "nina")
    assert "HTTP_REMOTE_USER" not in answer.context["request"].META


def test_another_name_is_another_session_and_none_ends_it(client, proxied, nina):
    accounts.create_person(HUB, "rk")
    open_account(client, "nina")
    assert name_on(open_account(client, "rk")) == "rk"
    assert open_account(client).status_code == 302
    assert open_account(client, "").status_code == 302


def test_other_ways_in_stay(client, proxied, nina):
    accounts.change_password(nina, "correct horse battery")
    client.post("/login/", {"username": "nina", "password": "correct horse battery"}, REMOTE_ADDR="203.0.113.9")
    assert name_on(open_account(client, peer="203.0.113.9")) == "nina"


def test_the_rules_for_people_hold(client, proxied, nina):
    assert open_account(client, "somebody").status_code == 403
    create_hub_owner("boss")
    open_account(client, "nina")
    spaces.deactivate_person(HUB, nina)
    assert open_account(client, "nina").status_code == 403
    assert open_account(Client(), "nina").status_code == 403


@pytest.mark.parametrize("name", ["x,nina", "nina,nina", "a b", "x" * 65, "\x00", "<b>"])
def test_odd_names_are_refused(client, proxied, nina, name):
    proxied(sign_up="anybody")
    assert open_account(client, name).status_code == 403


def test_somebody_new_where_that_is_set(client, proxied):
    proxied(sign_up="anybody")
    assert name_on(open_account(client, "new@example.org")) == "new@example.org"
    assert not Person.objects.get().is_hub_owner


def test_groups_of_a_header_give_roles(client, proxied, nina, house, settings):
    proxied(groups_header="Remote-Groups")
    settings.GROUP_ROLES = {"deciders": {"books": "reviewer"}}
    headers = {"Remote-User": "nina", "Remote-Groups": "staff, deciders"}
    assert client.get("/s/books/", headers=headers, REMOTE_ADDR="::1").status_code == 200
    assert Membership.objects.get(person=nina).role == "reviewer"
    assert client.get("/s/books/", headers=headers | {"Remote-Groups": "staff"}, REMOTE_ADDR="::1").status_code == 404
    assert client.get("/", headers={"Remote-Groups": "deciders"}, REMOTE_ADDR="203.0.113.9").status_code == 403


def test_a_proxy_asks_for_no_statement_more(client, proxied, nina, statements):
    open_account(client, "nina")
    with statements() as sent:
        open_account(client, "nina")
    with_header = len(sent)
    proxied()
    plain = Client()
    plain.force_login(nina)
    open_account(plain, peer="203.0.113.9")
    with statements() as sent:
        open_account(plain, peer="203.0.113.9")
    assert with_header <= len(sent)
