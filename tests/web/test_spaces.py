"""The front door, settings, and the one door that takes a space away whole."""

import re
from urllib.parse import urlencode

import pytest
from django.db import transaction
from django.test import Client

from memoryhub.domain import accounts, demo, longterm, prompts, retrieval, spaces, working
from memoryhub.domain.jobs import queue
from memoryhub.models import HUB, ActivityLine, Agent, Membership, Person, Proposal, Record, RecordState, Space
from tests.one_line import one_line


def test_the_front_door_leads_to_the_only_space_and_then_to_the_last(as_role, house):
    viewer = as_role("viewer")
    assert viewer.get("/")["Location"] == "/s/books/"
    other = spaces.create(HUB, "other", "Other")
    Membership.objects.create(space=other, person=house.viewer.person, role="viewer")
    assert b"Other" in viewer.get("/").content
    viewer.get("/s/other/activity/")
    prompts.create_agent(other, HUB, "forge")
    viewer.get("/s/other/")
    assert viewer.get("/")["Location"] == "/s/other/"
    proposal = Proposal(space=other, number=1, kind="write", path="/memories/a.md", same_as="x", agent_name="forge")
    proposal.save()
    listed = one_line(viewer.get("/?all"))
    assert re.search(r'href="/s/other/proposals/">.*?1 proposal</a>', listed) and "/s/books/proposals/" not in listed


def test_somebody_in_no_space_is_told_what_to_do(db):
    client = Client()
    client.force_login(accounts.create_person(HUB, "new"))
    page = client.get("/").content.decode()
    assert "An owner of a space can add you" in page


def test_the_owner_of_the_hub_makes_a_space(as_role, house):
    made = as_role("owner").post("/spaces/new/", {"name": "Field notes", "slug": "field-notes"}, follow=True)
    assert "No agent is connected yet." in made.content.decode()
    again = as_role("owner").post("/spaces/new/", {"name": "Field notes", "slug": "field-notes"})
    assert again.status_code == 422
    assert "already" in again.content.decode()
    assert as_role("editor").post("/spaces/new/", {"name": "x", "slug": "x"}).status_code == 403


def test_settings_are_changed_within_their_bounds(as_role, house):
    values = {
        "proposal_days": 14,
        "warn_days": 2,
        "reviewers": 2,
        "working_limit": 20,
        "working_hours": 8,
        "delivery_days": 30,
    }
    owner = as_role("owner")
    assert owner.post("/s/books/settings/change/", values).status_code == 303
    house.space.refresh_from_db()
    assert house.space.settings["reviewers"] == 2
    wrong = owner.post("/s/books/settings/change/", {**values, "working_limit": 51})
    assert wrong.status_code == 422
    assert "from 1 to 50" in wrong.content.decode()
    assert as_role("reviewer").get("/s/books/settings/").status_code == 200
    assert as_role("reviewer").post("/s/books/settings/change/", values).status_code == 403


def test_a_space_is_renamed(as_role, house):
    as_role("owner").post("/s/books/settings/rename/", {"name": "Bookkeeping", "description": "Ours"})
    assert Space.objects.get().name == "Bookkeeping"


def fill(space):
    agent = prompts.create_agent(space, HUB, "forge")
    with transaction.atomic():
        record = Record.objects.create(
            space_id=space.pk,
            agent_id=agent.pk,
            agent_name="forge",
            session_id="s",
            node_id="n",
            node_kind="agent",
            content="x",
            sha256="y",
        )
        RecordState.objects.create(
            space_id=space.pk, record_id=record.pk, state="held", actor_kind="hub", actor_name="hub"
        )


def test_erasing_takes_one_space_and_leaves_a_tombstone(as_role, house):
    other = spaces.create(HUB, "other")
    fill(house.space)
    fill(other)
    owner = as_role("owner")
    assert owner.post("/s/books/settings/erase/", {"confirm": "no"}).status_code == 422
    assert owner.post("/s/books/settings/erase/", {"confirm": "books"}).status_code == 303
    assert list(Space.objects.values_list("slug", flat=True)) == ["other"]
    assert set(Record.objects.values_list("space_id", flat=True)) == {other.pk}
    assert set(RecordState.objects.values_list("space_id", flat=True)) == {other.pk}
    assert Agent.objects.count() == 1
    assert not ActivityLine.objects.filter(space_id=house.space.pk).exists()
    stone = ActivityLine.objects.get(verb="spaces.erase")
    assert (stone.space_id, stone.actor_name, stone.thing) == (0, "a-owner", "Books")
    assert stone.details["quarantine.record"] == 1


