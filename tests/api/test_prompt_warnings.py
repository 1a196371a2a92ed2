"""The header `Memoryhub-Warnings` of the text form, and what clients make of it."""

from __future__ import annotations

import json
import uuid
from types import SimpleNamespace
from urllib.parse import unquote

import pytest

from memoryhub.client.records import read_warnings
from memoryhub.dialects import Warn
from memoryhub.domain import accounts, prompts, spaces, working
from memoryhub.domain.prompts import warnings
from memoryhub.models import HUB, Actor, Mount, Source
from tests.api.calling import Caller
from tests.prompting import AGENTS, lists, put

pytestmark = pytest.mark.django_db
KEY = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
HEADER = "Memoryhub-Warnings"
ODD = '/memories/ü "quoted", semi;colon=\\ 100%\u202e\u0007.md'


@pytest.fixture
def desk(way_in):
    space = spaces.create(HUB, "books")
    Mount.objects.create(space=space, prefix="/memories/")
    put(space, AGENTS, "one\n")
    lists(space, AGENTS)
    counter = prompts.create_agent(space, HUB, "counter")
    return SimpleNamespace(
        space=space, counter=counter, call=Caller(way_in, accounts.create_token(space, HUB, agent=counter)[1])
    )


def ask(desk, body=None, **headers):
    answer = desk.call("POST", "prompt", {"dialect": "plain", **(body or {})}, **{"Accept": "text/plain", **headers})
    assert answer.status_code in (200, 304)
    return answer


def change(desk, path: str, text: str) -> None:
    put(desk.space, path, text)
    spaces.mark_setup(desk.space)


def test_without_warnings_there_is_no_header(desk):
    assert HEADER not in ask(desk)


def test_the_header_says_what_the_json_says(desk):
    change(desk, AGENTS, f"key {KEY}\nzero\u200bwidth <!-- note -->\n")
    lists(desk.space, AGENTS, AGENTS, "/memories/never.md")
    spaces.mark_setup(desk.space)
    told = json.loads(ask(desk, Accept="application/json").content)["warnings"]
    header = ask(desk)[HEADER]
    assert f'secret_like;path="{AGENTS}", ' in header + ", "
    assert {(one["code"], one["path"]) for one in told} == {(one.code, one.path) for one in read_warnings(header)}
    assert {"secret_like", "hidden_characters", "source_missing", "duplicate_source"} <= {
        one.code for one in read_warnings(header)
    }
    assert HEADER not in ask(desk, Accept="application/json")


def test_hidden_characters_are_told_wherever_they_stand(desk):
    prompts.change_agent(desk.counter, HUB, name="counter", persona="You are\u200b terse.")
    working.add(
        desk.space, Actor.of_person(accounts.create_person(HUB, "rk"), "owner"), "The till \u202eopens at nine."
    )
    told = ask(
        desk, {"dialect": "hub", "query": "till", "system_prompt": "Base\u2060."}, Accept="application/json"
    ).json()
    found = [one for one in told["warnings"] if one["code"] == "hidden_characters"]
    assert [one["message"].split(":")[0] for one in found] == ["System prompt", "Persona", "Working memory"]
    header = ask(desk, {"dialect": "hub", "query": "till", "system_prompt": "Base\u2060."})[HEADER]
    assert header == "hidden_characters"


def test_a_304_has_the_warnings_of_now(desk):
    first = ask(desk)
    lists(desk.space, "/memories/never.md")
    spaces.mark_setup(desk.space)
    again = ask(desk, If_None_Match=first["ETag"])
    assert (again.status_code, again[HEADER]) == (304, 'source_missing;path="/memories/never.md"')
    prompts.remove_source(desk.space, HUB, Source.objects.get(path="/memories/never.md").pk)
    assert HEADER not in ask(desk, If_None_Match=first["ETag"])


def test_any_path_is_safe_in_the_header(desk):
    lists(desk.space, ODD)
    spaces.mark_setup(desk.space)
    header = ask(desk)[HEADER]
    assert header.isascii() and header.isprintable()
    assert unquote(header.removeprefix('source_missing;path="').removesuffix('"')) == ODD
    assert read_warnings(header) == [{"code": "source_missing", "path": ODD}]


@pytest.mark.parametrize("size", [1, 30, 900, 5000])
@pytest.mark.parametrize("count", [0, 1, 2, 40, 3000])
def test_the_header_is_2_kb_at_most(count, size):
    warns = [Warn("source_missing", f"/{number}/{'ü' * size}", "") for number in range(count)]
    header = warnings.as_header(warns)
    assert len(header) <= 2048
    items = read_warnings(header)
    assert [one.path for one in items if one.code != "more"] == [one.path for one in warns][
        : len(items) - ("more" in header)
    ]
    more = [int(item.partition("=")[2]) for item in header.split(", ") if item.startswith("more;count=")]
    assert len(items) - len(more) + sum(more) == count


def test_people_are_told_as_well(desk, way_in):
    rk = accounts.create_person(HUB, "rk")
    spaces.add_member(desk.space, HUB, rk, "viewer")
    look = Caller(way_in, accounts.create_token(desk.space, HUB, person=rk)[1])
    lists(desk.space, "/memories/never.md")
    answer = look("GET", "prompt?agent=counter&dialect=plain", Accept="text/plain")
    assert answer[HEADER] == 'source_missing;path="/memories/never.md"'


def test_detectors_look_at_a_text_once(desk, monkeypatch):
    text = f"{uuid.uuid4()}\n"
    change(desk, AGENTS, text)
    looked = []
    monkeypatch.setattr(warnings, "look_for_findings", lambda text, codes: looked.append(text) or ())
    for number in range(3):
        ask(desk, {"task": f"Count to {number}.", "thread": f"t-{number}"})
        ask(desk, {"dialect": "plain", "system_prompt": f"Base {number}."})
    assert looked == [text]
