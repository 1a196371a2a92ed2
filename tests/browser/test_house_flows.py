"""The house, clicked through: people, agents and tokens, settings, activity, the account, the demo, keys."""

import re

import pytest
from django.db import transaction
from playwright.sync_api import expect

from memoryhub.domain import accounts, activity, prompts, quarantine
from memoryhub.models import DISK, HUB, Agent, Membership, Space
from tests.browser.conftest import use_link


@pytest.fixture
def hub_owner(member):
    person = member("owner")
    person.is_hub_owner = True
    person.save()
    return person


def test_an_owner_adds_somebody_who_comes_in_by_the_link(sign_in_as, new_page):
    page = sign_in_as("owner")
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("navigation", name="Settings").get_by_role("link", name="Members").click()
    page.get_by_label("Name").fill("nina")
    page.get_by_label("Role", exact=True).select_option("editor")
    page.get_by_role("button", name="Add").click()
    link = page.locator("#link").inner_text()
    theirs = new_page()
    theirs.goto(link)
    theirs.get_by_role("button", name="Sign in").click()
    expect(theirs.locator("h1")).to_have_text("Ledgerline")
    expect(theirs.get_by_role("link", name="Settings")).to_be_visible()
    assert theirs.goto("/s/ledger/settings/people/").status == 403
    expect(theirs.get_by_role("heading", name="403 Not allowed for your role")).to_be_visible()


def test_a_role_is_changed_by_choosing_it(sign_in_as, member):
    member("viewer")
    page = sign_in_as("owner", at="/s/ledger/settings/people/")
    page.get_by_label("Role of viewer").select_option("reviewer")
    expect(page.get_by_text("viewer is now reviewer of this space.")).to_be_visible()
    assert Membership.objects.get(person__username="viewer").role == "reviewer"


def test_removing_somebody_asks_first(sign_in_as, member):
    member("viewer")
    page = sign_in_as("owner", at="/s/ledger/settings/people/")
    row = page.get_by_role("listitem").filter(has=page.get_by_label("Role of viewer"))
    row.get_by_label("Actions for viewer").click()
    row.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert Membership.objects.filter(person__username="viewer").exists()
    row.get_by_label("Actions for viewer").click()
    row.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("viewer is removed")).to_be_visible()


def test_an_agent_is_connected_gets_a_token_and_calls(sign_in_as):
    page = sign_in_as("owner")
    page.get_by_role("main").get_by_role("link", name="Connect an agent").first.click()
    page.get_by_label("Name").fill("forge")
    page.get_by_text("More: description").click()
    page.get_by_label("Dialect").select_option("deepagents/0.6.3")
    page.get_by_label("Base system prompt").fill("You are forge.")
    page.get_by_role("button", name="Create agent").click()
    expect(page.get_by_role("heading", name="Connect forge")).to_be_visible()
    page.goto("/s/ledger/agents/forge/")
    tokens = page.get_by_role("region", name="API tokens")
    tokens.get_by_text("New token").click()
    tokens.get_by_label("Label").fill("laptop")
    tokens.get_by_text("Prompt", exact=True).click()
    tokens.get_by_role("button", name="Create token").click()
    secret = page.locator("#secret").inner_text()
    answer = page.request.get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"})
    assert answer.json()["scopes"] == ["prompt"]
    page.get_by_role("link", name="Open forge").click()
    used = page.get_by_role("region", name="API tokens").get_by_role("listitem").filter(has_text="laptop")
    expect(used.get_by_text("used just now from")).to_be_visible()
    expect(page.get_by_text(secret)).to_have_count(0)
    used.get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("its next call is refused")).to_be_visible()
    assert page.request.get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"}).status == 401


def test_an_agent_is_switched_off_and_deleted(sign_in_as, space):
    prompts.create_agent(space, HUB, "forge")
    page = sign_in_as("owner", at="/s/ledger/agents/forge/")
    page.get_by_role("button", name="Switch off").click()
    expect(page.get_by_text("forge is switched off.")).to_be_visible()
    page.get_by_label("Type forge").fill("forge")
    page.get_by_role("button", name="Delete agent").click()
    expect(page.get_by_text("No agents yet")).to_be_visible()
    assert not Agent.objects.exists()


def test_a_viewer_is_offered_nothing_to_change(sign_in_as, space):
    prompts.create_agent(space, HUB, "forge")
    page = sign_in_as("viewer")
    for path in ("agents/", "agents/forge/", "settings/", ""):
        page.goto(f"/s/ledger/{path}")
        expect(page.get_by_role("main").get_by_role("button")).to_have_count(0)


def test_settings_are_changed_and_refused_with_the_reason(sign_in_as):
    page = sign_in_as("owner", at="/s/ledger/settings/")
    page.get_by_label("Reviewers for each proposal").fill("2")
    page.get_by_role("button", name="Save proposals").click()
    expect(page.get_by_text("Reviewers for each proposal: 1 → 2.")).to_be_visible()
    page.get_by_label("Newest entries kept").fill("500")
    page.get_by_role("button", name="Save working memory").click()
    expect(page.get_by_text("is a number from 1 to 50")).to_be_visible()


