"""What a mount of a directory leaves out is not there for agents; programs are written by no agent, unless a rule names them."""

from __future__ import annotations

import pytest
from django.test import Client

from memoryhub.domain import accounts, files, prompts, proposals, spaces
from memoryhub.domain.files.disk.watch import scan
from memoryhub.errors import Invalid
from memoryhub.models import HUB, ActivityLine, File, Proposal, Revision, Space
from tests.api.calling import Caller, as_person, code
from tests.stores.test_selection import repository

pytestmark = pytest.mark.django_db(transaction=True)
OUT = [
    ".env", ".git/0/o0", "node_modules/a/README.md", "build/out.md", "me.local.md", "sub/drop.md", "logs/x.log", "src/app.py",
    "big.md", "pipe.md", "socket.md", "package.json", ".gitignore",
]  # fmt: skip
IN = [".claude/CLAUDE.md", "AGENTS.md", "README.md", "docs/a.md", "sub/keep.md"]


@pytest.fixture
def space():
    return spaces.create(HUB, "shop")


@pytest.fixture
def root(space, tmp_path):
    (tmp_path / "shop").mkdir()
    root = repository(tmp_path / "shop")
    files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(root), policy="trusted")
    return root


@pytest.fixture
def agent(space):
    scout = prompts.create_agent(space, HUB, "scout")
    return Caller(Client(), accounts.create_token(space, HUB, agent=scout)[1])


def listed(agent) -> list[str]:
    found = agent("GET", "glob?pattern=**/*").json()["matches"]
    hidden = agent("GET", "glob?pattern=**/.*/**").json()["matches"]
    return sorted({one["path"].removeprefix("/memories/") for one in found + hidden if not one["is_dir"]})


def test_agents_find_what_is_taken_in_and_nothing_else(space, root, agent):
    scan(space, space.mounts.get())
    assert listed(agent) == IN
    names = {entry["path"] for entry in agent("GET", "files?prefix=/memories/").json()["entries"]}
    assert names == {f"/memories/{name}" for name in (".claude/", "AGENTS.md", "README.md", "docs/", "sub/")}
    assert sorted(File.objects.within(space).values_list("path", flat=True)) == [f"/memories/{name}" for name in IN]
    for text in ("KEY=1", "print()", "mine"):
        assert agent("GET", f"grep?pattern={text}").json()["matches"] == []
    assert agent("GET", "files?prefix=/memories/.git/").json()["entries"] == []
    assert agent("GET", "files?prefix=/memories/node_modules/a/").json()["entries"] == []


def test_what_is_left_out_is_not_found_and_not_written(space, root, agent, subtests):
    person = as_person(Client(), space, "ann", "owner")
    for path in OUT:
        with subtests.test(path):
            is_neither_found_nor_written(space, root, agent, person, path)


def is_neither_found_nor_written(space, root, agent, person, path):
    before = (root / path).lstat().st_mtime_ns
    assert code(agent("GET", f"files/memories/{path}")) == (404, "file_not_found")
    assert agent("POST", "batch", {"paths": [f"/memories/{path}"]}).json()["files"][0]["error"]
    for who, refusals in ((agent, {"left_out", "not_memory"}), (person, {"left_out"})):
        status, refusal = code(who("PUT", f"files/memories/{path}", {"content": "x"}))
        assert status == 422 and refusal in refusals
        assert who("DELETE", f"files/memories/{path}").status_code in (404, 422)
    move = agent("POST", "moves", {"from": "/memories/docs/a.md", "to": f"/memories/{path}"})
    assert move.status_code == 422
    assert (root / path).lstat().st_mtime_ns == before
    assert not File.objects.within(space).filter(path=f"/memories/{path}").exists()
    assert (root / "docs/a.md").read_text() == "alpha\n"


@pytest.mark.parametrize("path", ["passwd.md", "outside/passwd", "outside/new.md"])
def test_links_are_not_followed(space, root, agent, path):
    assert agent("GET", f"files/memories/{path}").status_code in (404, 422)
    assert agent("PUT", f"files/memories/{path}", {"content": "x"}).status_code == 422


def test_a_new_file_that_is_left_out_says_why(space, root, agent):
    refused = agent("PUT", "files/memories/build/new.md", {"content": "x"})
    assert code(refused) == (422, "left_out")
    assert "Build output" in refused.json()["error"]["message"]
    assert not (root / "build/new.md").exists()


