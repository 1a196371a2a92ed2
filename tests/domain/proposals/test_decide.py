"""Proposals: asked by agents, seen and decided by people."""

from __future__ import annotations

import hashlib
import time
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.signals import post_init, pre_init
from django.utils import timezone

from memoryhub.domain import accounts, files, jobs, notify, prompts, proposals, spaces
from memoryhub.domain.proposals import waiting
from memoryhub.errors import Conflict, Forbidden, Invalid, NotFound, TooLarge
from memoryhub.models import HUB, ActivityLine, Actor, Agent, Job, Mount, Proposal, Revision, Space, WebhookNotice
from memoryhub.text import edits
from tests.fixtures.secret_texts import made

pytestmark = pytest.mark.django_db
PATH = "/memories/AGENTS.md"
TEXT = "# Rules\n\n## Testing\n\n- Run the tests with `pytest -q`.\n\n## Deploying\n\n- Staging deploys from main.\n"


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def space() -> Space:
    space = spaces.create(HUB, "books")
    files.add_mount(space, HUB, "/memories/", store="database", policy="review")
    return space


@pytest.fixture
def forge(space: Space) -> Agent:
    return prompts.create_agent(space, HUB, "forge")


@pytest.fixture
def rk(space: Space) -> Actor:
    return member(space, "rk", "reviewer")


def member(space: Space, name: str, role: str) -> Actor:
    person = accounts.create_person(HUB, name)
    spaces.add_member(space, HUB, person, role)
    return Actor.of_person(person, role)


@pytest.fixture
def file(space: Space) -> None:
    files.write(space, HUB, PATH, TEXT.encode())


def edit(space: Space, agent: Agent, old: str, new: str, **more: object) -> Proposal:
    change = {"old_string": old, "new_string": new, "replace_all": False}
    return proposals.propose(space, agent, kind="edit", path=PATH, change=change, **more)  # type: ignore[arg-type]


def write(space: Space, agent: Agent, text: str, path: str = PATH) -> Proposal:
    return proposals.propose(space, agent, kind="write", path=path, content=text.encode())


def text_at(space: Space, path: str = PATH) -> str:
    return files.read(space, path).content.decode()


def approve(space: Space, actor: Actor, proposal: Proposal, **more: object) -> Proposal:
    seen = proposals.result(proposals.get(space, proposal.number)).seen
    return proposals.approve(space, actor, proposal.number, seen=seen, **more)  # type: ignore[arg-type]


# ---- asking


def test_a_decision_asks_nothing_twice(space: Space, forge: Agent, rk: Actor, file: None, statements: Any) -> None:
    asked = edit(space, forge, "main", "trunk")
    seen = proposals.result(asked).seen
    with statements() as sent:
        proposals.approve(space, rk, asked.number, seen=seen)
    locks = [one for one in sent if "FOR UPDATE" in one]
    around = [
        one for one in sent if one.startswith(("SAVEPOINT", "RELEASE"))
    ]  # of the transaction that this test runs in
    assert (len(locks), len(around), len(sent)) == (2, 2, 9)


def test_an_edit_waits_and_changes_nothing_until_a_person_approves(space, forge, rk, file) -> None:
    asked = edit(space, forge, "pytest -q", "make test-fast", reason="rk asked for it", thread_id="t-1")
    assert (asked.number, asked.state, asked.base_revision) == (1, "pending", 1)
    assert text_at(space) == TEXT
    after = TEXT.replace("pytest -q", "make test-fast")
    assert proposals.result(asked).sha256 == sha(after)
    done = proposals.approve(space, rk, 1, seen=sha(after), note="fine")
    assert (done.state, done.applied_revision, done.decided_by_name, done.note) == ("approved", 2, "rk", "fine")
    assert text_at(space) == after
    told = ActivityLine.objects.filter(verb__startswith="proposals").order_by("id")
    assert list(told.values_list("verb", flat=True)) == ["proposals.propose", "proposals.approve"]


def test_the_same_wish_again_is_the_same_proposal_while_it_waits(space, forge, rk, file) -> None:
    first = edit(space, forge, "pytest -q", "make test-fast")
    assert edit(space, forge, "pytest -q", "make test-fast", thread_id="another").number == first.number
    proposals.reject(space, rk, first.number, note="wrong")
    assert edit(space, forge, "pytest -q", "make test-fast").number == first.number + 1


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [("absent", "x", "string_not_found"), ("s", "x", "string_not_unique")],
)
def test_an_edit_is_checked_before_it_becomes_a_proposal(space, forge, file, old, new, code) -> None:
    with pytest.raises(Invalid) as refusal:
        edit(space, forge, old, new)
    assert refusal.value.code == code
    assert Proposal.objects.count() == 0


