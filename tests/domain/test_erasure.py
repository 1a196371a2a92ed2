"""Erased is erased: what was chosen goes from every place, a search of the whole database says so, and a receipt stays."""

from __future__ import annotations

import json

import pytest
from django.db import Error, connection, transaction
from django.utils import timezone

from memoryhub.domain import (
    accounts,
    activity,
    erasure,
    files,
    longterm,
    prompts,
    proposals,
    quarantine,
    spaces,
    working,
)
from memoryhub.domain.erasure import Target, copies, run
from memoryhub.domain.erasure.places import search
from memoryhub.domain.files import ChangeRequest
from memoryhub.domain.jobs import queue
from memoryhub.domain.longterm import bulk_import
from memoryhub.domain.retrieval import retrieve
from memoryhub.errors import Forbidden, Invalid, NotFound
from memoryhub.models import (
    HUB,
    ActivityLine,
    Actor,
    Chunk,
    Delivery,
    EntryPair,
    EntryRevision,
    Erasure,
    Job,
    LexemeCount,
    Made,
    Mount,
    Person,
    Posting,
    PromptText,
    Proposal,
    Record,
    RecordState,
    Revision,
)
from memoryhub.text.needles import MARK, Needles

from .layers import counter, forge, person, rk, space, viewer  # noqa: F401

TEXT = "Mrs Marlowe of 7 Elm Street asked for her refund."
PATH = "/memories/AGENTS.md"


def log(space, agent, session, text=TEXT):
    return quarantine.log(space, agent, content=text, session_id=session, node_id="answer")


def anywhere(text):
    """The columns in which a text stands, also packed or escaped."""
    return dict(search(Needles({text}), 0).inside)


def session(name):
    return Target("session", name)


@pytest.fixture
def rules(space):
    files.add_mount(space, HUB, "/memories/", store="database", policy="review")
    files.write(space, HUB, PATH, b"# Rules\n\n- one rule of the house\n- two\n")
    prompts.add_source(space, HUB, PATH)


def ask(space, agent, text, **more):
    request = ChangeRequest("write", PATH, content=text.encode(), reason=f"Because of {TEXT}", **more)
    return proposals.submit(space, Actor.of_agent(agent), request).proposal.number


def approve(space, actor, number, **more):
    return proposals.approve(
        space, actor, number, seen=proposals.review(proposals.get(space, number)).found.seen, **more
    )


# ---- a session


def test_everything_of_the_session_goes_and_nothing_else(space, forge, rk):
    mine, other = (
        log(space, forge, "c-1"),
        log(space, forge, "c-2", "The warehouse of invoices is in Leeds, behind the canal."),
    )
    longterm.promote_record(space, rk, mine.id)
    quarantine.discard(space, rk, other.id, "x")
    longterm.store(space, HUB, "The desk closes at five.")
    receipt = erasure.erase_now(space, HUB, session("c-1"))
    assert receipt.rows["quarantine.record"] == 1 and receipt.rows["longtermentry"] == 1
    tombstone, kept = Record.objects.order_by("pk")
    assert (tombstone.content, tombstone.session_id, tombstone.metadata, tombstone.agent_name) == (
        MARK,
        MARK,
        {},
        "forge",
    )
    assert RecordState.objects.get(record_id=mine.id, is_newest=True).state == "discarded"
    assert kept.content.startswith("The warehouse") and kept.session_id == "c-2"
    assert retrieve(space, "Mrs Marlowe refund", hot=0, threshold=-1).items[0].content == "The desk closes at five."
    assert Chunk.objects.count() == 1 and EntryRevision.objects.count() == 1
    assert not Posting.objects.filter(lexeme__contains="marlow").exists()
    assert not LexemeCount.objects.filter(lexeme__contains="marlow").exists()
    assert ActivityLine.objects.filter(space_id=0, verb="erasure.erase").exists()


def test_the_words_are_nowhere_any_more_not_in_what_was_delivered_either(space, forge, rk, rules):
    mine = log(space, forge, "c-1")
    longterm.promote_record(space, rk, mine.id)
    prompt = prompts.assemble(space, forge, query="refund of Mrs Marlowe")
    assert b"Marlowe" in prompt.data
    prompts.record_delivery(space.pk, forge.pk, "t-1", prompt)
    number = ask(space, forge, f"# Rules\n\n- {TEXT}\n", thread_id="c-1")
    approve(space, rk, number)
    proposals.comment(space, rk, number, f"I heard that {TEXT}")
    stood = {name.partition(".")[0] for name in anywhere("Marlowe")}
    assert {"revision", "prompttext", "proposal", "proposalcomment", "longtermentry", "chunk"} <= stood
    receipt = erasure.erase_now(space, HUB, session("c-1"))
    assert anywhere("Marlowe") == {}
    assert (receipt.state, receipt.found, receipt.problems, receipt.work) == ("done", {}, [], None)
    delivered = PromptText.objects.get(sha256=prompt.sha256)
    assert b"*" * len(TEXT) in delivered.text and len(delivered.text) == len(prompt.data)
    assert files.read(space, PATH).content == b"# Rules\n\n"


