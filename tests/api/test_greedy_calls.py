"""One call of an agent costs a bounded time and answers a bounded size, whatever it asks for."""

from __future__ import annotations

import random
import time

import pytest

from memoryhub.detectors import secrets
from memoryhub.domain import files, proposals, spaces
from memoryhub.domain.proposals import ask, results
from memoryhub.models import HUB
from tests.api.calling import as_person, code

PATH = "/memories/notes.md"
OTHER = "Something else, of about the same length: it rains, and the till is closed on Sundays."


@pytest.fixture
def space(db):
    space = spaces.create(HUB, "books")
    files.add_mount(space, HUB, "/memories/", store="database")
    files.write(space, HUB, PATH, b"line 0\n")
    return space


def stack(forge, count):
    edits = (
        {"path": PATH, "old_string": f"line {at}\n", "new_string": f"line {at}\nline {at + 1}\n"} for at in range(count)
    )
    return [forge("POST", "edits", edit) for edit in edits]


def test_a_file_that_is_asked_for_many_times_counts_as_often(space, forge):
    files.write(space, HUB, PATH, b"x" * 500_000)
    assert code(forge("POST", "batch", {"paths": [PATH] * 200})) == (422, "too_many_bytes")
    answer = forge("POST", "batch", {"paths": [PATH, "/memories/none.md", PATH]}).json()["files"]
    assert [one["error"] for one in answer] == [None, "file_not_found", None]
    assert answer[0] == answer[2]


def test_what_waits_counts_as_often_as_it_is_asked_for(space, forge):
    path = "/memories/waits.md"
    forge("PUT", f"files{path}", {"content": "word " * 100_000})
    asked = {"paths": [path] * 100, "waiting": True}
    assert code(forge("POST", "batch", asked)) == (422, "too_many_bytes")
    answer = forge("POST", "batch", asked | {"paths": [path, PATH, path]}).json()["files"]
    assert [one["proposal"] for one in answer] == [1, None, 1]


def test_sixty_paths_are_read_in_their_order(space, forge):
    names = [f"/memories/{at}.md" for at in range(60)]
    for name in names[::2]:
        files.write(space, HUB, name, name.encode())
    answer = forge("POST", "batch", {"paths": names}).json()["files"]
    assert [one["content"] for one in answer] == [name if at % 2 == 0 else None for at, name in enumerate(names)]


def test_no_long_path_or_reason_is_looked_at_for_secrets_whole(space, forge, monkeypatch):
    looked_at = []
    for name in ("in_name", "redact"):
        real = getattr(secrets, name)
        monkeypatch.setattr(secrets, name, lambda text, real=real: (looked_at.append(len(text)), real(text))[1])
    long = "word " * 200_000
    edit = {"path": PATH, "old_string": "line 0\n", "new_string": "line 1\n"}
    for path in ("/" + long, "/" + "e\u0301" * 5_000):
        assert code(forge("POST", "edits", edit | {"path": path})) == (422, "invalid_path")
        assert code(forge("POST", "moves", {"from": PATH, "to": path})) == (422, "invalid_path")
    answer = forge("POST", "edits", edit | {"reason": long})
    assert answer.status_code == 202
    assert len(answer.json()["proposal"]["reason"]) == 2000
    assert max(looked_at) <= 4096


@pytest.mark.parametrize("most", [6, pytest.param(ask.MAX_STACKED, marks=pytest.mark.attack)])
def test_a_stack_of_proposals_has_an_end(space, forge, monkeypatch, most):
    monkeypatch.setattr(ask, "MAX_STACKED", most)
    answers = stack(forge, most + 1)
    assert {one.status_code for one in answers[:most]} == {202}
    assert code(answers[most]) == (409, "too_many_stacked")
    last = answers[most - 1].json()["proposal"]["number"]
    assert forge("DELETE", f"proposals/{last}").status_code == 200
    end = f"line {most - 1}"
    again = forge("POST", "edits", {"path": PATH, "old_string": f"{end}\n", "new_string": f"{end}, again\n"})
    assert again.status_code == 202


def test_a_list_that_takes_too_long_is_cut_and_goes_on(space, forge, monkeypatch):
    stack(forge, 5)
    monkeypatch.setattr(results, "SECONDS_FOR_PAGE", -1)
    listed, cursor, pages = [], "", 0
    while pages < 9:
        page = forge("GET", f"proposals?cursor={cursor}").json()
        listed += [one["number"] for one in page["items"]]
        pages += 1
        if not (cursor := page["next"]):
            break
    assert (listed, pages) == ([5, 4, 3, 2, 1], 5)


def test_people_see_in_a_list_what_took_too_long(space, forge, client, monkeypatch):
    stack(forge, 3)
    monkeypatch.setattr(results, "SECONDS_FOR_MANY", -1)
    assert {one.problem for one in results.results_of(space, proposals.filtered(space))} == {results.TOO_LONG}
    assert as_person(client, space, "ann", "owner")("GET", "proposals/1").json()["result_sha256"]
    assert {one.state for one in proposals.filtered(space)} == {"pending"}


def test_the_inbox_compares_costly_texts_in_a_moment(space, forge):
    drawn = random.Random(4)
    for _ in range(10):
        text = "".join(drawn.choice("abcdefgh") + "\n" for _ in range(1_000))
        assert forge("PUT", f"files{PATH}", {"content": text}).status_code == 202
    began = time.thread_time()
    shown = proposals.inbox(space, proposals.filtered(space))
    assert time.thread_time() - began < 3
    assert [row.like for row in shown.rows] == [None] * 10


def test_the_inbox_says_what_is_nearly_the_same(space, forge):
    text = "Answers of the till start with the sum, then the date, then the name of the shop, and end with a thank you."
    for content in (
        text,
        text.replace("thank you", "good day"),
        OTHER,
    ):
        forge("PUT", f"files{PATH}", {"content": content})
    assert {row.proposal.number: row.like for row in proposals.inbox(space, proposals.filtered(space)).rows} == {
        1: None,
        2: 1,
        3: None,
    }