def test_an_edit_of_a_missing_file_is_refused(space, forge) -> None:
    with pytest.raises(NotFound) as refusal:
        edit(space, forge, "a", "b")
    assert refusal.value.code == "file_not_found"


def test_an_edit_that_builds_on_ones_own_pending_one_is_stacked_on_it(space, forge, rk, file) -> None:
    first = edit(space, forge, "pytest -q", "make test-fast")
    second = edit(space, forge, "make test-fast", "make test-fast before every push")
    assert second.stacked_on == first.number
    with pytest.raises(Conflict) as refusal:
        approve(space, rk, second)
    assert refusal.value.code == "stacked"
    approve(space, rk, first)
    approve(space, rk, second)
    assert "make test-fast before every push" in text_at(space)


def test_rejecting_the_one_below_leaves_the_one_above_outdated(space, forge, rk, file) -> None:
    first = edit(space, forge, "pytest -q", "make test-fast")
    second = edit(space, forge, "make test-fast", "make check")
    third = edit(space, forge, "make check", "make all")
    proposals.reject(space, rk, first.number, note="wrong")
    assert [proposals.get(space, one.number).state for one in (second, third)] == ["outdated", "outdated"]


def test_a_secret_is_refused_and_stored_nowhere(space, forge, file) -> None:
    key = "gh" + "p_" + made(36)
    with pytest.raises(Invalid) as refusal:
        write(space, forge, TEXT + f"- token {key}\n")
    assert refusal.value.code == "secret_found"
    assert refusal.value.details["kind"] == "GitHub token"
    assert refusal.value.details["line"] == 10
    assert key not in str(refusal.value.as_json())
    assert not Proposal.objects.exists()
    asked = edit(space, forge, "pytest -q", "make test-fast", reason=f"the token is {key}")
    assert key not in asked.reason


def test_a_protected_region_is_out_of_bounds_for_agents(space, forge, rk) -> None:
    files.write(space, rk, PATH, b"a\n<!-- protected -->\n- rule\n<!-- /protected -->\nb\n")
    with pytest.raises(Forbidden) as refusal:
        edit(space, forge, "- rule", "- another")
    assert refusal.value.code == "protected_region"
    assert edit(space, forge, "b\n", "c\n").state == "pending"


def test_findings_and_risk_are_of_what_is_added(space, forge, file) -> None:
    quiet = edit(space, forge, "pytest -q", "make test-fast")
    hidden = edit(space, forge, "from main.", "from ma\u200bin.")
    assert (quiet.risk, quiet.findings) == (0, [])
    assert [(one["code"], one["line"]) for one in hidden.findings] == [("hidden", 9)]
    assert hidden.risk == 2


def test_throwing_most_of_a_text_away_is_risky(space, forge, rk) -> None:
    files.write(space, rk, PATH, b"- a line of knowledge\n" * 100)
    assert write(space, forge, "- all new\n").risk == 2


# ---- deciding


def test_only_people_with_the_role_decide(space, forge, rk, file) -> None:
    asked = edit(space, forge, "pytest -q", "make test-fast")
    with pytest.raises(Forbidden) as refusal:
        approve(space, Actor.of_agent(forge), asked)
    assert refusal.value.code == "people_only"
    with pytest.raises(Forbidden):
        approve(space, member(space, "jt", "editor"), asked)
    with pytest.raises(Forbidden):
        proposals.reject(space, member(space, "vi", "viewer"), asked.number, note="no")


def test_deciding_twice_is_refused(space, forge, rk, file) -> None:
    asked = edit(space, forge, "pytest -q", "make test-fast")
    approve(space, rk, asked)
    for again in (lambda: approve(space, rk, asked), lambda: proposals.reject(space, rk, asked.number, note="no")):
        with pytest.raises(Conflict) as refusal:
            again()
        assert refusal.value.code == "already_decided"


def test_what_was_not_seen_is_not_approved(space, forge, rk, file) -> None:
    asked = edit(space, forge, "pytest -q", "make test-fast")
    seen = proposals.result(asked).seen
    files.write(space, rk, PATH, (TEXT + "- More.\n").encode())
    with pytest.raises(Conflict) as refusal:
        proposals.approve(space, rk, asked.number, seen=seen)
    assert refusal.value.code == "changed_since_seen"
    assert "+- Run the tests with `make test-fast`." in refusal.value.details["diff"]
    assert proposals.get(space, asked.number).state == "pending"
    proposals.approve(space, rk, asked.number, seen=refusal.value.details["result_sha256"])
    assert text_at(space) == TEXT.replace("pytest -q", "make test-fast") + "- More.\n"