def test_no_conflict_names_an_entry_that_is_gone(space, rk):
    for name in ("c-1", "c-2", "c-3"):
        longterm.store(space, rk, f"Card refunds take {name[-1]} days at the bank.", session_id=name)
    queue.run_waiting()
    before = {(one.older_id, one.newer_id) for one in EntryPair.objects.within(space)}
    assert len(before) > 1
    gone = longterm.get(space, 1).pk
    erasure.erase_now(space, HUB, session("c-1"))
    after = {(one.older_id, one.newer_id) for one in EntryPair.objects.within(space)}
    assert after == {pair for pair in before if gone not in pair} != before


def test_a_file_on_its_way_in_brings_nothing_of_the_session_back(space, rk):
    lines = [{"content": f"Fact {n} of shelf {n * 7}.", "session_id": "c-1" if n > 30 else "c-2"} for n in range(60)]
    job = longterm.import_entries(space, rk, "\n".join(map(json.dumps, lines)).encode())
    bulk_import._import_batch(space, job, lines)
    erasure.erase_now(space, HUB, session("c-1"))
    assert not Made.objects.exists()
    with pytest.raises(Invalid, match="until a session in it is erased"):
        bulk_import._import_batch(space, job, lines)
    assert {one.session_id for one in longterm.entries_of(space)} == {"c-2"}
    assert longterm.entries_of(space).count() == bulk_import.BATCH


# ---- what the database refuses


def test_the_triggers_stay_strict_for_all_else(space, forge):
    log(space, forge, "c-1")
    elsewhere = spaces.create(HUB, "elsewhere")
    kept = quarantine.log(elsewhere, None, content=TEXT, session_id="c-1", node_id="n")
    erasure.erase_now(space, HUB, session("c-1"))
    assert Record.objects.get(pk=kept.id).content == TEXT
    refused = (
        'DELETE FROM "quarantine"."record"', "UPDATE \"quarantine\".\"record\" SET content = '[erased]'",
        "UPDATE \"activity\".\"line\" SET thing = ''", 'DELETE FROM "activity"."line"', 'TRUNCATE "activity"."line"',
        "UPDATE \"quarantine\".\"state\" SET reason = '[erased]'",
    )  # fmt: skip
    for sql in refused:
        with pytest.raises(Error, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql)


@pytest.mark.parametrize(
    "change", ["content = 'other words'", "agent_id = 7", "created_at = now()", "content = 'x', node_id = '[erased]'"]
)
def test_an_erasure_puts_its_mark_and_nothing_else(space, forge, change):
    log(space, forge, "c-1")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('memoryhub.erasing', %s, true)", [str(space.pk)])
        with pytest.raises(Error, match="append-only"), transaction.atomic():
            cursor.execute(f'UPDATE "quarantine"."record" SET {change}')
        with pytest.raises(Error, match="append-only"), transaction.atomic():
            cursor.execute('UPDATE "activity"."line" SET verb = \'[erased]\'')
        cursor.execute("SELECT set_config('memoryhub.erasing', %s, true)", [str(space.pk + 1)])
        with pytest.raises(Error, match="append-only"), transaction.atomic():
            cursor.execute('UPDATE "quarantine"."record" SET content = \'[erased]\'')


# ---- asking, confirming


