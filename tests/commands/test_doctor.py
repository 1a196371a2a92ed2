"""`memoryhub doctor`: says what is wrong in plain words, and how to mend it."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from memoryhub.errors import HubError
from memoryhub.models import File, Job, Mount, Space

pytestmark = pytest.mark.django_db


def doctor(*, fails: bool) -> dict[str, dict]:
    out = StringIO()
    if fails:
        with pytest.raises(HubError, match="something to mend"):
            call_command("doctor", "--json", stdout=out)
    else:
        call_command("doctor", "--json", stdout=out)
    told = json.loads(out.getvalue())
    assert told["ok"] is not fails
    return {check["name"]: check for check in told["checks"]}


@pytest.fixture
def space() -> Space:
    return Space.objects.create(slug="main", name="Main")


def mount(space: Space, directory: str) -> Mount:
    return Mount.objects.create(space=space, prefix="/memories/", store="filesystem", directory=directory)


def test_a_well_hub_is_told_so(space, tmp_path):
    mount(space, str(tmp_path))
    found = doctor(fails=False)
    assert {"data directory", "database", "pgvector", "migrations", "unwritten revisions", "jobs"} < set(found)
    assert found["mount /memories/ of main"]["says"] == str(tmp_path)


def test_it_prints_a_line_for_each_check():
    out = StringIO()
    call_command("doctor", stdout=out)
    assert "ok     migrations: all applied\n" in out.getvalue()


def test_a_folder_that_is_gone(space, tmp_path):
    mount(space, str(tmp_path / "gone"))
    found = doctor(fails=True)["mount /memories/ of main"]
    assert found["says"] == f"{tmp_path / 'gone'} does not exist."
    assert found["mend"]


def test_a_front_space_that_is_not_there(space, settings):
    settings.FRONT_SPACE = "mian"
    found = doctor(fails=True)["front space"]
    assert found["says"] == "MEMORYHUB_FRONT_SPACE is 'mian'; allowed is a space that exists: main."
    settings.FRONT_SPACE = "main"
    assert doctor(fails=False)["front space"]["says"] == "main"


def test_a_revision_that_is_not_on_disk(space, tmp_path):
    mount(space, str(tmp_path))
    File.objects.create(space=space, path="/memories/a.md", revision=3, written_revision=2, problem="No space left.")
    File.objects.create(space=space, path="/memories/b.md", revision=3, written_revision=3)
    File.objects.create(space=space, path="/elsewhere/c.md", revision=3)
    found = doctor(fails=True)
    assert found["file /memories/a.md of main"]["says"] == "Revision 3 is not on disk. No space left."
    assert not [name for name in found if "b.md" in name or "c.md" in name]


def test_a_missing_migration():
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'memoryhub' AND name = '0001_initial'")
    assert doctor(fails=True)["migrations"]["says"] == "1 are missing."


def test_a_failed_job():
    Job.objects.create(kind="x", state=Job.FAILED, last_error="No such embedder.", ended_at=timezone.now())
    assert [f["says"] for name, f in doctor(fails=True).items() if name.startswith("job ")] == ["No such embedder."]


def test_where_owners_may_mount(space, tmp_path, settings):
    mount(space, str(tmp_path))
    settings.MOUNT_ROOTS = [str(tmp_path)]
    assert doctor(fails=False)["mount roots"]["says"] == str(tmp_path)
    (tmp_path / "allowed").mkdir()
    settings.MOUNT_ROOTS = [str(tmp_path / "allowed")]
    assert "1 mounts lie elsewhere" in doctor(fails=False)["mount roots"]["says"]
    settings.MOUNT_ROOTS = [str(tmp_path / "gone")]
    assert doctor(fails=True)["mount roots"]["says"] == f"{tmp_path / 'gone'} does not exist."
