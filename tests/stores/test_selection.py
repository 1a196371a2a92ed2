"""What a mount of a directory takes in by names, `.gitignore` files and patterns; how long hostile patterns take."""

from __future__ import annotations

import os
import socket
import subprocess
import time

import pytest

from memoryhub.errors import Invalid
from memoryhub.stores.ignore_files import MAX_BYTES, MAX_LINES, TOO_LONG, IgnoreFiles
from memoryhub.stores.selection import (
    ALL,
    DOCUMENTS,
    MAX_FILES,
    Selection,
    checked_patterns,
    compiled,
    is_pattern,
    selection,
)
from memoryhub.stores.survey import Intake, kind_of, survey
from tests.cases import for_each


def code(selected: Selection, path: str) -> str:
    why = selected.why_file_out(path)
    return why.code if why else ""


EVERYTHING, PROJECT = Selection(ALL), Selection(DOCUMENTS)


@for_each([
        (".git/config", "version_control"), ("a/.GIT/x", "version_control"), (".git", "version_control"),
        ("a/.git ", "version_control"), ("b/.git./x", "version_control"), (".hg/store", "version_control"),
        ("git~1/config", "version_control"), (".svn/entries", "version_control"), ("\uff0egit/config", "version_control"),
        (".env", "secrets"), (".env.local", "secrets"), ("deploy/.ENV", "secrets"), ("prod.env", "secrets"),
        ("id_rsa", "secrets"), ("certs/server.key", "secrets"), (".ssh/config", "secrets"), (".npmrc", "secrets"),
        ("node_modules/x/README.md", "dependencies"), ("web/Node_Modules/x.md", "dependencies"), (".venv/a.md", "dependencies"),
        ("build/notes.md", "build"), ("dist/a.md", "build"), ("x.egg-info/PKG.md", "build"),
        ("__pycache__/a.md", "cache"), (".pytest_cache/README.md", "cache"), (".DS_Store", "cache"),
        (".hidden.md", "hidden"), ("notes/.obsidian/app.md", "hidden"), (".github/workflows/ci.yml", "hidden"),
        (".claude/settings.json", "hidden"), (".claude/.cache/x.md", "cache"), (".cursor/mcp.json", "hidden"),
        (".claude/.credentials.json", "secrets"), (".vscode/tasks.json", "hidden"), (".gitignore", "hidden"),
    ])  # fmt: skip
def test_what_is_always_left_out(path, why):
    assert code(EVERYTHING, path) == why
    assert code(PROJECT, path) == why


KNOWN = [
    ".claude/CLAUDE.md", ".claude/agents/reviewer.md", ".claude/rules/deep/er.md", ".cursor/rules/style.mdc", ".cursorrules",
    ".github/copilot-instructions.md", ".github/instructions/api.instructions.md", ".deepagents/AGENTS.md",
    ".deepagents/scout/AGENTS.md", ".clinerules", ".clinerules/one.md", ".roo/rules-code/a.md", ".gemini/GEMINI.md",
    "packages/web/.claude/CLAUDE.md", ".windsurf/rules/a.md", ".codex/AGENTS.md", ".serena/memories/x.md",
]  # fmt: skip


@for_each([*KNOWN, "AGENTS.md", "CLAUDE.md", "docs/a.md", "README", "notes/b.txt", "x/y/z.rst"])
def test_memory_and_documents_are_taken_in_everywhere(path):
    assert code(EVERYTHING, path) == ""
    assert code(PROJECT, path) == ""


@for_each(["src/app.py", "package.json", "requirements.txt", "data.csv", "CMakeLists.txt", "vendor/a.md"])
def test_a_project_takes_in_no_code(path):
    assert code(PROJECT, path) != ""
    assert code(EVERYTHING, path) == ""


def test_patterns_exclude_as_gitignore_files_do():
    chosen = selection(f"{ALL}\x1f\x1fdrafts/\n*.log\n!keep.log\n/top.md")
    out = {
        path
        for path in ("drafts/a.md", "a/drafts/b.md", "x.log", "keep.log", "top.md", "a/top.md")
        if code(chosen, path)
    }
    assert out == {"drafts/a.md", "a/drafts/b.md", "x.log", "top.md"}


