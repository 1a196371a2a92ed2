"""The pages of an erasure: choose, dry run, type, receipt; for owners alone."""

from __future__ import annotations

import json

import pytest

from memoryhub.domain import files, quarantine, spaces
from memoryhub.domain.jobs import queue
from memoryhub.models import HUB, Erasure, Record
from tests.one_line import one_line

TEXT = "Mrs Marlowe of 7 Elm Street asked for her refund."
BASE = "/s/books/erasure/"


@pytest.fixture
def logged(house):
    return quarantine.log(house.space, None, content=TEXT, session_id="c-1", node_id="n").id


def plan_url(client, **given):
    answer = client.post(f"{BASE}plan/", {"kind": "session", "what": "c-1", "on_disk": "on", **given})
    assert answer.status_code == 303, one_line(answer)
    queue.run_waiting()
    return answer["Location"]


def test_from_the_record_to_the_receipt(as_role, house, logged):
    owner = as_role("owner")
    record = one_line(owner.get(f"/s/books/quarantine/{logged}/"))
    assert f"{BASE}?kind=session&amp;what=c-1" in record
    form = one_line(owner.get(f"{BASE}?kind=session&what=c-1"))
    assert 'value="session" checked' in form and 'value="c-1"' in form
    page = plan_url(owner)
    shown = one_line(owner.get(page))
    assert "Quarantine records" in shown and "quarantine.record.content" in shown and "Type <code>books</code>" in shown
    refused = owner.post(f"{page}erase/", {"confirm": "c-1"})
    assert refused.status_code == 422 and "Type books to confirm" in one_line(refused)
    assert owner.get(f"{page}receipt/").status_code == 404
    assert owner.post(f"{page}erase/", {"confirm": "books"})["Location"] == page
    assert "Reload" in one_line(owner.get(page))
    queue.run_waiting()
    shown = one_line(owner.get(page))
    assert "found no copy" in shown and "Marlowe" not in shown
    receipt = owner.get(f"{page}receipt/")
    assert receipt["Content-Disposition"].startswith("attachment")
    assert json.loads(receipt.content)["rows"]["quarantine.record"] == 1
    assert Record.objects.get().content == "[erased]"
    assert "A session" in one_line(owner.get(BASE))


def test_a_dry_run_can_be_forgotten(as_role, logged):
    owner = as_role("owner")
    page = plan_url(owner, kind="text", text="Marlowe")
    assert owner.post(f"{page}cancel/").status_code == 303
    assert owner.get(page).status_code == 404 and Record.objects.get().content == TEXT


@pytest.mark.parametrize(
    "given", [{"kind": "text", "text": "abc"}, {"kind": "x"}, {"what": " "}, {"kind": "revision", "what": "/a"}]
)
def test_what_names_too_little_is_refused_with_what_was_typed(as_role, house, given):
    answer = as_role("owner").post(f"{BASE}plan/", {"kind": "session", "what": "c-1", **given})
    assert answer.status_code == 422 and not Erasure.objects.exists()


@pytest.mark.parametrize("role", ["viewer", "editor", "reviewer"])
def test_owners_alone(as_role, logged, role):
    assert as_role(role).get(BASE).status_code == 403
    assert as_role(role).post(f"{BASE}plan/", {"kind": "session", "what": "c-1"}).status_code == 403


def test_all_spaces_are_for_the_owner_of_the_hub(as_role, house, logged, client):
    page = plan_url(as_role("owner"), everywhere="on")
    assert "in all spaces" in one_line(as_role("owner").get(page))
    number = page.strip("/").rpartition("/")[2]
    assert Erasure.objects.get(pk=number).space_id == 0
    spaces.change_role(house.space, HUB, house.editor.person, "owner")
    other = as_role("editor")
    assert other.get(page).status_code == 404 and "everywhere" not in one_line(other.get(BASE))
    assert other.post(f"{BASE}plan/", {"kind": "session", "what": "c-1", "everywhere": "on"}).status_code == 403


def test_history_marks_an_erased_revision_and_offers_to_erase_others(as_role, house):
    files.add_mount(house.space, HUB, "/memories/", store="database", policy="review")
    files.write(house.space, HUB, "/memories/a.md", b"- Mrs Marlowe of Elm Street\n- two\n")
    owner = as_role("owner")
    history = one_line(owner.get("/s/books/files/memories/a.md?view=history"))
    assert f"{BASE}?kind=revision&amp;what=/memories/a.md&amp;number=1" in history.replace("%2F", "/")
    page = plan_url(owner, kind="revision", what="/memories/a.md", number="1")
    owner.post(f"{page}erase/", {"confirm": "books"})
    queue.run_waiting()
    history = one_line(owner.get("/s/books/files/memories/a.md?view=history"))
    assert "erased by a-owner" in history and page in history


@pytest.mark.parametrize(
    ("given", "field"),
    [({"kind": "text", "text": "abc"}, "text"), ({"kind": "session", "what": " "}, "what"), ({"kind": "none"}, "")],
)
def test_a_refusal_stands_beside_its_field(as_role, house, given, field):
    answer = as_role("owner").post(f"{BASE}plan/", {"what": "c-1", **given})
    page = one_line(answer)
    assert answer.status_code == 422
    assert (f'aria-describedby="{field}-error"' in page) == bool(field)
    assert (f'<span class="wrong" id="{field}-error">' in page) == bool(field)
    assert ('role="alert"' in page) == (not field)