def test_a_whole_write_on_an_older_text_is_merged(space, forge, rk, file) -> None:
    asked = write(space, forge, TEXT.replace("pytest -q", "make test-fast"))
    files.write(space, rk, PATH, TEXT.replace("from main", "from a tag").encode())
    found = proposals.result(asked)
    assert found.moved_on
    approve(space, rk, asked)
    assert text_at(space) == TEXT.replace("pytest -q", "make test-fast").replace("from main", "from a tag")


def test_a_conflict_is_outdated_and_can_be_resolved_by_hand(space, forge, rk, file) -> None:
    asked = write(space, forge, TEXT.replace("pytest -q", "make test-fast"))
    files.write(space, rk, PATH, TEXT.replace("pytest -q", "tox").encode())
    with pytest.raises(Conflict):
        approve(space, rk, asked)
    assert proposals.get(space, asked.number).state == "outdated"
    done = approve(space, rk, asked, content=TEXT.replace("pytest -q", "tox and make test-fast").encode())
    assert (done.state, done.with_edits) == ("approved", True)
    assert "tox and make test-fast" in text_at(space)


def test_approving_one_marks_those_that_no_longer_apply(space, forge, rk, file) -> None:
    one = edit(space, forge, "pytest -q", "make test-fast")
    other = edit(space, prompts.create_agent(space, HUB, "counter"), "pytest -q", "tox")
    approve(space, rk, one)
    assert proposals.get(space, other.number).state == "outdated"


def test_approving_with_ones_own_edits_is_a_revision_of_the_person(space, forge, rk, file) -> None:
    asked = edit(space, forge, "pytest -q", "make test-fast")
    done = approve(space, rk, asked, content=TEXT.replace("pytest -q", "make check").encode())
    assert done.with_edits
    assert files.read(space, PATH).author_name == "rk"


def test_the_words_of_an_approved_proposal_are_the_agents(space, forge, rk, file) -> None:
    approve(space, rk, edit(space, forge, "pytest -q", "make test-fast"))
    found = files.read(space, PATH)
    assert (found.author_kind, found.author_name) == ("agent", "forge")


def test_revisions_made_past_django_are_those_that_django_makes(space) -> None:
    wrote = files.write(space, HUB, "/memories/new.md", b"- one\n", reason="Because")
    read = Revision.objects.get(pk=wrote.pk)
    assert {**vars(wrote), "_state": None, "is_new": None} == {**vars(read), "_state": None, "is_new": None}
    assert (wrote._state.adding, wrote._state.db) == (read._state.adding, read._state.db)
    assert wrote.space is space, "it is asked for again"
    assert not any(signal.has_listeners(Revision) for signal in (pre_init, post_init)), (
        "somebody listens who is not told"
    )


def test_some_hunks_only(space, forge, rk, file) -> None:
    asked = write(
        space, forge, TEXT.replace("pytest -q", "make test-fast").replace("from main", "from a tag") + "- End.\n"
    )
    with pytest.raises(Invalid):
        approve(space, rk, asked, hunks=[])
    done = approve(space, rk, asked, hunks=[1])
    assert (done.state, done.with_edits) == ("approved", True)
    assert text_at(space) == TEXT.replace("pytest -q", "make test-fast")


def test_delete_and_move(space, forge, rk, file) -> None:
    moved = proposals.propose(space, forge, kind="move", path=PATH, change={"to": "/memories/B.md"})
    assert "rename to /memories/B.md" in proposals.result(moved).diff
    approve(space, rk, moved)
    assert text_at(space, "/memories/B.md") == TEXT
    gone = proposals.propose(space, forge, kind="delete", path="/memories/B.md")
    assert (gone.risk, proposals.result(gone).sha256) == (2, hashlib.sha256(b"").hexdigest())
    files.write(space, rk, "/memories/B.md", b"changed meanwhile\n")
    with pytest.raises(Conflict):
        approve(space, rk, gone)
    assert proposals.get(space, gone.number).state == "outdated"


def test_a_new_file(space, forge, rk) -> None:
    asked = write(space, forge, "- new\n", "/memories/new.md")
    assert asked.base_revision is None
    assert approve(space, rk, asked).applied_revision == 1


def test_a_new_file_that_somebody_made_meanwhile_is_outdated(space, forge, rk) -> None:
    asked = write(space, forge, "- new\n", "/memories/new.md")
    files.write(space, rk, "/memories/new.md", b"- mine\n")
    with pytest.raises(Conflict):
        approve(space, rk, asked)
    assert text_at(space, "/memories/new.md") == "- mine\n"


