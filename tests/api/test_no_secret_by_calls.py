"""“It is no secret”, said by a person's token: in a write, and in the approval of a proposal."""

from __future__ import annotations

import hashlib

import pytest

from memoryhub.domain import files, proposals, spaces
from memoryhub.models import HUB, ActivityLine, AllowedValue, Revision
from tests.api.calling import as_person, code
from tests.fixtures.secret_texts import made

PATH = "/memories/notes.md"
KEY = "gh" + "p_" + made(36)
TEXT = f"# Notes\n\nThe sample key of the manual is {KEY} as printed.\n"


@pytest.fixture
def space(db):
    space = spaces.create(HUB, "books")
    files.add_mount(space, HUB, "/memories/", store="database")
    files.write(space, HUB, PATH, b"# Notes\n")
    return space


@pytest.fixture
def ann(client, space):
    return as_person(client, space, "ann", "reviewer")


def put(caller, **more):
    return caller("PUT", f"files{PATH}", {"content": TEXT, **more})


def test_a_person_says_so_with_the_digest_of_the_refusal(space, ann, forge):
    refused = put(ann)
    assert code(refused) == (422, "secret_found") and KEY not in refused.content.decode()
    (found,) = refused.json()["error"]["secrets"]
    assert found["line"] == 3
    assert code(put(ann, no_secret=["0" * 64])) == (422, "secret_found")
    assert put(ann, no_secret=[found["digest"]]).status_code == 200
    assert AllowedValue.objects.within(space).get().actor_name == "ann"
    assert ActivityLine.objects.within(space).filter(verb="secrets.allow").count() == 1
    assert put(ann).status_code == 200  # it is known now


def test_an_agent_neither_says_so_nor_learns_a_digest(space, ann, forge):
    digest = put(ann).json()["error"]["secrets"][0]["digest"]
    assert code(put(forge, no_secret=[digest])) == (403, "people_only")
    assert "secrets" not in put(forge).json()["error"]
    assert not AllowedValue.objects.exists() and KEY.encode() not in b"".join(
        bytes(one.content or b"") for one in Revision.objects.within(space)
    )


def test_an_edit_says_so_of_its_words_and_of_what_they_make_with_the_text(space, ann, forge):
    half = f"The sample key of the manual is {KEY[:20]}"
    assert ann("PUT", f"files{PATH}", {"content": f"{half} as printed.\n"}).status_code == 200
    for words in (
        {"old_string": KEY[10:20], "new_string": KEY[10:]},
        {"old_string": "printed", "new_string": f"in {KEY[::-1]} {KEY}"},
    ):
        body = {"path": PATH, **words}
        refused = ann("POST", "edits", body)
        assert code(refused) == (422, "secret_found")
        digests = [one["digest"] for one in refused.json()["error"]["secrets"]]
        assert len(digests) == len(set(digests)) and KEY not in refused.content.decode()
        assert "secrets" not in forge("POST", "edits", body).json()["error"]
        assert code(forge("POST", "edits", {**body, "no_secret": digests})) == (403, "people_only")
        assert ann("POST", "edits", {**body, "no_secret": digests}).status_code == 200
        assert forge("DELETE", f"files{PATH}").status_code == 202
        for allowed in AllowedValue.objects.within(space):
            files.forbid(space, HUB, allowed.pk)
        assert ann("PUT", f"files{PATH}", {"content": f"{half} as printed.\n"}).status_code == 200


def test_an_approval_with_other_words_says_so(space, ann, forge):
    number = forge("PUT", f"files{PATH}", {"content": "# Notes\n\nMore.\n"}).json()["proposal"]["number"]
    seen = proposals.result(proposals.get(space, number)).seen
    body = {"seen": seen, "content": TEXT}
    refused = ann("POST", f"proposals/{number}/approve", body)
    assert code(refused) == (422, "secret_found")
    digests = [one["digest"] for one in refused.json()["error"]["secrets"]]
    assert ann("POST", f"proposals/{number}/approve", {**body, "no_secret": digests}).status_code == 200
    assert ann("GET", f"files{PATH}").json()["sha256"] == hashlib.sha256(TEXT.encode()).hexdigest()
