"""Lists of files: newest change, sizes, readers and what waits; and finding a file by some of its letters."""

from __future__ import annotations

import os

import pytest

from memoryhub.domain import contexts, files, prompts, proposals, spaces
from memoryhub.domain.files import listing
from memoryhub.models import HUB, File, Revision, Space


@pytest.fixture
def space(db):
    space = spaces.create(HUB, "shop")
    files.add_mount(space, HUB, "/memories/")
    return space


def rows_of(space, where="/memories/"):
    space = Space.objects.get(pk=space.pk)
    rows = files.add_details(space, files.folder_entries(space, where)[0])
    contexts.add_readers(space, rows, contexts.source_readers(space))
    return {row.name: row for row in rows}


def test_a_folder_has_the_newest_change_below_it_sums_and_all_readers(space):
    files.write(space, HUB, "/memories/web/AGENTS.md", b"x" * 8, reason="first")
    files.write(space, HUB, "/memories/web/docs/a.md", b"x" * 5, reason="second")
    files.write(space, HUB, "/memories/AGENTS.md", b"x" * 4)
    prompts.add_source(space, HUB, "/memories/AGENTS.md")
    agent = prompts.create_agent(space, HUB, "scout")
    prompts.add_source(space, HUB, "/memories/web/docs/a.md", agent=agent)
    proposals.propose(
        space, agent, kind="write", path="/memories/web/docs/a.md", change={}, content=b"y", reason="it is so"
    )
    rows = rows_of(space)
    web = rows["web"]
    assert (web.tokens, web.files, web.waiting, web.revision.reason) == (2 + 2, 2, 1, "second")
    assert "scout" in web.readers and "Codex" in web.readers
    assert (rows["AGENTS.md"].tokens, rows["AGENTS.md"].waiting) == (1, 0)
    assert not rows["AGENTS.md"].is_in_every_prompt, "scout has sources of its own, without it"
    prompts.add_source(space, HUB, "/memories/AGENTS.md", agent=agent)
    assert rows_of(space)["AGENTS.md"].is_in_every_prompt
    assert "Claude Code" in rows_of(space)["AGENTS.md"].readers


def test_folders_with_one_child_are_joined_but_never_over_a_mount(space):
    files.write(space, HUB, "/memories/a/b/c/one.md", b"x")
    files.write(space, HUB, "/memories/a/b/c/two.md", b"x")
    files.write(space, HUB, "/memories/d/only.md", b"x")
    rows = rows_of(space)
    assert {name: row.path for name, row in rows.items()} == {"a/b/c": "/memories/a/b/c/", "d": "/memories/d/"}
    assert rows["a/b/c"].files == 2
    files.add_mount(space, HUB, "/memories/a/b/")
    assert set(rows_of(space)) == {"a", "d"}


def test_what_is_deleted_or_belongs_to_a_thread_is_not_counted(space):
    files.write(space, HUB, "/memories/a/one.md", b"x" * 40)
    files.write(space, HUB, "/memories/a/two.md", b"x" * 4)
    files.delete(space, HUB, "/memories/a/one.md")
    assert (rows_of(space)["a"].files, rows_of(space)["a"].tokens) == (1, 1)
    assert files.file_totals(space).files == 1


def test_the_totals_of_a_space_are_the_sum_of_what_each_file_says(space):
    for name in ("a.md", "b.md", "c.md"):
        files.write(space, HUB, f"/memories/notes/{name}", b"x")
    assert files.file_totals(space).tokens == rows_of(space)["notes"].tokens == 3