def test_include_patterns_of_a_project_add_to_memory_and_documents():
    chosen = Selection(DOCUMENTS, ("src/*.py",))
    assert [code(chosen, path) for path in ("src/a.py", "lib/a.py", "README.md")] == ["", "no_document", ""]


def test_include_patterns_of_a_folder_of_memory_choose():
    chosen = Selection(ALL, ("*.csv", "notes/**"))
    assert [code(chosen, path) for path in ("a.csv", "notes/x", "b.png", "AGENTS.md", ".claude/CLAUDE.md")] == [
        "", "", "not_included", "", "",
    ]  # fmt: skip


def test_only_a_pattern_that_names_it_takes_in_what_is_left_out():
    wide = Selection(ALL, ("**", "*", "*.md"))
    assert code(wide, "node_modules/a.md") and code(wide, ".hidden/a.md")
    named = Selection(ALL, ("**", "node_modules/a.md", ".hidden/"))
    assert code(named, "node_modules/a.md") == code(named, ".hidden/b.md") == ""
    assert code(named, "node_modules/b.md") == "dependencies"


def test_no_pattern_takes_in_version_control_or_secrets():
    chosen = Selection(ALL, (".git/**", ".git/config", ".env", "*.pem", ".ssh/"))
    assert all(code(chosen, path) for path in (".git/config", ".env", "a.pem", ".ssh/id"))


def test_an_exclude_pattern_wins():
    assert code(Selection(ALL, ("drafts/**",), ("drafts/",)), "drafts/a.md") == "excluded"


@for_each(["a\x00b", "#no", "!", "x" * 600, "\n".join(str(n) for n in range(300)), "***\\"])
def test_what_is_no_pattern_is_refused(text):
    with pytest.raises(Invalid):
        checked_patterns(text)


# ---- .gitignore files, compared with git


def git(root, *arguments):
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)


RULES = {
    ".gitignore": "*.log\n!keep.log\n/top\nout/\ndocs/**/private\n# note\n\n\\#odd\ntrail \n[ab].txt\n**/deep/x.md\n*.tmp\nq/\n!q/in.md\n",
    "a/.gitignore": "!x.log\nsecret*\n/only\n*.md\n!good.md\n",
    "a/b/.gitignore": "secret.ok\n!*.md\n",
}
PATHS = [
    "x.log", "keep.log", "top", "a/top", "out/f", "a/out/f", "docs/p/private", "docs/private", "#odd", "trail", "a.txt", "c.txt",
    "deep/x.md", "a/deep/x.md", "a/x.log", "a/b/x.log", "a/secret.md", "secret.md", "a/only", "a/b/only", "a/good.md", "a/bad.md",
    "a/b/bad.md", "a/b/secret.ok", "q/in.md", "z.tmp", "a/b/c/d/e.log", "a/b/c/keep.log", "out.md",
]  # fmt: skip


def test_gitignore_files_count_as_in_git(tmp_path):
    git(tmp_path, "init", "-q")
    for name, text in RULES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for path in PATHS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    ignored = IgnoreFiles(str(tmp_path))
    ours = {path for path in PATHS if ignored.why_out(path)}
    theirs = {path for path in PATHS if git(tmp_path, "check-ignore", "-q", "--no-index", path).returncode == 0}
    assert ours == theirs


def test_a_changed_gitignore_file_counts(tmp_path):
    ignored = IgnoreFiles(str(tmp_path))
    assert ignored.why_out("a.md") is None
    (tmp_path / ".gitignore").write_text("a.md\n")
    ignored.forget()
    assert ignored.why_out("a.md").why == ".gitignore: a.md"


