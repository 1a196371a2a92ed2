"""People of a space, their roles and links; one's own account."""

import re

import pytest
from django.test import Client

from memoryhub.domain import accounts, spaces
from memoryhub.models import HUB, Actor, Membership, Person, Token


def role_of(name):
    return Membership.objects.get(person__username=name).role


def test_an_owner_adds_somebody_new_and_hands_over_a_link(as_role, house):
    page = as_role("owner").post("/s/books/settings/people/add/", {"username": "nina", "role": "editor"})
    link = re.search(r"http://testserver(/login/once/[\w-]+/)", page.content.decode()).group(1)
    nina = Client()
    assert nina.get(link)["Location"] == "/s/books/"
    assert nina.get("/s/books/").status_code == 200
    assert role_of("nina") == "editor"


def test_somebody_the_hub_knows_is_only_added(as_role, house):
    accounts.create_person(HUB, "nina")
    as_role("owner").post("/s/books/settings/people/add/", {"username": "Nina", "role": "viewer"})
    assert role_of("nina") == "viewer"


def test_roles_change_and_members_leave_with_their_tokens(as_role, house):
    owner = as_role("owner")
    editor = house.editor.person
    accounts.create_token(house.space, house.editor, person=editor)
    owner.post(f"/s/books/settings/people/{editor.pk}/role/", {"role": "viewer"})
    assert role_of("a-editor") == "viewer"
    owner.post(f"/s/books/settings/people/{editor.pk}/remove/")
    assert not Membership.objects.filter(person=editor).exists()
    assert Token.objects.get().state == "revoked"


def test_a_space_keeps_an_owner(as_role, house):
    owner = house.owner.person
    page = as_role("owner").post(f"/s/books/settings/people/{owner.pk}/role/", {"role": "viewer"})
    assert page.status_code == 409
    assert as_role("owner").post(f"/s/books/settings/people/{owner.pk}/remove/").status_code == 409
    assert role_of("a-owner") == "owner"


@pytest.mark.parametrize("elsewhere", ["viewer", "editor", "owner"])
def test_a_link_for_somebody_who_is_elsewhere_too_is_refused(house, elsewhere):
    """Else an owner of one space could add anybody, sign in as them, and read or change another."""
    other = spaces.create(HUB, "other")
    sly = accounts.create_person(HUB, "sly")
    spaces.add_member(house.space, HUB, sly, "owner")
    victim = accounts.create_person(HUB, "victim")
    spaces.add_member(other, HUB, victim, elsewhere)
    spaces.add_member(house.space, HUB, victim, "viewer")
    client = Client()
    client.force_login(sly)
    assert client.post(f"/s/books/settings/people/{victim.pk}/link/").status_code == 403
    assert client.post(f"/s/books/settings/people/{house.owner.person.pk}/link/").status_code == 403
    shown = client.get("/s/books/settings/people/").content.decode()
    assert f"/{victim.pk}/link/" not in shown and f"/{house.editor.person.pk}/link/" in shown


@pytest.mark.parametrize("role", ["viewer", "editor", "reviewer"])
def test_only_owners_manage_people(as_role, house, role):
    one = as_role(role)
    assert one.get("/s/books/settings/people/").status_code == 403
    for path in ("add/", f"{house.viewer.id}/role/", f"{house.viewer.id}/remove/", f"{house.viewer.id}/link/"):
        assert one.post(f"/s/books/settings/people/{path}", {"username": "x", "role": "owner"}).status_code == 403


# ---- one's own account ----


