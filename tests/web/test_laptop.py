"""The coding agents of this machine as a page: found read only, shown by a second click, and only for who runs the hub and sits there."""

from __future__ import annotations

import re

import pytest

from memoryhub.domain import files, spaces
from memoryhub.models import Mount, Space
from tests.commands.test_laptop import make_home, seen
from tests.one_line import one_line


@pytest.fixture
def home(tmp_path, monkeypatch):
    made = make_home(tmp_path / "mia")
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return made


@pytest.fixture
def owner(as_role):
    client = as_role("owner")
    client.defaults["HTTP_HOST"] = "127.0.0.1:8000"
    return client


def offered(client):
    return {
        one["path"]: one
        for one in client.get("/laptop/").context["folders"] + client.get("/laptop/").context["projects"]
    }


def test_two_clicks_from_the_first_run_to_what_agents_see(owner, house, home):
    before = seen(home)
    assert 'href="/laptop/"' in one_line(owner.get("/s/books/"))
    page = owner.get("/laptop/")
    for said in ("Claude Code", "Memory and documents of Codex", "Gemini CLI loads", "Show ticked folders"):
        assert said in one_line(page), said
    assert "Documents" not in one_line(page) and Space.objects.count() == 1
    ticked = re.findall(r'name="show" +value="([^"]+)"', one_line(page))
    assert set(ticked) == {str(home / name) for name in (".claude", ".codex", ".gemini", "shop", "notes")}
    opened = owner.post("/laptop/show/", {"show": ticked}, follow=True)
    assert opened.redirect_chain[-1][0].startswith("/s/laptop/contexts/") and "What Claude Code sees in" in one_line(
        opened
    )
    space = Space.objects.get(slug="laptop")
    assert spaces.get_for_person(house.owner.person, "laptop")[1] == "owner"
    assert set(Mount.objects.within(space).values_list("directory", flat=True)) == set(ticked)
    assert "Answer in English." in one_line(opened), "the home is known in this space"
    heading = one_line(owner.get("/s/laptop/contexts/")).partition("<h1>")[2].partition("</h1>")[0]
    assert "sees in" in heading and "~/." not in heading, (
        "a project is shown first: nobody starts an agent in ~/.claude"
    )
    files.scan_all()
    first_run = one_line(owner.get("/s/laptop/"))
    assert first_run.index("/shop/CLAUDE.md") < first_run.index("/claude/CLAUDE.md")
    assert seen(home) == before


def test_only_what_is_ticked_is_shown_and_more_later(owner, home):
    owner.post("/laptop/show/", {"show": [str(home / "shop")]})
    space = Space.objects.get(slug="laptop")
    assert [one.directory for one in Mount.objects.within(space)] == [str(home / "shop")]
    rows = offered(owner)
    assert rows[str(home / "shop")]["is_shown"] and not rows[str(home / ".claude")]["is_shown"]
    owner.post("/laptop/show/", {"show": [str(home / ".claude")]})
    assert Mount.objects.within(space).count() == 2 and Space.objects.filter(slug__startswith="laptop").count() == 1


def test_a_project_is_added_by_its_folder(owner, home):
    (home / "Documents" / "deep").mkdir()
    rows = owner.get("/laptop/", {"project": "~/Documents/deep"}).context["projects"]
    assert [one["short"] for one in rows] == ["~/Documents/deep", "~/shop", "~/notes"]
    for wrong in ("~/none", "/\x00", "x" * 5_000):
        assert owner.get("/laptop/", {"project": wrong}).status_code in (200, 422), wrong
    assert "is no folder" in one_line(owner.get("/laptop/", {"project": "~/none"}))


@pytest.mark.parametrize("asked", [[], ["/etc"], ["/"]])
def test_nothing_else_is_shown_whatever_a_form_says(owner, home, asked):
    asked = [*asked, str(home / "Documents")] if asked else []
    assert owner.post("/laptop/show/", {"show": asked}).status_code in (409, 422)
    assert Space.objects.count() == 1


def test_a_whole_home_and_the_system_are_refused(owner, home):
    owner.post("/laptop/show/", {"project": [str(home), "/etc"], "show": ["/etc"]})
    assert not Mount.objects.filter(directory__in=["/etc", str(home)]).exists()


@pytest.mark.parametrize("meta", [
    {"REMOTE_ADDR": "10.0.0.9"}, {"HTTP_X_FORWARDED_FOR": "10.0.0.9"}, {"HTTP_FORWARDED": "for=10.0.0.9"},
    {"HTTP_HOST": "testserver"}, {"HTTP_VIA": "1.1 proxy"},
])  # fmt: skip
def test_from_elsewhere_the_home_is_not_looked_into(owner, home, meta):
    assert owner.get("/laptop/", **meta).status_code == 403
    assert owner.post("/laptop/show/", {"show": [str(home / "shop")]}, **meta).status_code == 403
    assert 'href="/laptop/"' not in one_line(owner.get("/s/books/", **meta))
    assert Space.objects.count() == 1


def test_owners_of_a_space_who_do_not_run_the_hub_are_refused(owner, house, home):
    house.owner.person.is_hub_owner = False
    house.owner.person.save()
    assert owner.get("/laptop/").status_code == 403
    assert owner.post("/laptop/show/", {"show": [str(home / "shop")]}).status_code == 403
    assert 'href="/laptop/"' not in one_line(owner.get("/s/books/"))


def test_a_space_of_that_name_for_something_else_stays_as_it_is(owner, house, home):
    taken = spaces.create(house.owner, "laptop", "Mine")
    owner.post("/laptop/show/", {"show": [str(home / "shop")]})
    assert not Mount.objects.within(taken).exists()
    assert Mount.objects.within(Space.objects.get(slug="laptop-2")).count() == 1
