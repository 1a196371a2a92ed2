"""Only people decide, and only people say what needs no decision: an agent tries every door there is.

Whatever an agent sends, nothing that rules over it changes (mounts, rules, roles, tokens, sources, settings, protected
regions), and no text changes where a person has to say yes.
"""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from memoryhub.api.v1 import api
from memoryhub.domain import accounts, exchange, files, longterm, prompts, proposals, quarantine, spaces
from memoryhub.errors import Forbidden
from memoryhub.models import (
    HUB,
    Actor,
    Agent,
    EntryRevision,
    File,
    LongtermEntry,
    Membership,
    Mount,
    Person,
    PolicyRule,
    Proposal,
    RecordState,
    Scope,
    Source,
    Space,
    Token,
    Webhook,
)
from tests.api.calling import Caller
from tests.web.test_walls import IN_SPACE, Address

pytestmark = pytest.mark.django_db
REVIEWED, LOCKED, OPEN = "/memories/AGENTS.md", "/locked/law.md", "/memories/drafts/note.md"
GUARDED = "/memories/drafts/guarded.md"
REGION = "<!-- protected -->\n- Ask rk first.\n<!-- /protected -->\n"
SCOPES = [list(Scope.values), *([one] for one in Scope.values)]
# What a hopeful agent adds to each body, in case somebody takes the whole of it over.
WISHES = {
    "policy": "trusted", "role": "owner", "scopes": list(Scope.values), "state": "approved", "reviewers": 0, "agent": "forge",
    "approvals": 2, "is_on": True, "settings": {"reviewers": 0}, "person": "rk", "decided_by": "rk", "hunks": [1], "trusted": True,
}  # fmt: skip


@pytest.fixture
def space() -> Space:
    space = spaces.create(HUB, "main")
    files.add_mount(space, HUB, "/memories/", policy="review")
    files.add_mount(space, HUB, "/locked/", policy="read_only")
    files.add_rule(space, HUB, "/memories/drafts/**", "trusted", confirmed=True)
    files.write(space, HUB, REVIEWED, b"# Rules\n\n- one\n- two\n")
    files.write(space, HUB, "/memories/team/a.md", b"- a\n")
    files.write(space, HUB, LOCKED, b"- law\n")
    files.write(space, HUB, OPEN, b"- note\n")
    files.write(space, HUB, GUARDED, f"- mine\n{REGION}".encode())
    prompts.add_source(space, HUB, REVIEWED)
    return space


@pytest.fixture
def forge(space: Space) -> Agent:
    made = prompts.create_agent(space, HUB, "forge")
    ask(space, made)
    said = {"session_id": "s", "node_id": "n", "node_kind": "agent", "scope": "group", "metadata": {}}
    quarantine.log(space, made, content="Invoices are kept for ten years.", **said)
    longterm.store(space, HUB, "Invoices are written in euro.")
    return made


def ask(space: Space, agent: Agent) -> Proposal:
    return proposals.propose(
        space,
        agent,
        kind="edit",
        path=REVIEWED,
        change={"old_string": "one", "new_string": "uno", "replace_all": False},
    )


def ruling(space: Space) -> dict[str, Any]:
    """Everything that says who may do what, and every text that only people change."""
    seldom = {
        Agent: {"seen_at", "reported"},
        Token: {"used_at", "used_from"},
        Space: {"revision", "setup_mark", "last_proposal"},
    }
    rows = {
        model.__name__: [
            {name: value for name, value in row.items() if name not in seldom.get(model, ())}
            for row in model.objects.order_by("pk").values()
        ]
        for model in (
            Mount,
            PolicyRule,
            Membership,
            Person,
            Agent,
            Token,
            Space,
            Source,
            Webhook,
            LongtermEntry,
            EntryRevision,
        )
    }
    kept = File.objects.exclude(path__startswith="/memories/drafts/").order_by("path")
    decided = Proposal.objects.filter(state__in=["approved", "rejected", "expired"])
    return {
        **rows,
        "texts": list(kept.values("path", "sha256", "revision", "is_deleted")),
        "decided": list(decided.values_list("number", "state")),
        "admitted by": list(RecordState.objects.exclude(actor_kind="hub").values_list("actor_kind", flat=True)),
        "guarded": REGION in files.read(space, GUARDED).content.decode(),
    }