def test_a_file_that_goes_out_leaves_lists_and_prompts_and_keeps_its_history(space, root, agent):
    scan(space, space.mounts.get())
    prompts.add_source(space, HUB, "/memories/docs/a.md")
    assert "alpha" in agent("GET", "prompt?dialect=hub").content.decode()
    mount = space.mounts.get()
    files.change_mount(space, HUB, mount, exclude="docs/")
    assert code(agent("GET", "files/memories/docs/a.md")) == (404, "file_not_found")
    assert "docs/a.md" not in listed(agent)
    assert "alpha" not in agent("GET", "prompt?dialect=hub").content.decode()
    file = File.objects.get(path="/memories/docs/a.md")
    assert file.is_deleted and [r.kind for r in Revision.objects.filter(file=file).order_by("number")] == [
        "create",
        "delete",
    ]
    assert (root / "docs/a.md").read_text() == "alpha\n"
    assert ActivityLine.objects.filter(verb="files.delete", says="left out").count() == 1
    files.change_mount(space, HUB, mount, exclude="")
    assert agent("GET", "files/memories/docs/a.md").json()["content"] == "alpha\n"
    assert "alpha" in agent("GET", "prompt?dialect=hub").content.decode()


def test_a_gitignore_file_that_changes_counts_at_the_next_scan(space, root, agent):
    mount = space.mounts.get()
    scan(space, mount)
    (root / "docs/.gitignore").write_text("a.md\n")
    scan(space, mount)
    assert code(agent("GET", "files/memories/docs/a.md")) == (404, "file_not_found")
    (root / "docs/.gitignore").unlink()
    scan(space, mount)
    assert agent("GET", "files/memories/docs/a.md").json()["content"] == "alpha\n"


def test_a_source_that_is_left_out_is_missing_in_prompts(space, root, agent):
    for path in (".env", "me.local.md", "src/app.py"):
        prompts.add_source(space, HUB, f"/memories/{path}")
    found = agent("GET", "prompt?dialect=hub", Accept="application/json").json()
    assert [one["status"] for one in found["sources"]] == ["missing"] * 3
    assert "KEY=1" not in found["text"] and "mine" not in found["text"]


def test_a_full_mount_takes_no_new_files(space, root, agent, monkeypatch):
    monkeypatch.setattr("memoryhub.domain.files.disk.intake.MAX_FILES", 4)
    mount = space.mounts.get()
    scan(space, mount)
    mount.refresh_from_db()
    assert mount.is_full and File.objects.within(space).count() == 4
    unknown = next(name for name in IN if not File.objects.filter(path=f"/memories/{name}").exists())
    assert code(agent("GET", f"files/memories/{unknown}")) == (404, "file_not_found")
    assert code(agent("PUT", "files/memories/new.md", {"content": "x"})) == (422, "left_out")
    assert agent("PUT", "files/memories/AGENTS.md", {"content": "y"}).status_code == 200


# ---- never by an agent

NEVER = [
    "deploy.sh",
    "Makefile",
    "conftest.py",
    ".envrc",
    ".github/workflows/ci.yml",
    ".claude/settings.json",
    "hooks/pre-commit",
]


@pytest.fixture
def notes(space):
    files.add_mount(space, HUB, "/notes/", store="database", policy="trusted")


@pytest.mark.parametrize("policy", ["trusted", "review"])
@pytest.mark.parametrize("path", NEVER)
def test_agents_write_no_programs_in_any_store(space, notes, agent, path, policy):
    files.change_mount(space, HUB, space.mounts.get(), policy=policy)
    assert code(agent("PUT", f"files/notes/{path}", {"content": "x"})) == (422, "not_memory")
    files.write(space, HUB, f"/notes/{path}", b"echo one\n")  # people may
    edit = {"path": f"/notes/{path}", "old_string": "one", "new_string": "two"}
    assert code(agent("POST", "edits", edit)) == (422, "not_memory")
    assert code(agent("DELETE", f"files/notes/{path}")) == (422, "not_memory")
    files.write(space, HUB, "/notes/a.md", b"echo\n")
    for move in ({"from": "/notes/a.md", "to": f"/notes/{path}.sh"}, {"from": f"/notes/{path}", "to": "/notes/b.md"}):
        assert code(agent("POST", "moves", move)) == (422, "not_memory")
    assert not Proposal.objects.exists()