@pytest.fixture
def log(space):
    with transaction.atomic():
        for number in range(130):
            activity.record(
                space, DISK, "files.sync", "changed", f"/memories/{number}.md", path=f"/memories/{number}.md"
            )


def test_the_log_is_filtered_as_one_types_and_walked_back(sign_in_as, log):
    page = sign_in_as("viewer")
    page.keyboard.press("g")
    page.keyboard.press("y")
    expect(page.get_by_role("listitem").filter(has_text="changed")).to_have_count(99)  # and the line of a new member
    page.get_by_role("link", name="Older").click()
    expect(page.get_by_text("/memories/0.md")).to_be_visible()
    page.get_by_role("link", name="Newest").click()
    page.get_by_label("File or words").press_sequentially("/memories/77.md")
    expect(page.get_by_role("listitem").filter(has_text="changed")).to_have_count(1)
    expect(page).to_have_url(re.compile("q=%2Fmemories%2F77.md"))
    page.get_by_label("File or words").fill("")
    page.get_by_text("People", exact=True).click()
    expect(page.get_by_role("listitem").filter(has_text="changed")).to_have_count(0)
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON lines").click()
    assert download.value.suggested_filename == "activity-ledger.jsonl"


def test_a_password_is_set_and_another_session_ended(page, new_page, member):
    other = new_page()
    for window in (page, other):
        use_link(window, accounts.make_sign_in_link(HUB, member("editor")))
    page.get_by_role("link", name="editor").click()
    expect(page.get_by_role("button", name="End")).to_have_count(2)
    row = (
        page.get_by_role("listitem")
        .filter(has=page.get_by_role("button", name="End"))
        .filter(has_not_text="this browser")
    )
    row.get_by_role("button").click()
    expect(page.get_by_text("The session is signed out.")).to_be_visible()
    other.reload()
    expect(other).to_have_url(re.compile("/login/"))
    page.get_by_label("New password", exact=True).fill("sieben rote Zwerge")
    page.get_by_label("New password again").fill("sieben rote Zwerge")
    page.get_by_role("button", name="Set password").click()
    expect(page.get_by_text("Password changed.")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_the_theme_turns(sign_in_as):
    page = sign_in_as("viewer")
    page.get_by_role("button", name="Light or dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Light or dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


def test_the_demo_is_loaded_looked_at_and_deleted_by_its_name(sign_in_as, hub_owner):
    page = sign_in_as("owner")
    page.get_by_role("button", name="Load the demo").click()
    expect(page).to_have_url(re.compile("/s/demo/"))
    expect(page.get_by_text("forge", exact=True).first).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    page.get_by_label("Type demo").fill("demo")
    page.get_by_role("button", name="Delete the demo").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete the demo").click()
    expect(page.get_by_text("Ledgerline is deleted, with everything in it.")).to_be_visible()
    assert list(Space.objects.values_list("slug", flat=True)) == ["ledger"]


def test_keys_go_places_and_single_keys_rest_while_one_types(sign_in_as, space):
    prompts.create_agent(space, HUB, "counter")
    prompts.create_agent(space, HUB, "forge")
    page = sign_in_as("owner")
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Shortcuts")).to_be_visible()
    page.goto("/s/ledger/")
    page.keyboard.press("g")
    page.keyboard.press("a")
    expect(page.get_by_role("heading", name="Agents", exact=True)).to_be_visible()
    page.get_by_label("Filter agents").press_sequentially("fo?")
    expect(page).to_have_url(re.compile("/agents/"))
    page.get_by_label("Filter agents").fill("")
    page.get_by_role("heading", name="Agents", exact=True).click()
    for key in ("j", "j", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("h1")).to_contain_text("forge")


def test_the_overview_renews_itself(sign_in_as, space):
    counter = prompts.create_agent(space, HUB, "counter")
    quarantine.log(space, counter, content="The gateway answers 503.", session_id="s", node_id="n")
    page = sign_in_as("viewer")
    expect(page.get_by_text("forge", exact=True)).to_have_count(0)
    prompts.create_agent(space, HUB, "forge")
    page.evaluate("window.htmx.trigger('#live', 'renew')")
    expect(page.locator("#live").get_by_text("forge", exact=True).first).to_be_visible()


def test_on_a_phone_the_navigation_opens_without_a_script(sign_in_as, new_page):
    page = sign_in_as("viewer", new_page(viewport={"width": 390, "height": 844}, java_script_enabled=False))
    expect(page.get_by_role("link", name="Activity")).to_be_hidden()
    page.get_by_role("button", name="Ledgerline").click()
    page.get_by_role("link", name="Activity").click()
    expect(page.get_by_role("heading", name="Activity")).to_be_visible()