def test_two_reviewers_have_to_agree_on_the_same_text(space, forge, rk, file) -> None:
    spaces.change_settings(space, HUB, {"reviewers": 2})
    space.refresh_from_db()
    asked = edit(space, forge, "pytest -q", "make test-fast")
    assert approve(space, rk, asked).state == "pending"
    with pytest.raises(Conflict) as refusal:
        approve(space, rk, asked)
    assert refusal.value.code == "already_approved"
    assert approve(space, member(space, "ops", "owner"), asked).state == "approved"


def test_a_rejection_needs_a_reason_and_the_agent_reads_it(space, forge, rk, file) -> None:
    asked = edit(space, forge, "pytest -q", "make test-fast")
    with pytest.raises(Invalid):
        proposals.reject(space, rk, asked.number, note="  ")
    done = proposals.reject(space, rk, asked.number, note="too vague", again=True)
    assert (done.state, done.note) == ("rejected", "Please try again: too vague")
    assert text_at(space) == TEXT


def test_promotion_becomes_long_term_memory(space, forge, rk) -> None:
    asked = proposals.propose_promotion(space, forge, content="Card refunds take 5 to 10 days.", reason="asked often")
    assert proposals.result(asked).sha256 == sha("Card refunds take 5 to 10 days.")
    done = approve(space, rk, asked)
    assert done.entry_number == 1
    undone = proposals.undo(space, rk, done.number)
    assert undone.state == "pending"


# ---- taking back


def test_an_agent_takes_back_its_own_only(space, forge, file) -> None:
    asked = edit(space, forge, "pytest -q", "make test-fast")
    with pytest.raises(NotFound):
        proposals.withdraw(space, prompts.create_agent(space, HUB, "counter"), asked.number)
    assert proposals.withdraw(space, forge, asked.number).state == "withdrawn"
    with pytest.raises(Conflict):
        proposals.withdraw(space, forge, asked.number)


def test_undo_restores_the_text_and_lets_it_wait_again(space, forge, rk, file) -> None:
    asked = edit(space, forge, "pytest -q", "make test-fast")
    approve(space, rk, asked)
    undone = proposals.undo(space, rk, asked.number)
    assert (undone.state, undone.undone_revision, text_at(space)) == ("pending", 3, TEXT)


def test_undo_is_refused_once_something_built_on_it(space, forge, rk, file) -> None:
    asked = edit(space, forge, "pytest -q", "make test-fast")
    approve(space, rk, asked)
    files.write(space, rk, PATH, b"- newer\n")
    with pytest.raises(Conflict) as refusal:
        proposals.undo(space, rk, asked.number)
    assert refusal.value.code == "built_upon"


def test_undo_of_a_new_file_takes_it_away_and_of_a_deletion_brings_it_back(space, forge, rk, file) -> None:
    made_new = write(space, forge, "- new\n", "/memories/new.md")
    approve(space, rk, made_new)
    proposals.undo(space, rk, made_new.number)
    assert not files.exists(space, "/memories/new.md")
    gone = proposals.propose(space, forge, kind="delete", path=PATH)
    approve(space, rk, gone)
    assert not files.exists(space, PATH)
    proposals.undo(space, rk, gone.number)
    assert text_at(space) == TEXT


def test_a_rejected_one_can_be_reopened(space, forge, rk, file) -> None:
    asked = edit(space, forge, "pytest -q", "make test-fast")
    proposals.reject(space, rk, asked.number, note="hasty")
    assert proposals.reopen(space, rk, asked.number).state == "pending"
    with pytest.raises(Conflict):
        proposals.reopen(space, rk, asked.number)


def test_silence_never_approves(space, forge, rk, file) -> None:
    asked = edit(space, forge, "pytest -q", "make test-fast")
    assert waiting.expire(asked.expires_at)["expired"] == 1
    assert proposals.get(space, asked.number).state == "expired"
    assert text_at(space) == TEXT


def late(asked: Proposal) -> None:
    Proposal.objects.filter(pk=asked.pk).update(expires_at=timezone.now() - timedelta(seconds=1))


