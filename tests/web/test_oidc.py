"""Sign-in by a provider of OpenID Connect, against a real one on this machine."""

import json
import re
import time
from dataclasses import replace

import flask
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client
from oidc_provider_mock._storage import storage

from memoryhub.domain import accounts, spaces
from memoryhub.models import HUB, ActivityLine, Membership, Person
from memoryhub.settings_sign_in import Oidc
from memoryhub.web import oidc
from tests.owners import create_hub_owner
from tests.web import provider

pytestmark = pytest.mark.django_db
PEOPLE = {
    "nina": {"email": "nina@example.org", "email_verified": True, "preferred_username": "nina", "groups": ["readers"]},
    "sly": {"email": "rk@example.org", "email_verified": False, "preferred_username": "rk"},
    "rk-there": {"email": "rk@example.org", "email_verified": True, "preferred_username": "boss"},
    "odd": {"email": "odd@sub.example.org", "email_verified": True, "preferred_username": "Ödd One/…"},
}


@pytest.fixture(scope="module")
def issuer():
    with provider.serving(**PEOPLE) as address:
        yield address


@pytest.fixture
def hub(settings, issuer):
    """Changes the settings of the provider."""
    oidc._configurations.clear()

    def change(**more):
        settings.OIDC = replace(Oidc(issuer=issuer, client_id=provider.CLIENT, secret="s", sign_up="anybody"), **more)

    change()
    return change


def go(client, who, leads_to="/account/"):
    """The answer of the hub to the provider's."""
    return client.get(back_of(client, who, leads_to))


def back_of(client, who, leads_to="/account/"):
    there = client.get("/login/oidc/", {"next": leads_to})
    assert there.status_code == 302, there.content
    return provider.consent(there["Location"], who)


def signed_in(client):
    answer = client.get("/account/")
    return answer.context["request"].user.username if answer.status_code == 200 else ""


def test_somebody_new_gets_an_account_and_is_found_again(client, hub):
    assert "single sign-on" in client.get("/login/?next=/account/").content.decode()
    assert go(client, "nina")["Location"] == "/account/"
    assert signed_in(client) == "nina"
    there = Client()
    go(there, "nina")
    assert Person.objects.get().pk == int(there.session["_auth_user_id"])
    assert {"people.create", "people.connect", "people.sign_in"} <= set(
        ActivityLine.objects.values_list("verb", flat=True)
    )


def test_the_question_names_nonce_state_and_a_challenge(client, hub):
    asked = provider.query(client.get("/login/oidc/")["Location"])
    assert asked["code_challenge_method"] == "S256" and len(asked["nonce"]) > 30 and len(asked["state"]) >= 16
    assert asked["redirect_uri"] == "http://testserver/login/oidc/callback/"
    assert set(asked["scope"].split()) == {"openid", "profile", "email"}


@pytest.mark.parametrize("elsewhere", ["https://example.com/", "//example.com/", "/\\example.com", "javascript:1"])
def test_it_never_leads_to_another_host(client, hub, elsewhere):
    assert go(client, "nina", elsewhere)["Location"] == "/"


def test_without_a_provider_there_is_no_such_page(client, settings):
    settings.OIDC = None
    for path in ("/login/oidc/", "/login/oidc/callback/?state=x&code=y"):
        assert client.get(path).status_code == 404
    assert "/login/oidc/" not in client.get("/login/").content.decode()


# ---- who may come in


def test_only_people_who_are_known_where_that_is_set(client, hub):
    hub(sign_up="known")
    assert go(client, "nina").status_code == 403
    assert not Person.objects.exists() and not signed_in(client)


def test_an_address_finds_a_person_where_it_is_verified_noted_by_others_and_allowed(client, hub):
    hub(sign_up="known")
    rk = accounts.create_person(HUB, "rk", email="RK@example.org")
    assert go(client, "rk-there").status_code == 403  # the setting is off
    hub(sign_up="known", link_by_email=True)
    assert go(client, "sly").status_code == 403  # not verified there
    accounts.change_email(rk, "mine@example.org")
    accounts.change_email(rk, "rk@example.org")
    assert go(client, "rk-there").status_code == 403  # the person wrote it themselves
    Person.objects.filter(pk=rk.pk).update(email_is_given=True)
    go(client, "rk-there")
    assert signed_in(client) == "rk"
    hub(sign_up="known")
    there = Client()
    go(there, "rk-there")
    assert signed_in(there) == "rk"  # connected for good


def test_an_address_that_two_people_have_finds_nobody(client, hub):
    hub(sign_up="known", link_by_email=True)
    for name in ("rk", "rk2"):
        accounts.create_person(HUB, name, email="rk@example.org")
    assert go(client, "rk-there").status_code == 403


