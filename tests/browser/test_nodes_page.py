"""The page of nodes in a browser: who runs, and another node put in charge of a directory."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from memoryhub.domain import files, nodes
from memoryhub.models import HUB, Mount, Node
from tests.browser.axe import AXE, EVERYTHING, OVERFLOWS, RUN
from tests.browser.conftest import PHONE, WIDE


@pytest.fixture
def three_nodes(space, tmp_path, settings):
    """This one, which has a directory, one that stopped and one that was not seen for an hour."""
    settings.SHARES_DATABASE, settings.NODE_ID, settings.NODE_NAME = True, "here", "web-1"
    nodes.Run("1.2.3").register()
    now = timezone.now()
    Node.objects.create(id="other", name="web-2", version="1.2.2", stopped_at=now)
    Node.objects.create(id="9f8e7d6c5b4a-of-a-random-id-of-a-data-directory", name="web-3", version="1.2.3",
                        seen_at=now - timedelta(hours=1))  # fmt: skip
    for number in range(3):
        folder = tmp_path / f"a-folder-with-a-rather-long-name-{number}"
        folder.mkdir()
        files.add_mount(space, HUB, f"/notes-{number}/", store="filesystem", directory=str(folder))


@pytest.fixture
def page_of_nodes(sign_in_as, member, three_nodes):
    person = member("owner")
    person.is_hub_owner = True
    person.save()
    page = sign_in_as("owner", at="/nodes/")
    return page


def test_another_node_is_put_in_charge(page_of_nodes):
    page = page_of_nodes
    rows = page.get_by_role("region", name="Nodes").get_by_role("listitem")
    for text, state in (("web-1", "running"), ("web-2", "stopped"), ("web-3", "away")):
        expect(rows.filter(has_text=text)).to_contain_text(state)
    chosen = page.get_by_label("Node in charge of /notes-1/")
    chosen.select_option("other")
    page.get_by_role("button", name="Put in charge /notes-1/").click()
    expect(page.get_by_text("web-2 takes over /notes-1/.")).to_be_visible()
    found = Mount.objects.get(prefix="/notes-1/")
    assert "other" in (found.node, found.next_node)
    page.get_by_role("button", name="Remove web-3").click()
    expect(page.get_by_text("web-3 is off the list.")).to_be_visible()
    assert not Node.objects.filter(name="web-3").exists()


def test_it_has_no_fault_that_a_machine_can_find(page_of_nodes):
    page = page_of_nodes
    page.evaluate(AXE)
    for size in (WIDE, PHONE):
        page.set_viewport_size(size)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(RUN % EVERYTHING) == []
            assert page.evaluate(OVERFLOWS) == ""
