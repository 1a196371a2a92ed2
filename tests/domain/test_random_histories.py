"""Random histories of people, agents and the memory tool against a plain dictionary: files, proposals and revisions agree with it."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from memoryhub.domain import accounts, exchange, files, prompts, proposals, spaces
from memoryhub.errors import HubError
from memoryhub.models import HUB, Actor, File, Proposal, Revision

pytestmark = pytest.mark.django_db

REVIEWED = ["/memories/a.md", "/memories/sub/b.md"]
OWN = ["/memories/own/x.md", "/memories/own/y.md"]
LINES = ["Refunds take ten days.\n", "Deploys run on Tuesdays.\n", "Invoices go out by mail.\n"]
texts = st.lists(st.sampled_from(LINES), min_size=1, max_size=4).map("".join)
lines = st.sampled_from(LINES)
anywhere = st.sampled_from(REVIEWED + OWN)


def sha_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Histories(RuleBasedStateMachine):
    """`texts` is what each file should hold; a refusal must leave everything as it was."""

    def __init__(self) -> None:
        super().__init__()
        self.undone = transaction.atomic()
        self.undone.__enter__()
        self.space = spaces.create(HUB, "books")
        files.add_mount(self.space, HUB, "/memories/", store="database", policy="review")
        files.add_mount(self.space, HUB, "/memories/own/", store="database", policy="trusted")
        person = accounts.create_person(HUB, "rk")
        spaces.add_member(self.space, HUB, person, "owner")
        self.person = Actor.of_person(person, "owner")
        self.forge = prompts.create_agent(self.space, HUB, "forge")
        self.agent = Actor.of_agent(self.forge)
        self.texts: dict[str, str] = {}
        self.before: dict[int, dict[str, str]] = {}  # what files held before a proposal was approved
        self.digests: dict[tuple[str, int], str] = {}

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.undone.__exit__(None, None, None)

    def attempt(self, act: Any) -> Any:
        """What came of it; None where it was refused."""
        try:
            with transaction.atomic():
                return act()
        except HubError:
            return None

    @initialize(first=texts, second=texts)
    def two_files_are_there(self, first: str, second: str) -> None:
        self.a_person_writes(REVIEWED[0], first)
        self.a_person_writes(OWN[0], second)

    # ---- people

    @rule(path=anywhere, text=texts)
    def a_person_writes(self, path: str, text: str) -> None:
        files.write(self.space, self.person, path, text.encode())
        self.texts[path] = text

    @rule(path=anywhere, old=lines, new=lines)
    def a_person_edits(self, path: str, old: str, new: str) -> None:
        done = self.attempt(lambda: files.edit(self.space, self.person, path, old, new))
        assert (done is not None) == (self.texts.get(path, "").count(old) == 1 and old != new) or old == new
        if done is not None:
            self.texts[path] = self.texts[path].replace(old, new)

    @rule(path=anywhere)
    def a_person_deletes(self, path: str) -> None:
        done = self.attempt(lambda: files.delete(self.space, self.person, path))
        assert (done is not None) == (path in self.texts)
        self.texts.pop(path, None)

    @rule(path=anywhere, to=anywhere)
    def a_person_moves(self, path: str, to: str) -> None:
        done = self.attempt(lambda: files.move(self.space, self.person, path, to))
        assert (done is not None) == (path in self.texts and to not in self.texts)
        if done is not None:
            self.texts[to] = self.texts.pop(path)

    # ---- agents

    @rule(path=anywhere, text=texts)
    def an_agent_writes(self, path: str, text: str) -> None:
        wanted = files.ChangeRequest("write", path, content=text.encode(), reason="I was told so.")
        if isinstance(self.attempt(lambda: proposals.submit(self.space, self.agent, wanted)), files.Applied):
            assert path in OWN or self.texts.get(path) == text
            self.texts[path] = text

    @rule(path=anywhere, old=lines, new=lines)
    def an_agent_edits(self, path: str, old: str, new: str) -> None:
        wanted = files.ChangeRequest("edit", path, old=old, new=new)
        if isinstance(self.attempt(lambda: proposals.submit(self.space, self.agent, wanted)), files.Applied):
            assert path in OWN or old == new
            self.texts[path] = self.texts[path].replace(old, new)

    @rule(path=anywhere)
    def an_agent_deletes(self, path: str) -> None:
        wanted = files.ChangeRequest("delete", path)
        if isinstance(self.attempt(lambda: proposals.submit(self.space, self.agent, wanted)), files.Applied):
            assert path in OWN
            del self.texts[path]

    @rule(path=anywhere, to=anywhere)
    def an_agent_moves(self, path: str, to: str) -> None:
        wanted = files.ChangeRequest("move", path, to=to)
        if isinstance(self.attempt(lambda: proposals.submit(self.space, self.agent, wanted)), files.Applied):
            assert path in OWN and to in OWN, "what leaves or reaches a reviewed place waits"
            self.texts[to] = self.texts.pop(path)

    @rule(path=st.sampled_from(OWN), old=lines, new=lines)
    def the_memory_tool_replaces(self, path: str, old: str, new: str) -> None:
        command = {"command": "str_replace", "path": path, "old_str": old, "new_str": new}
        said = exchange.run_memory_tool(self.space, self.agent, command)
        if not said.is_error and path in self.texts:
            self.texts[path] = self.texts[path].replace(old, new)

    @rule(path=st.sampled_from(OWN), line=lines)
    def the_memory_tool_inserts(self, path: str, line: str) -> None:
        command = {"command": "insert", "path": path, "insert_line": 0, "insert_text": line}
        if not exchange.run_memory_tool(self.space, self.agent, command).is_error:
            self.texts[path] = line + self.texts[path]

    # ---- decisions

    def waiting(self) -> list[Proposal]:
        return list(Proposal.objects.within(self.space).filter(state="pending").order_by("number"))

    def some(self, data: Any, state: str) -> Proposal | None:
        found = list(Proposal.objects.within(self.space).filter(state=state).order_by("number"))
        return data.draw(st.sampled_from(found)) if found else None

    @precondition(lambda self: self.waiting())
    @rule(data=st.data())
    def a_person_approves(self, data: Any) -> None:
        proposal = self.some(data, "pending")
        before = dict(self.texts)
        seen = proposals.review(proposal).found.sha256
        done = self.attempt(lambda: proposals.approve(self.space, self.person, proposal.number, seen=seen or "none"))
        if done is None or done.state != "approved":
            return
        self.before[proposal.number] = before
        change = proposal.change
        if proposal.kind == "delete":
            del self.texts[proposal.path]
        elif proposal.kind == "move":
            self.texts[change["to"]] = self.texts.pop(proposal.path)
        elif proposal.kind == "edit":
            assert change["old_string"] in self.texts[proposal.path]
            self.texts[proposal.path] = self.texts[proposal.path].replace(change["old_string"], change["new_string"])
        else:
            self.texts[proposal.path] = self.read(proposal.path)
            assert not seen or files.read(self.space, proposal.path).sha256 == seen, "other text than was seen"

    @precondition(lambda self: self.waiting())
    @rule(data=st.data())
    def a_person_rejects(self, data: Any) -> None:
        proposal = self.some(data, "pending")
        self.attempt(lambda: proposals.reject(self.space, self.person, proposal.number, note="Not so."))

    @precondition(lambda self: self.waiting())
    @rule(data=st.data())
    def the_agent_withdraws(self, data: Any) -> None:
        proposal = self.some(data, "pending")
        self.attempt(lambda: proposals.withdraw(self.space, self.forge, proposal.number))

    @rule(data=st.data())
    def a_person_undoes(self, data: Any) -> None:
        if proposal := self.some(data, "approved"):
            touched = [proposal.path, *([proposal.change["to"]] if proposal.kind == "move" else [])]
            if self.attempt(lambda: proposals.undo(self.space, self.person, proposal.number)):
                for path in touched:
                    self.texts.pop(path, None)
                    if path in self.before[proposal.number]:
                        self.texts[path] = self.before[proposal.number][path]

    @rule(data=st.data())
    def a_person_reopens(self, data: Any) -> None:
        if proposal := self.some(data, "rejected"):
            self.attempt(lambda: proposals.reopen(self.space, self.person, proposal.number))

    # ---- what always holds

    def read(self, path: str) -> str:
        return files.read(self.space, path).content.decode()

    @invariant()
    def files_hold_what_they_should(self) -> None:
        there = {entry.path for entry in files.walk(self.space)}
        assert there == set(self.texts)
        assert {path: self.read(path) for path in there} == self.texts

    @invariant()
    def revisions_are_counted_and_never_change(self) -> None:
        for file in File.objects.within(self.space):
            numbers = []
            for revision in Revision.objects.within(self.space).filter(file=file).order_by("number"):
                numbers.append(revision.number)
                assert self.digests.setdefault((file.path, revision.number), revision.sha256) == revision.sha256
                assert sha_of(files.content_of(file, revision.number)) == revision.sha256
            assert numbers == list(range(1, file.revision + 1))
            if not file.is_deleted and file.revision:
                assert self.digests[file.path, file.revision] == sha_of(self.texts[file.path].encode())


@pytest.mark.parametrize(
    "examples", [pytest.param(3, id="some"), pytest.param(300, id="many", marks=pytest.mark.attack)]
)
def test_files_proposals_and_revisions_agree_with_a_dictionary(examples: int) -> None:
    told = settings(
        max_examples=examples, stateful_step_count=40, deadline=None, derandomize=examples == 3, database=None,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate],
    )  # fmt: skip
    run_state_machine_as_test(Histories, settings=told)