def test_domains_may_sign_up(client, hub):
    hub(sign_up="domains", domains=("example.org",))
    assert go(client, "odd").status_code == 403  # of a domain below it
    assert go(client, "sly").status_code == 403  # not verified
    assert go(client, "nina").status_code == 302


def test_a_name_never_takes_over_an_account(client, hub):
    rk = create_hub_owner("rk", email="rk@example.org")
    go(client, "sly")
    assert signed_in(client) == "rk-2"
    assert rk.pk != int(client.session["_auth_user_id"])
    there = Client()
    go(there, "odd")
    assert signed_in(there) == "Ödd-One"


def test_deactivated_people_stay_out_and_their_sessions_end(client, hub):
    go(client, "nina")
    create_hub_owner("boss")
    spaces.deactivate_person(HUB, Person.objects.get(username="nina"))
    assert not signed_in(client)
    refused = go(client, "nina")
    assert refused.status_code == 403 and "deactivated" in refused.content.decode()


@pytest.mark.parametrize("who_asks", ["hub", "provider"])
def test_the_second_factor_of_the_hub_is_asked_unless_the_providers_suffices(client, hub, who_asks):
    hub(second_factor=who_asks)
    go(client, "nina")
    nina = Person.objects.get()
    secret = accounts.new_totp_secret()
    counter = int(time.time()) // 30
    accounts.activate_totp(nina, secret, oidc_code(secret, counter))
    there = Client()
    assert go(there, "nina")["Location"] == ("/login/second-factor/" if who_asks == "hub" else "/account/")
    assert there.session.get("second_factor", "") == ("" if who_asks == "hub" else "provider")


def oidc_code(secret, counter):
    from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value

    return format_hotp_value(hotp_value(secret, counter))


def test_somebody_signed_in_connects_and_disconnects(client, hub):
    hub(sign_up="known")
    rk = accounts.create_person(HUB, "rk", password="correct horse battery")
    client.post("/login/", {"username": "rk", "password": "correct horse battery"})
    back = provider.consent(connect(client)["Location"], "nina")
    assert client.get(back)["Location"] == "/account/"
    there = Client()
    go(there, "nina")
    assert signed_in(there) == "rk"
    assert "Disconnect" in client.get("/account/").content.decode()
    row = accounts.identities_of(rk)[0]
    assert client.post(f"/account/provider/{row.pk}/disconnect/").status_code == 303
    assert go(Client(), "nina").status_code == 403


def connect(client):
    """Follows the link of the account page."""
    return client.get(re.search(r'href="(/account/provider/[^"]+)"', client.get("/account/").content.decode())[1])


def test_another_site_starts_nothing_for_somebody_who_is_signed_in(client, hub):
    accounts.create_person(HUB, "rk", password="correct horse battery")
    client.post("/login/", {"username": "rk", "password": "correct horse battery"})
    assert client.get("/login/oidc/?next=/account/")["Location"] == "/account/"
    for proof in ("", "?proof=", "?proof=x", "?proof=%C3%A9"):
        assert client.get(f"/account/provider/{proof}").status_code == 403


def test_nobody_connects_what_belongs_to_another(client, hub):
    go(Client(), "nina")
    accounts.create_person(HUB, "sly", password="correct horse battery")
    client.post("/login/", {"username": "sly", "password": "correct horse battery"})
    back = provider.consent(connect(client)["Location"], "nina")
    client.get(back)
    assert accounts.identities_of(Person.objects.get(username="sly")) == []


def test_another_issuer_with_the_same_subjects_signs_in_nobody_of_the_first(client, hub, issuer):
    first = accounts.Identity(issuer=issuer, subject="nina", name="nina")
    other = replace(first, issuer="https://other.example.org")
    assert accounts.person_of_identity(first).pk != accounts.person_of_identity(other).pk


# ---- roles


def test_groups_give_roles_and_take_them_away_at_each_sign_in(client, hub, settings, house):
    settings.GROUP_ROLES = {
        "readers": {"books": "viewer"},
        "deciders": {"books": "reviewer"},
        "x": {"nowhere": "owner"},
    }
    go(client, "nina")
    nina = Person.objects.get(username="nina")
    assert Membership.objects.get(person=nina).role == "viewer"
    told = ActivityLine.objects.filter(space_id=house.space.pk, thing="nina").latest("id")
    assert (told.actor_name, told.verb) == ("hub", "people.add") and "by the group readers of http://" in told.adds
    settings.GROUP_ROLES["readers"]["books"] = "editor"
    go(Client(), "nina")
    assert Membership.objects.get(person=nina).role == "editor"
    del settings.GROUP_ROLES["readers"]
    token = accounts.create_token(house.space, HUB, person=nina)[0]
    go(Client(), "nina")
    assert not Membership.objects.filter(person=nina).exists()
    token.refresh_from_db()
    assert token.revoked_at


