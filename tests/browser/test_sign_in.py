"""Signing in and out, as a person does it."""

import re

import pytest
from playwright.sync_api import Page, expect

from memoryhub.domain import accounts
from memoryhub.models import HUB

PASSWORD = "correct horse battery"


@pytest.fixture
def rk(space, member):
    person = member("owner")
    accounts.change_password(person, PASSWORD)
    return person


@pytest.mark.sampled(2)
@pytest.mark.parametrize("javascript", [True, False])
def test_name_and_password_lead_where_one_wanted_to_go(new_page, space, rk, javascript):
    page: Page = new_page(java_script_enabled=javascript)
    page.goto(space.get_absolute_url())
    expect(page).to_have_url(re.compile(r"/login/\?next="))
    page.get_by_label("Name").fill(rk.username)
    page.get_by_label("Password").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_text("do not belong together")).to_be_visible()
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Ledgerline")


def test_a_link_signs_in_once(new_page, space, member):
    secret = accounts.make_sign_in_link(HUB, member("viewer"), leads_to=space.get_absolute_url())
    first, second = new_page(), new_page()
    for _ in range(2):  # a program that looks at links in mails spends nothing
        shown = first.goto(f"/login/once/{secret}/")
        assert shown.headers["referrer-policy"] == "no-referrer"
    expect(first.locator("body")).not_to_contain_text("viewer")
    first.get_by_role("button", name="Sign in").click()
    expect(first.get_by_role("heading", level=1)).to_have_text("Ledgerline")
    answer = second.goto(f"/login/once/{secret}/")
    assert answer.status == 404
    expect(second.get_by_text("was used already")).to_be_visible()


def test_a_link_asks_whoever_is_signed_in_already(sign_in_as, space, member):
    page = sign_in_as("reviewer")
    secret = accounts.make_sign_in_link(HUB, member("viewer"), leads_to=space.get_absolute_url())
    page.goto(f"/login/once/{secret}/")
    expect(page.get_by_text("You are signed in as reviewer")).to_be_visible()
    page.get_by_role("link", name="Stay signed in as reviewer").click()
    expect(page.get_by_role("navigation", name="Main").get_by_role("link", name="reviewer")).to_be_visible()
    page.goto(f"/login/once/{secret}/")
    page.get_by_role("button", name="Use the link anyway").click()
    expect(page.get_by_role("navigation", name="Main").get_by_role("link", name="viewer")).to_be_visible()


def test_who_is_signed_in_stands_in_the_frame(sign_in_as):
    page = sign_in_as("reviewer")
    expect(page.get_by_role("navigation", name="Main").get_by_role("link", name="reviewer")).to_be_visible()
