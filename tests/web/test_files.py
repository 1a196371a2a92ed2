"""The pages of files: what they show, who may, and that a save never loses a byte."""

from __future__ import annotations

import html
import io
import os
import re
import shlex
import zipfile

import pytest
from django.urls import reverse

from memoryhub.domain import accounts, files, prompts, proposals, spaces
from memoryhub.domain.files import line_authors, revisions
from memoryhub.domain.jobs import queue
from memoryhub.errors import Invalid
from memoryhub.models import HUB, File, Job, Mount, Revision, Source
from memoryhub.web import file_views
from tests.one_line import one_line
from tests.unprivileged import unprivileged

pytestmark = pytest.mark.django_db
PATH = "/memories/AGENTS.md"
HERE = "/s/ledger/files/memories/AGENTS.md"


@pytest.fixture
def space():
    space = spaces.create(HUB, "ledger", "Ledgerline")
    files.add_mount(space, HUB, "/memories/")
    return space


@pytest.fixture
def sign_in(space, client):
    def as_role(role, name=None):
        person = accounts.create_person(HUB, name or role)
        spaces.add_member(space, HUB, person, role)
        client.force_login(person)
        return person

    return as_role


def text_of(answer) -> str:
    return answer.content.decode()


def test_a_file_is_shown_rendered_with_outline_and_what_the_model_sees(space, client, sign_in):
    sign_in("viewer")
    prompts.add_source(space, HUB, PATH)
    prompts.create_agent(space, HUB, "forge")
    files.write(space, HUB, PATH, b"# Title\n\n<!-- people -->\n\n- a\n<script>alert(1)</script>\n")
    shown = text_of(client.get(HERE))
    assert '<h1 id="h-title" aria-level="2">Title</h1>' in shown
    assert '<a href="#h-title">Title</a>' in shown
    assert "in every prompt" in shown and "See the prompt" in shown
    assert "<script>alert" not in shown
    assert "1 comment stays with people" in shown
    assert "view=edit" not in shown, "a viewer is offered no editor"


@pytest.mark.parametrize("view", ["source", "blame", "history", "diff"])
def test_every_view_has_its_page(space, client, sign_in, view):
    sign_in("viewer")
    files.write(space, HUB, PATH, b"one\n", reason="the first reason")
    files.write(space, HUB, PATH, b"one\ntwo\n", reason="the second reason")
    answer = client.get(f"{HERE}?view={view}")
    assert answer.status_code == 200
    assert ("two" in text_of(answer)) or view == "history"
    if view in ("blame", "history", "diff"):
        assert "the second reason" in text_of(answer)


def test_two_revisions_side_by_side_without_blanks_and_whole(space, client, sign_in):
    sign_in("viewer")
    old = "".join(f"line {n}\n" for n in range(30))
    files.write(space, HUB, PATH, old.encode())
    files.write(space, HUB, PATH, old.replace("line 3\n", "line  3\n").replace("line 20\n", "changed\n").encode())
    shown = text_of(client.get(f"{HERE}?view=diff&from=1&to=2&style=split"))
    assert "del-cell" in shown
    assert "unchanged lines</a>" in shown
    assert "unchanged lines" not in text_of(client.get(f"{HERE}?view=diff&from=1&to=2&whole=1"))
    assert "+1 −1" in text_of(client.get(f"{HERE}?view=diff&from=1&to=2&blanks=ignore"))
    assert client.get(f"{HERE}?view=diff&from=9&to=2").status_code == 404
    for number in ("x", "²", "9" * 5000):
        assert client.get(HERE, {"view": "diff", "from": number, "to": 2}).status_code == 422
        assert client.get("/s/ledger/files/memories/", {"page": number}).status_code == 200


def save(client, content, base, path=PATH, **more):
    sent = {"content": content.replace("\n", "\r\n"), "base_revision": base, **more}
    return client.post(f"/s/ledger/file/write{path}", sent)