def test_however_many_are_late_a_list_ends_them_in_a_few_statements(space, forge, rk, file, statements) -> None:
    first = edit(space, forge, "pytest -q", "make test-fast")
    below = edit(space, forge, "make test-fast", "make test")
    last = edit(space, forge, "make test", "make check")
    assert (below.stacked_on, last.stacked_on) == (first.number, below.number)
    late(first)
    notify.add_webhook(space, HUB, "https://example.org/hook", events=["proposal.expired"])
    others = [copied(first, number) for number in range(11, 211)]
    Proposal.objects.bulk_create(others)
    with statements() as sent:
        assert proposals.filtered(space).count() == 0
    assert len(sent) <= 16, "the same for three"
    assert Proposal.objects.filter(state="expired").count() == 201
    for number, ended, above in ((below.number, "expired", first), (last.number, "outdated", below)):
        one = proposals.get(space, number)
        assert (one.state, one.note) == ("outdated", f"It built on proposal {above.number}, {ended}.")
    lines = ActivityLine.objects.filter(verb="proposals.expire")
    assert sorted(line.details["proposal"] for line in lines) == [first.number, *range(11, 211)]
    line = lines.get(details__proposal=17)
    assert (line.thing, line.url, line.path, line.adds, line.actor_kind) == (
        "proposal 17", "proposals/17/", first.path, "because nobody decided", "hub"
    )  # fmt: skip
    assert not WebhookNotice.objects.exists(), "told by a job"
    for _ in range(2):  # as after a crash at its end
        job = Job.objects.get(kind="proposals.tell")
        jobs.run(job)
    notices = WebhookNotice.objects.filter(event="proposal.expired")
    assert sorted(one.body["number"] for one in notices) == [first.number, *range(11, 211)]
    sent = Job.objects.filter(kind="webhooks.send").values_list("payload__notice", flat=True)
    assert set(sent) == set(notices.values_list("pk", flat=True))


def copied(one: Proposal, number: int) -> Proposal:
    """Another like it, past its date as well."""
    fields = {
        field.attname: getattr(one, field.attname) for field in one._meta.concrete_fields if not field.primary_key
    }
    over = {"number": number, "same_as": f"{number}", "expires_at": timezone.now() - timedelta(seconds=1)}
    return Proposal(**fields | over)


def test_nobody_decides_past_the_date_though_no_job_has_run(space, forge, rk, file) -> None:
    asked = edit(space, forge, "pytest -q", "make test-fast")
    seen = proposals.result(asked).seen
    for decide in (
        lambda: proposals.approve(space, rk, 1, seen=seen),
        lambda: proposals.approve(space, rk, 1, seen=seen, content=b"mine"),
        lambda: proposals.reject(space, rk, 1, note="no"),
    ):
        Proposal.objects.update(state="pending")
        late(asked)
        with pytest.raises(Conflict) as refusal:
            decide()
        assert (refusal.value.code, refusal.value.details["state"]) == ("already_decided", "expired")
        assert "expired because nobody decided. Reopen it" in refusal.value.message
        assert proposals.get(space, 1).state == "expired"
    assert text_at(space) == TEXT
    assert approve(space, rk, proposals.reopen(space, rk, 1)).state == "approved"


def test_what_is_past_its_date_is_shown_as_expired_everywhere(space, forge, rk, file) -> None:
    late(edit(space, forge, "pytest -q", "make test-fast"))
    assert list(proposals.filtered(space)) == []
    late(edit(space, forge, "from main", "from a tag"))
    assert proposals.plan(space, [2], rk).results == []
    late(edit(space, forge, "Deploying", "Shipping"))
    assert proposals.refresh_state(proposals.get(space, 3))[0].state == "expired"
    assert list(Proposal.objects.values_list("state", flat=True)) == ["expired"] * 3


def test_what_no_longer_applies_ends_as_well(space, forge, rk, file) -> None:
    asked = edit(space, forge, "pytest -q", "make test-fast")
    files.write(space, rk, PATH, b"all new\n")
    assert proposals.refresh_state(asked)[0].state == "outdated"
    late(asked)
    with pytest.raises(Conflict):
        proposals.approve(space, rk, 1, seen=proposals.result(asked).seen, content=b"mine")
    assert (proposals.get(space, 1).state, text_at(space)) == ("expired", "all new\n")


def test_asking_again_past_the_date_is_a_new_proposal_that_stands_on_no_old_one(space, forge, rk, file) -> None:
    late(edit(space, forge, "pytest -q", "make test-fast"))
    assert edit(space, forge, "pytest -q", "make test-fast").number == 2
    late(proposals.get(space, 2))
    with pytest.raises(Invalid) as refusal:
        edit(space, forge, "make test-fast", "make test")
    assert refusal.value.code == "string_not_found"


def test_who_wants_it_is_warned_once_before_silence_ends_it(space, forge, rk, file) -> None:
    notify.add_webhook(space, HUB, "https://example.org/hook", events=["proposal.expiring"])
    asked = edit(space, forge, "pytest -q", "make test-fast")
    assert waiting.warn()["warned"] == 0
    soon = asked.expires_at - timedelta(days=2)
    assert waiting.warn(soon)["warned"] == 1
    assert waiting.warn(soon)["warned"] == 0
    told = WebhookNotice.objects.get()
    assert (told.event, told.body["expires_at"]) == ("proposal.expiring", asked.expires_at.isoformat())
    assert "expires soon if nobody decides" in told.body["says"]
    assert proposals.get(space, asked.number).state == "pending"


