"""Imports: a look first, then what is new comes in as an import; done again, nothing comes twice."""

import json

import pytest

from memoryhub.domain import accounts, exchange, files, longterm, spaces
from memoryhub.domain.exchange import import_formats, imports
from memoryhub.domain.jobs import queue
from memoryhub.errors import Conflict, Forbidden, Invalid, NotFound
from memoryhub.models import HUB, ActivityLine, Actor, Job, LongtermEntry, Revision

pytestmark = pytest.mark.django_db
AGENTS = "/memories/AGENTS.md"


@pytest.fixture
def space():
    made = spaces.create(HUB, "books")
    files.add_mount(made, HUB, "/memories/", store="database", policy="review")
    return made


@pytest.fixture
def actor(space):
    def make(role="reviewer"):
        person = accounts.create_person(HUB, f"a-{role}")
        spaces.add_member(space, HUB, person, role)
        return Actor.of_person(person, role)

    return make


def finished(job):
    queue.run_waiting()
    job.refresh_from_db()
    assert job.state == Job.DONE, job.last_error
    return job


def looked(space, actor, kind, folder, **more):
    return finished(exchange.preview_import(space, actor, kind, folder, **more))


def brought(space, actor, kind, folder, *, overwrite=False, **more):
    return finished(
        exchange.start_import(space, actor, looked(space, actor, kind, folder, **more), overwrite=overwrite)
    )


def states(job):
    return {line["name"]: line["state"] for line in job.result["lines"]}


def test_a_look_tells_and_changes_nothing(space, actor):
    rk = actor()
    files.write(space, rk, AGENTS, b"same\n")
    files.write(space, rk, "/memories/api/AGENTS.md", b"ours\n")
    folder = {"AGENTS.md": b"same\n", "api/AGENTS.md": b"theirs\n", "new/AGENTS.md": b"new\n"}
    job = looked(space, rk, "agents-md", folder)
    assert states(job) == {AGENTS: "same", "/memories/api/AGENTS.md": "conflict", "/memories/new/AGENTS.md": "new"}
    assert job.result["counts"] == {"same": 1, "conflict": 1, "new": 1}
    assert (job.done, job.total) == (3, 3)
    assert Revision.objects.count() == 2


def test_the_import_brings_what_is_new_and_leaves_the_rest(space, actor):
    rk = actor()
    files.write(space, rk, AGENTS, b"ours\n")
    folder = {"AGENTS.md": b"theirs\n", "new/AGENTS.md": b"new\n"}
    job = brought(space, rk, "agents-md", folder)
    assert job.result["counts"] == {"conflict": 1, "new": 1}
    assert files.read(space, AGENTS).content == b"ours\n"
    made = Revision.objects.get(path="/memories/new/AGENTS.md")
    assert (made.actor_kind, made.actor_name) == ("import", "AGENTS.md files (a-reviewer)")
    assert made.reason == "imported: new/AGENTS.md"
    assert ActivityLine.objects.filter(verb="imports.start").count() == 1


def test_overwriting_keeps_our_text_in_the_history(space, actor):
    rk = actor()
    files.write(space, rk, AGENTS, b"ours\n")
    brought(space, rk, "agents-md", {"AGENTS.md": b"theirs\n"}, overwrite=True)
    assert files.read(space, AGENTS).content == b"theirs\n"
    assert [bytes(one.content) for one in Revision.objects.order_by("number")] == [b"ours\n", b"theirs\n"]


def test_done_twice_nothing_comes_twice(space, actor):
    rk = actor()
    folder = {"AGENTS.md": b"one\n"}
    brought(space, rk, "agents-md", folder)
    assert brought(space, rk, "agents-md", folder).result["counts"] == {"same": 1}
    assert Revision.objects.count() == 1


def test_an_import_that_died_half_way_is_taken_up_again(space, actor, monkeypatch):
    rk = actor()
    folder = {f"f{n}.md": b"text" for n in range(5)}
    job = exchange.start_import(space, rk, looked(space, rk, "anthropic", folder))
    bring, seen = imports.run_import, []

    def dies(*args, **kwargs):
        if len(seen) == 2:
            raise RuntimeError("killed")
        seen.append(1)
        return bring(*args, **kwargs)

    monkeypatch.setattr(imports, "run_import", dies)
    queue.run_waiting()
    assert Revision.objects.count() == 2
    monkeypatch.setattr(imports, "run_import", bring)
    Job.objects.filter(pk=job.pk).update(run_after=job.created_at)
    finished(job)
    assert Revision.objects.count() == 5
    job.refresh_from_db()
    assert job.result["counts"] == {"same": 2, "new": 3}


