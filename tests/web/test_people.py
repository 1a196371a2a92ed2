"""People of a space, their roles and links; one's own account."""

import re
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from memoryhub.domain import accounts, spaces
from memoryhub.errors import Conflict
from memoryhub.models import HUB, ActivityLine, Actor, Membership, Person, Token


def role_of(name):
    return Membership.objects.get(person__username=name).role


def test_an_owner_adds_somebody_new_and_hands_over_a_link(as_role, house):
    owner = as_role("owner")
    assert "one word, such as ines.vogel" in owner.get("/s/books/settings/people/").content.decode()
    page = owner.post("/s/books/settings/people/add/", {"username": "nina", "role": "editor"})
    link = re.search(r"http://testserver(/login/once/[\w-]+/)", page.content.decode()).group(1)
    nina = Client()
    assert nina.post(link)["Location"] == "/s/books/"
    assert nina.get("/s/books/").status_code == 200
    assert role_of("nina") == "editor"


def test_an_owner_notes_the_address_of_somebody_new(as_role, house):
    sent = {"username": "nina", "role": "editor", "email": "nina@example.org"}
    as_role("owner").post("/s/books/settings/people/add/", sent)
    nina = Person.objects.get(username="nina")
    assert (nina.email, nina.email_is_given) == ("nina@example.org", True)
    accounts.change_email(nina, "nina@example.org")
    assert nina.email_is_given
    accounts.change_email(nina, "other@example.org")
    assert not nina.email_is_given


def test_an_address_that_an_owner_of_a_space_noted_proves_nothing(house):
    lead = accounts.create_person(HUB, "lead")
    assert not accounts.create_person(Actor.of_person(lead, "owner"), "nina", email="boss@example.org").email_is_given


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
    assert Token.objects.get().revoked_at


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


# ---- keeping a person out of the hub ----


def deactivate(client, who, undo=False):
    verb = "reactivate" if undo else "deactivate"
    return client.post(f"/s/books/settings/people/{who.id}/{verb}/", follow=True)


def test_a_deactivated_person_is_signed_out_and_gets_in_nowhere(as_role, house, client):
    accounts.change_password(house.reviewer.person, "sieben rote Zwerge")
    link = accounts.make_sign_in_link(HUB, house.reviewer.person)
    there = Client()
    entry = {"username": "a-reviewer", "password": "sieben rote Zwerge"}
    assert there.post("/login/", entry).status_code == 303
    page = deactivate(as_role("owner"), house.reviewer).content.decode()
    assert "a-reviewer is deactivated" in page and "/reactivate/" in page
    assert there.get("/s/books/").status_code == 302
    assert there.post("/login/", entry).status_code == 422
    assert client.get(f"/login/once/{link}/").status_code == 404
    assert not house.reviewer.person.sign_ins.exists()


@pytest.mark.parametrize("path", ["me", "files", "proposals", "working", "prompt", "search?q=x"])
def test_the_token_of_a_deactivated_person_works_at_no_door(as_role, house, client, path):
    secret = accounts.create_token(house.space, house.reviewer, person=house.reviewer.person)[1]
    headers = {"Authorization": f"Bearer {secret}"}
    assert client.get(f"/api/v1/{path}", headers=headers).status_code != 401
    deactivate(as_role("owner"), house.reviewer)
    refused = client.get(f"/api/v1/{path}", headers=headers)
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthenticated")
    assert "deactivated" in refused.json()["error"]["message"]
    deactivate(as_role("owner"), house.reviewer, undo=True)
    assert client.get(f"/api/v1/{path}", headers=headers).status_code != 401


def test_somebody_who_is_reactivated_has_their_role_and_signs_in_anew(as_role, house):
    accounts.change_password(house.editor.person, "sieben rote Zwerge")
    there = Client()
    entry = {"username": "a-editor", "password": "sieben rote Zwerge"}
    there.post("/login/", entry)
    deactivate(as_role("owner"), house.editor)
    deactivate(as_role("owner"), house.editor, undo=True)
    assert there.get("/s/books/").status_code == 302
    assert there.post("/login/", entry).status_code == 303
    assert there.get("/s/books/").status_code == 200
    assert role_of("a-editor") == "editor"