def test_hostile_gitignore_files_take_no_time(tmp_path):
    (tmp_path / ".gitignore").write_text(
        "*a" * 200 + "b\n" + "**/" * 150 + "x\n" + "(" * 400 + "\n[z-a]\n" + "?*" * 200 + "z"
    )
    start = time.perf_counter()
    assert IgnoreFiles(str(tmp_path)).why_out("a" * 250 + "/" + "a" * 250) is None
    assert time.perf_counter() - start < 2


def test_a_gitignore_file_that_the_engine_cannot_take_whole_leaves_out_all_that_it_names(tmp_path):
    lines = ["first.md", "again.md", *(f"{'*a' * 200}{number}" for number in range(60)), "!again.md", "last.md"]
    (tmp_path / ".gitignore").write_text("\n".join(lines))
    with pytest.raises(Exception, match=r"(?i)memory|set|compil"):
        compiled(lines)
    ignored = IgnoreFiles(str(tmp_path))
    assert [ignored.why_out(name) is not None for name in ("first.md", "again.md", "last.md", "plain.md")] == [
        True, False, True, False,
    ]  # fmt: skip
    assert ignored.why_out("a" * 201 + "59").why == ".gitignore: " + "*a" * 200 + "59"


def test_a_pattern_that_the_engine_cannot_take_leaves_out_what_it_may_match(tmp_path):
    assert not is_pattern("[[:alpha:]]x") and not is_pattern("a\0b")
    (tmp_path / ".gitignore").write_text(f"[[:alpha:]]x\n![[:alpha:]]x\n{'long' * 200}/b\n[z-a]\na\0b\n")
    ignored = IgnoreFiles(str(tmp_path))
    assert ignored.why_out("yx").why == ".gitignore: [[:alpha:]]x"
    assert ignored.why_out(f"{'long' * 200}/b")
    assert not any(map(ignored.why_out, ("yyx", "z", "a", "b", "longer.md")))


@pytest.mark.parametrize("text", ["x\n" * (MAX_LINES + 1), f"#{'x' * MAX_BYTES}\nsecret.md"])
def test_a_gitignore_file_that_is_too_long_leaves_everything_out_and_says_so(tmp_path, text):
    (tmp_path / ".gitignore").write_text(text)
    assert IgnoreFiles(str(tmp_path)).why_out("secret.md").why == f".gitignore: {TOO_LONG}"


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "binary"])
def test_a_gitignore_file_that_is_none(tmp_path, kind):
    place = tmp_path / ".gitignore"
    if kind == "link":
        place.symlink_to("/etc/passwd")
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.write_bytes(os.urandom(4096))
    assert IgnoreFiles(str(tmp_path)).why_out("plain.md") is None


# ---- what a directory holds


def repository(root):
    """A repository as people have it: 4 documents, 31 files of git, dependencies, secrets, and things that are no files."""
    files = {
        "AGENTS.md": "# Rules\n", "README.md": "hello\n", "docs/a.md": "alpha\n", ".claude/CLAUDE.md": "c\n", "src/app.py": "print()\n",
        "package.json": "{}\n", ".env": "KEY=1\n", ".gitignore": "build/\n*.local.md\n", "me.local.md": "mine\n", "logs/x.log": "x\n",
        "node_modules/a/index.js": "x", "node_modules/a/README.md": "x", "build/out.md": "x", "sub/.gitignore": "*.md\n!keep.md\n",
        "sub/drop.md": "x", "sub/keep.md": "x",
    }  # fmt: skip
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for number in range(31):
        (root / ".git" / str(number % 5)).mkdir(parents=True, exist_ok=True)
        (root / ".git" / str(number % 5) / f"o{number}").write_text("x")
    (root / "passwd.md").symlink_to("/etc/passwd")
    (root / "outside").symlink_to("/etc")
    os.mkfifo(root / "pipe.md")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.relpath(root / "socket.md"))
    listener.close()
    (root / "big.md").write_bytes(b"x" * ((1 << 20) + 1))
    return root


