"""Memory as files in the browser: pin an entry, read the file, see it in the prompt and where its line comes from."""

import pytest
from playwright.sync_api import expect

from memoryhub.domain import files, longterm, prompts
from memoryhub.models import HUB
from tests.browser.conftest import PHONE
from tests.outputs import admit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def recall(space):
    files.add_mount(space, HUB, "/recall/", store="views")
    prompts.create_agent(space, HUB, "scout", system_prompt="You build.", dialect="hub")
    admit(space, "The gateway is slow today.")
    for text in ("Card refunds take 5 to 10 days.", "Anna likes teal."):
        longterm.store(space, HUB, text)
    prompts.add_source(space, HUB, "/recall/pinned.md")
    return space


def test_a_pinned_entry_reaches_the_prompt(recall, sign_in_as, page, live_server):
    sign_in_as("owner")
    base = f"{live_server.url}/s/{recall.slug}"
    page.goto(f"{base}/longterm/2/")
    page.get_by_role("button", name="Pin", exact=True).click()
    expect(page.get_by_text("pinned, number 1")).to_be_visible()
    page.goto(f"{base}/files/recall/pinned.md")
    expect(page.get_by_text("Anna likes teal.").first).to_be_visible()
    page.goto(f"{base}/prompt/scout/")
    line = page.get_by_text("- Anna likes teal. [L-2]")
    expect(line.first).to_be_visible()
    number = line.first.get_attribute("data-n")
    page.goto(f"{base}/prompt/scout/?line={number}")
    expect(page.locator("a[href*='/longterm/2/']").first).to_be_visible()
    page.goto(f"{base}/longterm/?show=pinned")
    page.get_by_role("button", name="Unpin L-2").click()
    expect(page.get_by_text("is no longer pinned")).to_be_visible()


def test_a_file_of_memory_fits_a_phone(recall, sign_in_as, page, live_server):
    longterm.pin(recall, HUB, 1)
    longterm.pin(recall, HUB, 2)
    sign_in_as("owner")
    page.set_viewport_size(PHONE)
    for path in ("files/recall/pinned.md", "files/recall/working.md", "longterm/?show=pinned", "files/recall/"):
        page.goto(f"{live_server.url}/s/{recall.slug}/{path}")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path
