"""A folder as a zip: at once when it is small, by a job with a page of its own when it is not."""

import io
import os
import zipfile
from datetime import UTC, datetime

import pytest

from memoryhub.domain import files, jobs, spaces
from memoryhub.domain.files import zip
from memoryhub.domain.jobs import queue, results
from memoryhub.models import HUB, File, Job, Made
from tests.one_line import one_line

ZIP, PACK = "/s/books/file/zip/memories/", "/s/books/file/pack/memories/"


@pytest.fixture
def folder(house):
    files.add_mount(house.space, HUB, "/memories/")
    for name in ("a.md", "deep/b.md", "deep/c.bin"):
        files.write(house.space, HUB, f"/memories/{name}", name.encode() + b"\x00")
    return house.space


@pytest.fixture
def large(folder, monkeypatch):
    monkeypatch.setattr(zip, "MAX_SMALL_FILES", 2)
    return folder


def inside(answer):
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


EVERYTHING = {name: name.encode() + b"\x00" for name in ("a.md", "deep/b.md", "deep/c.bin")}


def test_a_small_folder_comes_at_once(folder, as_role):
    answer = as_role("viewer").get(ZIP)
    assert answer.headers["Content-Disposition"] == "attachment; filename*=UTF-8''memories.zip"
    assert inside(answer) == EVERYTHING
    assert inside(as_role("viewer").get(ZIP + "deep/")) == {"b.md": b"deep/b.md\x00", "c.bin": b"deep/c.bin\x00"}


@pytest.mark.parametrize(("limit", "value"), [("MAX_SMALL_FILES", 2), ("MAX_SMALL_BYTES", 10)])
def test_a_large_folder_is_made_in_the_background(folder, as_role, monkeypatch, limit, value):
    monkeypatch.setattr(zip, limit, value)
    viewer = as_role("viewer")
    assert f'action="{PACK}"' in one_line(viewer.get(ZIP))
    page = viewer.post(PACK).headers["Location"]
    assert "It begins in a moment" in one_line(viewer.get(page))
    assert viewer.get(page + "?get").status_code == 404
    queue.run_waiting()
    shown = one_line(viewer.get(page))
    assert "3 files" in shown and f'href="{page}?get"' in shown
    assert inside(viewer.get(page + "?get")) == EVERYTHING


def test_asking_twice_makes_it_once(large, as_role):
    viewer = as_role("viewer")
    assert viewer.post(PACK).headers["Location"] == viewer.post(PACK).headers["Location"]
    queue.run_waiting()
    assert Made.objects.count() == 1
    viewer.post(PACK)
    assert Job.objects.filter(kind=zip.ZIP_JOB, state=Job.WAITING).count() == 1, "a finished one is made anew"


def test_what_is_far_too_large_is_refused_with_what_to_do(large, as_role, monkeypatch):
    monkeypatch.setattr(zip, "MAX_FILES", 2)
    viewer = as_role("viewer")
    page = viewer.post(PACK).headers["Location"]
    queue.run_waiting()
    shown = viewer.get(page).content.decode()
    assert "It stopped" in shown and "Download a folder in it" in shown


def test_nobody_else_gets_it_and_it_goes_after_a_day(large, as_role, house):
    from django.test import Client

    from memoryhub.domain import accounts

    viewer = as_role("viewer")
    page = viewer.post(PACK).headers["Location"]
    queue.run_waiting()
    stranger = Client()
    stranger.force_login(accounts.create_person(HUB, "stranger"))
    assert stranger.get(page + "?get").status_code == 404
    assert stranger.post(PACK).status_code == 404
    other = spaces.create(HUB, "other")
    spaces.add_member(other, HUB, house.viewer.person, "viewer")
    assert viewer.get(page.replace("/books/", "/other/") + "?get").status_code == 404
    Made.objects.update(made_at=Made.objects.get().made_at - zip.KEEP_ZIPS)
    assert "Ask for it again" in viewer.get(page + "?get").content.decode()
    results.delete_old_results()
    assert not Made.objects.exists()


def test_a_job_of_another_kind_is_no_download(large, as_role):
    job = jobs.enqueue("files.forget", {}, space=large)
    assert as_role("viewer").get(f"/s/books/file/packed/{job.pk}/").status_code == 404


def test_a_file_older_than_zips_can_tell_is_packed_all_the_same(house, tmp_path):
    (tmp_path / "old.md").write_bytes(b"old")
    os.utime(tmp_path / "old.md", (0, 0))
    files.add_mount(house.space, HUB, "/disk/", store="filesystem", directory=str(tmp_path))
    files.read(house.space, "/disk/old.md")
    File.objects.update(modified_at=datetime(1970, 1, 1, tzinfo=UTC))
    assert files.zip_bytes(house.space, "/disk/").files == 1


@pytest.mark.parametrize("when", [0, 10**9, 9 * 10**9, 10**12])
def test_files_of_odd_years_are_listed_and_packed_like_any_other(folder, as_role, tmp_path, when):
    (tmp_path / "old.md").write_bytes(b"old\n")
    os.utime(tmp_path / "old.md", (when, when))
    files.add_mount(folder, HUB, "/disk/", store="filesystem", directory=str(tmp_path))
    assert "old.md" in as_role("viewer").get("/s/books/files/disk/").content.decode()
    assert inside(as_role("viewer").get("/s/books/file/zip/disk/")) == {"old.md": b"old\n"}


def test_everything_a_space_has_is_packed_as_well(folder, as_role, monkeypatch):
    viewer, root = as_role("viewer"), "/s/books/file/zip/"
    everything = {f"memories/{name}": content for name, content in EVERYTHING.items()}
    assert inside(viewer.get(root)) == everything
    assert viewer.get("/s/books/files/").status_code == 200
    monkeypatch.setattr(zip, "MAX_SMALL_FILES", 2)
    shown = one_line(viewer.get(root))
    assert 'action="/s/books/file/pack/"' in shown
    page = viewer.post("/s/books/file/pack/").headers["Location"]
    assert viewer.get(page).status_code == 200
    queue.run_waiting()
    assert viewer.get(page).status_code == 200
    answer = viewer.get(page + "?get")
    assert inside(answer) == everything
    assert answer.headers["Content-Disposition"] == "attachment; filename*=UTF-8''files.zip"