def test_only_owners_and_only_after_a_dry_run_and_the_word_typed(space, forge, rk):
    log(space, forge, "c-1")
    with pytest.raises(Forbidden):
        erasure.plan(space, rk, session("c-1"))
    with pytest.raises(Forbidden, match="owner of the hub"):
        erasure.plan(None, Actor.of_person(rk.person, "owner"), session("c-1"))
    asked = erasure.plan(space, HUB, session("c-1"))
    with pytest.raises(Exception, match="still being counted"):
        erasure.erase(space, HUB, asked.pk, confirm=space.slug)
    queue.run_waiting()
    assert {"place": "quarantine records", "rows": 1, "own": True} in erasure.get(space, HUB, asked.pk).plan
    assert Record.objects.get().content == TEXT, "a dry run changes nothing"
    with pytest.raises(Invalid, match=space.slug):
        erasure.erase(space, HUB, asked.pk, confirm="c-1")
    erasure.erase(space, HUB, asked.pk, confirm=space.slug)
    queue.run_waiting()
    assert erasure.get(space, HUB, asked.pk).state == "done" and Record.objects.get().content == MARK
    nothing = erasure.plan(space, HUB, session("c-9"))
    queue.run_waiting()
    with pytest.raises(NotFound):
        erasure.erase(space, HUB, nothing.pk, confirm=space.slug)
    erasure.cancel(space, HUB, nothing.pk)
    assert not Erasure.objects.filter(pk=nothing.pk).exists()
    with pytest.raises(Invalid, match="6 characters"):
        erasure.plan(space, HUB, Target("text", "abc"))


def test_what_nobody_confirms_is_forgotten(space, forge):
    log(space, forge, "c-1")
    asked = erasure.plan(space, HUB, Target("text", "Marlowe"))
    queue.run_waiting()
    Erasure.objects.filter(pk=asked.pk).update(created_at="2020-01-01T00:00Z")
    assert erasure.forget_unconfirmed() == 1
    assert not Job.objects.filter(payload__contains={"what": "Marlowe"}).exists()


# ---- an exact text, a person, an agent, a revision


def test_an_exact_text_goes_alone_and_marks_say_where_it_was(space, forge, rk, rules):
    files.write(space, rk, PATH, b"# Rules\n\n- one rule of the house\n- ask Mrs Marlowe first\n- key 4711-0815\n")
    files.write(space, rk, PATH, b"# Rules\n\n- one rule of the house\n- 4711-0815\n- last\n")
    log(space, forge, "c-1", 'He said "4711-0815" to me\nand left, which is all that happened.')
    erasure.erase_now(space, HUB, Target("text", "4711-0815"))
    assert anywhere("4711-0815") == {}
    assert files.read(space, PATH).content == b"# Rules\n\n- one rule of the house\n- last\n"
    first, second, third, newest = Revision.objects.order_by("number")
    assert bytes(second.content).endswith(b"first\n- key [erased]\n") and bytes(third.content).endswith(
        b"- [erased]\n- last\n"
    )
    assert (newest.kind, newest.reason) == ("erase", f"Erased, receipt {Erasure.objects.get().pk}")
    assert (first.erased_at, third.erased_by, second.erasure) == (None, "hub", Erasure.objects.get().pk)
    assert Record.objects.get().content.startswith('He said "[erased]" to me\nand left')
    assert [line.author.name for line in files.blame(files.file_row(space, PATH), 3)] == [
        "hub",
        "hub",
        "hub",
        "rk",
        "rk",
    ]


def test_an_entry_that_loses_a_word_leaves_it_in_no_count(space, rk):
    longterm.store(space, rk, "The desk of Marlowe closes at five.")
    erasure.erase_now(space, HUB, Target("text", "Marlowe"))
    assert anywhere("marlow") == anywhere("Marlowe") == {}
    assert longterm.get(space, 1).content == "The desk of  closes at five."
    assert Erasure.objects.get().found == {}


def test_a_file_in_utf_16_loses_the_words_too(space, rk, rules):
    files.write(space, rk, "/memories/wide.md", f"# Calls\n\n{TEXT}\nlast\n".encode("utf-16"))
    erasure.erase_now(space, HUB, Target("text", TEXT))
    newest = files.read(space, "/memories/wide.md").content.decode("utf-16")
    assert newest.split() == ["#", "Calls", "last"]
    first = Revision.objects.filter(path="/memories/wide.md").earliest("number")
    assert bytes(first.content).decode("utf-16") == "# Calls\n\n[erased]\nlast\n"


def test_the_words_of_an_agent_go_line_by_line(space, forge, counter, rk, rules):
    number = ask(space, forge, "# Rules\n\n- one rule of the house\n- two\n- forge says hello\n")
    approve(space, rk, number)
    approve(
        space,
        rk,
        ask(space, counter, "# Rules\n\n- one rule of the house\n- two\n- forge says hello\n- counter was here\n"),
    )
    log(space, forge, "c-1", "ok"), log(space, counter, "c-1", "A fact of the counter, which stays.")
    pending = ask(space, forge, "# Other\n")
    erasure.erase_now(space, HUB, Target("agent", "forge"))
    assert files.read(space, PATH).content == b"# Rules\n\n- one rule of the house\n- two\n- counter was here\n"
    marked = [bytes(one.content) for one in Revision.objects.order_by("number")]
    assert marked[1] == b"# Rules\n\n- one rule of the house\n- two\n[erased]\n"
    assert marked[2].endswith(b"[erased]\n- counter was here\n")
    assert anywhere("forge says hello") == {}
    assert proposals.get(space, number).state == "approved" and proposals.get(space, number).content == MARK.encode()
    assert proposals.get(space, pending).state == "withdrawn"
    assert sorted(Record.objects.values_list("content", flat=True)) == ["A fact of the counter, which stays.", MARK]


