"""What coding agents get in a folder: equal to what the real programs sent for the same trees, and what our answer adds to that."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memoryhub.dialects import coding
from memoryhub.dialects.coding import claude_code, installed
from memoryhub.dialects.coding.claude_memory import cut_memory, project_slug
from memoryhub.errors import Invalid
from memoryhub.management.commands import context
from tests.conformance.coding_agents import programs, trees

ROOT = Path(__file__).resolve().parents[2]
RECORDED = json.loads((ROOT / "tests/fixtures/coding_agents.json").read_text())
NEWEST = {agent: [case.name for case in trees.hand_made(agent)] for agent in RECORDED}


def cases(agent: str) -> list[trees.Case]:
    seeds = sorted(int(name.split()[1]) for name in RECORDED[agent]["sha256"] if name.startswith("random "))
    return [*trees.hand_made(agent), *(trees.random_case(agent, seed) for seed in seeds)]


def ours(agent: str, case: trees.Case, root: Path) -> str:
    found = coding.context_of(agent, str(root / case.start), str(root / "home")).text.decode("utf-8", "replace")
    if agent == "claude-code":
        return programs.after_heading(found)
    return found.rstrip("\n") if agent == "copilot-cli" else found


@pytest.mark.parametrize("agent", sorted(RECORDED))
def test_every_tree_gives_what_the_program_sent(agent, tmp_path):
    wrong = []
    for number, case in enumerate(cases(agent)):
        root = (tmp_path / str(number)).resolve()
        trees.build(case, root)
        text = ours(agent, case, root).replace(str(root), trees.ROOT)
        if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != RECORDED[agent]["sha256"][case.name]:
            wrong.append(case.name)
    assert wrong == []
    assert coding.agent(agent).version == RECORDED[agent]["version"].split("-")[0]


# ---- where each file stands, and why one does not


@pytest.fixture
def project(tmp_path):
    """Writes files below a home and a repository, and answers the context of an agent there."""
    root = tmp_path.resolve()

    def made(agent, files, start="p", **more):
        trees.build(trees.Case("one", files, start, {}, "p"), root)
        return coding.context_of(agent, str(root / start), str(root / "home"), **more)

    made.root = root
    return made


def paths(found, root):
    return [one.path.removeprefix(f"{root}/") for one in found]


def test_spans_are_the_bytes_of_each_file(project):
    files = {
        "home/.claude/CLAUDE.md": "ünï\n",
        "p/CLAUDE.md": "中文 @a.md\n",
        "p/a.md": "imported\n",
        "p/.claude/rules/r.md": "rule\n",
    }
    found = project("claude-code", files)
    assert [(one.kind, found.text[one.start : one.end].decode()) for one in found.blocks] == [
        ("user", "ünï"), ("project", "中文 @a.md"), ("import", "imported"), ("rule", "rule"),
    ]  # fmt: skip


def test_a_file_that_is_not_read_names_its_cause(project):
    found = project("claude-code", {"p/CLAUDE.md": "c\n", "p/AGENTS.md": "a\n"})
    assert [(one.path, one.why) for one in found.ignored] == [
        (f"{project.root}/p/AGENTS.md", f"{project.root}/p/CLAUDE.md exists, so AGENTS.md is not read")
    ]


def test_the_line_of_a_cut_is_that_of_the_file(project):
    found = project("codex", {"p/AGENTS.md": "x" * 32_000, "p/s/AGENTS.md": "line\n" * 500}, "p/s")
    assert found.blocks[-1].cut_at == 768 // 5 + 1
    assert [one.cut_at for one in found.blocks[:-1]] == [None]


def test_what_a_touch_loads_stands_behind_the_start(project):
    files = {
        "p/CLAUDE.md": "top\n",
        "p/s/CLAUDE.md": "deep\n",
        "p/s/x.py": "1",
        "p/.claude/rules/py.md": '---\npaths: "**/*.py"\n---\npython rule\n',
    }
    before = project("claude-code", files)
    assert [one.trigger for one in before.later] == ["when a file is read that fits **/*.py"]
    after = project("claude-code", files, touched=["s/x.py"])
    assert after.text.startswith(before.text)
    assert [after.text[one.start : one.end] for one in after.blocks[1:]] == [b"deep", b"python rule"]


def test_a_change_that_is_not_made_yet_gives_what_it_would_give(project):
    now = project("claude-code", {"p/CLAUDE.md": "old\n"})
    path = f"{project.root}/p/CLAUDE.md"
    tree = coding.ChangedTree(coding.DiskTree(), {path: b"new @b.md\n", f"{project.root}/p/b.md": b"added\n"})
    then = coding.context_of("claude-code", f"{project.root}/p", f"{project.root}/home", tree=tree)
    Path(path).write_bytes(b"new @b.md\n")
    Path(f"{project.root}/p/b.md").write_bytes(b"added\n")
    made = coding.context_of("claude-code", f"{project.root}/p", f"{project.root}/home")
    assert now.text != then.text == made.text


def test_a_deletion_that_is_not_made_yet(project):
    project("claude-code", {"p/CLAUDE.md": "c\n", "p/AGENTS.md": "a\n"})
    tree = coding.ChangedTree(coding.DiskTree(), {f"{project.root}/p/CLAUDE.md": None})
    found = coding.context_of("claude-code", f"{project.root}/p", f"{project.root}/home", tree=tree)
    assert paths((one for one in found.blocks), project.root) == ["p/AGENTS.md"]


# ---- Claude Code's own memory


def test_the_index_of_memory_and_its_topics(project):
    slug = project_slug(f"{project.root}/p")
    folder = f"home/.claude/projects/{slug}/memory"
    found = project("claude-code", {f"{folder}/MEMORY.md": "- [T](t.md)\n", f"{folder}/t.md": "topic\n"})
    assert [one.kind for one in found.blocks] == ["memory"]
    assert paths(found.later, project.root) == [f"{folder}/t.md"]


def test_memory_is_cut_at_200_lines_with_the_programs_warning():
    text, cut_at = cut_memory("\n".join(f"- line {number}" for number in range(300)))
    assert text.endswith(
        "- line 199\n\n> WARNING: MEMORY.md is 300 lines (limit: 200). Only part of it was loaded: 100 of 300 lines were cut off,"
        ' starting at line 201 ("- line 200"). Keep index entries to one line under ~200 chars; move detail into topic files.'
    )
    assert cut_at == 201


def test_memory_is_cut_at_25_000_utf16_units_and_not_bytes():
    assert cut_memory("é" * 24_999)[1] is None
    assert cut_memory("😀" * 12_500) == ("😀" * 12_500, None)
    assert cut_memory("- " + "a" * 20_000 + "\n- " + "b" * 20_000)[1] == 2


@pytest.mark.parametrize(("path", "slug"), [("/home/a b/proj_x", "-home-a-b-proj-x"), ("/h/é😀", "-h----")])
def test_the_folder_name_of_a_project(path, slug):
    assert project_slug(path) == slug


def test_a_long_folder_name_ends_in_a_hash():
    assert len(project_slug("/" + "x" * 300)) > 200
    assert project_slug("/" + "x" * 300) != project_slug("/" + "x" * 299 + "y")


# ---- hostile folders


@pytest.mark.parametrize("agent", sorted(coding.agents()))
def test_pipes_loops_and_unreadable_files_do_no_harm(agent, tmp_path):
    root = tmp_path.resolve()
    (root / "p/.claude/rules").mkdir(parents=True)
    (root / "p/.cursor/rules").mkdir(parents=True)
    for name in ("AGENTS.md", "GEMINI.md", ".clinerules", ".rules"):
        os.mkfifo(root / "p" / name)
    os.symlink(root / "p", root / "p/.claude/rules/loop")
    os.symlink(root / "p", root / "p/.cursor/rules/loop")
    os.symlink("CLAUDE.md", root / "p/CLAUDE.md")
    assert coding.context_of(agent, str(root / "p"), str(root / "home")).blocks == ()


@pytest.mark.parametrize("agent", sorted(coding.agents()))
def test_imports_of_themselves_end(agent, tmp_path):
    root = tmp_path.resolve()
    text = "@AGENTS.md @CLAUDE.md @GEMINI.md @./x.md\n" * 20
    files = {f"p/{name}": text for name in ("AGENTS.md", "CLAUDE.md", "GEMINI.md", "x.md", ".rules", "HERMES.md")}
    trees.build(trees.Case("loop", files, "p", {}, "p"), root)
    assert len(coding.context_of(agent, str(root / "p"), str(root / "home")).text) < 2_000_000


HARD = {
    "back-ticks": "`" * 200_000, "runs of back-ticks": " ".join("`" * size for size in range(1, 600)), "open comments": "<!--" * 50_000,
    "stars": "*_" * 100_000, "at signs": "@x " * 30_000, "brackets": "[" * 200_000, "quotes": "> " * 3_000, "tags": "<a " * 60_000,
}  # fmt: skip


@pytest.mark.sampled(8)
@pytest.mark.parametrize("shape", HARD)
def test_no_text_keeps_an_agent_busy(project, shape):
    files = {f"p/{name}": HARD[shape] for name in ("CLAUDE.md", "AGENTS.md", "GEMINI.md")}
    for agent in coding.agents():
        start = time.thread_time()
        project(agent, files)
        assert time.thread_time() - start < 2, agent  # back-ticks took over a minute


def test_an_agent_that_is_unknown_is_refused_with_the_names():
    with pytest.raises(Invalid, match=r"claude-code, codex, .*zed"):
        coding.agent("nope")


# ---- the command


def command(*arguments, **env):
    return subprocess.run(
        [sys.executable, "-m", "memoryhub", "context", *map(str, arguments)],
        capture_output=True,
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **env},
    )


def test_the_command_prints_the_bytes_and_nothing_else(project):
    found = project("codex", {"p/AGENTS.md": "a\n"})
    done = command("codex", project.root / "p", "--home", project.root / "home")
    assert (done.returncode, done.stdout, done.stderr) == (0, found.text, b"")


def test_the_command_prints_one_document(project):
    project("claude-code", {"p/CLAUDE.md": "c\n", "p/AGENTS.md": "a\n", "p/s/CLAUDE.md": "deep\n", "p/s/x": ""})
    done = command("claude-code", project.root / "p", "--home", project.root / "home", "--touch", "s/x", "--json")
    answer = json.loads(done.stdout)
    assert set(answer) >= {"agent", "version", "verified", "text", "blocks", "ignored", "later"}
    assert (answer["agent"], answer["version"], answer["verified"]) == ("claude-code", "2.1.327", True)
    assert [set(one) for one in answer["blocks"]] == [{"path", "kind", "why", "start", "end", "cut_at"}] * 2
    assert [set(one) for one in answer["ignored"]] == [{"path", "why"}]


def test_the_command_refuses_in_one_sentence(tmp_path, capsys):
    assert context.main(["nope", str(tmp_path)]) == 1
    assert context.main(["codex", str(tmp_path / "none")]) == 1
    assert "is no folder" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        context.main(["codex"])


@pytest.mark.parametrize("end", [b'"', b"`", b"\\n", b"\x00\x08junk"])
def test_the_words_above_the_files_are_read_from_a_script_and_from_a_native_program(tmp_path, end):
    program = tmp_path / "claude"
    program.write_bytes(b"\x7fELF\x00" + claude_code.HEADING.encode() + b" Follow them." + end + b"more")
    program.chmod(0o755)
    assert installed.claude_heading(str(program)) == f"{claude_code.HEADING} Follow them."


# ---- which version is installed

PACKAGES = {
    "claude-code": ("@anthropic-ai/claude-code", "cli.js"), "codex": ("@openai/codex", "bin/codex.js"),
    "gemini-cli": ("@google/gemini-cli", "dist/src/index.js"), "opencode": ("opencode-ai", "bin/opencode"),
    "copilot-cli": ("@github/copilot", "index.js"), "openclaw": ("openclaw", "openclaw.mjs"), "cline": ("cline", "dist/cli.mjs"),
    "amp": ("@sourcegraph/amp", "dist/main.js"),
}  # fmt: skip
WHEELS = {"hermes": "hermes_agent", "deepagents-code": "deepagents_code", "aider": "aider_chat"}
NEWER = "9999.1.2"


def place_program(path, text="#!/usr/bin/env node\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def place_link(home, name, target):
    (home / ".local" / "bin").mkdir(parents=True, exist_ok=True)
    (home / ".local" / "bin" / name).symlink_to(target)


def install_from_npm(home, name, version):
    package, script = PACKAGES[name]
    root = home / "lib" / "node_modules" / package
    place_link(home, coding.agent(name).program, place_program(root / script))
    (root / "package.json").write_text(json.dumps({"name": package, "version": version}))


def install_from_pypi(home, name, version):
    program, venv = coding.agent(name).program, home / ".local" / "share" / "pipx" / name
    place_link(home, program, place_program(venv / "bin" / program, f"#!{venv}/bin/python\n"))
    packages = venv / "lib" / "python3.12" / "site-packages"
    for wheel, command, number in (("other", "other", "1.0.0"), (WHEELS[name], program, version)):
        (packages / f"{wheel}-{number}.dist-info").mkdir(parents=True)
        (packages / f"{wheel}-{number}.dist-info" / "entry_points.txt").write_text(
            f"[console_scripts]\n{command} = x:main\n"
        )


@pytest.mark.parametrize("name", [*PACKAGES, *WHEELS])
def test_a_version_is_read_and_a_newer_one_is_not_verified(tmp_path, name, capsys):
    install = install_from_npm if name in PACKAGES else install_from_pypi
    agent, versions = coding.agent(name), (coding.agent(name).version, NEWER)
    for number, version in enumerate(versions):
        home = tmp_path / str(number)
        install(home, name, version)
        (home / "p").mkdir()
        assert context.main([name, str(home / "p"), "--home", str(home), "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert (answer["installed"], answer["verified"]) == (version, agent.verified and version != NEWER)


def test_a_version_is_read_from_a_name_and_from_folders(tmp_path):
    place_link(tmp_path, "claude", place_program(tmp_path / "share" / "versions" / "2.1.400"))
    place_link(tmp_path, "codex", place_program(tmp_path / "Cellar" / "codex" / "0.170.1" / "bin" / "codex"))
    found = [installed.installed_version(name, str(tmp_path)) for name in ("claude", "codex", "gemini", "")]
    assert found == ["2.1.400", "0.170.1", "", ""]


def test_a_project_around_a_program_is_not_its_package(tmp_path):
    place_program(tmp_path / "bin" / "codex", "\x7fELF")
    (tmp_path / "package.json").write_text('{"name": "my-site", "version": "1.2.3"}')
    assert installed.installed_version("codex", str(tmp_path)) == ""


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"version": 7}', '{"version": "1\\u001b[0m"}', '{"version": "%s"}' % ("1" * 999)]
)
def test_a_broken_package_tells_nothing(tmp_path, text):
    place_program(tmp_path / "bin" / "codex", "\x7fELF")
    (tmp_path / "bin" / "package.json").write_text(text)
    assert installed.installed_version("codex", str(tmp_path)) == ""