def test_a_comment_is_kept_and_decides_nothing(space, forge, rk, file) -> None:
    asked = edit(space, forge, "pytest -q", "make test-fast")
    proposals.comment(space, rk, asked.number, "Leave the last line out.")
    assert [one.text for one in proposals.get(space, asked.number).comments.all()] == ["Leave the last line out."]
    assert proposals.get(space, asked.number).state == "pending"


def test_proposals_of_another_space_do_not_exist(space, forge, rk, file) -> None:
    asked = edit(space, forge, "pytest -q", "make test-fast")
    with pytest.raises(NotFound):
        proposals.get(spaces.create(HUB, "other"), asked.number)


# ---- the gate before it


def submit(space, agent, **wish):
    return proposals.submit(space, Actor.of_agent(agent), files.ChangeRequest(**wish))


def test_a_rule_that_lets_a_change_through_says_so(space, forge, file) -> None:
    files.add_rule(space, HUB, "/memories/notes/**", "trusted", max_added=20, unless_findings=True, confirmed=True)
    submit(space, forge, kind="write", path="/memories/notes/a.md", content=b"- short\n")
    assert text_at(space, "/memories/notes/a.md") == "- short\n"
    line = ActivityLine.objects.get(verb="policies.let_through")
    assert (line.actor_name, line.thing, line.path) == ("forge", "/memories/notes/**", "/memories/notes/a.md")
    assert isinstance(
        submit(space, forge, kind="write", path="/memories/notes/b.md", content=b"- x" * 20), files.Pending
    )
    assert isinstance(
        submit(space, forge, kind="write", path="/memories/notes/c.md", content=b"- tomorrow\n"), files.Pending
    )


def test_many_small_changes_are_added_up_until_a_person_decides(space, forge, rk) -> None:
    files.add_rule(space, HUB, "/memories/**", "trusted", max_added=30, confirmed=True)
    at = "/memories/log.md"
    applied = [
        submit(space, forge, kind="write", path=at, content=b"- first\n"),
        submit(space, forge, kind="insert", path=at, line=1, text="- second\n"),
        submit(space, forge, kind="edit", path=at, old="- first\n", new="- first\n- 3rd\n"),
        submit(space, forge, kind="edit", path=at, old="- 3rd\n", new="- fourth\n"),  # in place of its own words
    ]
    assert all(isinstance(one, files.Applied) for one in applied)
    waits = submit(space, forge, kind="edit", path=at, old="- fourth\n", new="- fourth\n- fifth\n")
    assert isinstance(waits, files.Pending)
    assert isinstance(submit(space, forge, kind="write", path="/memories/b.md", content=b"- other\n"), files.Applied)
    proposals.approve(space, rk, waits.proposal.number, seen=proposals.result(waits.proposal).seen)
    assert isinstance(submit(space, forge, kind="edit", path=at, old="- first", new="- 1st of all"), files.Applied)
    files.write(space, rk, at, text_at(space, at).encode() + b"- mine\n")
    assert isinstance(
        submit(space, forge, kind="edit", path=at, old="- second", new="- 2nd of all, this"), files.Applied
    )


PROTECTED = "a\n<!-- protected -->\n- rule\n<!-- /protected -->\nb\n"


@pytest.mark.parametrize("policy", ["trusted", "review"])
@pytest.mark.parametrize(
    "marks", [PROTECTED, PROTECTED.replace("\n", "\r\n"), PROTECTED.replace("protected", "Protected")]
)
@pytest.mark.parametrize(
    "wish",
    [
        {"kind": "edit", "old": "- rule", "new": "- none"},
        {"kind": "edit", "old": "e", "new": "o", "replace_all": True},
        {"kind": "edit", "old": "<!-- /", "new": "<!-- no /"},
        {"kind": "insert", "line": 2, "text": "- mine\n"},
        {"kind": "write", "content": b"- all new\n"},
        {"kind": "write", "content": PROTECTED.replace("\n", "\r").encode()},
        {"kind": "delete"},
    ],
)
def test_no_change_by_an_agent_gets_at_a_protected_region(space, forge, rk, wish, marks, policy) -> None:
    files.add_rule(space, HUB, "/memories/**", policy, confirmed=True)
    files.write(space, rk, PATH, marks.encode())
    with pytest.raises(Forbidden) as refusal:
        submit(space, forge, path=PATH, **wish)
    assert refusal.value.code == "protected_region"
    end = "\r\n" if "\r\n" in marks else "\n"
    submit(space, forge, kind="edit", path=PATH, old="b" + end, new="c" + end)
    assert text_at(space).endswith("c" + end) is (policy == "trusted")
    assert not Proposal.objects.exclude(change__new_string="c" + end).exists()


