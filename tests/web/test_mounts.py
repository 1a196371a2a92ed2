"""The page of mounts, for owners of spaces who do not run the hub."""

import pytest
from django.urls import reverse

from memoryhub.domain import files, prompts
from memoryhub.models import HUB, Mount, PolicyRule, Source
from tests.one_line import one_line
from tests.stores.test_selection import repository


def test_an_owner_is_told_where_directories_may_lie(house, as_role, settings, tmp_path):
    house.owner.person.is_hub_owner = False
    house.owner.person.save()
    (tmp_path / "allowed").mkdir()
    (tmp_path / "elsewhere").mkdir()
    settings.MOUNT_ROOTS = [str(tmp_path / "allowed")]
    client, page = as_role("owner"), reverse("files_access.page", args=["books"])
    assert f"<code>{tmp_path / 'allowed'}</code>" in one_line(client.get(page))

    def mount(directory):
        wanted = {"prefix": "/notes/", "store": "filesystem", "directory": str(directory), "policy": "review"}
        return client.post(reverse("mounts.add", args=["books"]), wanted)

    refused = mount(tmp_path / "elsewhere")
    assert refused.status_code == 403
    assert "alone. Name one of those" in one_line(refused)
    assert mount(tmp_path / "allowed").status_code == 303


def test_an_owner_is_told_where_directories_are_mounted_by_others(house, as_role, settings, tmp_path):
    house.owner.person.is_hub_owner = False
    house.owner.person.save()
    settings.MOUNT_ROOTS = []
    client = as_role("owner")
    assert "MEMORYHUB_MOUNT_ROOTS" in one_line(client.get(reverse("files_access.page", args=["books"])))
    wanted = {"prefix": "/notes/", "store": "filesystem", "directory": str(tmp_path), "policy": "review"}
    assert client.post(reverse("mounts.add", args=["books"]), wanted).status_code == 403


@pytest.fixture
def shop(house, tmp_path):
    (tmp_path / "shop").mkdir()
    return files.add_mount(
        house.space, HUB, "/shop/", store="filesystem", directory=str(repository(tmp_path / "shop")), exclude="docs/"
    )


def test_the_page_says_what_a_mount_leaves_out(house, as_role, shop):
    page = one_line(as_role("owner").get(reverse("files_access.page", args=["books"])))
    row = '<td class="mono">.git</td><td class="num">31</td><td class="soft">Version control, always</td>'
    assert row in page.replace("> <", "><")
    assert 'Include <span class="sr">node_modules</span>' in page
    assert 'Include <span class="sr">.git</span>' not in page
    assert "4 files" in page
    assert "Left out" not in one_line(as_role("viewer").get(reverse("files_access.page", args=["books"])))


def test_the_page_changes_what_a_mount_takes_in(house, as_role, shop):
    client, change = as_role("owner"), reverse("mounts.change", args=["books", shop.pk])
    assert client.post(change, {"take_in": "node_modules"}).status_code == 303
    assert files.read(house.space, "/shop/node_modules/a/README.md").content == b"x"
    assert client.post(change, {"stop_excluding": "docs/"}).status_code == 303
    assert files.read(house.space, "/shop/docs/a.md").content == b"alpha\n"
    sent = {"selection": "1", "takes": "all", "include": "", "exclude": "*.md\r\n!AGENTS.md"}
    assert client.post(change, sent).status_code == 303
    mount = Mount.objects.get(pk=shop.pk)
    assert (mount.takes, mount.include, mount.exclude) == ("all", "", "*.md\n!AGENTS.md")
    assert files.exists(house.space, "/shop/AGENTS.md") and not files.exists(house.space, "/shop/README.md")
    assert client.post(change, {**sent, "exclude": "x" * 600}).status_code == 422
    assert as_role("viewer").post(change, sent).status_code == 403


def test_a_rule_that_matches_nothing_asks_to_be_confirmed(house, as_role):
    client, add = as_role("owner"), reverse("policies.add_rule", args=["books"])
    rule = {"pattern": "memories", "policy": "trusted", "reviewers": "1"}
    asked = client.post(add, rule)
    assert asked.status_code == 422 and "No file matches" in one_line(asked) and 'name="confirm"' in one_line(asked)
    assert not PolicyRule.objects.within(house.space).exists()
    assert client.post(add, {**rule, "confirm": "on"}).status_code == 303
    page = one_line(client.get(reverse("files_access.page", args=["books"])))
    assert "no file matches" in page
    assert '<option value="review" selected>' in page


def test_a_source_under_no_mount_is_refused_unless_confirmed(house, as_role, shop):
    client, add = as_role("owner"), reverse("sources.add", args=["books"])
    for path in ("/nowhere/AGENTS.md", "/shop/.env"):
        before = Source.objects.within(house.space).count()
        refused = client.post(add, {"path": path})
        assert refused.status_code == 422 and 'name="confirm"' in one_line(refused)
        assert Source.objects.within(house.space).count() == before
        assert client.post(add, {"path": path, "confirm": "1"}).status_code == 303
    assert prompts.is_source(house.space, "/nowhere/AGENTS.md")