def test_a_save_keeps_line_ends_and_bom_of_what_it_does_not_touch(space, client, sign_in):
    sign_in("editor")
    files.write(space, HUB, PATH, b"\xef\xbb\xbfa\r\nb\nc")
    shown = text_of(client.get(f"{HERE}?view=edit"))
    assert "<textarea" in shown and ">\na\nb\nc</textarea>" in shown
    assert save(client, "a\nb\nC\n", 1, reason="why").status_code == 303
    assert files.read(space, PATH).content == b"\xef\xbb\xbfa\r\nb\nC\n"
    newest = Revision.objects.latest("pk")
    assert (newest.actor_name, newest.reason) == ("editor", "why")


def test_a_text_that_begins_with_an_empty_line_keeps_it(space, client, sign_in):
    sign_in("editor")
    files.write(space, HUB, PATH, b"\n\nx\n")
    assert ">\n\n\nx\n</textarea>" in text_of(client.get(f"{HERE}?view=edit"))


def test_a_new_file_is_written_in_the_editor(space, client, sign_in):
    sign_in("editor")
    opened = client.get("/s/ledger/file/new/?path=memories/team/new.md")
    assert opened.headers["Location"] == "/s/ledger/files/memories/team/new.md?view=edit"
    assert client.get(opened.headers["Location"]).status_code == 200
    assert save(client, "hello", 0, "/memories/team/new.md").status_code == 303
    assert files.read(space, "/memories/team/new.md").content == b"hello"
    plain = client.get("/s/ledger/file/new/?path=notes.md")
    assert plain.headers["Location"] == "/s/ledger/files/memories/notes.md?view=edit", (
        "it is meant to be in the only mount"
    )
    for path, why in (("memories/../x", "which could lead out of its root"), ("/else/a.md", "Nothing is mounted at")):
        refused = client.get("/s/ledger/file/new/", {"path": path})
        assert refused.status_code == 422 and why in text_of(refused)
        assert f'value="{path}"' in text_of(refused), "it is there to be corrected"


def test_changes_that_touch_are_shown_with_both_versions_and_nothing_is_overwritten(space, client, sign_in):
    sign_in("editor")
    files.write(space, HUB, PATH, b"a\nb\nc\n")
    files.write(space, HUB, PATH, b"a\ntheirs\nc\n")
    answer = save(client, "a\nmine\nc\n", 1, reason="my reason")
    shown = text_of(answer)
    assert answer.status_code == 409
    assert "mine" in shown and "theirs" in shown and "my reason" in shown
    assert 'name="base_revision" value="2"' in shown
    assert files.read(space, PATH).content == b"a\ntheirs\nc\n"
    assert save(client, "a\nboth\nc\n", 2).status_code == 303


def test_changes_that_do_not_touch_are_merged(space, client, sign_in):
    sign_in("editor")
    files.write(space, HUB, PATH, b"a\nb\nc\nd\ne\n")
    files.write(space, HUB, PATH, b"A\nb\nc\nd\ne\n")
    assert save(client, "a\nb\nc\nd\nE\n", 1).status_code == 303
    assert files.read(space, PATH).content == b"A\nb\nc\nd\nE\n"


def test_what_cannot_be_saved_comes_back_with_the_text(space, client, sign_in):
    sign_in("editor")
    files.write(space, HUB, PATH, b"a")
    answer = save(client, "x" * ((1 << 20) + 1), 1, reason="too much")
    assert answer.status_code == 413
    assert "too much" in text_of(answer) and "x" * 1000 in text_of(answer)


def test_binary_files_are_shown_as_what_they_are(space, client, sign_in):
    sign_in("editor")
    files.write(space, HUB, PATH, b"\x00\xff\x00")
    sign_in("owner")
    shown = text_of(client.get(HERE))
    assert "Not text" in shown and "Put it into every prompt" not in shown
    assert client.get(f"{HERE}?view=edit").status_code == 422
    answer = client.get("/s/ledger/file/raw/memories/AGENTS.md")
    assert answer.content == b"\x00\xff\x00"
    assert answer.headers["Content-Disposition"].startswith("attachment")


