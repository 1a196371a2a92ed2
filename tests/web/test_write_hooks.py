"""The page of hooks: the change of a settings file is shown first, made as it was seen, and taken back exactly."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from memoryhub.domain import contexts, files, proposals, write_hooks
from memoryhub.models import HUB
from tests.one_line import one_line

SETTINGS = '{\n  "model": "opus",\n  "env": {"KEY": "ghp_0123456789abcdefghijABCDEFGHIJ012345"}\n}\n'


@pytest.fixture
def home(house, tmp_path, settings):
    settings.DATA_DIR = tmp_path / "data"
    home = (tmp_path / "mia").resolve()
    for name, text in {
        ".claude/settings.json": SETTINGS,
        ".claude/CLAUDE.md": "- Hello.\n",
        "shop/.claude/settings.json": "{}",
    }.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    contexts.set_home(house.space, HUB, str(home))
    for prefix, folder in (("/claude/", ".claude"), ("/shop/", "shop")):
        files.add_mount(house.space, HUB, prefix, store="filesystem", directory=str(home / folder), takes="documents")
    return home


def page(client):
    return client.get(reverse("write_hooks.page", args=["books"]))


def click(client, verb, key, seen):
    return client.post(reverse(f"write_hooks.{verb}", args=["books"]), {"program": "claude", "key": key, "seen": seen})


def seen_of(client, key):
    answer = page(client).content.decode()
    return re.search(rf'name="key" value="{key}">\s*<input type="hidden" name="seen" value="(\w+)"', answer)[1]


def test_the_change_is_shown_before_it_is_made(home, as_role):
    answer = page(as_role("owner")).content.decode()
    assert str(home / ".claude/settings.json") in answer.replace("<wbr>", "") and "PreToolUse" in answer
    assert "hook claude --data-dir" in answer and "ghp_0123" not in answer
    assert (home / ".claude/settings.json").read_text() == SETTINGS


def test_install_and_remove_restore_the_file(home, as_role):
    client, path = as_role("owner"), home / ".claude/settings.json"
    assert click(client, "install", "home", seen_of(client, "home")).status_code == 303
    assert "hook claude" in path.read_text() and path.read_text().startswith(SETTINGS[:20])
    assert "asks before it writes" in page(client).content.decode()
    assert click(client, "uninstall", "home", seen_of(client, "home")).status_code == 303
    assert path.read_text() == SETTINGS and len(list(path.parent.iterdir())) == 2


def test_a_project_has_its_own(home, as_role, house):
    client = as_role("owner")
    key = str(next(one.pk for one in files.mounts_of_space(house.space) if one.prefix == "/shop/"))
    click(client, "install", key, seen_of(client, key))
    assert "hook claude" in (home / "shop/.claude/settings.json").read_text()
    assert (home / ".claude/settings.json").read_text() == SETTINGS


def test_what_changed_since_it_was_seen_is_not_written(home, as_role):
    client, path = as_role("owner"), home / ".claude/settings.json"
    seen = seen_of(client, "home")
    path.write_text('{"other": 1}')
    assert click(client, "install", "home", seen).status_code == 409
    assert click(client, "uninstall", "home", seen).status_code == 409
    assert path.read_text() == '{"other": 1}'


def test_settings_with_comments_are_left_to_people(home, as_role):
    path = home / ".claude/settings.json"
    path.write_text("{\n  // mine\n}")
    assert "not touched" in page(as_role("owner")).content.decode()
    assert click(as_role("owner"), "install", "home", "x").status_code == 409 and path.read_text() == "{\n  // mine\n}"


@pytest.mark.parametrize("role", ["viewer", "editor", "reviewer"])
def test_others_see_no_settings_and_change_none(home, as_role, role):
    answer = page(as_role(role))
    assert answer.status_code == 200 and "settings.json" not in answer.content.decode()
    assert click(as_role(role), "install", "home", "x").status_code == 403


def test_an_owner_who_does_not_run_the_hub_changes_none(home, as_role, house):
    house.owner.person.is_hub_owner = False
    house.owner.person.save()
    assert "settings.json" not in page(as_role("owner")).content.decode()
    assert click(as_role("owner"), "install", "home", "x").status_code == 403


def test_unknown_settings_are_not_found(home, as_role):
    for key in ("elsewhere", "999999", "", "../.."):
        assert click(as_role("owner"), "install", key, "x").status_code == 404


def test_a_write_that_was_refused_says_so_on_its_page_and_in_the_list(
    home, as_role, house, django_capture_on_commit_callbacks
):
    mount = next(one for one in files.mounts_of_space(house.space) if one.prefix == "/claude/")
    files.take_in_mount(house.space, mount)
    files.change_on_disk(house.space, HUB, mount, "hold")
    arguments = {"file_path": str(home / ".claude/CLAUDE.md"), "content": "- Bye.\n"}
    number = write_hooks.decide("claude-code", "Write", arguments, str(home)).proposal
    shown = one_line(as_role("reviewer").get(reverse("proposals.detail", args=["books", number])).content.decode())
    assert "Never on disk." in shown and "claude-code was about to write this with its tool Write" in shown
    assert "never on disk" in as_role("reviewer").get(reverse("proposals.page", args=["books"])).content.decode()
    assert proposals.get(house.space, number).change["stood"] == 0


def test_how_long_a_change_stood_is_on_its_page_and_in_the_list(home, as_role, house):
    mount = next(one for one in files.mounts_of_space(house.space) if one.prefix == "/claude/")
    files.take_in_mount(house.space, mount)
    files.change_on_disk(house.space, HUB, mount, "hold")
    (home / ".claude/CLAUDE.md").write_text("- Bye.\n")
    files.sync_path(house.space, "/claude/CLAUDE.md")
    shown = one_line(as_role("reviewer").get(reverse("proposals.detail", args=["books", 1])).content.decode())
    assert re.search(r"It is on disk for \d+\.\d s so far\.", shown)
    assert " so far" in as_role("reviewer").get(reverse("proposals.page", args=["books"])).content.decode()
    assert re.search(r"Here \d+\.\d s later", one_line(page(as_role("viewer")).content.decode()))