def test_the_highest_role_counts_and_other_spaces_are_left_alone(house, settings):
    settings.GROUP_ROLES = {"a": {"books": "viewer"}, "b": {"books": "owner"}, "c": {"books": "editor"}}
    other = spaces.create(HUB, "other")
    nina = accounts.create_person(HUB, "nina")
    spaces.add_member(other, HUB, nina, "viewer")
    spaces.apply_group_roles(nina, ["a", "b", "c", "unknown"], "test")
    assert dict(nina.memberships.values_list("space__slug", "role")) == {"books": "owner", "other": "viewer"}
    spaces.apply_group_roles(nina, [], "test")
    assert dict(nina.memberships.values_list("space__slug", "role")) == {"other": "viewer"}


def test_the_last_owner_keeps_the_role(house, settings):
    settings.GROUP_ROLES = {"a": {"books": "viewer"}}
    spaces.apply_group_roles(house.owner.person, ["a"], "test")
    assert Membership.objects.get(person=house.owner.person).role == "owner"
    assert ActivityLine.objects.filter(verb="people.keep_role").count() == 1


@pytest.mark.parametrize(
    ("claims", "claim", "groups"),
    [
        ({"groups": ["a", 1, None, "b"]}, "groups", ("a", "b")),
        ({"groups": "a"}, "groups", ("a",)),
        ({"realm_access": {"roles": ["a"]}}, "realm_access.roles", ("a",)),
        ({"https://example.org/groups": ["a"]}, "https://example.org/groups", ("a",)),
        ({"groups": {"a": 1}}, "groups", ()),
        ({}, "groups", ()),
    ],
)
def test_where_groups_are_found(hub, claims, claim, groups):
    hub(groups_claim=claim)
    assert oidc.groups_of(claims) == groups


# ---- answers that are refused


def refused(answer):
    return answer.status_code in (403, 503)


def test_an_answer_counts_once(client, hub):
    back = back_of(client, "nina")
    assert client.get(back).status_code == 302
    client.post("/logout/")
    assert refused(client.get(back))
    assert not signed_in(client)


def test_an_answer_counts_in_the_browser_that_asked_alone(client, hub):
    assert refused(Client().get(back_of(client, "nina")))


def test_a_wrong_or_old_state_is_refused(client, hub):
    back = back_of(client, "nina")
    for wrong in ("state=x", "state=", "code=y", "", "state=\x00"):
        assert refused(client.get(f"/login/oidc/callback/?{wrong}"))
    session = client.session
    session["socialaccount_states"] = {
        key: (state, stashed - 3600, provider_id)
        for key, (state, stashed, provider_id) in session["socialaccount_states"].items()
    }
    session.save()
    assert refused(client.get(back))


def test_a_code_of_somebody_elses_sign_in_is_refused(client, hub):
    """Whoever makes a victim send the attacker's code: the code belongs to another challenge and nonce."""
    mine, theirs = back_of(client, "nina"), back_of(Client(), "sly")
    state = provider.query(mine)["state"]
    assert refused(client.get("/login/oidc/callback/", provider.query(theirs) | {"state": state}))
    assert not signed_in(client)


def test_a_refusal_of_the_provider_is_told(client, hub):
    state = provider.query(client.get("/login/oidc/")["Location"])["state"]
    told = client.get("/login/oidc/callback/", {"state": state, "error": "access_denied", "error_description": "<b>x"})
    assert told.status_code == 403 and "did not sign you in" in told.content.decode()


def test_an_answer_that_names_another_issuer_is_refused(client, hub):
    assert refused(client.get(back_of(client, "nina") + "&iss=https%3A%2F%2Fevil.example"))


CHANGES = {}


def forge(app):
    """Makes a provider change its ID tokens by CHANGES: claims by name (None takes one out), `sign` for another way to sign."""

    @app.before_request
    def elsewhere():
        asked = flask.request
        if CHANGES.get("redirects") == asked.path and "again" not in asked.args:
            return flask.redirect(f"{asked.path}?again", 307)
        return None

    @app.after_request
    def changed(response):
        if flask.request.path != "/oauth2/token" or response.status_code != 200:
            return response
        body = json.loads(response.get_data())
        claims = jwt.decode(body["id_token"], options={"verify_signature": False})
        claims |= {name: value for name, value in CHANGES.items() if name not in ("sign", "redirects")}
        claims = {name: value for name, value in claims.items() if value is not None}
        body["id_token"] = CHANGES.get("sign", signed_by_provider)(claims, storage.jwk)
        response.set_data(json.dumps(body))
        return response


