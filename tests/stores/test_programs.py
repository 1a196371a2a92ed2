"""What agents never write: programs, hooks, start files, and what tools run; and memory that only looks like it."""

from __future__ import annotations

from memoryhub.stores.programs import is_named_by, reasons, text_reasons
from tests.cases import for_each

PROGRAMS = [
    "deploy.sh", "a/b/run.SH", "x.py", "conftest.py", "sitecustomize.py", "a.pth", "run.ps1", "a.bat", "x.exe", "lib.so", "t.ts",
    "x.desktop", "y.plist", "z.service", "a.jar", "script.js", "k.command", "n.ipynb", "a.tf", "m.docm", "a.code-workspace",
    "Makefile", "sub/GNUmakefile", "makefile ", "package.json", "PACKAGE.JSON", "package-lock.json", "requirements.txt",
    "requirements-dev.txt", "pyproject.toml", "setup.cfg", "Dockerfile", "Dockerfile.prod", "docker-compose.yml", "Jenkinsfile",
    "pip.conf", "WORKSPACE", "ansible.cfg", "nginx.conf", "x.url",
    "CMakeLists.txt", "tox.ini", "Cargo.toml", "go.mod", "pom.xml", "Rakefile", "justfile", "mkdocs.yml", "mcp.json",
    ".envrc", ".npmrc", ".vimrc", ".bashrc", ".zshrc", ".profile", ".gitconfig", ".netrc", ".mcp.json", ".pre-commit-config.yaml",
    ".vscode/tasks.json", ".vscode/settings.json", ".idea/workspace.xml", ".git/hooks/pre-commit", ".git/config",
    ".github/workflows/ci.yml", ".github/workflows/x.md", ".gitlab-ci.yml", ".circleci/config.yml", ".husky/pre-push",
    ".githooks/x", "hooks/pre-commit", "hooks/run", "pre-commit", "post-merge", "lefthook.yml", ".claude/settings.json",
    ".claude/settings.local.json", ".claude/hooks/x.md", ".claude/commands/x.md", ".cursor/mcp.json", ".cursor/hooks.json",
    ".gemini/settings.json", ".codex/config.toml", ".devcontainer/devcontainer.json", "_vimrc", "authorized_keys", "crontab",
    "deploy.sh.", "deploy.sh ", "deploy.\uff53\uff48", "My.app/Contents/Info.md", ".ssh/rc", "launch.json", "tasks.json",
    "\u2024git/x", ".config/autostart/a.md", "bashrc", "vimrc",
]  # fmt: skip


@for_each(["/memories/", "/", "~/", "./"], PROGRAMS)
def test_what_agents_never_write(head, path):
    assert reasons(head + path)


MEMORY = [
    "AGENTS.md", "CLAUDE.md", "notes.txt", "a/b/c.md", "data.json", "table.csv", "facts.yaml", "list.toml", "page.html", "x.xml",
    "README", "user_profile", "profile.xml", "preferences", "docs/hooks/useState.md", "docs/makefile.md", "scripts/readme.md",
    "image.png", "report.pdf", ".claude/CLAUDE.md", ".claude/agents/reviewer.md", ".claude/rules/a.md", ".cursor/rules/r.mdc",
    ".cursorrules", ".github/copilot-instructions.md", ".github/instructions/a.instructions.md", ".deepagents/AGENTS.md",
    ".deepagents/scout/AGENTS.md", ".clinerules", ".roo/rules/a.md", ".gemini/GEMINI.md", "plan.sh.md", "build/notes.md",
    "team/update", "2026-11-19", "Ünïcode.md", "memory.jsonl",
]  # fmt: skip


@for_each(MEMORY)
def test_memory_is_none_of_it(path):
    assert reasons("/memories/" + path) == frozenset()


@for_each(
    [b"#!/bin/sh\nrm", b"#! /usr/bin/env python3\n", b"\xef\xbb\xbf#!/bin/sh", b"\x7fELF\x02", b"MZ" + b"\0" * 60]
)
def test_a_text_that_begins_like_a_program(content):
    assert text_reasons("/memories/notes.md", content)


def test_front_matter_with_hooks_in_a_folder_of_agents():
    text = b"---\nname: x\nhooks:\n  PreToolUse: []\n---\nhi"
    assert text_reasons("/memories/.claude/agents/x.md", text)
    assert not text_reasons("/memories/notes.md", text)
    assert not text_reasons("/memories/.claude/agents/x.md", b"---\nname: x\n---\nhooks: are fine here")


@for_each([None, b"", b"# Rules\n", b"!#/bin", b"MZ is a word", b"#!important\n"])
def test_plain_text_is_no_program(content):
    assert not text_reasons("/memories/AGENTS.md", content)


@for_each([
        ("/memories/deploy.sh", "/memories/deploy.sh", True), ("/memories/*.sh", "/memories/deploy.sh", True),
        ("*.sh", "/memories/a/deploy.sh", True), ("/memories/**/*.py", "/memories/a/b.py", True),
        ("/memories/{Makefile,x}", "/memories/Makefile", True), 
        ("/memories/.github/workflows/**", "/memories/.github/workflows/ci.yml", True),
        ("/memories/.husky/*", "/memories/.husky/pre-push", True), ("/memories/scripts/run", "/memories/scripts/run", True),
        ("/memories/**", "/memories/deploy.sh", False), ("**", "/memories/deploy.sh", False), ("*", "/memories/deploy.sh", False),
        ("/memories/*", "/memories/Makefile", False), ("/memories/.github/**", "/memories/.github/workflows/ci.yml", False),
        ("/memories/.github/workflows/**", "/memories/.github/workflows/run.sh", False), ("/memories/a.sh", "/memories/b.sh", False),
        ("/memories/**/*", "/memories/.envrc", False),
    ])  # fmt: skip
def test_what_a_rule_names(pattern, path, named):
    why = reasons(path) or frozenset({"content"})
    assert is_named_by(pattern, path, why) is named