@pytest.fixture
def unmoved(space: Space, forge: Agent) -> Any:
    """Whatever the test does, it rules afterwards as it ruled before."""
    before: dict[str, Any] = {}

    def begin() -> None:
        before.update(ruling(space))

    yield begin
    assert before and ruling(space) == before


def bodies() -> list[dict[str, Any]]:
    """Bodies that say something to some operation: each also with everything an agent could wish for."""
    plain: list[dict[str, Any]] = [
        {"path": REVIEWED, "old_string": "two", "new_string": "due"}, {"path": LOCKED, "old_string": "law", "new_string": "no law"},
        {"path": GUARDED, "old_string": "- Ask rk first.", "new_string": "- Ask nobody."}, {"content": "- all mine\n"},
        {"content": "- all mine\n", "reason": "r"}, {"seen": "0" * 64}, {"seen": proposals_seen(), "content": "mine"}, {"note": "no"},
        {"paths": [REVIEWED, LOCKED]}, {"from": REVIEWED, "to": "/memories/drafts/b.md"}, {"from": LOCKED, "to": "/memories/drafts/c.md"},
        {"from": OPEN, "to": "/memories/free.md"}, {"from": GUARDED, "to": "/memories/drafts/d.md"}, {"from": OPEN, "to": REVIEWED},
        {"quarantine_id": 1, "reason": "keep"}, {"content": "Keep this for good.", "reason": "keep"},
        {"library": "deepagents", "version": "0.7.0", "text": "{agent_memory}"}, {"system_prompt": "s"},
        {"content": "said", "session_id": "s", "node_id": "n", "node_kind": "fact_check", "scope": "group"},
        *({"command": "create", "path": path, "file_text": "x"} for path in ("/memories/new.md", REVIEWED, "/memories/.policy")),
        {"command": "str_replace", "path": REVIEWED, "old_str": "two", "new_str": "due"},
        {"command": "insert", "path": REVIEWED, "insert_line": 0, "insert_text": "x"},
        {"command": "delete", "path": REVIEWED}, {"command": "delete", "path": "/memories/team"},
        {"command": "rename", "old_path": "/memories/team", "new_path": "/memories/drafts/team"},
        {"command": "rename", "old_path": "/memories/drafts", "new_path": "/memories/team2"},
    ]  # fmt: skip
    return [*plain, *({**WISHES, **one} for one in plain)]


def proposals_seen() -> str:
    return proposals.result(Proposal.objects.get(number=1)).seen


def operations() -> list[tuple[str, str]]:
    """Each call of the document, its path filled in with what exists."""
    found = []
    for path, verbs in api.get_openapi_schema()["paths"].items():
        for place in (REVIEWED, LOCKED, GUARDED) if "{path}" in path else ("",):
            filled = path.replace("/{path}", place).replace("{number}", "1")
            found += [(verb, filled) for verb in verbs]
    return found


@pytest.mark.sampled(3)  # that a call needs its scope: tests/api/test_every_refusal.py
@pytest.mark.parametrize("scopes", SCOPES, ids=lambda one: one[0] if len(one) == 1 else "all")
def test_no_call_of_an_agent_rules(space, forge, client, unmoved, scopes) -> None:
    call = Caller(client, accounts.create_token(space, HUB, agent=forge, scopes=scopes)[1])
    unmoved()
    statuses: dict[str, set[int]] = {}
    for verb, path in operations():
        for body in bodies() if verb != "get" else [None]:
            answer = call(verb.upper(), path.removeprefix("/api/v1/"), body)
            statuses.setdefault(f"{verb} {path}", set()).add(answer.status_code)
            assert answer.status_code < 500, (verb, path, body)
    for door in ("approve", "reject"):
        assert statuses[f"post /api/v1/proposals/1/{door}"] == {403}
    if len(scopes) > 1:  # the doors were real: most changes became proposals
        assert 202 in statuses["post /api/v1/edits"] | statuses["post /api/v1/memory-tool"]
        assert 202 in statuses["post /api/v1/moves"] and 202 in statuses["post /api/v1/promotions"]


