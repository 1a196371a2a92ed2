"""Second factors, passkeys and a provider of OpenID Connect, as a person meets them. Chromium brings a virtual authenticator."""

import re
import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from playwright.sync_api import Page, expect

from memoryhub.domain import accounts, spaces
from memoryhub.settings_sign_in import Oidc
from memoryhub.web import oidc
from tests.browser.conftest import PHONE
from tests.web import provider

PASSWORD = "correct horse battery"


@pytest.fixture
def rk(space, member):
    person = member("owner")
    accounts.change_password(person, PASSWORD)
    return person


def code_of(secret, step=0):
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + step))


def give_password(page: Page, person):
    page.goto("/login/?next=/account/second-factor/")
    page.get_by_label("Name").fill(person.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("javascript", [True, False])
def test_an_app_is_added_and_asked_for(new_page, rk, javascript):
    page = new_page(java_script_enabled=javascript, viewport=PHONE)
    give_password(page, rk)
    page.get_by_role("link", name="Add an app").click()
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    secret = page.locator("#key").inner_text()
    page.get_by_label("The code that it shows now").fill("000000")
    page.get_by_role("button", name="Add the app").click()
    expect(page.get_by_role("alert")).to_contain_text("not the code")
    page.get_by_label("The code that it shows now").fill(code_of(secret))
    page.get_by_role("button", name="Add the app").click()
    codes = page.locator("#codes").inner_text().split()
    assert len(codes) == 10
    there = new_page(java_script_enabled=javascript)
    give_password(there, rk)
    expect(there.get_by_role("heading", level=1)).to_have_text("Second factor")
    there.get_by_label("Code of your app").fill(codes[0])
    there.get_by_role("button", name="Sign in").click()
    expect(there.get_by_text("9 left")).to_be_visible()


@pytest.fixture
def with_authenticator():
    """Gives a window a device that keeps passkeys and says that its owner was there."""

    def plug_in(page: Page):
        session = page.context.new_cdp_session(page)
        session.send("WebAuthn.enable")
        options = {
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
            "isUserVerified": True, "automaticPresenceSimulation": True,
        }  # fmt: skip
        return session, session.send("WebAuthn.addVirtualAuthenticator", {"options": options})["authenticatorId"]

    return plug_in


def add_passkey(page: Page, name="laptop"):
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_role("listitem").filter(has_text=name)).to_be_visible()


def test_a_passkey_signs_in_without_a_password(new_page, rk, with_authenticator):
    page = new_page(own=True)
    with_authenticator(page)
    give_password(page, rk)
    add_passkey(page)
    expect(page.locator("#codes")).to_be_visible()
    page.context.clear_cookies()
    page.goto("/login/?next=/account/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(rk.username)


def test_a_passkey_is_the_second_factor_after_a_password(new_page, rk, with_authenticator):
    page = new_page(own=True)
    with_authenticator(page)
    give_password(page, rk)
    add_passkey(page)
    page.context.clear_cookies()
    give_password(page, rk)
    expect(page.get_by_role("heading", level=1)).to_have_text("Second factor")
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_role("listitem").filter(has_text="laptop")).to_be_visible()
    page.get_by_role("button", name="Remove", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("Passkey removed.")).to_be_visible()
    assert not Authenticator.objects.exists()


def test_a_passkey_that_is_not_enrolled_any_more_signs_in_nobody(new_page, rk, with_authenticator):
    page = new_page(own=True)
    with_authenticator(page)
    give_password(page, rk)
    add_passkey(page)
    Authenticator.objects.all().delete()
    page.context.clear_cookies()
    page.goto("/login/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert").filter(has_text="was not accepted")).to_be_visible()


def test_a_copied_passkey_is_noticed_by_its_counter(new_page, rk, with_authenticator):
    page = new_page(own=True)
    with_authenticator(page)
    give_password(page, rk)
    add_passkey(page)
    row = Authenticator.objects.get(type="webauthn")
    row.data["counter"] = 1_000_000  # somebody else used it more often
    row.save()
    page.context.clear_cookies()
    page.goto("/login/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert").filter(has_text="was not accepted")).to_be_visible()


def test_a_device_without_its_owner_makes_no_passkey(new_page, rk, with_authenticator):
    page = new_page(own=True)
    session, device = with_authenticator(page)
    session.send("WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": False})
    give_password(page, rk)
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_role("alert").filter(has_text="No passkey was created")).to_be_visible()
    assert not Authenticator.objects.exists()


def test_an_address_that_takes_no_passkeys_says_so(new_page, live_server, rk):
    page = new_page(base_url=live_server.url.replace("localhost", "127.0.0.1"))
    give_password(page, rk)
    expect(page.get_by_text("Browsers make passkeys over HTTPS")).to_be_visible()
    expect(page.get_by_role("button", name="Add a passkey")).to_have_count(0)


def test_a_space_leads_members_to_set_it_up(sign_in_as, space, member):
    page = sign_in_as("editor")
    spaces.change_settings(space, owner_of(member), {"second_factor": "required"})
    page.reload()
    expect(page.get_by_text("ledger wants a second factor.")).to_be_visible()


def owner_of(member):
    from memoryhub.models import Actor

    return Actor.of_person(member("owner"), "owner")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("javascript", [False, True])
def test_a_provider_signs_in_and_leads_where_one_wanted_to_go(new_page, space, settings, javascript):
    oidc._configurations.clear()
    people = {"nina": {"preferred_username": "nina", "email": "nina@example.org", "groups": ["deciders"]}}
    settings.GROUP_ROLES = {"deciders": {"ledger": "reviewer"}}
    with provider.serving(**people) as issuer:
        settings.OIDC = Oidc(
            issuer=issuer, client_id=provider.CLIENT, secret="s", sign_up="anybody", button="Sign in with Example"
        )
        page = new_page(java_script_enabled=javascript)
        page.goto(space.get_absolute_url())
        page.get_by_role("link", name="Sign in with Example").click()
        expect(page).to_have_url(re.compile("/oauth2/authorize"))
        page.get_by_role("button", name="nina").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Ledgerline")
        expect(page.get_by_role("navigation", name="Main").get_by_role("link", name="nina")).to_be_visible()
        refused = new_page(java_script_enabled=javascript)
        refused.goto("/login/oidc/")
        refused.get_by_role("button", name="Deny").click()
        expect(refused.get_by_role("alert")).to_contain_text("The provider did not sign you in.")