def unpacked(job):
    return [imports.unpack(one).content.decode("utf-8", "replace") for one in job.payload["items"]]


def mem0(*rows):
    return {"export.json": json.dumps({"results": list(rows)}).encode()}


def test_facts_go_to_long_term_memory(space, actor):
    rk = actor()
    brought(space, rk, "mem0", mem0({"id": "1", "memory": "Likes tea", "user_id": "u1"}))
    entry = LongtermEntry.objects.get()
    assert (entry.content, entry.actor_kind) == ("Likes tea", "import")
    assert entry.metadata == {"imported": "mem0:1", "details": {"user_id": "u1"}}
    assert states(looked(space, rk, "mem0", mem0({"id": "1", "memory": "Likes tea"}))) == {"mem0:1": "same"}


def test_a_fact_that_changed_there_replaces_ours_only_when_told(space, actor):
    rk = actor()
    brought(space, rk, "mem0", mem0({"id": "1", "memory": "Likes tea"}))
    changed = mem0({"id": "1", "memory": "Likes coffee"})
    assert brought(space, rk, "mem0", changed).result["counts"] == {"conflict": 1}
    brought(space, rk, "mem0", changed, overwrite=True)
    live = longterm.entries_of(space).filter(state__in=longterm.LIVE)
    assert [entry.content for entry in live] == ["Likes coffee"]
    assert longterm.entries_of(space).count() == 2


def test_what_langgraph_kept_is_found_by_the_clients_store(space, actor):
    row = {"namespace": ["users", "7"], "key": "pre.fs", "value": {"theme": "dark"}}
    brought(space, actor(), "langgraph", {"a.json": json.dumps([row]).encode()})
    kept = json.loads(files.read(space, "/memories/store/users/7/pre%2Efs.json").content)
    assert kept["value"] == {"theme": "dark"}


def test_secrets_are_marked_paths_that_lead_out_and_what_is_too_large_refused_one_by_one(space, actor):
    key = "AKIA" + "IOSFODNN7" + "EXAMPLQ"
    folder = {
        "good.md": b"fine",
        "key.md": f"aws_access_key_id = {key}\n".encode(),
        "../out.md": b"x",
        "big.md": b"x" * (1024 * 1024 + 1),
    }
    rk = actor()
    job = looked(space, rk, "basic-memory", {name: data for name, data in folder.items() if name != "../out.md"})
    assert states(job) == {"/memories/good.md": "new", "/memories/key.md": "new", "big.md": "refused"}
    kept = json.dumps([job.result, job.payload]) + "".join(unpacked(job))
    assert key not in kept
    exchange.start_import(space, rk, job)
    queue.run_waiting()
    assert files.read(space, "/memories/key.md").content == b"aws_access_key_id = [secret removed: AWS access key]\n"
    (line,) = [imports.judge(space, import_formats.Item("file", "../out.md", b"x"), "/memories/")]
    assert line.state == "refused"


def test_a_place_without_a_mount_is_refused(space, actor):
    job = looked(space, actor(), "agents-md", {"AGENTS.md": b"x"}, target="/nowhere/")
    assert states(job) == {"AGENTS.md": "refused"}


def test_who_may(space, actor):
    with pytest.raises(Forbidden):
        exchange.preview_import(space, actor("viewer"), "agents-md", {"AGENTS.md": b"x"})
    editor = actor("editor")
    exchange.preview_import(space, editor, "agents-md", {"AGENTS.md": b"x"})
    with pytest.raises(Forbidden):
        exchange.preview_import(space, editor, "mem0", mem0({"id": "1", "memory": "x y"}))


def test_an_import_starts_from_a_finished_look(space, actor):
    rk = actor()
    waiting = exchange.preview_import(space, rk, "agents-md", {"AGENTS.md": b"x"})
    with pytest.raises(Conflict):
        exchange.start_import(space, rk, waiting)
    with pytest.raises(NotFound):
        exchange.get_import(spaces.create(HUB, "other"), waiting.pk)


def test_too_much_at_once_is_refused(space, actor, monkeypatch):
    monkeypatch.setattr(imports, "MAX_IMPORT_BYTES", 10)
    with pytest.raises(Invalid, match="in parts"):
        exchange.preview_import(space, actor(), "agents-md", {"AGENTS.md": b"x" * 11})
