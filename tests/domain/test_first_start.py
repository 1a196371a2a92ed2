"""What `memoryhub up` makes of a directory, at its first start and at later ones."""

from __future__ import annotations

import pytest

from memoryhub.domain import first_start, spaces
from memoryhub.models import HUB, File


def folder(tmp_path, name, **texts):
    (tmp_path / name).mkdir()
    for path, text in texts.items():
        (tmp_path / name / f"{path}.md").write_text(text)
    return tmp_path / name


def name():
    return spaces.get_by_slug("main").name


def test_the_space_has_the_name_of_the_folder_and_its_files_at_once(db, tmp_path):
    said, moved = first_start.prepare(folder(tmp_path, "shop", AGENTS="# Shop\n", notes="x\n"))
    assert name() == "shop" and moved == "" and "shows 2 files" in said
    assert File.objects.filter(space__slug="main").count() == 2


def test_another_folder_gives_another_name_unless_a_person_chose_one(db, tmp_path):
    first_start.prepare(folder(tmp_path, "shop"))
    assert "moved from" in first_start.prepare(folder(tmp_path, "office"))[1]
    assert name() == "office"
    first_start.prepare(None)
    assert name() == "office"
    spaces.rename(spaces.get_by_slug("main"), HUB, "Ours")
    first_start.prepare(folder(tmp_path, "third"))
    assert name() == "Ours"


def test_without_a_folder_it_is_main_until_there_is_one(db, tmp_path):
    first_start.prepare(None)
    assert name() == "Main"
    first_start.prepare(folder(tmp_path, "shop"))
    assert name() == "shop"


@pytest.mark.parametrize(("path", "named"), [("/", "Main"), ("/a/b\udcff", "b?"), ("/x/" + "n" * 120, "n" * 100)])
def test_any_folder_has_a_name(path, named):
    assert first_start.name_of(path) == named


def test_a_folder_that_went_away_does_not_stop_the_start(db, tmp_path):
    gone = folder(tmp_path, "shop")
    first_start.prepare(gone)
    gone.rmdir()
    assert first_start.prepare(None)[1] == ""
    assert name() == "shop"
