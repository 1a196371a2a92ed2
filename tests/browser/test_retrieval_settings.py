"""Limits of retrieval in the browser: the example follows what is typed, Save keeps it; also at a phone's width."""

import pytest
from playwright.sync_api import expect

from memoryhub.domain import longterm
from memoryhub.models import HUB, Space
from tests.browser.conftest import PHONE
from tests.outputs import admit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def memory(space):
    for text in ("Card refunds take 5 to 10 days.", "Card refunds of gifts take 20 days."):
        longterm.store(space, HUB, text)
    for n in range(4):
        admit(space, f"lately number {n}")
    return space


def test_the_example_follows_the_limits_until_they_are_saved(memory, sign_in_as, page, live_server):
    sign_in_as("owner")
    page.goto(f"{live_server.url}/s/{memory.slug}/retrieval/settings/?query=card+refunds")
    found = page.locator("#found")
    expect(found.get_by_text("lately number")).to_have_count(4)
    page.get_by_label("Recent entries").fill("1")
    expect(found.get_by_text("lately number")).to_have_count(1)
    page.get_by_label("Similarity threshold").fill("0.99")
    expect(found.get_by_text("Below the threshold")).to_be_visible()
    assert "retrieval" not in Space.objects.get(pk=memory.pk).settings
    page.get_by_role("button", name="Save limits").click()
    expect(page.get_by_text("are saved")).to_be_visible()
    assert Space.objects.get(pk=memory.pk).settings["retrieval"] == {"hot": 1, "threshold": 0.99}
    assert "csrf" not in page.url


def test_it_fits_a_phone(memory, sign_in_as, page, live_server):
    sign_in_as("owner")
    page.set_viewport_size(PHONE)
    page.goto(f"{live_server.url}/s/{memory.slug}/retrieval/settings/?query=card+refunds")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