def test_move_copy_delete_restore_upload_and_zip(space, client, sign_in):
    sign_in("editor")
    files.write(space, HUB, PATH, b"one")
    assert client.get("/s/ledger/file/manage/memories/AGENTS.md").status_code == 200
    client.post("/s/ledger/file/copy/memories/AGENTS.md", {"to": "/memories/b.md"})
    client.post("/s/ledger/file/move/memories/b.md", {"to": "/memories/sub/c.md"})
    gone = client.post("/s/ledger/file/delete/memories/AGENTS.md", {"reason": "old"}, follow=True)
    assert "Undo" in text_of(gone)
    assert "deleted" in text_of(client.get(HERE))
    assert client.post("/s/ledger/file/restore/memories/AGENTS.md?revision=1").status_code == 303
    sent = [io.BytesIO(b"\x00up"), io.BytesIO(b"two")]
    sent[0].name, sent[1].name = "up.bin", "two.md"
    assert client.post("/s/ledger/file/upload/memories/sub/", {"files": sent}).status_code == 303
    archive = zipfile.ZipFile(io.BytesIO(client.get("/s/ledger/file/zip/memories/").content))
    assert {name: archive.read(name) for name in archive.namelist()} == {
        "AGENTS.md": b"one", "sub/c.md": b"one", "sub/up.bin": b"\x00up", "sub/two.md": b"two",
    }  # fmt: skip


def test_folders_show_who_wrote_what_and_what_waits(space, client, sign_in):
    sign_in("viewer")
    prompts.create_agent(space, HUB, "forge")
    prompts.add_source(space, HUB, PATH)
    prompts.add_source(space, HUB, "/memories/missing.md")
    files.write(space, HUB, PATH, b"one")
    files.write(space, HUB, "/memories/sub/AGENTS.md", b"two")
    shown = text_of(client.get("/s/ledger/files/memories/"))
    assert "every prompt" in shown and "missing.md" in shown and "no file yet" in shown
    assert "hub-guidelines.md" not in shown, "nobody asked for it"
    assert "no file yet" in text_of(client.get("/s/ledger/files/")), "the start page is the only mount"
    assert client.get("/s/ledger/files/memories/sub").headers["Location"].endswith("/memories/sub/")
    found = re.sub(r"</?b>", "", text_of(client.get("/s/ledger/files/?q=sub agents")))
    assert "/memories/sub/AGENTS.md" in found
    assert client.get("/s/ledger/files/memories/missing.md").status_code == 200
    assert client.get("/s/ledger/files/memories/nothing.md").status_code == 404
    assert client.get("/s/ledger/files/elsewhere/").status_code == 404


def test_the_start_page_above_several_mounts_has_a_row_for_each(space, client, sign_in):
    sign_in("viewer")
    files.add_mount(space, HUB, "/project/")
    files.write(space, HUB, "/project/a.md", b"x" * 40, reason="why it is so")
    shown = one_line(client.get("/s/ledger/files/"))
    for said in (
        'href="/s/ledger/files/memories/"',
        'href="/s/ledger/files/project/"',
        "why it is so",
        "1 file, 10 tokens.",
    ):
        assert said in shown, said


def test_who_else_is_editing_is_said(space, client, sign_in):
    files.write(space, HUB, PATH, b"one")
    ops = accounts.create_person(HUB, "ops")
    files.note_editing(space, ops, PATH)
    sign_in("editor")
    assert "ops has this file open" in text_of(client.get(f"{HERE}?view=edit"))
    files.stop_editing(space, ops, PATH)
    assert "has this file open" not in text_of(client.post("/s/ledger/editor/editing/", {"subject": f"file:{PATH}"}))


