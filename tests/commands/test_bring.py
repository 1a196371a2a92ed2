"""`memoryhub bring`: from the command line, with a dry run."""

import io
import json

import pytest
from django.core.management import call_command

from memoryhub.domain import accounts, files, longterm, spaces
from memoryhub.errors import HubError
from memoryhub.management.commands.bring import read_folder
from memoryhub.models import HUB
from tests.unprivileged import unprivileged

pytestmark = pytest.mark.django_db


@pytest.fixture
def space():
    made = spaces.create(HUB, "main")
    files.add_mount(made, HUB, "/memories/", store="database", policy="review")
    return made


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("one\n")
    (tmp_path / "notes" / "link.md").symlink_to("/etc/passwd")
    return tmp_path / "notes"


def bring(*words):
    out = io.StringIO()
    call_command("bring", *map(str, words), stdout=out)
    return out.getvalue()


def test_a_dry_run_changes_nothing(space, folder):
    answer = json.loads(bring("basic-memory", folder, "--dry-run", "--json"))
    assert answer["counts"] == {"new": 1}
    assert not files.exists(space, "/memories/a.md")


def test_it_comes_in(space, folder):
    assert "Brought: 1 new" in bring("basic-memory", folder, "--to", "/memories/basic/")
    assert files.read(space, "/memories/basic/a.md").content == b"one\n"
    assert "1 the same" in bring("basic-memory", folder, "--to", "/memories/basic/")
    (folder / "a.md").write_text("two\n")
    assert "--overwrite takes the other text" in bring("basic-memory", folder, "--to", "/memories/basic/")
    bring("basic-memory", folder, "--to", "/memories/basic/", "--overwrite")
    assert files.read(space, "/memories/basic/a.md").content == b"two\n"


def test_exported_long_term_memory_comes_in(space, tmp_path):
    there = tmp_path / "longterm.jsonl"
    there.write_text("\n".join(json.dumps({"content": f"Fact {n}."}) for n in range(60)))
    assert bring("longterm", there, "--dry-run") == "Would bring: 60 entries.\n"
    assert not longterm.entries_of(space).exists()
    assert bring("longterm", there) == "Brought: 60 entries.\n"
    assert longterm.entries_of(space).count() == 60
    there.write_text(json.dumps({"content": "One more."}))
    assert json.loads(bring("longterm", there, "--json")) == {"space": "main", "dry_run": False, "entries": 1}
    with pytest.raises(HubError, match="no file"):
        bring("longterm", tmp_path)


def test_in_whose_name(space, folder):
    rk = accounts.create_person(HUB, "rk")
    with pytest.raises(HubError, match="no member"):
        bring("basic-memory", folder, "--as", "rk")
    spaces.add_member(space, HUB, rk, "editor")
    bring("basic-memory", folder, "--as", "rk")
    assert files.read(space, "/memories/a.md").author_name == "Basic Memory notes (rk)"


@pytest.mark.parametrize("path", ["nowhere", "notes/a.txt"])
def test_what_is_not_there_or_holds_nothing(space, folder, path):
    with pytest.raises(HubError):
        bring("basic-memory", folder.parent / path)


def test_a_folder_that_may_not_be_read_is_not_taken_for_an_empty_one(folder):
    folder.chmod(0)
    with unprivileged(), pytest.raises(HubError, match="cannot be read: Permission denied"):
        read_folder(folder)