def test_a_protected_file_is_moved_by_people_alone(space, forge, rk) -> None:
    files.write(space, rk, PATH, PROTECTED.encode())
    asked = submit(space, forge, kind="move", path=PATH, to="/memories/other.md")
    assert isinstance(asked, files.Pending)
    files.add_rule(space, HUB, "/memories/**", "trusted", confirmed=True)
    with pytest.raises(Forbidden):
        submit(space, forge, kind="move", path=PATH, to="/memories/elsewhere.md")
    submit(space, forge, kind="write", path="/memories/mine.md", content=b"mine\n")
    with pytest.raises(Conflict):
        submit(space, forge, kind="move", path="/memories/mine.md", to=PATH)
    assert text_at(space) == PROTECTED


def test_of_two_equal_regions_none_goes_and_a_forgotten_end_protects_the_rest(space, forge, rk) -> None:
    files.add_rule(space, HUB, PATH, "trusted", confirmed=True)
    files.write(space, rk, PATH, (PROTECTED * 2).encode())
    with pytest.raises(Forbidden):
        submit(space, forge, kind="write", path=PATH, content=PROTECTED.encode())
    files.write(space, rk, PATH, b"a\n<!-- protected -->\n- rule\n")
    with pytest.raises(Forbidden):
        submit(space, forge, kind="edit", path=PATH, old="- rule", new="- none")


def test_a_file_full_of_protected_regions_keeps_nobody_waiting() -> None:
    text = b"".join(b"<!-- protected -->%d<!-- /protected -->" % n for n in range(24_000))
    start = time.process_time()
    edits.check_protected(text, text + b"more")
    with pytest.raises(Forbidden):
        edits.check_protected(text, text[:-25] + b"other" + text[-25:])
    assert time.process_time() - start < 1


def test_a_region_protected_at_the_last_moment_holds(space, forge, rk, monkeypatch) -> None:
    """The gate has looked at the text already when a person protects it; what is looked at under the lock counts."""
    files.add_rule(space, HUB, PATH, "trusted", confirmed=True)
    files.write(space, rk, PATH, b"a\n")
    real = files.write

    def protect_first(*args, **more):
        real(space, rk, PATH, PROTECTED.encode())
        return real(*args, **more)

    monkeypatch.setattr(files, "write", protect_first)
    with pytest.raises(Forbidden):
        submit(space, forge, kind="write", path=PATH, content=b"all new\n")
    assert text_at(space) == PROTECTED


def test_what_people_protect_while_a_proposal_waits_is_theirs(space, forge, rk) -> None:
    files.write(space, rk, PATH, b"a\n- rule\nb\n")
    submit(space, forge, kind="edit", path=PATH, old="- rule", new="- none")
    files.write(space, rk, PATH, PROTECTED.encode())
    found, _ = proposals.refresh_state(proposals.get(space, 1))
    assert (found.state, found.note) == ("outdated", "It would change a region that people have protected since.")
    mine = PROTECTED.replace("- rule", "- none").encode()
    seen = proposals.result(found).seen
    assert proposals.approve(space, rk, 1, seen=seen, content=mine).state == "approved"  # a person may


def test_a_rule_for_small_additions_lets_nobody_throw_a_text_away(space, forge, rk) -> None:
    files.add_rule(space, HUB, "/memories/**", "trusted", max_added=20, confirmed=True)
    text = "- keep this\n" * 30
    files.write(space, rk, PATH, text.encode())
    for wish in (
        {"kind": "delete"},
        {"kind": "move", "to": "/memories/b.md"},
        {"kind": "write", "content": b"- short\n"},
        {"kind": "edit", "old": text, "new": "- short\n"},
        {"kind": "edit", "old": "this", "new": "thisxx", "replace_all": True},
        {"kind": "insert", "line": 0, "text": "x" * 21},
    ):
        assert isinstance(submit(space, forge, path=PATH, **wish), files.Pending), wish
    assert files.dry_run_rule(space, "/memories/**", max_added=20).hit == []
    for wish in (
        {"kind": "write", "content": text.encode() + b"- small\n"},
        {"kind": "edit", "old": "- small", "new": "- tiny"},
        {"kind": "insert", "line": 0, "text": "# Rules"},
    ):
        assert isinstance(submit(space, forge, path=PATH, **wish), files.Applied), wish