def test_viewers_change_nothing(space, client, sign_in):
    files.write(space, HUB, PATH, b"one")
    sign_in("viewer")
    for act in ("write", "move", "copy", "delete", "restore", "upload", "retry"):
        assert client.post(f"/s/ledger/file/{act}/memories/AGENTS.md", {"to": "/memories/x.md"}).status_code == 403
    for act in ("check", "editing"):
        assert client.post(f"/s/ledger/editor/{act}/", {"subject": f"file:{PATH}"}).status_code == 403
    assert client.get(f"{HERE}?view=edit").status_code == 403
    assert client.post("/s/ledger/mounts/add/", {}).status_code == 403
    assert client.post("/s/ledger/sources/add/", {}).status_code == 403
    assert Revision.objects.count() == 1


def test_owners_mount_explain_and_order_sources(space, client, sign_in, tmp_path, settings):
    settings.MOUNT_ROOTS = [str(tmp_path)]
    sign_in("owner")
    sent = {"prefix": "project", "store": "filesystem", "directory": str(tmp_path), "policy": "trusted"}
    assert client.post("/s/ledger/mounts/add/", sent).status_code == 303
    assert client.post("/s/ledger/mounts/add/", {**sent, "directory": str(tmp_path / "no")}).status_code == 422
    assert client.post("/s/ledger/mounts/add/", sent).status_code == 409
    shown = text_of(client.get("/s/ledger/mounts/?explain=/project/a/b.md", follow=True))
    assert str(tmp_path / "a" / "b.md") in shown and "The longest path that fits decides" in shown
    mount = Mount.objects.get(prefix="/project/")
    client.post(f"/s/ledger/mounts/{mount.pk}/change/", {"policy": "read_only", "directory": str(tmp_path)})
    mount.refresh_from_db()
    assert mount.policy == "read_only"
    for path in ("/project/a.md", "/memories/b.md"):
        client.post("/s/ledger/sources/add/", {"path": path})
    first = Source.objects.earliest("position")
    client.post(f"/s/ledger/sources/{first.pk}/reorder/", {"to": "2"})
    client.post(f"/s/ledger/sources/{first.pk}/switch/", {"on": "no"})
    assert [(s.path, s.is_on) for s in prompts.sources_of(space)] == [
        ("/memories/b.md", True),
        ("/project/a.md", False),
    ]
    assert client.post("/s/ledger/sources/take-over/", {"config": "{"}).status_code == 422
    client.post("/s/ledger/sources/take-over/", {"config": '{"memory_files": ["/memories/x.md"]}'})
    assert [s.path for s in prompts.sources_of(space)] == ["/memories/x.md"]
    client.post(f"/s/ledger/mounts/{mount.pk}/remove/")
    assert not Mount.objects.filter(prefix="/project/").exists()


def test_a_long_history_opens_page_by_page(space, client, sign_in, statements):
    sign_in("viewer")
    first = files.write(space, HUB, PATH, b"0")
    Revision.objects.bulk_create(
        Revision(
            space=space,
            file_id=first.file_id,
            number=n,
            path=PATH,
            sha256=f"{n:064}",
            actor_kind="hub",
            actor_name="hub",
        )
        for n in range(2, 300)
    )
    file = files.file_row(space, PATH)
    file.revision = file.written_revision = 299
    file.save()
    with statements() as sent:
        shown = text_of(client.get(f"{HERE}?view=history"))
    assert len(sent) <= 40
    assert "r299" in shown and "r250" in shown and 'id="r249"' not in shown and "before=250" in shown
    assert 'id="r249"' in text_of(client.get(f"{HERE}?view=history&before=250"))


def test_no_secret_is_saved_by_hand_either(space, client, sign_in):
    sign_in("editor")
    files.write(space, HUB, PATH, b"one\n")
    secret = "token = ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    answer = save(client, f"one\n{secret}\n", 1)
    assert answer.status_code == 422
    assert "line 2" in answer.content.decode()
    assert files.read(space, PATH).content == b"one\n"


@pytest.fixture
def pieces_of_three(monkeypatch):
    monkeypatch.setattr(file_views, "LINES_PER_PAGE", 3)


