"""Who wrote what: a revision has an author and an approver, and each line has the one who wanted it."""

from __future__ import annotations

import importlib
import json
import random

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from memoryhub.domain import accounts, exchange, files, prompts, proposals, spaces
from memoryhub.domain.files import ChangeRequest, line_authors
from memoryhub.domain.jobs import queue
from memoryhub.models import HUB, Actor, Made, Revision
from memoryhub.text.blame import Blame, lines_by_reviewer
from tests.api.calling import Caller
from tests.domain.layers import forge, space  # noqa: F401  fixtures
from tests.one_line import one_line

pytestmark = pytest.mark.django_db
PATH = "/memories/AGENTS.md"
TEXT = "# Rules\n\n- one\n- two\n- three\n- four\n- five\n- six\n- seven\n- eight\n"


@pytest.fixture
def rk(space):
    return member(space, "rk")


def member(space, name):
    person = accounts.create_person(HUB, name)
    spaces.add_member(space, HUB, person, "reviewer")
    return Actor.of_person(person, "reviewer")


@pytest.fixture
def ops(space):
    files.add_mount(space, HUB, "/memories/", store="database", policy="review")
    writer = member(space, "ops")
    files.write(space, writer, PATH, TEXT.encode())
    return writer


def ask(space, agent, text, **more):
    request = ChangeRequest("write", PATH, content=text.encode(), reason="Because.", **more)
    return proposals.submit(space, Actor.of_agent(agent), request).proposal.number


def approve(space, actor, number, **more):
    return proposals.approve(
        space, actor, number, seen=proposals.review(proposals.get(space, number)).found.seen, **more
    )


def by_line(space, path=PATH):
    return {line.text: line.author.name for line in files.blame(files.file_row(space, path)) if line.text}


def newest(space):
    return Revision.objects.within(space).order_by("pk").last()


def test_one_of_two_changes_is_still_the_agents(space, forge, ops, rk):
    number = ask(space, forge, TEXT.replace("- one", "- ONE").replace("- eight", "- EIGHT"))
    approve(space, rk, number, hunks=[1])
    made = newest(space)
    assert (made.actor_kind, made.actor_name, made.approver_kind, made.approver_name) == (
        "agent",
        "forge",
        "person",
        "rk",
    )
    assert made.reviewer_lines is None
    assert by_line(space)["- ONE"] == "forge" and by_line(space)["- eight"] == "ops"


def test_edits_divide_a_revision_line_by_line(space, forge, ops, rk):
    number = ask(space, forge, TEXT.replace("- one", "- ONE").replace("- eight", "- EIGHT\n- nine"))
    approve(
        space, rk, number, content=TEXT.replace("- one", "- ONE").replace("- eight", "- Eight\n- nine\n- ten").encode()
    )
    made = newest(space)
    assert (made.actor_name, made.approver_name) == ("forge", "rk")
    said = by_line(space)
    assert (said["- ONE"], said["- nine"], said["- Eight"], said["- ten"]) == ("forge", "forge", "rk", "rk")
    assert said["- two"] == "ops"
    line = next(one for one in files.blame(files.file_row(space, PATH)) if one.text == "- ten")
    assert line.by_reviewer and line.revision.number == made.number


def test_a_proposed_line_that_the_reviewer_moved_is_still_the_agents(space, forge, ops, rk):
    number = ask(space, forge, TEXT + "- nine\n")
    approve(space, rk, number, content=TEXT.replace("# Rules\n", "# Rules\n- nine\n- mine\n").encode())
    assert (by_line(space)["- nine"], by_line(space)["- mine"]) == ("forge", "rk")


def test_who_rewrites_all_of_it_is_its_author(space, forge, ops, rk):
    number = ask(space, forge, TEXT.replace("- one", "- ONE"))
    approve(space, rk, number, content=TEXT.replace("- one", "- uno").encode())
    made = newest(space)
    assert (made.actor_kind, made.actor_name, made.approver_name, made.reviewer_lines) == ("person", "rk", "rk", None)


def test_of_two_approvers_the_first_wrote_the_edits(space, forge, ops, rk):
    files.add_rule(space, HUB, pattern=PATH, policy="review", reviewers=2, confirmed=True)
    number = ask(space, forge, TEXT + "- nine\n- ten\n")
    after = (TEXT + "- nine\n- mine\n").encode()
    approve(space, rk, number, content=after)
    approve(space, ops, number, content=after)
    assert newest(space).approver_name == "ops"
    assert (by_line(space)["- mine"], by_line(space)["- nine"]) == ("rk", "forge")