def test_whoever_made_a_key_of_an_agent_leaves_its_proposals_to_others_where_the_space_asks(space, forge, rk, file):
    owner = member(space, "olga", "owner")
    accounts.create_token(space, owner, agent=forge)
    asked = edit(space, forge, "pytest -q", "make test-fast")
    spaces.change_settings(space, HUB, {"who_decides": "others"})
    asked.space.refresh_from_db()
    space.refresh_from_db()
    for decide in (
        lambda: approve(space, owner, asked),
        lambda: approve(space, owner, asked, content=b"mine"),
        lambda: proposals.reject(space, owner, 1, note="no"),
    ):
        with pytest.raises(Forbidden) as refusal:
            decide()
        assert refusal.value.code == "own_proposal"
    assert proposals.decide_many(space, owner, {1: proposals.result(asked).seen}, "approve")[0] == []
    assert proposals.plan(space, [1], owner).fit == proposals.plan(space, [1], owner).open_to_me == []
    assert len(proposals.plan(space, [1], rk).fit) == 1
    assert (proposals.get(space, 1).state, text_at(space)) == ("pending", TEXT)
    assert approve(space, rk, asked).state == "approved"
    edit(space, forge, "from main", "from a tag")
    spaces.change_settings(space, HUB, {"who_decides": "any"})
    space.refresh_from_db()
    assert approve(space, owner, proposals.get(space, 2)).state == "approved"


def test_writing_what_the_file_says_already_asks_nobody(space, forge, file) -> None:
    done = submit(space, forge, kind="write", path=PATH, content=TEXT.encode())
    assert isinstance(done, files.Applied) and done.revision.number == 1
    assert not Proposal.objects.exists()


def test_a_secret_that_was_kept_out_is_told_by_its_kind_alone(space, forge, file) -> None:
    key = "gh" + "p_" + made(36)
    with pytest.raises(Invalid):
        submit(space, forge, kind="write", path=PATH, content=f"{TEXT}- {key}\n".encode())
    line = ActivityLine.objects.get(verb="files.refuse_secret")
    assert "GitHub token, line 10" in line.adds
    assert key not in str(line.__dict__)


@pytest.mark.parametrize("policy", ["review", "trusted"])
def test_no_secret_slips_in_by_a_name_or_a_reason(space, forge, policy) -> None:
    key = "gh" + "p_" + made(36)
    Mount.objects.within(space).update(policy=policy)
    for wish in (
        files.ChangeRequest("write", f"/memories/{key}.md", content=b"x"),
        files.ChangeRequest("move", "/memories/AGENTS.md", to=f"/memories/{key}.md"),
    ):
        with pytest.raises(Invalid) as refusal:
            proposals.submit(space, Actor.of_agent(forge), wish)
        assert refusal.value.code == "secret_found"
        assert key not in str(refusal.value.as_json())
    proposals.submit(
        space, Actor.of_agent(forge), files.ChangeRequest("write", "/memories/b.md", content=b"x", reason=f"use {key}")
    )
    assert not ActivityLine.objects.filter(path__contains=key).exists()
    kept = [*Revision.objects.values_list("reason", flat=True), *Proposal.objects.values_list("reason", flat=True)]
    assert any("secret removed" in one for one in kept)
    assert not any(key in one for one in kept)


def test_an_edit_of_the_reviewer_that_is_too_large_is_refused(space, forge, rk, file) -> None:
    asked = proposals.propose(space, forge, kind="write", path=PATH, content=b"- short\n")
    seen = proposals.result(asked).seen
    with pytest.raises(TooLarge):
        proposals.approve(space, rk, asked.number, seen=seen, content=b"- long\n" * 200_000)
    assert proposals.get(space, asked.number).state == "pending"


def test_the_inbox_asks_once_for_all_that_others_build_on(space, forge, file, statements) -> None:
    """Of each stack the lowest stands on another page: it is asked for with those of the others."""

    def stack(number: int) -> list[Proposal]:
        path = f"/memories/{number}.md"
        files.write(space, HUB, path, b"- zero\n")
        steps = [("zero", "one"), ("one", "two"), ("two", "three")]
        return [
            proposals.propose(space, forge, kind="edit", path=path, change={"old_string": old, "new_string": new})
            for old, new in steps
        ]

    def queries(stacks: int) -> tuple[int, list[str]]:
        tops = Proposal.objects.within(space).filter(number__in=[one[2].number for one in made[:stacks]])
        with statements() as sent:
            rows = proposals.inbox(space, tops).rows
        assert [row.found.waits_for for row in rows] == [one[1].number for one in made[:stacks]]
        return len(sent), [row.found.after_text for row in rows]

    made = [stack(number) for number in range(6)]
    (few, _), (many, texts) = queries(2), queries(6)
    assert few == many and texts == ["- three\n"] * 6