def test_a_password_ends_all_other_sessions(as_role, house):
    here, there = Client(), Client()
    for client in (here, there):
        client.get(f"/login/once/{accounts.make_sign_in_link(HUB, house.editor.person)}/")
    said = here.post("/account/password/", {"new": "sieben rote Zwerge", "again": "sieben rote Zwerge"}, follow=True)
    assert said.status_code == 200
    assert b"Every other session was ended" in said.content
    assert there.get("/account/").status_code == 302
    assert len(accounts.live_sessions(house.editor.person)) == 1
    assert "Current password <" not in here.get("/account/").content.decode().replace("optional", "<")
    wrong = here.post("/account/password/", {"current": "no", "new": "acht rote Zwerge", "again": "acht rote Zwerge"})
    assert wrong.status_code == 422
    for _ in range(5):
        guess = {"current": "guess", "new": "acht rote Zwerge", "again": "acht rote Zwerge"}
        slowed = here.post("/account/password/", guess)
    assert "Too many failed tries" in slowed.content.decode()


@pytest.mark.parametrize(
    ("new", "again", "said"),
    [
        ("short", "short", "too short"),
        ("1234567890123", "1234567890123", "entirely numeric"),
        ("long enough one", "another", "differ"),
    ],
)
def test_weak_or_differing_passwords_are_refused(as_role, house, new, again, said):
    page = as_role("editor").post("/account/password/", {"new": new, "again": again})
    assert page.status_code == 422
    assert said in page.content.decode()


def test_sessions_are_ended_one_by_one(house):
    here, there = Client(), Client()
    for client in (here, there):
        client.get(f"/login/once/{accounts.make_sign_in_link(HUB, house.viewer.person)}/")
    other = house.viewer.person.sign_ins.get(session_key=there.session.session_key)
    here.post(f"/account/sessions/{other.pk}/end/")
    assert there.get("/account/").status_code == 302
    assert here.get("/account/").status_code == 200


def test_nobody_ends_the_session_of_another(as_role, house):
    there = Client()
    there.get(f"/login/once/{accounts.make_sign_in_link(HUB, house.viewer.person)}/")
    theirs = house.viewer.person.sign_ins.get()
    assert as_role("owner").post(f"/account/sessions/{theirs.pk}/end/").status_code == 404


def test_a_personal_token_acts_with_ones_role(as_role, house, client):
    page = as_role("reviewer").post("/account/tokens/new/", {"space": "books", "scopes": ["files"], "days": "30"})
    secret = re.search(r"mh_a-reviewer_\w+", page.content.decode()).group()
    me = client.get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"}).json()
    assert (me["role"], me["scopes"]) == ("reviewer", ["files"])
    token = Token.objects.get()
    assert as_role("editor").post(f"/account/tokens/{token.pk}/revoke/").status_code == 404
    assert as_role("reviewer").post(f"/account/tokens/{token.pk}/revoke/").status_code == 303
    assert client.get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"}).status_code == 401


def test_a_token_for_a_space_one_is_not_in_is_refused(as_role, house):
    spaces.create(HUB, "other")
    assert as_role("reviewer").post("/account/tokens/new/", {"space": "other"}).status_code == 404


def test_the_theme_turns_and_leads_back(as_role, house):
    viewer = as_role("viewer")
    assert viewer.post("/account/theme/", {"next": "/s/books/"})["Location"] == "/s/books/"
    assert 'data-theme="dark"' in viewer.get("/s/books/").content.decode()
    viewer.post("/account/theme/")
    assert Person.objects.get(pk=house.viewer.id).preferences["theme"] == "light"


def test_actors_name_themselves(house):
    assert Actor.of_person(house.owner.person).name == "a-owner"


def test_a_change_of_role_can_be_undone(as_role, house):
    owner = as_role("owner")
    page = owner.post(
        f"/s/books/settings/people/{house.editor.id}/role/", {"role": "viewer"}, follow=True
    ).content.decode()
    undo = re.search(r'action="([^"]+\?role=editor)"', page).group(1)
    owner.post(undo)
    assert role_of("a-editor") == "editor"


def test_an_address_for_mail(as_role, house):
    editor = as_role("editor")
    editor.post("/account/email/", {"email": "rk@example.org"})
    house.editor.person.refresh_from_db()
    assert house.editor.person.email == "rk@example.org"
    assert editor.post("/account/email/", {"email": "no address"}).status_code == 422