@pytest.mark.parametrize("view", ["source", "blame"])
def test_a_text_of_very_many_lines_comes_in_pieces(space, client, sign_in, pieces_of_three, view):
    sign_in("viewer")
    files.write(space, HUB, PATH, b"".join(b"line%d\n" % n for n in range(1, 9)))
    first = text_of(client.get(f"{HERE}?view={view}"))
    assert "Lines 1 to 3 of 8" in first and f"?view={view}&amp;line=4" in first
    assert "line3<" in first and "line4<" not in first
    last = text_of(client.get(f"{HERE}?view={view}&line=7"))
    assert "Lines 7 to 8 of 8" in last and f"?view={view}&amp;line=4" in last
    assert '<td class="no">7</td><td class="code">line7<' in last and "line6<" not in last
    assert "line8<" in text_of(client.get(f"{HERE}?view={view}&line=999")), "past the end is the end"
    assert client.get(f"{HERE}?view={view}&line=x").status_code == 422


def test_more_lines_than_can_be_rendered_are_shown_as_source(space, client, sign_in, monkeypatch):
    monkeypatch.setattr(file_views, "MAX_RENDERED_LINES", 3)
    sign_in("viewer")
    files.write(space, HUB, PATH, b"# a\nb\nc\nd\n")
    shown = text_of(client.get(HERE))
    assert "too many lines to be rendered" in shown and "# a<" in shown


@pytest.fixture
def long_history(space, monkeypatch):
    monkeypatch.setattr(line_authors, "MAX_BLAME_BYTES", 20)
    for n in range(1, 6):
        files.write(space, HUB, PATH, b"".join(b"line %d\n" % line for line in range(n)), reason=f"made line {n}")
    return files.file_row(space, PATH)


def authors(shown: str) -> list[str]:
    return re.findall(r"made line (\d)</a>", shown.partition('class="source')[2])


def test_the_blame_of_a_long_history_is_made_in_the_background_once(space, client, sign_in, long_history):
    sign_in("viewer")
    waits = client.get(f"{HERE}?view=blame")
    assert "5 revisions are read once" in one_line(waits) and authors(one_line(waits)) == []
    client.get(f"{HERE}?view=blame")
    assert Job.objects.filter(kind=line_authors.BLAME_JOB).count() == 1
    asks = {"HTTP_HX_REQUEST": "true"}
    assert one_line(client.get(f"{HERE}?view=blame", **asks)).startswith('<div id="progress"')
    queue.run_waiting()
    line_authors.blames.clear()
    assert client.get(f"{HERE}?view=blame", **asks).headers["HX-Refresh"] == "true"
    assert authors(one_line(client.get(f"{HERE}?view=blame"))) == ["1", "2", "3", "4", "5"]
    files.write(space, HUB, PATH, b"".join(b"line %d\n" % line for line in range(6))[7:], reason="made line 6")
    line_authors.blames.clear()
    client.get(f"{HERE}?view=blame")
    queue.run_waiting()
    assert authors(one_line(client.get(f"{HERE}?view=blame"))) == ["2", "3", "4", "5", "6"]


def test_what_is_kept_of_a_blame_serves_later_revisions_but_no_return(space, long_history, monkeypatch):
    files.blame_job(long_history, 5)
    queue.run_waiting()
    line_authors.blames.clear()
    files.write(space, HUB, PATH, b"line 1\nline 2\nline 3\nline 4\nline 5\n", reason="made line 6")
    read = []
    texts = line_authors._text_chain
    monkeypatch.setattr(
        line_authors, "_text_chain", lambda file, number, start=1: read.append(start) or texts(file, number, start)
    )

    def reasons():
        line_authors.blames.clear()
        return [line.revision.reason[-1] for line in files.blame(files.file_row(space, PATH))]

    assert reasons() == ["2", "3", "4", "5", "6"]
    assert read == [6], "only what came after is read"
    files.restore(space, HUB, PATH, 2, reason="back to 2")
    assert reasons() == ["1", "2"], "lines that come back have their old authors"
    assert read == [6, 1]


