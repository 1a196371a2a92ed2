"""Files per thread: how long they live, and those that end with the hub's run."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from memoryhub.domain import accounts, files, first_start, prompts, spaces
from memoryhub.domain.files.disk import watch
from memoryhub.errors import Invalid
from memoryhub.models import HUB, File, Mount
from tests.api.calling import Caller
from tests.owners import create_hub_owner

pytestmark = pytest.mark.django_db


@pytest.fixture
def space():
    made = spaces.create(HUB, "books")
    files.add_mount(made, HUB, "/short/", store="thread", policy="trusted")
    files.add_mount(made, HUB, "/run/", store="thread", policy="trusted", ends_with_run=True)
    files.add_mount(made, HUB, "/memories/", store="database")
    return made


def put(space, path, thread="t-1"):
    files.write(space, HUB, path, b"- a note\n", thread_id=thread)


def test_a_file_of_a_thread_says_until_when_it_lives(space, client):
    agent = prompts.create_agent(space, HUB, "forge")
    call = Caller(client, accounts.create_token(space, HUB, agent=agent)[1])
    put(space, "/short/a.md")
    put(space, "/memories/a.md", "")
    answer = call("GET", "files/short/a.md?thread_id=t-1", Accept="application/json").json()
    assert answer["expires_at"].startswith((timezone.now() + timedelta(hours=24)).strftime("%Y-%m-%dT%H"))
    assert "expires_at" not in call("GET", "files/memories/a.md", Accept="application/json").json()


def test_files_end_after_a_day_or_with_the_run(space, settings):
    settings.DATABASE_URL = ""
    for path in ("/short/a.md", "/run/a.md"):
        put(space, path)
    put(space, "/memories/a.md", "")
    first_start.prepare(None)
    assert set(File.objects.within(space).values_list("path", flat=True)) == {"/short/a.md", "/memories/a.md"}
    assert watch.expire_threads(timezone.now() + timedelta(hours=25)) > 0
    assert set(File.objects.within(space).values_list("path", flat=True)) == {"/memories/a.md"}


def test_another_hub_on_the_same_database_ends_nothing(space, settings):
    settings.DATABASE_URL = "postgresql://somewhere/memoryhub"
    put(space, "/run/a.md")
    first_start.prepare(None)
    assert File.objects.within(space).count() == 1


def test_a_mount_is_set_and_changed(space, capsys):
    call_command("mount", "add", "/tmp-notes/", "--thread", "--ends-with-run", "--space", "books")
    mount = Mount.objects.within(space).get(prefix="/tmp-notes/")
    assert mount.ends_with_run
    assert not files.change_mount(space, HUB, mount, ends_with_run=False).ends_with_run
    mount = files.change_mount(space, HUB, mount, ends_with_run=True)
    assert not files.change_mount(space, HUB, mount, store="database").ends_with_run


def test_other_stores_do_not_end(space):
    with pytest.raises(Invalid):
        files.add_mount(space, HUB, "/x/", store="database", ends_with_run=True)
    with pytest.raises(Invalid):
        files.change_mount(space, HUB, Mount.objects.within(space).get(prefix="/memories/"), ends_with_run=True)


def test_the_page_of_the_mount_lists_threads_and_until_when_their_files_live(space, client):
    owner = create_hub_owner("ow")
    spaces.add_member(space, HUB, owner, "owner")
    client.force_login(owner)
    for thread in ("t-1", "t-2"):
        put(space, "/short/a.md", thread)
    page = client.get("/s/books/files/short/").content.decode()
    assert page.count("/short/a.md") == 2 and "t-2" in page and "in 23 h" in page
    page = client.get("/s/books/files/run/").content.decode()
    assert "when the hub starts again" in page and "No thread has files here" in page


def test_the_page_of_files_and_access_sets_when_files_end(space, client):
    owner = create_hub_owner("ow")
    spaces.add_member(space, HUB, owner, "owner")
    client.force_login(owner)
    mount = Mount.objects.within(space).get(prefix="/short/")
    page = client.get(f"/s/books/settings/access/?mount={mount.pk}").content.decode()
    assert "After a day without use" in page
    client.post(f"/s/books/mounts/{mount.pk}/change/", {"policy": "trusted", "ends": "run"})
    mount.refresh_from_db()
    assert mount.ends_with_run and mount.policy == "trusted"
    client.post(f"/s/books/mounts/{mount.pk}/change/", {"policy": "review", "ends": "day"})
    mount.refresh_from_db()
    assert (mount.ends_with_run, mount.policy) == (False, "review")
