"""How many modules one call runs through, which a reader follows from file to file.

The bounds are today's numbers: they may fall, never rise. The aims are 24, 40, 14, 14 and 9.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client

import memoryhub
from memoryhub.domain import accounts, files, proposals, spaces
from memoryhub.models import HUB, Actor, Proposal
from memoryhub.wsgi import application
from tests.api.calling import Caller
from tests.domain.layers import forge, space  # noqa: F401  fixtures

pytestmark = pytest.mark.django_db
PACKAGE = Path(memoryhub.__file__).parent
PATH = "/memories/AGENTS.md"
DETECTORS = ("detectors/", "text/engine.py")  # which compiles their patterns, once


def modules_run(call: Callable[[], object], without: tuple[str, ...] = ()) -> set[str]:
    """The project's modules of which any function runs during a call."""
    found: set[str] = set()

    def note(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(f"{PACKAGE}{os.sep}"):
            found.add(frame.f_code.co_filename.removeprefix(f"{PACKAGE}{os.sep}"))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return {name for name in found if not name.startswith(without)}


def wsgi(secret: str, path: str) -> list[str]:
    """One GET past Django's test client, as granian sends it; the status."""
    answered: list[str] = []
    environ = {
        "REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": "", "SERVER_NAME": "testserver", "SERVER_PORT": "80",
        "HTTP_HOST": "testserver", "HTTP_AUTHORIZATION": f"Bearer {secret}", "wsgi.input": io.BytesIO(), "wsgi.url_scheme": "http",
        "REMOTE_ADDR": "127.0.0.1",
    }  # fmt: skip
    list(application(environ, lambda status, headers: answered.append(status)))
    return answered


@pytest.fixture
def secret(space, forge):
    files.add_mount(space, HUB, "/memories/", store="database", policy="review")
    files.write(space, HUB, PATH, b"# Rules\n\n- Run `pytest -q`.\n")
    return accounts.create_token(space, HUB, agent=forge)[1]


@pytest.fixture
def agent(client, secret):
    return Caller(client, secret)


@pytest.fixture
def reviewer(space):
    person = accounts.create_person(HUB, "rk")
    spaces.add_member(space, HUB, person, "reviewer")
    return Actor.of_person(person, "reviewer")


def edit(agent: Caller, new: str = "make test"):
    return agent(
        "POST", "edits", {"path": PATH, "old_string": "pytest -q", "new_string": new, "reason": "It is quicker."}
    )


def test_an_edit_becomes_a_proposal(agent, statements):
    edit(agent, "make another")  # what is made once is made
    with statements() as sent:
        walked = modules_run(lambda: edit(agent), without=DETECTORS)
    assert Proposal.objects.count() == 2
    assert sum("p.path, m.prefix" in sql for sql in sent) == 1, "the text is read once for proposal and answer"
    assert len(sent) <= 15, sent  # two of them around this test's transaction
    assert len(walked) <= 26, sorted(walked)


def test_the_review_page(space, agent, reviewer, statements):
    edit(agent)
    browser = Client()
    browser.force_login(reviewer.person)
    page = f"/s/{space.slug}/proposals/1/"
    browser.get(page)  # templates are read once
    with statements() as sent:
        walked = modules_run(lambda: browser.get(page))
    assert not [name for name in walked if name.startswith("detectors/")], (
        "what was found when it was asked for is shown"
    )
    assert len(sent) <= 19, sent
    assert len(walked) <= 45, sorted(walked)


def test_an_approval(space, agent, reviewer):
    edit(agent)
    seen = proposals.review(proposals.get(space, 1)).found.sha256
    walked = modules_run(lambda: proposals.approve(space, reviewer, 1, seen=seen), without=DETECTORS)
    assert Proposal.objects.get().state == "approved"
    assert len(walked) <= 20, sorted(walked)


def test_a_log(agent):
    told = {
        "content": "The refund of invoice 20931 left on the 13th by card.",
        "session_id": "s",
        "node_id": "n",
        "node_kind": "agent",
    }
    agent("POST", "quarantine", told | {"content": "Another one, so that what is made once is made."})
    walked = modules_run(lambda: agent("POST", "quarantine", told), without=DETECTORS)
    assert len(walked) <= 15, sorted(walked)


def test_a_prompt_that_did_not_change(secret):
    assert wsgi(secret, "/api/v1/prompt") == ["200 OK"]
    walked = modules_run(lambda: wsgi(secret, "/api/v1/prompt"))
    assert len(walked) <= 9, sorted(walked)
