"""Files: what is read, what a save does, and that no text is ever lost between disk and hub."""

from __future__ import annotations

import importlib
import os
import time
from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.domain import accounts, files, spaces
from memoryhub.domain.files import change, revisions
from memoryhub.domain.files.disk import sync as disk
from memoryhub.domain.files.disk.watch import expire_threads, recover_leftovers, scan
from memoryhub.errors import Conflict, Forbidden, HubError, Invalid, NotFound, Stale, TooLarge
from memoryhub.models import HUB, ActivityLine, Actor, File, Job, Revision

leftovers = importlib.import_module("memoryhub.domain.files.disk.leftovers")

PATH = "/memories/AGENTS.md"


@pytest.fixture
def space(transactional_db):
    return spaces.create(HUB, "ledger", "Ledgerline")


@pytest.fixture
def rk(space):
    return Actor.of_person(accounts.create_person(HUB, "rk"), "reviewer")


@pytest.fixture
def root(space, tmp_path):
    directory = tmp_path / "disk"
    directory.mkdir()
    files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(directory))
    return directory


@pytest.fixture
def hub(space):
    return files.add_mount(space, HUB, "/memories/")


def settle():
    """Files younger than 10 ms count as changed."""
    time.sleep(0.02)


def texts(space, path=PATH):
    rows = Revision.objects.within(space).filter(path=path).order_by("number")
    return [(r.number, r.actor_name, bytes(r.content)) for r in rows]


# ---- in the hub


def test_a_save_is_read_back_with_its_revision(space, rk, hub):
    files.write(space, rk, PATH, b"one\n", reason="first")
    found = files.read(space, PATH)
    assert (found.content, found.revision, found.sha256) == (b"one\n", 1, revisions.sha_of(b"one\n"))
    assert (found.author_kind, found.author_name) == ("person", "rk")
    line = ActivityLine.objects.within(space).latest("id")
    assert (line.verb, line.says, line.thing) == ("files.write", "created", PATH)


def test_every_byte_survives(space, rk, hub):
    content = b"\xef\xbb\xbfa\r\nb\x00\xff no newline"
    files.write(space, rk, PATH, content)
    assert files.read(space, PATH).content == content
    assert not files.read(space, PATH).is_text


def test_saving_the_same_text_makes_no_revision(space, rk, hub):
    first = files.write(space, rk, PATH, b"one")
    assert files.write(space, rk, PATH, b"one") == first
    assert Revision.objects.count() == 1


def test_a_change_makes_cached_prompts_stale(space, rk, hub):
    before = spaces.get_by_slug("ledger").revision
    files.write(space, rk, PATH, b"one")
    assert spaces.get_by_slug("ledger").revision > before


def test_two_who_change_different_places_are_merged(space, rk, hub):
    first = files.write(space, rk, PATH, b"a\nb\nc\nd\ne\n")
    files.write(space, rk, PATH, b"A\nb\nc\nd\ne\n", base_revision=first.number)
    merged = files.write(space, rk, PATH, b"a\nb\nc\nd\nE\n", base_revision=first.number)
    assert bytes(merged.content) == b"A\nb\nc\nd\nE\n"


def test_two_who_change_the_same_place_see_both_and_nothing_is_overwritten(space, rk, hub):
    first = files.write(space, rk, PATH, b"a\n")
    files.write(space, rk, PATH, b"ops\n", base_revision=first.number)
    with pytest.raises(Conflict) as caught:
        files.write(space, rk, PATH, b"rk\n", base_revision=first.number)
    assert caught.value.details["revision"] == 2
    assert files.read(space, PATH).content == b"ops\n"


def test_a_stale_if_match_is_refused(space, rk, hub):
    files.write(space, rk, PATH, b"one")
    sha = revisions.sha_of(b"one")
    files.write(space, rk, PATH, b"two", if_match=f'"{sha}"')
    with pytest.raises(Stale):
        files.write(space, rk, PATH, b"three", if_match=f'"{sha}"')
    with pytest.raises(Stale):
        files.write(space, rk, "/memories/new.md", b"x", if_match="*")