def test_the_words_of_a_person_go_also_when_they_are_gone(space, forge, rk, rules):
    files.write(
        space,
        rk,
        PATH,
        b"# Rules\n\n- one rule of the house\n- two\n- rk wrote this line\n",
        reason="rk had a reason for it",
    )
    number = ask(space, forge, "# Rules\n\n- one rule of the house\n- two\n- rk wrote this line\n- forge adds\n")
    proposals.comment(space, rk, number, "hm, no")
    proposals.reject(space, rk, number, note="rk finds it too long a line")
    longterm.store(space, rk, "rk typed this entry of long-term memory")
    working.add(space, rk, "rk typed this for today, nobody else did")
    record = log(space, forge, "c-1", "A record that stays.")
    quarantine.discard(space, rk, record.id, "rk thinks it is odd")
    Person.objects.filter(pk=accounts.create_person(HUB, "boss").pk).update(is_hub_owner=True)
    spaces.deactivate_person(HUB, rk.person)
    erasure.erase_now(space, HUB, Target("person", "rk"))
    for words in ("rk wrote", "rk had a", "hm, no", "rk finds", "rk typed", "rk thinks"):
        assert anywhere(words) == {}, words
    assert files.read(space, PATH).content == b"# Rules\n\n- one rule of the house\n- two\n"
    assert Record.objects.get().content == "A record that stays."
    assert bytes(Proposal.objects.get(number=number).content).endswith(b"[erased]\n- forge adds\n")


def test_one_revision_loses_its_words_in_every_later_one(space, rk, rules):
    files.write(space, rk, PATH, b"# Rules\n\n- one rule of the house\n- a\n- two\n")
    files.write(space, rk, PATH, b"# Rules\n\n- one rule of the house\n- a\n- two\n- three stays here\n")
    files.move(space, rk, PATH, "/memories/b.md")
    with pytest.raises(NotFound):
        erasure.erase_now(space, HUB, Target("revision", PATH, 99))
    erasure.erase_now(space, HUB, Target("revision", PATH, 2))
    assert (
        files.read(space, "/memories/b.md").content
        == b"# Rules\n\n- one rule of the house\n- two\n- three stays here\n"
    )
    texts = [bytes(one.content) for one in Revision.objects.filter(path=PATH).order_by("number")]
    assert texts[1] == b"# Rules\n\n- one rule of the house\n[erased]\n- two\n"
    assert texts[2] == b"# Rules\n\n- one rule of the house\n[erased]\n- two\n- three stays here\n"


def test_files_on_disk_are_written_or_named(space, rk, tmp_path):
    files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(tmp_path), policy="review")
    (tmp_path / "AGENTS.md").write_text("- one\n- Mrs Marlowe of Elm Street\n")
    files.read(space, PATH)
    left = erasure.erase_now(space, HUB, Target("text", "Mrs Marlowe of Elm", on_disk=False))
    assert (tmp_path / "AGENTS.md").read_text() == "- one\n- Mrs Marlowe of Elm Street\n"
    assert left.problems == [f"{PATH}: its text lies in a mounted directory, which was to be left alone."]
    assert left.found == {"revision.content": 1}


def test_a_change_on_disk_that_waits_is_named(space, rk, tmp_path):
    files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(tmp_path), policy="review")
    Mount.objects.update(on_disk="hold")
    (tmp_path / "AGENTS.md").write_text("- one\n")
    files.read(space, PATH)
    files.scan_all()
    (tmp_path / "AGENTS.md").write_text("- one\n- Mrs Marlowe of Elm Street\n")
    files.read(space, PATH)
    assert Proposal.objects.get().agent_name == "disk"
    done = erasure.erase_now(space, HUB, Target("text", "Mrs Marlowe of Elm"))
    assert len(done.problems) == 1 and "waits for a decision" in done.problems[0] and "Marlowe" not in done.problems[0]


# ---- the wall, the receipt