def test_old_revisions_stay_chosen_in_a_long_comparison(space, client, sign_in, monkeypatch):
    sign_in("viewer")
    for n in range(5):
        files.write(space, HUB, PATH, b"%d\n" % n)
    history = files.revisions_of
    monkeypatch.setattr(revisions, "revisions_of", lambda file, limit: history(file, limit=2))
    shown = text_of(client.get(f"{HERE}?view=diff&from=1&to=5"))
    assert re.findall(r'<option value="(\d)" selected', shown) == ["1", "5"]


def test_the_tree_says_what_mounts_do_and_what_is_missing(space, client, sign_in, tmp_path):
    sign_in("viewer")
    files.add_mount(space, HUB, "/project/", store="filesystem", directory=str(tmp_path), policy="trusted")
    files.add_mount(space, HUB, "/scratch/", store="thread", policy="read_only")
    prompts.create_agent(space, HUB, "forge")
    prompts.add_source(space, HUB, "/memories/holidays.md")
    files.write(space, HUB, PATH, b"x\n")
    tree = text_of(client.get(HERE)).partition('id="tree"')[2]
    for what in ("review", "trusted · disk", "read_only · per thread"):
        assert f'<span class="end">{what}</span>' in tree
    assert "holidays.md" in tree and "missing" in tree


def test_who_waits_for_a_decision_stands_above_the_file(space, client, sign_in):
    sign_in("viewer")
    files.write(space, HUB, PATH, b"x\n")
    for name in ("forge", "counter"):
        agent = prompts.create_agent(space, HUB, name)
        proposals.propose(
            space, agent, kind="write", path=PATH, change={}, content=name.encode(), reason=f"{name} learnt it"
        )
        shown = one_line(client.get(HERE))
        if name == "forge":
            assert "A change by forge waits for a decision.</b> forge learnt it" in shown
            assert '<a href="/s/ledger/proposals/1/">Review proposal 1</a>' in shown
    assert "2 changes to this file wait for a decision." in shown and "/proposals/?path=/memories/AGENTS.md" in shown


def test_a_file_that_waits_to_be_made_leads_to_its_proposal(space, client, sign_in):
    sign_in("editor")
    agent = prompts.create_agent(space, HUB, "forge")
    proposals.propose(space, agent, kind="write", path="/memories/新.md", change={}, content=b"new\n", reason="asked")
    answer = client.get("/s/ledger/files/memories/%E6%96%B0.md")
    assert answer.status_code == 200 and '<a href="/s/ledger/proposals/1/">Review proposal 1</a>' in one_line(answer)
    assert "</code> is created when the change is approved." in one_line(answer) and "never written" not in text_of(
        answer
    )


def test_what_the_hub_may_not_read_says_so_and_owners_how_to_mend_it(space, client, sign_in, tmp_path):
    (tmp_path / "it's shut").mkdir()
    (tmp_path / "key.md").write_text("x")
    (tmp_path / "it's shut").chmod(0)
    (tmp_path / "key.md").chmod(0)
    files.add_mount(space, HUB, "/project/", store="filesystem", directory=str(tmp_path), policy="trusted")
    folder, file = (f"/s/ledger/files/project/{name}" for name in ("it's shut/", "key.md"))
    sign_in("viewer")
    with unprivileged():
        with pytest.raises(Invalid, match=r"The hub may not read .* and the hub runs as .* Let it in by `chmod"):
            files.add_mount(space, HUB, "/shut/", store="filesystem", directory=str(tmp_path / "it's shut"))
        for address in (folder, folder + "inside.md", file):
            answer = client.get(address)
            assert answer.status_code == 200 and "Its owner or permissions keep the hub out" in one_line(answer)
            assert str(tmp_path) not in text_of(answer)
        assert one_line(client.get("/s/ledger/files/project/")).count("the hub may not read it") == 2
        sign_in("owner")
        for address, path in ((folder, "it's shut"), (file, "key.md")):
            says = html.unescape(text_of(client.get(address)))
            assert f"chmod -R u+rX {shlex.quote(f'{tmp_path}/{path}')}" in says and "(<code>" in says