def test_edits_moves_copies_deletes_and_restores(space, rk, hub):
    files.write(space, rk, PATH, b"one two")
    files.edit(space, rk, PATH, "two", "three")
    files.move(space, rk, PATH, "/memories/b.md")
    assert not files.exists(space, PATH)
    files.copy(space, rk, "/memories/b.md", "/memories/c.md")
    files.delete(space, rk, "/memories/c.md")
    assert not files.exists(space, "/memories/c.md")
    files.restore(space, rk, "/memories/c.md", 1)
    assert files.read(space, "/memories/c.md").content == b"one three"
    with pytest.raises(Conflict):
        files.move(space, rk, "/memories/b.md", "/memories/c.md")


def test_blame_follows_moves_and_restores(space, rk, hub):
    ops = Actor.of_person(accounts.create_person(HUB, "ops"), "editor")
    files.write(space, rk, PATH, b"a\nb\n")
    files.write(space, ops, PATH, b"a\nB\n")
    files.move(space, rk, PATH, "/memories/b.md")
    files.write(space, rk, "/memories/b.md", b"a\nB\nc\n")
    file = files.file_row(space, "/memories/b.md")
    assert [line.revision.actor_name for line in files.blame(file)] == ["rk", "ops", "rk"]
    assert [line.revision.path for line in files.blame(file)][:2] == [PATH, PATH]
    files.write(space, rk, "/memories/b.md", b"gone\n")
    files.restore(space, ops, "/memories/b.md", 2)
    assert [line.revision.actor_name for line in files.blame(files.file_row(space, "/memories/b.md"))] == [
        "rk",
        "ops",
        "rk",
    ]


def test_too_large_no_mount_and_bad_paths_are_refused(space, rk, hub):
    for path, content, kind, code in [
        (PATH, b"x" * ((1 << 20) + 1), TooLarge, "too_large"),
        ("/elsewhere/x.md", b"", Invalid, "no_mount"),
        ("/memories/../x", b"", Invalid, "invalid_path"),
        ("~/x", b"", Invalid, "invalid_path"),
    ]:
        with pytest.raises(kind) as caught:
            files.write(space, rk, path, content)
        assert caught.value.code == code
    with pytest.raises(NotFound):
        files.read(space, "/elsewhere/x.md")
    assert not File.objects.exists()


def test_longest_prefix_wins_by_whole_segments(space, rk, hub):
    files.add_mount(space, HUB, "/memories/team", policy="trusted")
    assert files.resolve_path(space, "/memories/team/x.md").mount.prefix == "/memories/team/"
    assert files.resolve_path(space, "/memories/teamX/x.md").mount.prefix == "/memories/"
    with pytest.raises(Invalid):
        files.resolve_path(space, "/memoriesX/x.md")


def test_a_home_like_source_has_a_mount_of_that_text(space, rk, tmp_path):
    files.add_mount(space, HUB, "~/.deepagents", store="filesystem", directory=str(tmp_path))
    (tmp_path / "AGENTS.md").write_text("home")
    assert files.read(space, "~/.deepagents/AGENTS.md").content == b"home"


def test_thread_files_are_apart_and_go_after_a_day(space, rk):
    files.add_mount(space, HUB, "/scratch/", store="thread", policy="trusted")
    files.write(space, rk, "/scratch/a.md", b"one", thread_id="t1")
    files.write(space, rk, "/scratch/a.md", b"two", thread_id="t2")
    assert files.read(space, "/scratch/a.md", thread_id="t1").content == b"one"
    with pytest.raises(NotFound):
        files.read(space, "/scratch/a.md", thread_id="t3")
    assert not expire_threads()
    expire_threads(timezone.now() + timedelta(hours=25))
    with pytest.raises(NotFound):
        files.read(space, "/scratch/a.md", thread_id="t1")