ODD = [
    "/memories/drafts/../AGENTS.md", "/memories//AGENTS.md", "/memories/./AGENTS.md", "/memories/drafts/%2e%2e/AGENTS.md",
    "/memories/AGENTS.md/", "\\memories\\AGENTS.md", "/memories/drafts\\..\\AGENTS.md", "//memories/AGENTS.md",
    "/memories/AGENTS.md ", "/memories/AGENTS.md\u200b", "/memories/drafts/..", "memories/AGENTS.md", "~/AGENTS.md", "/LOCKED/law.md",
    "/locked/../memories/drafts/x.md", "/memories/.policy", "/memories/mounts.json", "/memories/rules.yaml", "/memories/hub-guidelines.md",
    "/memories/.memoryhub/settings.json", "/memories/CODEOWNERS",
]  # fmt: skip


def test_no_odd_path_and_no_file_that_looks_like_a_policy_rules(space, forge, client, unmoved) -> None:
    call = Caller(client, accounts.create_token(space, HUB, agent=forge)[1])
    unmoved()
    text = "---\npolicy: trusted\nreviewers: 0\n---\n/memories/** trusted\n"
    for path in ODD:
        for answer in (
            call("PUT", f"files{path if path.startswith('/') else '/' + path}", {"content": text}),
            call("POST", "edits", {"path": path, "old_string": "- one", "new_string": "- uno"}),
            call("POST", "moves", {"from": OPEN, "to": path}),
            call("POST", "moves", {"from": path, "to": "/memories/drafts/got.md"}),
            call("POST", "memory-tool", {"command": "create", "path": path, "file_text": text}),
        ):
            assert answer.status_code < 500, (path, answer.content)
    inside = call("PUT", "files/memories/drafts/policy.json", {"content": text})
    assert inside.status_code == 201  # where it is trusted it may write what it likes, and nobody obeys it
    assert call("PUT", "files" + REVIEWED, {"content": "x"}).status_code == 202


def test_there_and_back_between_policies_gets_nothing_past_a_person(space, forge, client, unmoved) -> None:
    call = Caller(client, accounts.create_token(space, HUB, agent=forge)[1])
    unmoved()
    moves = [
        (REVIEWED, "/memories/drafts/out.md", 202), ("/memories/drafts/out.md", REVIEWED, 404), (OPEN, "/memories/in.md", 202),
        (OPEN, LOCKED, 403), (LOCKED, OPEN, 403), (OPEN, "/locked/new.md", 403), (GUARDED, "/memories/drafts/g.md", 403),
        (OPEN, GUARDED, 409),
    ]  # fmt: skip
    for start, end, status in moves:
        answer = call("POST", "moves", {"from": start, "to": end})
        assert answer.status_code == status, (start, end, answer.content)
    for folder, to in (("/memories/team", "/memories/drafts/team"), ("/memories/drafts", "/memories/team2"),
                       ("/memories/team", "/locked/team")):  # fmt: skip
        exchange.run_memory_tool(
            space, Actor.of_agent(forge), {"command": "rename", "old_path": folder, "new_path": to}
        )
        exchange.run_memory_tool(space, Actor.of_agent(forge), {"command": "delete", "path": folder})


def address_of(one: Address) -> str:
    filled = {"space": "main", "number": "1", "agent": "forge", "slug": "forge", "path": REVIEWED.lstrip("/")}
    values = {name: filled.get(name, "1" if kind == "int" else "x") for name, kind in one.arguments.items()}
    return reverse(one.name, kwargs=values)