def test_undo_restore_delete_and_move_keep_each_line_with_who_wrote_it(space, forge, ops, rk):
    number = ask(space, forge, TEXT.replace("- one", "- ONE\n- nine"))
    approve(space, rk, number, content=TEXT.replace("- one", "- ONE\n- mine").encode())
    divided = by_line(space)
    assert {"forge", "rk", "ops"} == set(divided.values())
    proposals.undo(space, rk, number)
    assert set(by_line(space).values()) == {"ops"}
    files.restore(space, ops, PATH, 2)
    assert by_line(space) == divided
    files.delete(space, ops, PATH)
    files.restore(space, rk, PATH, 2)
    files.move(space, ops, PATH, "/memories/other.md")
    assert by_line(space, "/memories/other.md") == divided


def test_what_no_longer_applied_and_is_resolved_by_hand_is_divided_too(space, forge, ops, rk):
    number = ask(space, forge, TEXT.replace("- two", "- TWO\n- nine"))
    files.write(space, ops, PATH, TEXT.replace("- two", "- deux").encode())
    seen = proposals.review(proposals.get(space, number)).found.seen
    proposals.approve(space, rk, number, seen=seen, content=TEXT.replace("- two", "- deux\n- nine\n- mine").encode())
    said = by_line(space)
    assert (said["- deux"], said["- nine"], said["- mine"]) == ("ops", "forge", "rk")


def test_bulk_and_activity_and_the_origin_of_a_line(space, forge, ops, rk):
    number = ask(space, forge, TEXT + "- nine\n")
    seen = {number: proposals.review(proposals.get(space, number)).found.seen}
    proposals.decide_many(space, rk, seen, "approve")
    assert (newest(space).actor_name, newest(space).approver_name) == ("forge", "rk")
    number = ask(space, forge, TEXT + "- nine\n- ten\n")
    approve(space, rk, number, content=(TEXT + "- nine\n- ten\n- mine\n").encode())
    prompts.add_source(space, HUB, PATH)
    prompt = prompts.assemble(space, forge)
    at = next(n for n, line in enumerate(prompt.data.split(b"\n"), 1) if line == b"- mine")
    origin = prompts.line_origin(space, forge, prompt, at)
    assert (origin.author.name, origin.revision.actor_name) == ("rk", "forge")
    with connection.cursor() as cursor:
        cursor.execute("SELECT adds FROM activity.line WHERE verb = 'files.write' ORDER BY id DESC LIMIT 1")
        assert cursor.fetchone() == ("with 1 line by rk",)


def test_a_merge_with_the_disk_leaves_each_its_lines(space, tmp_path, rk):
    files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(tmp_path), policy="review")
    disk_file = tmp_path / "AGENTS.md"
    disk_file.write_text(TEXT)
    files.read(space, PATH)
    file = files.file_row(space, PATH)
    # rk's revision is committed and not written yet, as after a crash; meanwhile another program saves.
    files.record_revision(space, file, rk, TEXT.replace("- one", "- by rk").encode())
    disk_file.write_text(TEXT.replace("- eight", "- by disk"))
    files.read(space, PATH)
    said = by_line(space)
    assert said == dict.fromkeys(said, "disk") | {"- by rk": "rk"}
    keys = [
        line.revision.number for line in files.blame(files.file_row(space, PATH)) if line.text in ("- two", "- by disk")
    ]
    assert keys == [1, 3], "what the disk left as it was is of the first revision"


LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "e", ""]), max_size=8)


@given(LINES, LINES, LINES)
def test_every_new_line_has_one_author_and_proposed_words_are_never_the_reviewers(before, proposed, approved):
    old, wanted, new = ("\n".join(lines).encode() for lines in (before, proposed, approved))
    mine = lines_by_reviewer(old, wanted, new)
    state = Blame()
    state.add(1, old)
    state.add(2, new, by_other=mine.ranges)
    reviewers = [line for line, key in zip(new.split(b"\n"), state.keys, strict=True) if key == -2]
    agents = [line for line, key in zip(new.split(b"\n"), state.keys, strict=True) if key == 2]
    assert len(reviewers) == sum(last - first + 1 for first, last in mine.ranges)
    for line in agents:
        assert line in wanted.split(b"\n")
    if new == wanted:
        assert not reviewers