def test_a_link_leads_to_the_file_that_it_names(space, client, sign_in, tmp_path):
    sign_in("viewer")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a b.md").write_text("x")
    (tmp_path / "docs/near.md").symlink_to("a b.md")
    (tmp_path / "CLAUDE.md").symlink_to("docs/a b.md")
    (tmp_path / "out.md").symlink_to("../secret.md")
    files.add_mount(space, HUB, "/project/", store="filesystem", directory=str(tmp_path))
    for name in ("CLAUDE.md", "docs/near.md"):
        shown = one_line(client.get(f"/s/ledger/files/project/{name}"))
        assert '<a class="btn" href="/s/ledger/files/project/docs/a%20b.md">Open /project/docs/a b.md</a>' in shown
    assert "secret.md" not in text_of(client.get("/s/ledger/files/project/out.md"))


def test_source_has_colours_and_labels_of_hidden_characters(as_role, house):
    files.add_mount(house.space, HUB, "/memories/", store="database", policy="review")
    files.write(house.space, house.editor, "/memories/a.md", "# Rules\n\n- Run `make​`.\n".encode())
    page = as_role("viewer").get("/s/books/files/memories/a.md?view=source").content.decode()
    assert '<span class="hl-k"># Rules</span>' in page
    assert '<span class="hl-s">`make<span class="inv" title="zero-width space">U+200B</span>`</span>' in page


def test_the_list_names_who_has_the_positioning(as_role, house):
    """It is no source: agents of the hub's own dialect take it in, others do not."""
    files.add_mount(house.space, HUB, "/memories/", store="database", policy="review")
    files.write(house.space, house.editor, files.POSITIONING_PATH, b"We sell books.\n")
    files.write(house.space, house.editor, "/memories/a.md", b"One.\n")
    prompts.create_agent(house.space, HUB, "ours", dialect="hub")
    prompts.create_agent(house.space, HUB, "theirs", dialect="plain")
    page = one_line(as_role("viewer").get("/s/books/files/memories/"))
    row = next(part for part in page.split("<tr") if "hub-positioning.md" in part and "<td" in part)
    assert "ours" in row and "theirs" not in row


def listed(page: str) -> list[str]:
    """The names of a list of files."""
    return re.findall(r'<span class="clip">([^<]*)</span>', page[page.index("<tbody") :])


def test_a_folder_lists_what_agents_read_and_what_waits(space, client, sign_in):
    sign_in("viewer")
    for path in (PATH, "/memories/docs/a.md", "/memories/docs/b.md", "/memories/web/AGENTS.md"):
        files.write(space, HUB, path, b"one\n")
    prompts.add_source(space, HUB, "/memories/docs/b.md")
    scout = prompts.create_agent(space, HUB, "scout")
    for path in ("/memories/docs/a.md", "/memories/docs/new.md"):
        proposals.propose(space, scout, kind="write", path=path, content=b"two\n")
    page = one_line(client.get("/s/ledger/files/memories/"))
    assert "All 4" in page and "Read by an agent 3" in page and "Waiting 1" in page
    read = one_line(client.get("/s/ledger/files/memories/?show=read"))
    assert listed(read) == ["AGENTS.md", "docs/b.md", "web/AGENTS.md"]
    assert listed(one_line(client.get("/s/ledger/files/memories/?show=waiting"))) == ["docs/a.md"]
    assert listed(one_line(client.get("/s/ledger/files/memories/docs/?show=waiting"))) == ["a.md"]
    assert listed(one_line(client.get("/s/ledger/files/memories/?show=other"))) == listed(page)
    File.objects.filter(path="/memories/docs/b.md").update(problem="Revision 1 is not on disk yet.")
    files.add_mount(space, HUB, "/other/")
    for folder, name in (("", "memories/docs/b.md"), ("memories/", "docs/b.md")):
        page = one_line(client.get(f"/s/ledger/files/{folder}?show=unwritten"))
        assert listed(page) == [name] and "Different on disk 1" in page
    proposals.withdraw(space, scout, 1)
    emptied = one_line(client.get("/s/ledger/files/memories/?show=waiting"))
    assert "No file matches." in emptied and "All 4" in emptied