def test_a_survey_of_a_repository(tmp_path):
    root = repository(tmp_path)
    assert kind_of(str(root)) == DOCUMENTS
    found = survey(Intake(str(root), PROJECT))
    assert found.files == 5
    counts = {group.name: group.count for group in found.groups}
    assert counts[".git"] == 31 and counts["node_modules"] == 2 and counts[".env"] == 1
    assert counts["build"] == 1 and counts["*.local.md"] == 1 and counts["links"] == 2
    assert counts["pipe.md"] == counts["socket.md"] == counts["big.md"] == 1
    says = found.sentence(str(root))
    assert says.startswith(f"memoryhub shows 5 files of {root}, {found.left_out} left out: .git 31, ")


def test_a_survey_counts_a_single_file_of_a_kind(tmp_path):
    (tmp_path / "AGENTS.md").write_text("x")
    (tmp_path / "picture.png").write_bytes(b"x")
    found = survey(Intake(str(tmp_path), PROJECT))
    assert found.listed() == "other files 1"


def test_a_walk_enters_nothing_that_is_left_out(tmp_path):
    root = repository(tmp_path)
    seen = {folder for folder, _ in Intake(str(root), PROJECT).folders()}
    assert not any(name in folder for folder in seen for name in (".git", "node_modules", "build", "outside"))
    assert {"/", "/docs/", "/.claude/"} <= seen


def test_caches_and_environments_say_so_themselves(tmp_path):
    (tmp_path / "my-env").mkdir()
    (tmp_path / "my-env/pyvenv.cfg").write_text("")
    (tmp_path / "things").mkdir()
    (tmp_path / "things/CACHEDIR.TAG").write_text("")
    taking = Intake(str(tmp_path), EVERYTHING)
    assert taking.why_out("my-env/a.md").code == "dependencies"
    assert taking.why_out("things/a.md").code == "cache"
    assert taking.why_out("a.md") is None


def test_a_walk_stops_after_many_files(tmp_path):
    for folder in range(26):
        (tmp_path / f"{folder:02}").mkdir()
        for number in range(400):
            (tmp_path / f"{folder:02}/{number}.md").touch()
    (tmp_path / "AGENTS.md").touch()
    taking = Intake(str(tmp_path), EVERYTHING)
    listed = [path for path, _ in taking.files()]
    assert len(listed) == MAX_FILES + 1 and listed[0] == "/AGENTS.md"
    found = survey(taking)
    assert found.is_full and found.files == MAX_FILES and "more than 10000 files" in found.sentence("x")


def names_in(root, chosen=EVERYTHING):
    return sorted(path for path, _ in Intake(str(root), chosen).files())


@pytest.mark.parametrize("marker", [".git/HEAD", "package.json", "pyproject.toml", "Cargo.toml", "app.sln"])
def test_a_project_inside_a_folder_of_memory_gives_documents_alone(tmp_path, marker):
    for name in (
        "notes/plan.txt", "notes/data.csv", "shop/README.md", "shop/data.csv", "shop/src/a.c", "shop/src/deep/AGENTS.md",
        "shop/bin/tool.md", f"shop/{marker}",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert names_in(tmp_path) == ["/notes/data.csv", "/notes/plan.txt", "/shop/README.md", "/shop/src/deep/AGENTS.md"]
    taking = Intake(str(tmp_path), EVERYTHING)
    assert taking.why_out("shop/src/a.c").code == "no_document" and taking.why_out("notes/data.csv") is None
    assert "/shop/data.csv" in names_in(tmp_path, Selection(ALL, ("**", "*.csv")))
    assert "/shop/src/a.c" not in names_in(tmp_path, Selection(ALL, ("**", "*.csv")))


def test_a_folder_becomes_a_project_and_ceases_to_be_one(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "data.csv").write_text("x")
    taking = Intake(str(tmp_path), EVERYTHING)
    assert taking.why_out("shop/data.csv") is None
    (tmp_path / "shop" / "package.json").write_text("{}")
    taking.ignored.forget()
    assert taking.why_out("shop/data.csv").code == "no_document"
    (tmp_path / "shop" / "package.json").unlink()
    taking.ignored.forget()
    assert taking.why_out("shop/data.csv") is None