def test_a_file_found_on_disk_changed_when_its_disk_says_so(space, tmp_path):
    (tmp_path / "old").mkdir()
    for name, at in (("a.md", 1_600_000_000), ("b.md", 1_700_000_000)):
        (tmp_path / "old" / name).write_text("x")
        os.utime(tmp_path / "old" / name, (at, at))
    mount = files.add_mount(space, HUB, "/disk/", store="filesystem", directory=str(tmp_path), takes="all")
    files.take_in_mount(space, mount)
    row = rows_of(space, "/disk/")["old"]
    assert row.modified_at.year == 2023 and row.revision.path == "/disk/old/b.md"
    inner = rows_of(space, "/disk/old/")
    assert inner["a.md"].modified_at.year == 2020
    files.write(space, HUB, "/disk/old/b.md", b"y")
    touched = File.objects.get(path="/disk/old/a.md")
    touched.stat[0] = 2_000_000_000 * 10**9  # as by putting it back
    touched.save()
    assert rows_of(space, "/disk/")["old"].revision.path == "/disk/old/b.md"


def test_as_many_statements_for_any_number_of_rows(space, statements):
    def cost():
        found, _ = files.folder_entries(Space.objects.get(pk=space.pk), "/memories/")
        with statements() as sent:
            files.add_details(space, found)
        return len(sent)

    files.write(space, HUB, "/memories/one.md", b"x")
    files.write(space, HUB, "/memories/f/one.md", b"x")
    few = cost()
    for n in range(12):
        files.write(space, HUB, f"/memories/{n}.md", b"x")
        files.write(space, HUB, f"/memories/g{n}/a.md", b"x")
    assert cost() == few


@pytest.mark.parametrize(
    ("letters", "first"),
    [
        ("agents", "/memories/AGENTS.md"),
        ("wagm", "/memories/web/AGENTS.md"),
        ("style", "/memories/docs/style.md"),
        ("docs st", "/memories/docs/style.md"),
        ("100%", "/memories/100%.md"),
        ("a_b", "/memories/a_b.md"),
        ("İ", "/memories/İstanbul.md"),
    ],
)
def test_a_file_is_found_by_some_of_its_letters(space, letters, first):
    for path in (
        "AGENTS.md",
        "web/AGENTS.md",
        "docs/style.md",
        "100%.md",
        "a_b.md",
        "axb.md",
        "İstanbul.md",
        "s/t/y/l/e.md",
    ):
        files.write(space, HUB, f"/memories/{path}", b"x")
    found = files.search_paths(space, letters)
    assert found[0].path == first
    assert "".join(text for text, _ in found[0].pieces) == first
    if letters == "a_b":
        assert "/memories/axb.md" not in [one.path for one in found]


def test_letters_that_nothing_has_and_none_find_nothing(space):
    files.write(space, HUB, "/memories/AGENTS.md", b"x")
    assert files.search_paths(space, "zzz") == files.search_paths(space, "  ") == []
    assert files.search_paths(space, "\\") == []


def test_hostile_letters_take_no_longer(space):
    rows = [File(space=space, path="/memories/" + "ab" * 400 + f"{n}.md", revision=1) for n in range(300)]
    File.objects.bulk_create(rows)
    assert files.search_paths(space, "ab" * 300)
    assert not files.search_paths(space, "a" * 90 + "z")


def test_very_many_files_are_listed_page_by_page(space):
    rows = [
        File(space=space, path=f"/memories/d{n % 300}/e{n % 7}/{n}.md", revision=1, size=n % 90) for n in range(20_000)
    ]
    made = File.objects.bulk_create(rows, batch_size=5_000)
    Revision.objects.bulk_create(
        [Revision(space=space, file=made[-1], number=1, path=made[-1].path, sha256="x", reason="the last")]
    )
    below = files.below_folders(space, ["/memories/"])["/memories/"]
    assert below.files == 20_000 and below.tokens == sum(-(-(n % 90) // 4) for n in range(20_000))
    found, total = files.folder_entries(space, "/memories/")
    assert (len(found), total) == (files.FOLDER_PAGE_SIZE, 300)
    assert sum(row.files for row in files.add_details(space, found)) > 13_000
    every = [entry.path for entry in files.list_entries(space, "/memories/")]
    again = [row.path for start in (0, 200) for row in files.folder_entries(space, "/memories/", start)[0]]
    assert again == every
    assert listing.common_start("/a/bc", "/a/bd") == "/a/b"