def test_policies_and_exceptions(space, hub):
    from memoryhub.domain import prompts

    forge = prompts.create_agent(space, HUB, "forge")
    files.add_rule(space, HUB, "/memories/drafts/**", "trusted", agent=forge, confirmed=True)
    files.add_rule(space, HUB, "*.lock.md", "read_only", confirmed=True)
    assert files.resolve_path(space, PATH, agent=forge).policy == "review"
    assert files.resolve_path(space, "/memories/drafts/a/b.md", agent=forge).policy == "trusted"
    assert files.resolve_path(space, "/memories/drafts/a/b.md", agent=None).policy == "review"
    assert files.resolve_path(space, "/memories/x.lock.md", agent=forge).policy == "read_only"
    explained = files.explain_path(space, "/memories/drafts/a.md", agent=forge)
    assert explained.place.policy == "trusted"
    assert explained.looked_at[0][1].startswith("answers")


def test_only_owners_change_mounts(space, rk):
    with pytest.raises(Forbidden):
        files.add_mount(space, rk, "/x/")


# ---- on disk


def test_what_lies_on_disk_is_read_and_recorded(space, root):
    (root / "AGENTS.md").write_bytes(b"from disk\r\n")
    found = files.read(space, PATH)
    assert (found.content, found.revision, found.author_kind) == (b"from disk\r\n", 1, "disk")


def test_a_save_lands_on_disk_with_its_bytes(space, rk, root):
    files.write(space, rk, PATH, b"one\r\n")
    assert (root / "AGENTS.md").read_bytes() == b"one\r\n"
    file = File.objects.get()
    assert (file.written_revision, file.written_sha256) == (1, file.sha256)


def test_a_change_on_disk_is_noticed_at_the_next_read(space, rk, root):
    files.write(space, rk, PATH, b"one")
    (root / "AGENTS.md").write_bytes(b"by hand")
    assert files.read(space, PATH).content == b"by hand"
    assert [name for _, name, _ in texts(space)] == ["rk", "disk"]
    (root / "AGENTS.md").unlink()
    with pytest.raises(NotFound):
        files.read(space, PATH)
    (root / "AGENTS.md").write_bytes(b"back")
    assert files.read(space, PATH).revision == 4


def test_nothing_is_read_or_recorded_when_nothing_changed(space, rk, root, statements):
    for name in ("a.md", "b.md"):
        (root / name).write_bytes(b"x")
    settle()
    wanted = ["/memories/a.md", "/memories/b.md", "/memories/missing.md"]
    files.read_many(space, wanted)
    with statements() as sent:
        answers = files.read_many(space, wanted)
    assert len(sent) == 1
    assert [getattr(a, "content", None) for a in answers.values()] == [b"x", b"x", None]
    assert Revision.objects.count() == 2


def test_touching_a_file_makes_no_revision(space, root):
    (root / "AGENTS.md").write_bytes(b"x")
    files.read(space, PATH)
    os.utime(root / "AGENTS.md", (1, 1))
    assert files.read(space, PATH).revision == 1


def test_a_save_on_top_of_an_unseen_change_on_disk_is_merged_or_refused(space, rk, root):
    first = files.write(space, rk, PATH, b"a\nb\nc\nd\n")
    (root / "AGENTS.md").write_bytes(b"A\nb\nc\nd\n")
    merged = files.write(space, rk, PATH, b"a\nb\nc\nD\n", base_revision=first.number)
    assert bytes(merged.content) == b"A\nb\nc\nD\n"
    (root / "AGENTS.md").write_bytes(b"disk\n")
    with pytest.raises(Conflict):
        files.write(space, rk, PATH, b"rk\n", base_revision=merged.number)
    assert (root / "AGENTS.md").read_bytes() == b"disk\n"