def test_a_program_that_no_rule_names_any_more_is_not_approved(space, notes, agent):
    rule = files.add_rule(space, HUB, "/notes/deploy.sh", "review")
    assert agent("PUT", "files/notes/deploy.sh", {"content": "x"}).status_code == 202
    waiting = Proposal.objects.get()
    files.remove_rule(space, HUB, rule.pk)
    seen = proposals.result(waiting).sha256
    with pytest.raises(Invalid) as refused:
        proposals.approve(space, HUB, waiting.number, seen=seen)
    assert refused.value.code == "not_memory"
    files.add_rule(space, HUB, "/notes/deploy.sh", "review")
    assert proposals.approve(space, HUB, waiting.number, seen=seen).state == "approved"


def test_agents_write_memory_of_other_agents(space, notes, agent):
    for path in (
        ".claude/CLAUDE.md",
        ".claude/agents/a.md",
        ".cursor/rules/r.mdc",
        ".github/copilot-instructions.md",
        ".deepagents/AGENTS.md",
    ):
        assert agent("PUT", f"files/notes/{path}", {"content": "x"}).status_code == 201


def test_a_text_becomes_no_program_by_edits(space, notes, agent):
    assert code(agent("PUT", "files/notes/run", {"content": "#!/bin/sh\n"})) == (422, "not_memory")
    assert agent("PUT", "files/notes/run", {"content": "#/bin/sh\nrm -r x\n"}).status_code == 201
    step = {"path": "/notes/run", "old_string": "#/bin", "new_string": "#!/bin"}
    assert code(agent("POST", "edits", step)) == (422, "not_memory")


def test_an_executable_file_on_disk_is_no_memory(space, tmp_path, agent):
    (tmp_path / "run").write_text("echo\n")
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "notes.md").write_text("x\n")
    (tmp_path / "notes.md").chmod(0o755)
    files.add_mount(space, HUB, "/m/", store="filesystem", directory=str(tmp_path), policy="trusted")
    assert code(agent("PUT", "files/m/run", {"content": "rm\n"})) == (422, "not_memory")
    assert agent("PUT", "files/m/notes.md", {"content": "y\n"}).status_code == 200


@pytest.mark.parametrize("policy", ["trusted", "review"])
def test_a_rule_that_names_it_makes_it_a_proposal_to_look_at_closely(space, notes, agent, policy):
    files.add_rule(space, HUB, "/notes/**", "trusted", confirmed=True)
    assert code(agent("PUT", "files/notes/deploy.sh", {"content": "x"})) == (422, "not_memory")
    files.add_rule(space, HUB, "/notes/*.sh", policy, confirmed=True)
    asked = agent("PUT", "files/notes/deploy.sh", {"content": "echo\n"})
    assert asked.status_code == 202
    proposal = Proposal.objects.get()
    assert (
        proposal.risk == 2 and proposal.findings[0]["code"] == "program" and proposal.findings[0]["severity"] == "high"
    )
    assert code(agent("PUT", "files/notes/deploy.py", {"content": "x"})) == (422, "not_memory")


def test_a_mount_of_a_folder_of_an_agent_is_no_way_around(space, tmp_path, agent):
    (tmp_path / ".claude").mkdir()
    files.add_mount(space, HUB, "/c/", store="filesystem", directory=str(tmp_path / ".claude"), policy="trusted")
    assert code(agent("PUT", "files/c/settings.json", {"content": "{}"})) == (422, "not_memory")
    assert agent("PUT", "files/c/CLAUDE.md", {"content": "x"}).status_code == 201


def test_a_space_without_directories_is_untouched(space, notes, agent):
    assert Space.objects.get(slug="shop").mounts.get().selection == ""
    assert agent("PUT", "files/notes/build/a.json", {"content": "{}"}).status_code == 201


def test_a_folder_of_which_nothing_is_taken_in_is_not_listed(space, forge, tmp_path):
    root = tmp_path / "listed"
    for name in ("src/a.py", "src/deep/b.py", "docs/a.md", "lib/x/y/README.md", "lib/x/z.c", "package.json"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    (root / "empty").mkdir()
    files.add_mount(space, HUB, "/listed/", store="filesystem", directory=str(root))

    def listed(prefix):
        return [one["path"] for one in forge("GET", f"files?prefix={prefix}").json()["entries"]]

    assert listed("/listed/") == ["/listed/docs/", "/listed/empty/", "/listed/lib/"]
    assert listed("/listed/lib/x/") == ["/listed/lib/x/y/"]
    (root / "src" / "deep" / "AGENTS.md").write_text("# Rules\n")
    assert "/listed/src/" in listed("/listed/") and listed("/listed/src/") == ["/listed/src/deep/"]