@pytest.fixture(scope="module")
def forger():
    with provider.serving(forge, **PEOPLE) as address:
        yield address


@pytest.fixture
def forging(forger, settings):
    oidc._configurations.clear()
    settings.OIDC = Oidc(issuer=forger, client_id=provider.CLIENT, secret="s", sign_up="anybody")
    yield CHANGES
    CHANGES.clear()


def signed_by_provider(claims, key):
    return jwt.encode(
        claims, key.as_pem(is_private=True), "RS256", headers={"kid": key.as_dict().get("kid", key.thumbprint())}
    )


def signed_by_somebody(claims, key):
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return jwt.encode(claims, other, "RS256", headers={"kid": key.as_dict().get("kid", key.thumbprint())})


def signed_by_nobody(claims, key):
    return jwt.encode(claims, None, "none")


def signed_with_the_public_key(claims, key):
    import base64
    import hashlib
    import hmac

    def part(content):
        return base64.urlsafe_b64encode(content).rstrip(b"=")

    head = (
        part(json.dumps({"alg": "HS256", "kid": key.thumbprint()}).encode()) + b"." + part(json.dumps(claims).encode())
    )
    return (head + b"." + part(hmac.new(key.as_pem(), head, hashlib.sha256).digest())).decode()


FORGED = {
    "another issuer": {"iss": "https://evil.example"},
    "no issuer": {"iss": None},
    "another nonce": {"nonce": "x" * 32},
    "no nonce": {"nonce": None},
    "another client": {"aud": "somebody"},
    "for several clients, and which one asked is not said": {"aud": [provider.CLIENT, "somebody"]},
    "made for another client": {"aud": [provider.CLIENT, "somebody"], "azp": "somebody"},
    "expired": {"exp": 1_000_000_000},
    "no end": {"exp": None},
    "not yet": {"nbf": 4_000_000_000},
    "no subject": {"sub": None},
    "another key": {"sign": signed_by_somebody},
    "no signature": {"sign": signed_by_nobody},
    "the public key as a secret": {"sign": signed_with_the_public_key},
    "a redirect instead of tokens": {"redirects": "/oauth2/token"},
    "a redirect instead of keys": {"redirects": "/jwks"},
    "no token": {"sign": lambda claims, key: ""},
    "nonsense": {"sign": lambda claims, key: "a.b.c"},
}


@pytest.mark.parametrize("kind", FORGED)
def test_forged_answers_are_refused(client, forging, kind):
    forging.update(FORGED[kind])
    assert refused(go(client, "nina"))
    assert not signed_in(client) and not Person.objects.exists()


def test_the_same_provider_unforged_signs_in(client, forging):
    """So that the test above refuses what was forged, and not the way in which it was."""
    assert go(client, "nina").status_code == 302


def test_a_provider_that_calls_itself_otherwise_or_is_away_is_refused(client, settings, issuer):
    oidc._configurations.clear()
    settings.OIDC = Oidc(issuer=f"{issuer}/other", client_id="x", secret="")
    assert refused(client.get("/login/oidc/"))
    settings.OIDC = Oidc(issuer="http://127.0.0.1:9", client_id="x", secret="")
    assert client.get("/login/oidc/").status_code == 503


def test_strangers_who_ask_wait_once_for_a_provider_that_is_away(client, settings, monkeypatch):
    oidc._configurations.clear()
    settings.OIDC = Oidc(issuer="http://127.0.0.1:9", client_id="x", secret="")
    asked = []
    fetch = oidc.fetched_json
    monkeypatch.setattr(oidc, "fetched_json", lambda url, **headers: asked.append(url) or fetch(url, **headers))
    assert [client.get("/login/oidc/").status_code for _ in range(5)] == [503] * 5
    assert len(asked) == 1
    oidc._configurations[settings.OIDC.issuer] = (0.0, None)  # ten seconds later
    client.get("/login/oidc/")
    assert len(asked) == 2


def test_no_page_of_the_library_is_served(client):
    from django.urls import get_resolver

    names = {str(name) for name in get_resolver().reverse_dict if isinstance(name, str)}
    assert not [name for name in names if name.startswith(("account_", "socialaccount_", "mfa_", "openid_connect_"))]
    for path in ("/accounts/login/", "/accounts/signup/", "/accounts/3rdparty/", "/accounts/2fa/"):
        assert client.get(path).status_code == 404