def test_who_was_kept_out_stands_in_the_activity_of_their_spaces(as_role, house):
    deactivate(as_role("owner"), house.editor)
    deactivate(as_role("owner"), house.editor)  # it is done already
    deactivate(as_role("owner"), house.editor, undo=True)
    told = ActivityLine.objects.filter(space_id=house.space.pk, actor_name="a-owner").order_by("id")
    assert [(one.verb, one.thing) for one in told] == [
        ("people.deactivate", "a-editor"), ("people.reactivate", "a-editor")
    ]  # fmt: skip


def test_only_the_owner_of_the_hub_keeps_people_out(house):
    lead = accounts.create_person(HUB, "lead")
    spaces.add_member(house.space, HUB, lead, "owner")
    client = Client()
    client.force_login(lead)
    assert "/deactivate/" not in client.get("/s/books/settings/people/").content.decode()
    for undo in (False, True):
        assert deactivate(client, house.editor, undo).status_code == 403
    assert Person.objects.get(pk=house.editor.id).is_active


def test_hub_and_spaces_keep_an_owner_who_can_sign_in(as_role, house):
    owner = as_role("owner")
    assert deactivate(owner, house.owner).status_code == 409
    spaces.add_member(house.space, HUB, house.reviewer.person, "owner")
    with pytest.raises(Conflict, match="hub needs an owner"):
        spaces.deactivate_person(HUB, house.owner.person)
    lead = accounts.create_person(HUB, "lead")
    other = spaces.create(HUB, "other", "Other")
    spaces.add_member(other, HUB, lead, "owner")
    with pytest.raises(Conflict, match="Other needs an owner"):
        spaces.deactivate_person(HUB, lead)
    spaces.add_member(other, HUB, house.editor.person, "owner")
    spaces.deactivate_person(HUB, lead)
    with pytest.raises(Conflict, match="Other needs an owner"):  # the one who is kept out does not count
        spaces.remove_member(other, HUB, house.editor.person)


def test_nobody_makes_a_link_for_somebody_who_is_kept_out(as_role, house):
    deactivate(as_role("owner"), house.editor)
    page = as_role("owner").get("/s/books/settings/people/").content.decode()
    assert f"/{house.editor.id}/link/" not in page and f"/{house.viewer.id}/link/" in page
    assert as_role("owner").post(f"/s/books/settings/people/{house.editor.id}/link/").status_code == 409


# ---- one's own account ----


def test_a_password_ends_all_other_sessions(as_role, house):
    here, there = Client(), Client()
    for client in (here, there):
        client.post(f"/login/once/{accounts.make_sign_in_link(HUB, house.editor.person)}/")
    said = here.post("/account/password/", {"new": "sieben rote Zwerge", "again": "sieben rote Zwerge"}, follow=True)
    assert said.status_code == 200
    assert b"You are signed out everywhere else" in said.content
    assert there.get("/account/").status_code == 302
    assert len(accounts.live_sessions(house.editor.person)) == 1
    assert "Current password <" not in here.get("/account/").content.decode().replace("optional", "<")
    wrong = here.post("/account/password/", {"current": "no", "new": "acht rote Zwerge", "again": "acht rote Zwerge"})
    assert wrong.status_code == 422
    for _ in range(5):
        guess = {"current": "guess", "new": "acht rote Zwerge", "again": "acht rote Zwerge"}
        slowed = here.post("/account/password/", guess)
    assert "Too many failed tries" in slowed.content.decode()


@pytest.mark.parametrize("keeps", [False, True])
def test_a_new_password_ends_api_tokens_unless_they_are_kept(as_role, house, client, keeps):
    secret = accounts.create_token(house.space, house.editor, person=house.editor.person)[1]
    editor = as_role("editor")
    assert "Keep my 1 API token" in editor.get("/account/").content.decode()
    sent = {"new": "sieben rote Zwerge", "again": "sieben rote Zwerge", **({"keep_tokens": "yes"} if keeps else {})}
    assert editor.post("/account/password/", sent).status_code == 303
    answer = client.get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == (200 if keeps else 401)
    assert ActivityLine.objects.filter(space_id=house.space.pk, verb="tokens.revoke").exists() is not keeps