def test_an_owner_of_one_space_neither_erases_nor_learns_of_others(space, forge):
    log(space, forge, "c-1")
    elsewhere = spaces.create(HUB, "elsewhere")
    log(elsewhere, None, "c-2")
    owner = Actor.of_person(accounts.create_person(HUB, "owner"), "owner")
    done = erasure.erase_now(space, owner, Target("text", "Marlowe"))
    assert Record.objects.get(space_id=elsewhere.pk).content == TEXT
    assert "elsewhere" not in json.dumps(erasure.receipt(done, owner)) and "found_elsewhere" not in json.dumps(
        erasure.receipt(done, owner)
    )
    assert erasure.receipt(done, HUB)["search"]["rows_found_elsewhere"]["quarantine.record.content"] == 1
    done = erasure.erase_now(None, HUB, Target("text", "Marlowe"))
    assert anywhere("Marlowe") == {} and done.elsewhere == {}


def test_a_receipt_says_who_what_when_and_which_backups_but_no_word_of_it(space, forge):
    with transaction.atomic():
        activity.record(None, HUB, erasure.BACKUP, "wrote the backup", "/srv/before.tar")
    log(space, forge, "c-1")
    with transaction.atomic():
        activity.record(None, HUB, erasure.BACKUP, "wrote the backup", "/srv/marlowe-with.tar")
    done = erasure.erase_now(space, HUB, Target("text", "Marlowe"))
    found = erasure.receipt(done, HUB)
    assert [one["file"] for one in found["backups"]] == ["/srv/marlowe-with.tar"]
    assert (found["kind"], found["by"], found["space"]) == ("an exact text", "hub", space.slug)
    assert found["rows"]["quarantine.record"] == 1 and found["search"]["rows_found"] == {}
    assert found["search"]["columns"] > 180 and found["keyed_hash"].startswith("hmac-sha256:")
    assert "Marlowe" not in json.dumps(found)
    assert done.digest == Target("text", "Marlowe").digest != Target("text", "Marlow").digest


def test_a_job_that_was_killed_goes_on(space, forge, rk, rules, monkeypatch):
    for n in range(5):
        log(space, forge, "c-1", f"{TEXT} Number {n} of them.")
    approve(space, rk, ask(space, forge, f"# Rules\n\n- {TEXT}\n", thread_id="c-1"))
    proposals.comment(space, rk, 1, f"I heard that {TEXT}")
    asked = erasure.plan(space, HUB, session("c-1"))
    queue.run_waiting()
    erasure.erase(space, HUB, asked.pk, confirm=space.slug)

    class Killed(BaseException):
        pass

    def killed(*_, **__):
        raise Killed

    for module, name in ((run, "_erase_from_entries"), (copies.Copies, "_erase_rows"), (run, "finish")):
        job = queue.claim(["erasure.erase"])
        with monkeypatch.context() as patch:
            patch.setattr(module, name, killed)
            with pytest.raises(Killed):
                queue.run(job)
        Job.objects.filter(kind="erasure.erase").update(state="waiting", run_after=timezone.now())
    queue.run_waiting()
    done = erasure.get(space, HUB, asked.pk)
    assert (done.state, done.found) == ("done", {}) and anywhere("Marlowe") == {}


def test_names_become_other_names(space, forge, rk, rules):
    files.write(space, rk, "/memories/marlowe-elm/notes.md", b"x\n")
    log(space, forge, "marlowe-elm-session")
    prompts.add_source(space, HUB, "/memories/marlowe-elm/notes.md")
    prompts.record_delivery(space.pk, forge.pk, "thread-of-marlowe-elm", prompts.assemble(space, forge))
    erasure.erase_now(space, HUB, Target("text", "marlowe-elm"))
    assert anywhere("marlowe-elm") == {}
    path = Revision.objects.get(content=b"x\n").path
    assert path.startswith("/memories/erased-") and files.read(space, path).content == b"x\n"
    assert path in [one["path"] for one in prompts.assemble(space, forge).sources]
    assert Delivery.objects.get().thread_id.startswith("thread-of-erased-")


def test_an_agent_with_the_words_in_its_name_gets_another_address(space):
    agent = prompts.create_agent(space, HUB, "Désirée Elm's helper")
    secret = accounts.create_token(space, HUB, agent=agent)[1]
    files.add_mount(space, HUB, "/memories/", store="database")
    files.write(space, HUB, "/memories/a.md", b"See the page of desiree-elms-helper.\n")
    erasure.erase_now(space, HUB, Target("text", "Désirée Elm"))
    assert (anywhere("Désirée"), anywhere("desiree")) == ({}, {})
    assert accounts.authenticate(secret, None).agent.slug.startswith("erased-")