def test_a_change_that_slips_in_between_look_and_exchange_is_kept(space, rk, root, monkeypatch):
    from memoryhub.stores import atomic

    files.write(space, rk, PATH, b"a\nb\nc\nd\n")
    real = atomic.exchange

    def slip_in(fd, swap, name):
        monkeypatch.setattr(atomic, "exchange", real)
        (root / "other").write_bytes(b"a\nb\nc\nD by disk\n")
        (root / "other").rename(root / "AGENTS.md")
        real(fd, swap, name)

    monkeypatch.setattr(atomic, "exchange", slip_in)
    files.write(space, rk, PATH, b"A\nb\nc\nd\n")
    assert b"a\nb\nc\nD by disk\n" in [text for _, _, text in texts(space)]
    assert files.read(space, PATH).content == b"A\nb\nc\nD by disk\n" == (root / "AGENTS.md").read_bytes()


def test_what_slips_in_and_touches_stays_in_history_below_ours(space, rk, root, monkeypatch):
    from memoryhub.stores import atomic

    files.write(space, rk, PATH, b"a\n")
    real = atomic.exchange

    def slip_in(fd, swap, name):
        monkeypatch.setattr(atomic, "exchange", real)
        (root / "other").write_bytes(b"disk\n")
        (root / "other").rename(root / "AGENTS.md")
        real(fd, swap, name)

    monkeypatch.setattr(atomic, "exchange", slip_in)
    files.write(space, rk, PATH, b"rk\n")
    assert [text for _, _, text in texts(space)] == [b"a\n", b"rk\n", b"disk\n", b"rk\n"]
    assert files.read(space, PATH).content == (root / "AGENTS.md").read_bytes() == b"rk\n"


@pytest.mark.django_db(transaction=True)
def test_of_two_saves_whoever_writes_late_writes_the_newest(space, rk, root, monkeypatch):

    late = []
    real = disk.push_revision
    monkeypatch.setattr(disk, "push_revision", lambda *args: late.append(args))
    for text in (b"one\n", b"two\n"):
        files.write(space, rk, PATH, text)
    assert [args[-2:] for args in late] == [(1, b"one\n"), (2, b"two\n")]
    real(*late[0])
    assert (root / "AGENTS.md").read_bytes() == b"two\n"
    file = File.objects.get()
    assert (file.written_revision, file.written_sha256, file.problem) == (2, revisions.sha_of(b"two\n"), "")
    real(*late[1])
    assert (root / "AGENTS.md").read_bytes() == b"two\n"
    assert Revision.objects.count() == 2


def test_a_revision_that_did_not_reach_the_disk_is_written_at_the_next_touch(space, rk, root, monkeypatch):

    files.write(space, rk, PATH, b"one")
    monkeypatch.setattr(disk, "push_revision", lambda *_: None)  # the process died between the two transactions
    files.write(space, rk, PATH, b"two")
    assert (root / "AGENTS.md").read_bytes() == b"one"
    assert files.read(space, PATH).content == b"two"
    assert (root / "AGENTS.md").read_bytes() == b"two"
    assert [name for _, name, _ in texts(space)] == ["rk", "rk"], "what was last written is never a change back"


def test_an_unwritten_revision_and_another_change_on_disk_are_put_together(space, rk, root, monkeypatch):

    files.write(space, rk, PATH, b"a\nb\nc\nd\n")
    monkeypatch.setattr(disk, "push_revision", lambda *_: None)
    files.write(space, rk, PATH, b"A\nb\nc\nd\n")
    (root / "AGENTS.md").write_bytes(b"a\nb\nc\nD\n")
    assert files.read(space, PATH).content == b"A\nb\nc\nD\n" == (root / "AGENTS.md").read_bytes()
    assert [name for _, name, _ in texts(space)] == ["rk", "rk", "disk", "hub"]