def test_the_time_of_a_link_is_chosen_on_the_page(as_role, house):
    page = as_role("owner").post(f"/s/books/settings/people/{house.viewer.id}/link/", {"lasts": "3d"})
    assert page.status_code == 200
    assert house.viewer.person.links.get().expires_at > timezone.now() + timedelta(days=2, hours=23)
    refused = as_role("owner").post(f"/s/books/settings/people/{house.viewer.id}/link/", {"lasts": "9w"})
    assert refused.status_code == 422


@pytest.mark.parametrize(
    ("new", "again", "said"),
    [
        ("short", "short", "too short"),
        ("1234567890123", "1234567890123", "entirely numeric"),
        ("long enough one", "another", "differ"),
        ("MemoryHub2026!", "MemoryHub2026!", "little more than the name"),
    ],
)
def test_weak_or_differing_passwords_are_refused(as_role, house, new, again, said):
    page = as_role("editor").post("/account/password/", {"new": new, "again": again})
    assert page.status_code == 422
    assert said in page.content.decode()


def test_a_password_counts_to_the_letter_blanks_included(as_role, house, client):
    password = "  sieben rote  Zwerge "
    assert as_role("editor").post("/account/password/", {"new": password, "again": password}).status_code == 303
    assert client.post("/login/", {"username": "a-editor", "password": password.strip()}).status_code == 422
    assert client.post("/login/", {"username": "a-editor", "password": password}).status_code == 303


def test_everybody_sees_what_happened_to_their_account(as_role, house):
    there = Client()
    there.post(f"/login/once/{accounts.make_sign_in_link(HUB, house.viewer.person)}/", REMOTE_ADDR="10.9.8.7")
    accounts.make_sign_in_link(HUB, house.editor.person)
    mine = there.get("/account/log/").content.decode()
    assert "signed in" in mine and "by link" in mine and "10.9.8.7" in mine and "created a one-time link for" in mine
    assert "a-editor" not in mine
    assert "a-editor" not in there.get("/account/log/?everybody").content.decode()
    assert "a-editor" in as_role("owner").get("/account/log/?everybody").content.decode()


def test_all_other_sessions_are_ended_at_once(house):
    clients = [Client() for _ in range(3)]
    for client in clients:
        client.post(f"/login/once/{accounts.make_sign_in_link(HUB, house.viewer.person)}/")
    assert "Sign out everywhere else" in clients[0].get("/account/").content.decode()
    clients[0].post("/account/sessions/end/")
    assert [client.get("/account/").status_code for client in clients] == [200, 302, 302]
    call_command("user", "sign-out", "a-viewer")
    assert clients[0].get("/account/").status_code == 302


def test_sessions_are_ended_one_by_one(house):
    here, there = Client(), Client()
    for client in (here, there):
        client.post(f"/login/once/{accounts.make_sign_in_link(HUB, house.viewer.person)}/")
    other = house.viewer.person.sign_ins.get(session_key=there.session.stored_key)
    here.post(f"/account/sessions/{other.pk}/end/")
    assert there.get("/account/").status_code == 302
    assert here.get("/account/").status_code == 200


def test_a_session_says_when_and_from_where_it_was_last_used(as_role, house):
    there = Client()
    there.post(f"/login/once/{accounts.make_sign_in_link(HUB, house.viewer.person)}/")
    mine = house.viewer.person.sign_ins
    long_ago = timezone.now() - timedelta(hours=1)
    mine.update(seen_at=long_ago, address="10.0.0.1")
    there.get("/s/books/", headers={"HX-Request": "true"})  # what a page fetches by itself is no use of it
    assert (mine.get().seen_at, mine.get().address) == (long_ago, "10.0.0.1")
    there.get("/s/books/", REMOTE_ADDR="10.9.8.7")
    seen = mine.get().seen_at
    assert seen > long_ago and mine.get().address == "10.9.8.7"
    there.get("/s/books/", REMOTE_ADDR="10.0.0.2")  # within the minute nothing is written
    assert (mine.get().seen_at, mine.get().address) == (seen, "10.9.8.7")


def test_nobody_ends_the_session_of_another(as_role, house):
    there = Client()
    there.post(f"/login/once/{accounts.make_sign_in_link(HUB, house.viewer.person)}/")
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