def test_a_blame_in_stored_pieces_is_that_of_the_whole(space, forge, ops, rk, monkeypatch):
    rng = random.Random(5)
    for turn in range(6):
        text = files.read(space, PATH).content.decode().splitlines(keepends=True)
        text[rng.randrange(len(text))] = f"- agent {turn}\n"
        number = ask(space, forge, "".join(text))
        text.insert(rng.randrange(len(text)), f"- person {turn}\n")
        approve(space, rk, number, content="".join(text).encode())
        if turn == 3:
            with monkeypatch.context() as patch:
                patch.setattr(line_authors, "MAX_BLAME_BYTES", 0)
                file = files.file_row(space, PATH)
                assert files.blame_job(file, file.revision)
                queue.run_waiting()
    piecewise = by_line(space)
    Made.objects.all().delete()
    line_authors.blames.clear()
    assert piecewise == by_line(space) and {"forge", "rk"} <= set(piecewise.values())


@pytest.fixture
def divided(space, forge, ops, rk):
    """A file with lines of a person, of an agent, and of the reviewer of its proposal."""
    number = ask(space, forge, TEXT.replace("- one", "- ONE").replace("- eight", "- EIGHT"))
    approve(space, rk, number, content=TEXT.replace("- one", "- ONE").replace("- eight", "- Eight").encode())
    return number


def test_pages_name_author_approver_and_the_reviewers_lines(client, space, divided, rk):
    client.force_login(rk.person)
    page = f"/s/{space.slug}/files{PATH}"
    history = one_line(client.get(f"{page}?view=history"))
    assert "with lines by rk" in history and "approved by rk" in history and "forge" in history
    blame = one_line(client.get(f"{page}?view=blame"))
    assert ">forge</b>" in blame and ", approved by rk" in blame
    assert ">rk</b>" in blame and ", when approving forge" in blame
    assert "agents 1, shaded" in blame and "people 9 lines" in blame


def test_the_api_says_who_wrote_what(client, space, forge, divided, rk):
    agent = Caller(client, accounts.create_token(space, HUB, agent=forge)[1])
    person = Caller(client, accounts.create_token(space, rk, person=rk.person)[1])
    newest, first = agent("GET", f"revisions?path={PATH}").json()["items"]
    assert (newest["author"], newest["approver"]) == (
        {"kind": "agent", "name": "forge"},
        {"kind": "person", "name": "rk"},
    )
    assert (first["author"]["name"], first["approver"], newest["proposal"]) == ("ops", None, divided)
    assert agent("GET", f"revisions?path={PATH}&limit=1").json()["next"] == "2"
    lines = agent("GET", f"blame?path={PATH}").json()["lines"]
    assert [(one["first"], one["last"], one["author"]["name"]) for one in lines] == [
        (1, 2, "ops"), (3, 3, "forge"), (4, 9, "ops"), (10, 10, "rk"),
    ]  # fmt: skip
    assert agent("GET", f"blame?path={PATH}&revision=1").status_code == 403
    assert {one["author"]["name"] for one in person("GET", f"blame?path={PATH}&revision=1").json()["lines"]} == {"ops"}
    files.delete(space, rk, PATH)
    assert agent("GET", f"blame?path={PATH}").status_code == 404


def test_an_export_says_who_wrote_what(space, divided, tmp_path):
    exchange.export(tmp_path)
    rows = [json.loads(line) for line in (tmp_path / space.slug / "revisions.jsonl").read_text().splitlines()]
    assert [(row["actor_name"], row["approver_name"]) for row in rows] == [("ops", ""), ("forge", "rk")]
    assert rows[1]["reviewer_lines"]["lines"] == [[10, 10]] and "content" not in rows[1]


def test_an_upgrade_fills_in_known_approvers(space, forge, ops, rk):
    number = ask(space, forge, TEXT + "- nine\n")
    approve(space, rk, number)
    proposals.submit(space, Actor.of_agent(forge), ChangeRequest("move", PATH, to="/memories/b.md"))
    approve(space, rk, number + 1)
    Revision.objects.update(approver_kind="", approver_id=None, approver_name="")
    with connection.cursor() as cursor:
        cursor.execute(importlib.import_module("memoryhub.migrations.0002_trust").FILL)
    found = Revision.objects.order_by("pk").values_list("path", "number", "approver_kind", "approver_name")
    assert list(found) == [
        (PATH, 1, "", ""), (PATH, 2, "person", "rk"), ("/memories/b.md", 1, "person", "rk"), (PATH, 3, "", ""),
    ]  # fmt: skip
