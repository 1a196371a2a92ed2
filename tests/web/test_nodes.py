"""The page of nodes: for the owner of the hub alone."""

from __future__ import annotations

import pytest
from django.utils import timezone

from memoryhub.domain import files, nodes
from memoryhub.models import HUB, Mount, Node


@pytest.fixture
def mounted(house, tmp_path, settings):
    settings.SHARES_DATABASE, settings.NODE_ID, settings.NODE_NAME = True, "here", "web-1"
    nodes.Run("1.2.3").register()
    Node.objects.create(id="other", name="web-2", stopped_at=timezone.now())
    return files.add_mount(house.space, HUB, "/notes/", store="filesystem", directory=str(tmp_path))


def test_it_lists_nodes_and_directories(as_role, mounted):
    page = as_role("owner").get("/nodes/").content.decode()
    for shown in ("web-1", "1.2.3", "running", "web-2", "stopped", "/notes/", mounted.directory):
        assert shown in page
    assert as_role("editor").get("/nodes/").status_code == 403


def test_another_node_is_put_in_charge(as_role, mounted):
    where = f"/nodes/mounts/{mounted.pk}/"
    assert as_role("editor").post(where, {"node": "other"}).status_code == 403
    assert as_role("owner").post(where, {"node": "nobody"}).status_code == 404
    assert as_role("owner").post(where, {"node": "other"}).status_code == 303
    found = Mount.objects.get()
    assert (found.node, found.next_node) == ("", "other")
    assert as_role("owner").post("/nodes/mounts/0/", {"node": "other"}).status_code == 404


def test_a_node_that_is_gone_is_taken_off_the_list(as_role, mounted):
    assert as_role("owner").post("/nodes/forget/", {"node": "here"}).status_code == 409
    assert as_role("owner").post("/nodes/forget/", {"node": "other"}).status_code == 303
    assert [one.pk for one in Node.objects.all()] == ["here"]