@pytest.mark.skipif(os.geteuid() != 0, reason="uses an immutable directory")
def test_a_disk_that_refuses_is_told_and_retried(space, rk, root):
    files.write(space, rk, PATH, b"one")
    if os.system(f"chattr +i {root} 2>/dev/null"):
        pytest.skip("this disk has no immutable flag")
    try:
        files.write(space, rk, PATH, b"two")
        file = File.objects.get()
        assert "Revision 2 is not on disk yet" in file.problem
        assert "permissions" in file.problem
        assert files.read(space, PATH).content == b"two"
        with pytest.raises(Conflict):
            files.retry_disk(space, PATH)
    finally:
        os.system(f"chattr -i {root}")
    assert not files.retry_disk(space, PATH).problem
    assert (root / "AGENTS.md").read_bytes() == b"two"


def test_what_is_no_file_any_more_is_shown_for_what_it_is_and_not_written_over(space, rk, root):
    files.write(space, rk, PATH, b"one")
    (root / "AGENTS.md").unlink()
    (root / "AGENTS.md").mkdir()
    with pytest.raises(Invalid) as caught:
        files.read(space, PATH)
    assert caught.value.code == "is_directory"
    with pytest.raises(Invalid):
        files.write(space, rk, PATH, b"two")
    (root / "AGENTS.md").rmdir()
    (root / "AGENTS.md").write_bytes(b"x" * ((1 << 20) + 1))
    with pytest.raises(TooLarge):
        files.read(space, PATH)
    with pytest.raises(TooLarge):
        files.write(space, rk, PATH, b"two")
    (root / "AGENTS.md").write_bytes(b"small again")
    assert files.read(space, PATH).content == b"small again"


def test_a_name_is_either_a_file_or_a_folder(space, rk, hub):
    files.write(space, rk, "/memories/a/b.md", b"one")
    files.write(space, rk, "/memories/gone/b.md", b"one")
    files.delete(space, rk, "/memories/gone/b.md")
    for path, code in (("/memories/a", "is_directory"), ("/memories/a/b.md/c/d.md", "invalid_path")):
        with pytest.raises(Invalid) as caught:
            files.write(space, rk, path, b"two")
        assert caught.value.code == code
    for path in (
        "/memories/gone0",
        "/memories/gone",
        "/memories/a.md",
        "/memories/A",
        "/memories/a/b.mdx",
        "/memories/a/c/d",
    ):
        assert files.write(space, rk, path, b"two").number == 1


def test_a_folder_may_take_the_place_of_a_deleted_file(space, rk, root):
    files.write(space, rk, "/memories/notes", b"one")
    files.delete(space, rk, "/memories/notes")
    files.write(space, rk, "/memories/notes/a.md", b"one")
    with pytest.raises(NotFound):
        files.read(space, "/memories/notes")
    scan(space, files.mounts_of_space(space)[0])
    assert not File.objects.exclude(problem="").exists()
    with pytest.raises(Invalid):
        files.write(space, rk, "/memories/notes", b"two")
    assert (root / "notes" / "a.md").read_bytes() == b"one"


def test_what_lies_above_and_below_a_name_is_one_look_however_many_files_there_are(space):
    File.objects.bulk_create(File(space=space, path=f"/memories/{n}.md", revision=1) for n in range(2000))
    asked = {
        "space": space.pk,
        "thread": "",
        "above": ["/memories"],
        "first": "/memories/new/",
        "end": "/memories/new0",
    }
    plan = "\n".join(row[0] for row in statements.rows(f"EXPLAIN {change.FOLDER_CLASH}", asked))
    assert plan.count("using one_file_per_path") == 2 and "~>=~" in plan and "Seq Scan" not in plan, plan


def test_a_directory_that_is_away_is_no_deletion(space, rk, root, tmp_path):
    files.write(space, rk, PATH, b"one")
    root.rename(tmp_path / "away")
    with pytest.raises(HubError) as caught:
        files.read(space, PATH)
    assert caught.value.status == 503
    (tmp_path / "away").rename(root)
    assert files.read(space, PATH).revision == 1


