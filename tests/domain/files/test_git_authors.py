"""A change on disk is by `disk`; where its text equals a commit's, the author of that stands beside it."""

from __future__ import annotations

import pytest

from memoryhub.domain import files, retrieval
from memoryhub.domain.files.disk.git_authors import find_all_git_authors
from memoryhub.models import HUB, File, Revision
from memoryhub.templatetags.files import blame_table
from tests.domain.files.test_disk_held import mount_of, space  # noqa: F401
from tests.stores.test_git_history import commit, git

PATH = "/memories/AGENTS.md"


@pytest.fixture
def root(space, tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "memory").mkdir()
    commit(tmp_path, "memory/AGENTS.md", "one\n")
    files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(tmp_path / "memory"))
    files.take_in_mount(space, mount_of(space))
    return tmp_path


def newest(space):
    return Revision.objects.within(space).filter(path=PATH).latest("number")


def test_a_committed_text_has_its_author_and_an_uncommitted_one_none(space, root):
    files.find_git_authors(space, PATH)
    assert (newest(space).actor_name, newest(space).git_author) == ("disk", "Mia Keller")
    lines = files.blame(File.objects.within(space).get(path=PATH))
    table = blame_table({"space": space, "where": PATH}, lines, "")
    assert '<b class="strong">Mia Keller</b>' in table and 'title="Mia Keller' in table
    assert [hit.author for hit in retrieval.search(space, "AGENTS", layers=["files"])] == ["Mia Keller"]
    (root / "memory/AGENTS.md").write_text("two\n")
    files.read(space, PATH)
    files.find_git_authors(space, PATH)
    assert (newest(space).number, newest(space).git_author) == (2, "")
    wanted = commit(root, "memory/AGENTS.md", "two\n", "Ben Ötter")
    find_all_git_authors()
    assert (newest(space).git_author, newest(space).git_commit) == ("Ben Ötter", wanted)
    files.write(space, HUB, PATH, b"three\n")
    find_all_git_authors()
    assert newest(space).git_author == ""


def test_a_hostile_name_is_shown_as_plain_words(space, root):
    commit(root, "memory/AGENTS.md", "two\n", "ev\u202eil sk_live_51HxQf2KZvKYlo2C9mVbT8wXyZ0123456789abcd")
    files.read(space, PATH)
    files.find_git_authors(space, PATH)
    assert newest(space).git_author == "evil [secret removed: Stripe key]"