@pytest.mark.parametrize("role", ["viewer", "editor", "reviewer"])
def test_only_owners_erase(as_role, house, role):
    assert as_role(role).post("/s/books/settings/erase/", {"confirm": "books"}).status_code == 403


def test_the_demo_goes_when_its_name_is_typed_and_its_people_with_it(as_role, house):
    owner = as_role("owner")
    before = set(Person.objects.values_list("username", flat=True))
    assert owner.post("/spaces/demo/")["Location"] == "/s/demo/"
    assert {"ops", "rk", "jt"} <= set(Person.objects.values_list("username", flat=True))
    assert owner.get("/s/demo/").status_code == 200
    assert not demo.was_deleted()
    assert owner.post("/s/demo/settings/erase/").status_code == 422
    assert demo.exists()
    assert owner.post("/s/demo/settings/erase/", {"confirm": "demo"}).status_code == 303
    assert demo.was_deleted()
    assert not demo.exists()
    assert set(Person.objects.values_list("username", flat=True)) == before


def test_making_the_demo_twice_makes_it_once(house):
    assert demo.make(house.owner.person) == demo.make(house.editor.person)
    assert Membership.objects.get(space__slug="demo", person=house.editor.person).role == "owner"


def test_who_mistypes_an_address_stays_in_the_space(as_role, house, client):
    page = as_role("viewer").get("/s/books/no-such-page/")
    assert page.status_code == 404
    assert "has no such page" in page.content.decode() and '/s/books/activity/"' in page.content.decode()
    for lost in ("/s/elsewhere/no-such-page/", "/s/%00/", "/s/", "/no-such-page/"):
        page = as_role("viewer").get(lost)
        assert page.status_code == 404 and "/s/books/activity/" not in page.content.decode(), lost
    assert client.get("/s/books/no-such-page/").status_code == 404


def test_the_address_of_a_form_opened_by_hand_says_so(as_role, house):
    for path in ("/s/books/settings/change/", "/spaces/new/"):
        page = as_role("owner").get(path)
        assert page.status_code == 405 and page.headers["Allow"] == "POST"
        assert "only takes what a form sends" in page.content.decode()


def test_who_was_signed_out_meanwhile_comes_back_to_the_page_of_the_form(client, house):
    for sent_from, back in (
        ("http://testserver/s/books/settings/?tab=1#x", "/s/books/settings/?tab=1"),
        ("http://elsewhere.example/s/books/", "/"),
        ("http://testserver//elsewhere.example/", "/"),
        ("", "/"),
    ):
        answer = client.post("/s/books/settings/change/", headers={"Referer": sent_from})
        assert answer.headers["Location"] == "/login/?" + urlencode({"next": back})


def test_the_demo_shows_every_state_of_every_layer(house):
    space = demo.make(house.owner.person)
    queue.run_waiting()
    newest = RecordState.objects.within(space).filter(is_newest=True)
    assert set(newest.values_list("state", flat=True)) == {"held", "admitted", "promoted", "discarded"}
    assert newest.filter(state="admitted", actor_kind="person").exists()
    codes = {code for one in Record.objects.within(space) for code in one.codes}
    assert {"secrets", "hidden", "injection", "coherence", "reads_only"} <= codes
    entries = working.live(space)
    assert entries.filter(is_pinned=True).exists() and entries.filter(scope="agent").exists()
    kept = longterm.entries_of(space)
    assert set(kept.values_list("state", flat=True)) == {"active", "retired"}
    assert kept.filter(record_id__isnull=False).exists() and kept.filter(revision=2, state="active").exists()
    assert kept.filter(scope="agent").exists() and kept.exclude(checked_at=None).exists() and longterm.due(space)
    assert {one.kind for one in longterm.open_conflicts(space)} == {"duplicate", "contradiction"}
    assert retrieval.run_checks(space) == {"checks": 2, "failed": 0}
    assert longterm.vector_counts(space, retrieval.load_embedder("hashing"))[1] == 0


def test_the_menu_of_somebody_in_very_many_spaces_names_the_first_of_them(as_role, house):
    """All of them would make every page heavier with each space; the others are behind "All spaces"."""
    for number in range(40):
        spaces.add_member(spaces.create(HUB, f"shop-{number:02}"), HUB, house.viewer.person, "viewer")
    page = as_role("viewer").get("/s/books/activity/").content.decode()
    menu = page.partition('<details class="space">')[2].partition("</details>")[0]
    assert menu.count('<a href="/s/') == 30
    assert 'href="/?all"' in menu
    everything = as_role("viewer").get("/?all").content.decode()
    assert "/s/shop-39/" in everything