def test_late_writing_into_the_displaced_file_is_kept(space, rk, root, monkeypatch):
    from memoryhub.domain.jobs import queue

    files.write(space, rk, PATH, b"one")
    with (root / "AGENTS.md").open("r+b") as writer:
        files.write(space, rk, PATH, b"two")
        writer.write(b"late")
    Job.objects.update(run_after=timezone.now())
    queue.run_waiting()
    assert [text for _, _, text in texts(space)] == [b"one", b"two", b"late", b"two"]
    assert os.listdir(root) == ["AGENTS.md"]
    assert files.read(space, PATH).content == b"two" == (root / "AGENTS.md").read_bytes()


def test_leftovers_of_a_crash_are_read_before_they_go(space, rk, root, monkeypatch):
    files.write(space, rk, PATH, b"one")
    (root / ".memoryhub-swap-0badcafe-AGENTS.md").write_bytes(b"stood there")
    (root / ".memoryhub-new-0badcafe-AGENTS.md").write_bytes(b"half")
    monkeypatch.setattr(leftovers, "KEEP_DISPLACED_SECONDS", -1)
    mount = files.mounts_of_space(space)[0]
    assert recover_leftovers(space, mount) >= 2
    assert os.listdir(root) == ["AGENTS.md"]
    assert [text for _, _, text in texts(space)] == [b"one", b"stood there", b"one"]


def test_a_scan_takes_in_a_whole_directory(space, rk, root):
    files.write(space, rk, "/memories/gone.md", b"x")
    (root / "gone.md").unlink()
    (root / "sub").mkdir()
    (root / "sub" / "a.md").write_bytes(b"a")
    (root / "link.md").symlink_to("sub/a.md")
    settle()
    mount = files.mounts_of_space(space)[0]
    assert scan(space, mount) == 2
    assert File.objects.filter(is_deleted=False).values_list("path", flat=True)[0] == "/memories/sub/a.md"
    assert scan(space, mount) in (0, 1)


def test_a_mount_that_goes_from_hub_to_disk_takes_its_files_along(space, rk, hub, tmp_path):
    files.write(space, rk, PATH, b"hub")
    files.write(space, rk, "/memories/b.md", b"hub b")
    (tmp_path / "b.md").write_bytes(b"disk b")
    files.change_mount(space, HUB, hub, store="filesystem", directory=str(tmp_path))
    scan(space, files.mounts_of_space(space)[0])
    assert (tmp_path / "AGENTS.md").read_bytes() == b"hub"
    assert files.read(space, "/memories/b.md").content == b"disk b"
    assert [t for _, _, t in texts(space, "/memories/b.md")] == [b"hub b", b"disk b"]


def test_another_space_sees_nothing(space, rk, hub):
    other = spaces.create(HUB, "other")
    files.add_mount(other, HUB, "/memories/")
    files.write(space, rk, PATH, b"secret plans")
    with pytest.raises(NotFound):
        files.read(other, PATH)
    assert files.read_many(other, [PATH])[PATH].code == "file_not_found"


def test_a_directory_of_many_files_comes_in_by_batches_with_one_line_of_activity(space, root):
    for number in range(450):
        (root / f"f{number}.md").write_bytes(b"%d\n" % number)
    (root / "giant").write_bytes(b"x" * ((1 << 20) + 1))
    for file in root.iterdir():  # what was written a moment ago would be looked at once more
        os.utime(file, (1_700_000_000, 1_700_000_000))
    files.read(space, "/memories/f7.md")
    lines = ActivityLine.objects.within(space).count()
    assert scan(space, files.mounts_of_space(space)[0]) == 449
    assert ActivityLine.objects.within(space).count() == lines + 1
    assert files.read(space, "/memories/f449.md").content == b"449\n"
    assert Revision.objects.filter(path="/memories/f7.md").count() == 1
