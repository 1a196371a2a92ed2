"""The same bytes through every door: the REST answer, the command line and the preview's raw text, against the library."""

from __future__ import annotations

from io import BytesIO, TextIOWrapper
from unittest import mock

import pytest
from django.core.management import call_command
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryhub.domain import accounts, files, prompts, spaces
from memoryhub.models import HUB

from .test_deepagents import TEXT
from .wheels import VERSIONS, fetch, library, version_of, what_it_sends

pytestmark = pytest.mark.django_db
PATHS = ["/memories/AGENTS.md", "/memories/team/AGENTS.md", "/memories/AGENTS.md", "/memories/never.md"]


@pytest.fixture
def doors(db):
    """A space with sources, an agent's token and somebody signed in."""
    space = spaces.create(HUB, "main")
    files.add_mount(space, HUB, "/memories/")
    for path in PATHS:
        prompts.add_source(space, HUB, path)
    agent = prompts.create_agent(space, HUB, "forge", dialect="deepagents")
    rk = accounts.create_person(HUB, "rk")
    spaces.add_member(space, HUB, rk, "viewer")
    browser = Client()
    browser.force_login(rk)
    return space, agent, accounts.create_token(space, HUB, agent=agent)[1], browser


@pytest.mark.parametrize("version", VERSIONS)
def test_every_door_gives_the_bytes_of_the_library(doors, version):
    wheel = fetch(version)
    theirs, named = library(wheel), f"deepagents/{version_of(wheel)}"
    prompts.import_template_wheel(wheel)

    @settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(one=TEXT, two=TEXT, base=st.just("") | TEXT.map(lambda text: text.replace("\x00", "")))
    def compare(one, two, base):
        compare_doors(doors, named, {PATHS[0]: one.encode(), PATHS[1]: two.encode()}, base, theirs)

    compare()


def compare_doors(doors, named, texts, base, theirs):
    space, agent, secret, browser = doors
    for path, data in texts.items():
        files.write(space, HUB, path, data)
    if base != agent.system_prompt:
        doors[1].system_prompt = prompts.change_agent(agent, HUB, system_prompt=base).system_prompt
    expected = what_it_sends(theirs, PATHS, dict(texts), base).encode()
    rest = Client().get("/api/v1/prompt", {"dialect": named}, headers={"Authorization": f"Bearer {secret}"})
    assert rest.content == expected
    told = (
        Client()
        .get(
            "/api/v1/prompt",
            {"dialect": named},
            headers={"Authorization": f"Bearer {secret}", "Accept": "application/json"},
        )
        .json()
    )
    assert told["text"].encode() == expected
    assert browser.get("/s/main/prompt/forge/raw/", {"dialect": named}).content == expected
    assert from_the_command_line(named) == expected


def from_the_command_line(named):
    out = TextIOWrapper(BytesIO(), encoding="ascii")  # a poor terminal must not change a byte
    with mock.patch("sys.stdout", out):
        call_command("prompt", agent="forge", dialect=named)
    return out.buffer.getvalue()
