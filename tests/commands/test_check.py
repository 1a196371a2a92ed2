"""`memoryhub check`: each planted fault is found, and nothing in sound projects."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memoryhub.domain import coding_agents
from memoryhub.management.commands import check
from tests.commands import planted
from tests.conformance.coding_agents import trees
from tests.unprivileged import unprivileged

ROOT = Path(__file__).resolve().parents[2]
LONG = "Run the whole suite before you push, on a machine without network."
SOUND = {
    "AGENTS.md": "# Shop\n\n- Tests: `make test`, front end `npm run build`.\n- Start at `src/app.py`; see `docs/` and @alice.\n"
                 "- Mail team@example.org.\n- Create `src/new_module.py` for a new page.\n- Builds land in `dist/app.js`.\n",
    "CLAUDE.md": "@AGENTS.md\n", "Makefile": "test: src\n\tpytest\n", "package.json": '{"scripts": {"build": "vite"}}', "src/app.py": "",
    "docs/x.md": "", "web/AGENTS.md": "- Components live in `web/parts/`.\n", "web/CLAUDE.md": "@AGENTS.md\n",
    "web/parts/x.js": "",
}  # fmt: skip
PLANTED = {
    "not_read": {"CLAUDE.md": "- Only for one agent.\n"},
    "cut": {"web/AGENTS.md": "- x\n" * 9_000},
    "missing_import": {"CLAUDE.md": "@AGENTS.md\n@docs/style.md\n"},
    "dead_path": {"web/AGENTS.md": "- The entry is `src/main.py`.\n"},
    "missing_command": {"web/AGENTS.md": "- Run `make lint` first.\n"},
    "repeated": {"web/AGENTS.md": f"- {LONG}\n", "GEMINI.md": f"* {LONG}\n", "src/GEMINI.md": f"{LONG}\n"},
    "secret": {"web/AGENTS.md": "- Token: ghp_0123456789abcdefghijABCDEFGHIJ012345\n"},
    "hidden": {"web/AGENTS.md": "- Close\u202e at nine.\n"},
}


def written(root, files, links=None):
    links = {f"p/{name}": target for name, target in (links or {}).items()}
    trees.build(trees.Case("one", {f"p/{name}": text for name, text in files.items()}, "p", links, "p"), root.resolve())
    return str(root.resolve() / "p")


def test_a_sound_project_has_no_findings(tmp_path):
    assert coding_agents.check_folder(written(tmp_path, SOUND)) == []


@pytest.mark.parametrize("code", PLANTED)
def test_a_planted_fault_is_found_and_nothing_else(tmp_path, code):
    found = coding_agents.check_folder(written(tmp_path, SOUND | PLANTED[code]))
    assert {one.code for one in found} == {code}


def test_a_file_that_is_not_read_names_the_agents(tmp_path):
    found = coding_agents.check_folder(written(tmp_path, SOUND | PLANTED["not_read"]))
    assert {(os.path.basename(one.path), one.agents) for one in found} == {
        ("AGENTS.md", ("claude-code",)),
        ("CLAUDE.md", ("opencode",)),
        ("CLAUDE.md", ("hermes",)),
    }


@pytest.mark.parametrize(("text", "codes"), [
    ("@AGENTS.md\n\n- Only for Claude.\n", set()), ("# Claude\r\n\r\n- @./AGENTS.md\r\n- Only for Claude.\r\n", set()),
    ("@docs/x.md\n\n- Only for Claude.\n", {"not_read"}), ("As in @AGENTS.md, but for Claude.\n", {"not_read"}),
])  # fmt: skip
def test_lines_below_an_import_of_what_others_read_are_for_one_agent(tmp_path, text, codes):
    found = coding_agents.check_folder(written(tmp_path, SOUND | {"CLAUDE.md": text}))
    assert {one.code for one in found} == codes


def test_what_matters_to_another_agent_is_left_out(tmp_path):
    folder = written(tmp_path, SOUND | PLANTED["not_read"])
    assert coding_agents.check_folder(folder, ["codex"]) == []


def test_other_peoples_projects_are_not_entered(tmp_path):
    files = {"node_modules/x/AGENTS.md": "- `src/none.py`\n", ".venv/y/CLAUDE.md": "- `src/none.py`\n"}
    assert coding_agents.check_folder(written(tmp_path, SOUND | files)) == []


def test_one_text_under_two_names_has_its_faults_once(tmp_path):
    text = "<!-- for all -->\n\n- See `src/gone.py`.\n- Token: ghp_0123456789abcdefghijABCDEFGHIJ012345\n"
    files = {name: said for name, said in SOUND.items() if name != "web/CLAUDE.md"} | {"web/AGENTS.md": text}
    folder = written(tmp_path, files, {"web/CLAUDE.md": "AGENTS.md"})
    found = [(one.code, os.path.relpath(one.path, folder)) for one in coding_agents.check_folder(folder)]
    assert found == [("dead_path", "web/AGENTS.md"), ("secret", "web/AGENTS.md")]


@pytest.mark.parametrize(("line", "more", "codes"), [
    ("`src/made/local.py`", {".gitignore": "src/made/\n"}, []), ("`src/made/local.py`", {".gitignore": "*.log\n"}, ["dead_path"]),
    ("`src/made/local.py`", {".gitignore": "*.py\n!local.py\n"}, ["dead_path"]), ("`../elsewhere/rules/x.md`", {}, []),
    ("`../src/gone.py`", {}, ["dead_path"]), ("`parts/gone.js`", {}, ["dead_path"]), ("`src/app.py`", {}, []), ("`docs/.env.x`", {}, []),
    ("`src/gone.py` is untracked", {}, []), ("`src/gone.py` was deleted", {}, []), ("Read `src/missing.py`", {}, ["dead_path"]),
    ("See `docs/removed.md`, `src/example.py`", {}, ["dead_path"] * 2), ("`docs/your-page.md`", {}, []),
    ("`npm run build`", {}, []), ("`npm run start`", {}, ["missing_command"]),
    ("`npm run build`", {"web/package.json": '{"scripts": {"dev": "vite"}}'}, []),
    ("`npm run start`", {"web/parts/package.json": '{"scripts": {"start": "vite"}}'}, []),
    ("`npm run start`", {"pnpm-workspace.yaml": "packages: []\n"}, []),
    ("```\ncd parts\nmake gone\n```", {}, []), ("```\nmake gone\n```", {}, ["missing_command"]),
])  # fmt: skip
def test_what_a_line_names_is_looked_for_where_it_may_be(tmp_path, line, more, codes):
    folder = written(tmp_path, SOUND | {"web/AGENTS.md": f"- {line}\n" if "\n" not in line else f"{line}\n"} | more)
    assert [one.code for one in coding_agents.check_folder(folder)] == codes


@pytest.mark.parametrize(("line", "count"), [
    (f"- {LONG}", 1), (f"**{LONG}**", 1), (f"## {LONG}", 0), (f"| {LONG} | x |", 0), (f"<!-- {LONG} -->", 0), (f"```\n{LONG}\n```", 0),
    (f"- [{LONG}](web/AGENTS.md)", 0), (f"`{LONG}`", 0), ("-" * 60, 0),
])  # fmt: skip
def test_only_rules_are_repeated(tmp_path, line, count):
    folder = written(tmp_path, SOUND | dict.fromkeys(("web/AGENTS.md", "GEMINI.md", "src/GEMINI.md"), f"{line}\n"))
    assert [one.code for one in coding_agents.check_folder(folder)] == ["repeated"] * count


def test_a_page_of_documentation_is_no_memory(tmp_path):
    folder = written(
        tmp_path, SOUND | {"docs/context.md": "- `src/gone.py`\n", "web/CONTEXT.md": "# Words of this part\n"}
    )
    assert coding_agents.check_folder(folder) == []


def command(*arguments):
    return subprocess.run([sys.executable, "-m", "memoryhub", "check", *map(str, arguments)], cwd=ROOT, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"]})  # fmt: skip


def test_the_command_exits_1_with_findings_and_0_without(tmp_path):
    folder = written(tmp_path, SOUND)
    assert (command(folder).returncode, command(folder).stdout) == (0, "No findings.\n")
    written(tmp_path, PLANTED["secret"])
    done = command(folder, "--json")
    assert done.returncode == 1
    (one,) = json.loads(done.stdout)["findings"]
    assert (one["code"], one["line"], set(one)) == ("secret", 1, {"code", "path", "line", "message", "agents"})
    assert "ghp_" not in done.stdout
    assert command(folder).stdout.startswith(f"{folder}/web/AGENTS.md:1: secret: "), "no way through the folders above"


def test_the_command_refuses_in_one_sentence(tmp_path):
    assert "does not exist" in command(tmp_path / "none").stderr
    assert "There is no coding agent" in command(tmp_path, "--agent", "nope").stderr


def test_a_reader_of_the_output_may_leave_early():
    left = (
        "import subprocess, sys; program = subprocess.Popen([sys.executable, '-m', 'memoryhub', 'help'], stdout=-1); "
    )
    left += "program.stdout.close(); sys.exit(program.wait())"
    ended = subprocess.run([sys.executable, "-c", left], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (141, "")


@pytest.mark.parametrize("number", [40, pytest.param(200, marks=pytest.mark.attack)])
def test_each_planted_fault_and_nothing_else_in_many_projects(tmp_path, number):
    wrong, kinds = [], []
    for seed in range(number):
        project = planted.planted_project(seed)
        kinds += [code for code, _path, _line in project.planted]
        folder = written(tmp_path / str(seed), project.files, project.links)
        found = {(one.code, os.path.relpath(one.path, folder), one.line) for one in coding_agents.check_folder(folder)}
        if found != project.planted:
            wrong.append((seed, sorted(found - project.planted), sorted(project.planted - found)))
    assert wrong == []
    assert {code: kinds.count(code) >= number / 20 for code in planted.KINDS} == dict.fromkeys(planted.KINDS, True)


def test_it_needs_neither_django_nor_numpy(tmp_path):
    folder = written(tmp_path, SOUND)
    run = "import sys; from memoryhub.__main__ import run; run(sys.argv[1:]); print(*{'django', 'numpy'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", run, "check", folder], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "No findings.\n\n", done.stderr


def test_it_compiles_the_patterns_that_it_needs_alone(tmp_path):
    folder = written(tmp_path, SOUND)
    run = (
        "import sys; from memoryhub.__main__ import run; run(sys.argv[1:]); from memoryhub.detectors import patterns; "
        "every = [one for one in patterns.EVERY if isinstance(one, patterns.Bounded)]; "
        "print(len(every) > 300, sum('_compiled' in vars(one) for one in every) < 60)"
    )
    done = subprocess.run([sys.executable, "-c", run, "check", folder], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "No findings.\nTrue True\n", done.stderr


def test_what_cannot_be_read_is_said(tmp_path, capsys):
    folder = written(tmp_path, SOUND)
    os.chmod(f"{folder}/web/AGENTS.md", 0)
    with unprivileged():
        found = coding_agents.check_folder(folder)
        assert [(one.code, one.path) for one in found] == [("unreadable", f"{folder}/web/AGENTS.md")]
        assert check.main([f"{folder}/web/AGENTS.md"]) == 1
        os.chmod(f"{folder}/web", 0)
        assert coding_agents.check_folder(folder) == [], "what others keep to themselves is not checked"
        os.chmod(folder, 0)
        assert check.main([folder]) == 1
    assert capsys.readouterr().err.count("cannot be read") == 2


SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345\n"


@pytest.mark.parametrize(
    "name", ["red\x1b[31m", "title\x1b]0;x\x07", "two\nlines", "\u202etxt.exe", "c1\x9b2J", "odd\udcff"]
)
def test_names_do_not_write_to_the_terminal(tmp_path, capsys, name):
    written(tmp_path, {f"{name}/AGENTS.md": SECRET})
    assert check.main([str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "<U+" in said and len(said.splitlines()) == said.count("AGENTS.md:1: ")
    assert all(letter.isprintable() for letter in said.replace("\n", ""))


@pytest.mark.parametrize(("makefile", "found"), [
    ("%" * 200_000, 1), ("%.o: %.c\n", 0), ("a b%c: d\n", 0), ("\tx%: y\n", 1), ("# %: y\n", 1), ("-include other\n", 0),
    ("all: x\n", 0), ("%\n:", 1), (":" * 200_000, 1),
])  # fmt: skip
def test_targets_of_a_makefile_are_known_at_once(tmp_path, makefile, found):
    folder = written(tmp_path, {"AGENTS.md": "Run `make all`.\n", "Makefile": makefile})
    began = time.process_time()
    assert [one.code for one in coding_agents.check_folder(folder, ["codex"])] == ["missing_command"] * found
    assert time.process_time() - began < 3


def test_settings_of_brackets_in_brackets_break_nothing(tmp_path):
    deep = "[" * 100_000
    folder = written(tmp_path, {
        "AGENTS.md": "Run `npm run all`.\n", "package.json": deep, ".claude/settings.json": deep, ".gemini/settings.json": deep,
        ".codex/config.toml": f"a = {deep}", "opencode.json": deep, "CLAUDE.md": "x\n",
    })  # fmt: skip
    assert {one.code for one in coding_agents.check_folder(folder)} <= {"not_read"}


def test_a_large_file_above_many_folders_is_looked_at_so_often(tmp_path, monkeypatch):
    monkeypatch.setattr("memoryhub.domain.coding_agents.check.unread.MAX_LOADED", 100_000)
    below = {f"d{number}/AGENTS.md": "- Be short.\n" for number in range(20)}
    folder = written(tmp_path, {".git/HEAD": "x", "AGENTS.md": "- Be kind.\n" * 2_000, **below})
    found = [one for one in coding_agents.check_folder(folder, ["opencode"]) if one.code == "too_large"]
    assert len(found) == 1 and re.search(r"in \d of 21 folders", found[0].message)
