"""The pictures: a moment is picked on the timeline, and a machine finds no fault with any of them."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from memoryhub.domain import files, prompts, quarantine
from memoryhub.models import HUB, AgentChange, Delivery, File, Mount, PromptText, Revision, SourceChange
from tests.browser.axe import faults_of, in_turns

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def furnished(space):
    files.add_mount(space, HUB, "/memories/", store="database")
    agent = prompts.create_agent(space, HUB, "forge")
    prompts.add_source(space, HUB, "/memories/AGENTS.md")
    files.write(space, HUB, "/memories/AGENTS.md", b"The first text.\n", reason="made")
    Revision.objects.update(created_at=timezone.now() - timedelta(days=9))
    for model in (type(agent), AgentChange, SourceChange, Mount, File):
        model.objects.update(created_at=timezone.now() - timedelta(days=20))
    files.write(space, HUB, "/memories/AGENTS.md", b"The second text.\n", reason="changed")
    now = timezone.now()
    for at, (sha, tokens) in enumerate((("a", 100), ("b", 180))):
        PromptText.objects.create(space_id=space.pk, sha256=sha, tokens=tokens, text=b"x")
        Delivery.objects.create(
            space_id=space.pk, agent_id=agent.pk, sha256=sha, first_at=now - timedelta(days=9 - 5 * at),
            last_at=now - timedelta(days=4 - 4 * at),
        )  # fmt: skip
    quarantine.log(space, agent, content="Till two takes coins only.", session_id="s", node_id="n")
    return space


@pytest.mark.sampled(2)
@pytest.mark.parametrize("javascript", [True, False])
def test_a_moment_is_picked_on_the_timeline(furnished, sign_in_as, new_page, javascript):
    page = sign_in_as(
        "viewer", new_page(java_script_enabled=javascript), at=f"/s/{furnished.slug}/prompt/forge/?ask=tills"
    )
    expect(page.get_by_role("link", name="Now", exact=True)).to_have_attribute("aria-current", "true")
    page.locator("summary").filter(has_text="moments in 30 days").click()
    page.get_by_role("list", name="Moments").get_by_role("link").filter(has_text="created it").click()
    expect(page).to_have_url(re.compile(r"ask=tills.*at="))
    expect(page.locator("#prompt")).to_contain_text("The first text.")
    page.get_by_role("link", name="Now", exact=True).click()
    expect(page.locator("#prompt")).to_contain_text("The second text.")
    page.locator("svg.days a").nth(1).click()  # the first one is the day on which the agent was made
    expect(page.locator("#prompt")).to_contain_text("The first text.")
    expect(page).to_have_url(re.compile("ask=tills"))


@in_turns
def test_a_machine_finds_no_fault(furnished, sign_in_as, new_page, turns):
    page = sign_in_as("owner", new_page(own=True))
    pages = ("prompt/forge/", "prompt/forge/?at=2026-01-01T00:00:00Z", "agents/", "agents/forge/", "activity/")
    pages = (*pages, "working/", "longterm/", "search/?q=till")
    assert faults_of(page, (f"/s/{furnished.slug}/{path}" for path in pages), turns) == []
    assert page.goto(f"/s/{furnished.slug}/agents/") and page.locator("svg.spark").count() == 1