def test_no_page_takes_an_agents_token(space, forge, unmoved) -> None:
    secret = accounts.create_token(space, HUB, agent=forge)[1]
    unmoved()
    client = Client(headers={"Authorization": f"Bearer {secret}", "Cookie": f"memoryhub_session={secret}"})
    for one in IN_SPACE:
        for method in ("get", "post"):
            answer = getattr(client, method)(
                address_of(one), {**WISHES, "settings": "", "prefix": "/memories/", "pattern": "**"}
            )
            refused = answer.status_code in (302, 405) and "/login/" in answer.headers.get("Location", "/login/")
            assert refused, (one.name, method, answer.status_code)


# ---- nor does a person decide on what their own agent asked, where the space wants that


@pytest.fixture
def olga(space: Space, forge: Agent) -> Person:
    person = accounts.create_person(HUB, "olga")
    spaces.add_member(space, HUB, person, "owner")
    accounts.create_token(space, Actor.of_person(person, "owner"), agent=forge)
    spaces.change_settings(space, HUB, {"who_decides": "others"})
    return person


def at(name: str, *arguments: Any) -> str:
    return reverse(f"proposals.{name}", args=["main", *arguments])


def test_the_page_gives_no_buttons_and_takes_no_decision(space, olga, client) -> None:
    client.force_login(olga)
    page = client.get(at("detail", 1)).content.decode()
    assert "Somebody else decides" in page and 'id="decide-form"' not in page and 'id="reject-form"' not in page
    for door, given in (("approve", {"seen": proposals_seen(), "do": "approve"}), ("reject", {"note": "no"})):
        answer = client.post(at(door, 1), given)
        assert answer.status_code == 403 and "You made a key of forge" in answer.content.decode()
    assert proposals.get(space, 1).state == "pending"


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_a_bulk_decision_leaves_it_out(space, olga, client, verb) -> None:
    other = prompts.create_agent(space, HUB, "other")
    proposals.propose(space, other, kind="write", path="/memories/other.md", content=b"- other\n")
    client.force_login(olga)
    page = client.get(at("bulk"), {"n": [1, 2], "do": verb}).content.decode()
    assert f"{verb.capitalize()} 1 proposal?" in page and "Left out: you created a token of forge" in page
    assert 'name="seen-1"' not in page and 'name="seen-2"' in page
    seen = {f"seen-{n}": proposals.result(proposals.get(space, n)).seen for n in (1, 2)}
    client.post(at("decide_many"), {**seen, "do": verb, "note": "as told"})
    assert [proposals.get(space, n).state for n in (1, 2)] == [
        "pending",
        "approved" if verb == "approve" else "rejected",
    ]


def test_the_api_refuses_it(space, olga, client) -> None:
    call = Caller(client, accounts.create_token(space, Actor.of_person(olga, "owner"), person=olga)[1])
    for door, body in (("approve", {"seen": proposals_seen()}), ("approve", {"seen": proposals_seen(), "content": "mine"}),
                       ("reject", {"note": "no"})):  # fmt: skip
        answer = call("POST", f"proposals/1/{door}", body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "own_proposal")
    assert proposals.get(space, 1).state == "pending"


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_the_command_line_refuses_it(space, olga, verb) -> None:
    with pytest.raises(Forbidden, match="You made a key of forge"):
        call_command(verb, "1", "--as", "olga", "--note", "as told", stdout=StringIO())
    assert proposals.get(space, 1).state == "pending"


def test_the_answer_of_a_refusal_names_no_secret(space, forge, client) -> None:
    secret = accounts.create_token(space, HUB, agent=forge)[1]
    answer = Caller(client, secret)("POST", "proposals/1/approve", {"seen": "0" * 64})
    assert json.loads(answer.content)["error"]["code"] == "people_only" and secret not in answer.content.decode()
