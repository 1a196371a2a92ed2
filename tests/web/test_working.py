"""Working memory's pages where something is refused: what a person wrote comes back to them."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.domain import spaces, working
from memoryhub.domain.working import entries as working
from memoryhub.models import HUB, WorkingEntry
from tests.outputs import admit

pytestmark = pytest.mark.django_db
SECRET = "ghp_" + "aZ3kQ9xW7vB2nM5tR8yL1pC4sD6fG0hJ3kL9"
DRAFT = f"The desk closes at five, its key is {SECRET}"


@pytest.fixture
def editor(as_role):
    return as_role("editor")


def post(client, path, status, **data):
    answer = client.post(f"/s/books/working/{path}", data)
    assert answer.status_code == status
    return answer.content.decode()


def test_a_refused_correction_gives_the_draft_back(house, editor):
    pk = admit(house.space, "The desk closes at six.")
    page = post(editor, f"{pk}/edit/", 422, content=DRAFT)
    assert f">{DRAFT}</textarea>" in page and "There is a secret in line 1" in page
    assert f'action="/s/books/working/{pk}/edit/"' in page
    assert working.get(house.space, pk).content == "The desk closes at six."
    page = post(editor, f"{pk}/edit/", 413, content="word " * 250_000)
    assert "over 1 MiB" in page and "word word" in page


def test_a_refused_entry_gives_the_draft_back(house, editor):
    page = post(editor, "add/", 422, content=DRAFT)
    assert f">{DRAFT}</textarea>" in page and "There is a secret in line 1" in page
    assert not WorkingEntry.objects.exists()


@pytest.mark.parametrize("gone", ["expired", "deleted", "pushed out"])
def test_a_correction_of_what_is_gone_meanwhile_can_be_added(house, editor, gone):
    pk = admit(house.space, "The desk closes at six.")
    entries = WorkingEntry.objects.filter(pk=pk)
    if gone == "expired":
        entries.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif gone == "deleted":
        working.remove(house.space, HUB, pk)
    else:
        entries.delete()
    page = post(editor, f"{pk}/edit/", 404, content="The desk closes at five.")
    assert ">The desk closes at five.</textarea>" in page and 'action="/s/books/working/add/"' in page
    assert not entries.filter(content="The desk closes at five.").exists()


def test_of_another_spaces_entry_nothing_is_shown(house, editor):
    there = admit(spaces.create(HUB, "there"), "Theirs alone.")
    page = post(editor, f"{there}/edit/", 404, content="Mine.")
    assert ">Mine.</textarea>" in page and "Theirs alone." not in page


def test_what_is_deleted_meanwhile_is_neither_pinned_nor_extended(house, editor):
    pk = admit(house.space, "The desk closes at six.")
    working.remove(house.space, HUB, pk)
    post(editor, f"{pk}/pin/", 404, pinned="yes")
    post(editor, f"{pk}/extend/", 404)


def test_what_expired_before_ones_eyes_can_still_be_kept(house, editor):
    pk = admit(house.space, "The desk closes at six.")
    WorkingEntry.objects.filter(pk=pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    post(editor, f"{pk}/extend/", 303)
    assert [one.id for one in working.newest(house.space)] == [pk]