def test_a_file_just_put_on_disk_counts_as_read_by_an_agent(space, client, sign_in, tmp_path):
    sign_in("viewer")
    prompts.add_source(space, HUB, "/project/style.md")
    files.add_mount(space, HUB, "/project/", store="filesystem", directory=str(tmp_path), policy="trusted")
    (tmp_path / "style.md").write_text("Short.\n")
    assert "Read by an agent 1" in one_line(client.get("/s/ledger/files/project/"))
    assert listed(one_line(client.get("/s/ledger/files/project/?show=read"))) == ["style.md"]


def test_a_save_is_undone_and_later_changes_stay(space, client, sign_in):
    sign_in("editor")
    where = reverse("files.write", args=["ledger", "memories/AGENTS.md"])

    def send(text, base):
        return one_line(client.post(where, {"content": text, "base_revision": str(base)}, follow=True))

    assert "Undo" not in send("a\n\nb\n\nc\n", 0), "a new file is no change to undo"
    said = send("A\n\nb\n\nc\n", 1)
    undo = re.search(r'action="([^"]*instead_of=2[^"]*)"', said)[1].replace("&amp;", "&")
    assert "instead_of" not in send("A\n\nb\n\nc\n", 2), "nothing was written"
    files.write(space, HUB, PATH, b"A\n\nb\n\nC\n")
    client.post(undo)
    assert files.read(space, PATH).content == b"a\n\nb\n\nC\n"
    files.write(space, HUB, PATH, b"x\n")
    assert client.post(undo).status_code == 409
    assert files.read(space, PATH).content == b"x\n"


def test_one_revision_has_nothing_to_compare_with(space, client, sign_in):
    sign_in("viewer")
    files.write(space, HUB, PATH, b"one\n")
    address = "/s/ledger/files/memories/AGENTS.md?view=history"
    assert 'form="pick">Compare' not in one_line(client.get(address))
    files.write(space, HUB, PATH, b"two\n")
    assert 'form="pick">Compare' in one_line(client.get(address))


def test_a_folder_lists_names_that_no_address_can_have(space, client, sign_in, tmp_path):
    sign_in("viewer")
    for name in (b"new\nline.md", b"not\xfftext.md", b"back\\slash.md"):
        (tmp_path / os.fsdecode(name)).write_text("x")
    (tmp_path / "link.md").symlink_to(os.fsdecode(b"no\xff\nwhere"))
    files.add_mount(space, HUB, "/project/", store="filesystem", directory=str(tmp_path))
    folder = text_of(client.get("/s/ledger/files/project/"))
    for name in (r"new\nline.md", r"not\xfftext.md", r"back\slash.md", "link.md"):
        assert f'<span class="clip">{name}</span>' in folder
    opened = client.get("/s/ledger/files/project/back%5Cslash.md")
    assert opened.status_code == 422
    assert "Invalid address" in text_of(opened) and "has a backslash" in text_of(opened)


def test_what_a_mount_leaves_out_says_so_and_is_not_offered_to_be_written(space, client, sign_in, tmp_path):
    sign_in("editor")
    (tmp_path / "big.md").write_text("word " * 300_000)
    files.add_mount(space, HUB, "/project/", store="filesystem", directory=str(tmp_path))
    for path, why in (("big.md", "Over 1 MiB"), ("node_modules/AGENTS.md", "Dependencies")):
        shown = client.get(f"/s/ledger/files/project/{path}")
        assert shown.status_code == 404
        assert f"{why}.</b> What lies at <code>/project/{path}</code> is not stored" in one_line(text_of(shown))
        assert "view=edit" not in text_of(shown)
        edited = client.get(f"/s/ledger/files/project/{path}?view=edit")
        assert (edited.status_code, why in text_of(edited)) == (422, True)
