"""Made-up homes and projects: by hand for each trap, and at random from a seed."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GEMINI_KEY = '{"security":{"auth":{"selectedType":"gemini-api-key"}}}'
ROOT = "{root}"  # stands for the folder that a tree is built in
WORDS = ["alpha", "beta `c` x", "**bold**", "see @a.md", "@a.md", "`@a.md`", "@./sub/b.md", "@missing.md", "@../up.md, ok", "```\n@a.md\n```",
         "<!-- c -->", "@sub", "@~/x.md", "- @a.md", "> @a.md", "@a.md @a.md", "a@b.md", "(@a.md)", "@a.md."]  # fmt: skip
BLOCKS = ["<!-- c -->\n", "<!-- c -->\n\n\n", "<!--\nmulti\n\nline -->\n", "  <!-- ind --> rest\n", "text <!-- inline --> more\n", "- item\n  <!-- in item -->\n",
          "- item\n<!-- after item -->\n", "> q\n<!-- x -->\n", "```\n<!-- fenced -->\n```\n", "<!-- a --><!-- b --> @a.md\n", "    <!-- code -->\n",
          "<div>\n<!-- in div -->\n</div>\n\n", "para\n<!-- mid -->\npara\n", "<!-- open\n"]  # fmt: skip
NAMES = {
    "claude-code": [
        "CLAUDE.md",
        ".claude/CLAUDE.md",
        "CLAUDE.local.md",
        "AGENTS.md",
        ".claude/AGENTS.md",
        ".claude/rules/r.md",
        ".claude/rules/deep/s.md",
    ],
    "codex": ["AGENTS.md", "AGENTS.override.md", "agents.md", "TEAM.md"],
    "gemini-cli": ["GEMINI.md", "TEAM.md"],
    "opencode": ["AGENTS.md", "CLAUDE.md", "CONTEXT.md"],
    "copilot-cli": ["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"],
    "hermes": [".hermes.md", "HERMES.md", "AGENTS.md", "CLAUDE.md", "claude.md", ".cursorrules", ".cursor/rules/r.mdc"],
    "deepagents-code": ["AGENTS.md", ".deepagents/AGENTS.md", "agents.md"],
}
OWN = {
    "claude-code": [".claude/CLAUDE.md", "x.md"], "codex": [".codex/AGENTS.md", ".codex/AGENTS.override.md"], "gemini-cli": [".gemini/GEMINI.md"],
    "opencode": [".config/opencode/AGENTS.md", ".claude/CLAUDE.md", "x.md"], "copilot-cli": [".copilot/copilot-instructions.md"],
    "hermes": [".hermes/memories/MEMORY.md", ".hermes/memories/USER.md", ".hermes/SOUL.md"], "deepagents-code": [".deepagents/agent/AGENTS.md"],
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A tree below a root: `home/` and a project, texts with `{root}` in place of the root's path, links, and where the agent starts."""

    name: str
    files: dict[str, str]
    start: str
    links: dict[str, str] = field(default_factory=dict)
    repository: str = ""  # the folder that becomes a git repository
    worktree_of: str = ""  # the folder of the main repository, where `repository` is a linked worktree of it


def build(case: Case, root: Path) -> None:
    """Writes a tree. Texts hold bytes that are no UTF-8 as lone surrogates."""
    (root / "home").mkdir(parents=True, exist_ok=True)
    (root / case.start).mkdir(parents=True, exist_ok=True)
    for name, text in case.files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.replace(ROOT, str(root)).encode("utf-8", "surrogateescape"))
    for name, target in case.links.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(root / name):
            os.symlink(target, root / name)
    if case.worktree_of:
        _make_worktree(root / case.worktree_of, root / case.repository)
    elif case.repository:
        _make_repository(root / case.repository)


def _make_repository(folder: Path) -> None:
    for name in ("objects", "refs"):
        (folder / ".git" / name).mkdir(parents=True, exist_ok=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")


def _make_worktree(main: Path, folder: Path) -> None:
    """A linked worktree, as `git worktree add` leaves it."""
    _make_repository(main)
    own = main / ".git" / "worktrees" / "w"
    own.mkdir(parents=True, exist_ok=True)
    for name, text in (("HEAD", "ref: refs/heads/w"), ("commondir", "../.."), ("gitdir", f"{folder}/.git")):
        (own / name).write_text(f"{text}\n")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".git").write_text(f"gitdir: {own}\n")


# ---- at random


def random_case(agent: str, seed: int) -> Case:
    rng = random.Random(f"{agent} {seed}")
    files: dict[str, str] = {}
    for folder, share in (("p", 0.45), ("p/s", 0.45), ("p/s/t", 0.45), ("", 0.08)):
        for name in NAMES[agent]:
            if rng.random() < share:
                files[os.path.join(folder, name)] = _text(rng, agent)
        for name in ("a.md", "sub/b.md"):
            if rng.random() < 0.6:
                files[os.path.join(folder, name)] = _text(rng, agent)
    files |= {f"home/{name}": _text(rng, agent) for name in OWN[agent] if rng.random() < 0.5}
    files |= {"p/up.md": _text(rng, agent)} if rng.random() < 0.5 else {}
    files |= _settings(rng, agent)
    links = {"p/s/linked.md": "a.md"} if rng.random() < 0.2 else {}
    case = Case(f"random {seed}", files, rng.choice(["p", "p/s", "p/s/t"]), links, "p" if rng.random() < 0.75 else "")
    return _varied(case, rng, agent)


def _varied(case: Case, rng: random.Random, agent: str) -> Case:
    """The tree with what comes rarely: a file that is a link, a linked worktree, blanks and Unicode in the names of folders."""
    files, links, start = case.files, case.links, case.start
    if rng.random() < 0.15:
        name = f"p/s/{rng.choice(NAMES[agent])}"
        files = {path: text for path, text in files.items() if path != name}
        links = links | {name: os.path.relpath("p/up.md", os.path.dirname(name))}
    worktree_of = "main" if case.repository and rng.random() < 0.12 else ""
    if worktree_of and rng.random() < 0.7:
        files = files | {f"main/{NAMES[agent][0]}": "of the main repository\n"}
    if rng.random() < 0.2:
        folder = rng.choice(["s é", "中文", "S-1.x"])
        files = {_renamed(path, folder): text for path, text in files.items()}
        links = {_renamed(path, folder): target for path, target in links.items()}
        start = _renamed(start, folder)
    return Case(case.name, files, start, links, case.repository, worktree_of)


def _renamed(path: str, folder: str) -> str:
    return "/".join(folder if part == "s" else part for part in path.split("/")) if path.startswith("p/s") else path


def _text(rng: random.Random, agent: str) -> str:
    kind = rng.random()
    if kind < 0.08:
        return ""
    if kind < 0.12:
        return " \n\n"
    if kind < 0.18:
        return rng.choice(
            ["---\ntitle: x\n---\nbody\n", "---\npaths: src/**\n---\nrule\n", "---\r\nname: a\r\n---\r\nbody\r\n"]
        )
    if kind < 0.22:
        return "\ufeffbom\r\nx\r\n"
    if kind < 0.26:
        return "bad \udcff bytes\n"
    if agent == "codex" and kind < 0.42:
        return rng.choice(["ünï中" * 4096, "x" * 32_767, "x" * 32_768 + "\n", "y" * 20_000])
    if agent == "hermes" and kind < 0.5:
        return rng.choice(
            [
                "a\n§\nb\n§\na\n",
                "z" * 1_376,
                "ünï 中\n" * 400,
                "line\n" * 4_200,
                "w" * 20_000,
                "w" * 20_001,
                "§\n§\n",
                "one\n§\n\n§\ntwo",
            ]
        )
    pieces = [
        rng.choice(BLOCKS)
        if agent in ("claude-code", "deepagents-code") and rng.random() < 0.3
        else rng.choice(WORDS) + "\n"
        for _ in range(rng.randint(1, 7))
    ]
    text = "".join(pieces)
    return text.rstrip("\n") if rng.random() < 0.3 else text


def _settings(rng: random.Random, agent: str) -> dict[str, str]:
    if rng.random() > 0.3 and agent != "gemini-cli":
        return {}
    choices = {
        "claude-code": [
            ("home/.claude/settings.json", '{"permissions":{"deny":["Read(./CLAUDE.md)"]}}'),
            ("home/.claude/settings.json", '{"permissions":{"deny":["Read(**/b.md)"]}}'),
            ("home/.claude/settings.json", '{"claudeMdExcludes":["**/sub/**"]}'),
            ("home/.claude/settings.json", '{"pluginConfigs":{"agents-md@builtin":{"options":{"instructionFiles":"claude-md-and-agents-md"}}}}'),
            ("home/.claude.json", '{"projects":{"{root}/p":{"hasClaudeMdExternalIncludesApproved":true}}}'),
        ],
        "codex": [
            ("home/.codex/config.toml", "project_doc_max_bytes = 10\n"),
            ("home/.codex/config.toml", "project_doc_max_bytes = 0\n"),
            ("home/.codex/config.toml", 'project_doc_fallback_filenames = ["TEAM.md"]\n'),
            ("home/.codex/config.toml", "project_root_markers = []\n"),
            ("home/.codex/config.toml", '[projects."{root}/p"]\ntrust_level = "untrusted"\n'),
        ],
        "gemini-cli": [
            ("home/.gemini/settings.json", '{"security":{"auth":{"selectedType":"gemini-api-key"}}}'),
            ("home/.gemini/settings.json", '{"security":{"auth":{"selectedType":"gemini-api-key"}}}'),
            ("home/.gemini/settings.json", '{"security":{"auth":{"selectedType":"gemini-api-key"}},"context":{"fileName":"TEAM.md"}}'),
            ("home/.gemini/settings.json", '{"security":{"auth":{"selectedType":"gemini-api-key"}},"context":{"fileName":["TEAM.md","GEMINI.md"]}}'),
        ],
        "opencode": [
            ("p/opencode.json", '{"instructions":["a.md"]}'), ("p/opencode.json", '{"instructions":["sub/*.md"]}'),
            ("p/opencode.json", '{"instructions":["~/x.md","up.md"]}'), ("p/opencode.json", '{"instructions":["sub/**/b.md"]}'),
        ],
        "copilot-cli": [
            ("p/.github/instructions/r.instructions.md", '---\napplyTo: "**"\n---\nfor all\n'),
            ("p/.github/instructions/r.instructions.md", '---\napplyTo: "src/**"\ndescription: d\n---\nfor src\n'),
            ("p/.github/instructions/r.instructions.md", "no front matter\n"),
            ("home/.copilot/instructions/u.instructions.md", "mine\n"),
        ],
        "hermes": [
            ("p/.cursor/rules/z.mdc", "---\nalwaysApply: true\n---\nlast\n"),
            ("p/.cursor/rules/a.mdc", "---\ndescription: d\n---\nfirst\n"), ("p/.cursor/rules/deep/d.mdc", "deep\n"),
        ],
        "deepagents-code": [("home/.deepagents/other/AGENTS.md", "of another agent\n")],
    }  # fmt: skip
    return dict([rng.choice(choices[agent])])


# ---- by hand


def hand_made(agent: str) -> list[Case]:
    """One tree for each trap."""
    key = {"home/.gemini/settings.json": GEMINI_KEY} if agent == "gemini-cli" else {}
    return [Case(name, key | files, *rest) for name, files, *rest in HAND_MADE[agent]]


def _chain(name: str, hops: int) -> dict[str, str]:
    files = {f"p/i{number}.md": f"level {number}\n@i{number + 1}.md\n" for number in range(1, hops + 1)}
    return {f"p/{name}": "top\n@i1.md\n", **files, f"p/i{hops + 1}.md": "last\n"}


HAND_MADE: dict[str, list[tuple[Any, ...]]] = {
    "claude-code": [
        ("nothing", {}, "p", {}, "p"),
        ("imports six deep", _chain("CLAUDE.md", 6), "p", {}, "p"),
        ("imports in a cycle", {"p/CLAUDE.md": "@a.md\n", "p/a.md": "a @b.md\n", "p/b.md": "b @a.md @CLAUDE.md\n"}, "p", {}, "p"),
        ("import from above the folder", {"p/CLAUDE.md": "top @shared.md\n", "p/shared.md": "shared\n", "p/s/CLAUDE.md": "sub\n"}, "p/s", {}, "p"),
        ("AGENTS.md hidden by an ancestor", {"CLAUDE.md": "far above\n", "p/AGENTS.md": "agents\n"}, "p", {}, "p"),
        ("AGENTS.md alone", {"p/AGENTS.md": "agents\n", "p/s/AGENTS.md": "sub agents\n", "p/.claude/rules/r.md": "rule\n"}, "p/s", {}, "p"),
        ("an empty CLAUDE.md", {"p/CLAUDE.md": "", "p/AGENTS.md": "agents\n"}, "p", {}, "p"),
        ("a wrong case", {"p/claude.md": "lower\n"}, "p", {}, "p"),
        ("a link", {"p/real.md": "linked text\n"}, "p", {"p/CLAUDE.md": "real.md"}, "p"),
        ("rules", {"p/.claude/rules/a.md": "always\n", "p/.claude/rules/b.md": "---\npaths: src/**\n---\nsometimes\n", "p/.claude/rules/c.md": "---\nglobs: x\n---\nalso always\n"}, "p", {}, "p"),
        ("rules with a list", {"p/.claude/rules/b.md": '---\npaths:\n  - "**"\n---\nall\n', "p/.claude/rules/c.md": '---\npaths: ["a/**", "b/*.py"]\n---\nsome\n'}, "p", {}, "p"),
        ("a blank in a name", {"p/CLAUDE.md": "@my\\ notes.md\n", "p/my notes.md": "notes\n"}, "p", {}, "p"),
        ("Unicode in names", {"p/é中/CLAUDE.md": "unicode\n@ü.md\n@./ü.md\n", "p/é中/ü.md": "ü\n"}, "p/é中", {}, "p"),
        ("comments in code", {"p/CLAUDE.md": "```html\n<!-- stays -->\n```\n\n<!-- goes -->\n\n    <!-- stays too -->\n\nend\n"}, "p", {}, "p"),
        ("CRLF with a comment", {"p/CLAUDE.md": "a\r\n<!-- x -->\r\nb\r\n"}, "p", {}, "p"),
        ("CRLF without", {"p/CLAUDE.md": "a\r\nb\r\n"}, "p", {}, "p"),
        ("150,000 characters", {"p/CLAUDE.md": "0123456789" * 15_000}, "p", {}, "p"),
        ("over 4 MiB", {"p/CLAUDE.md": "x" * (4_194_304 + 1), "p/AGENTS.md": "agents\n"}, "p", {}, "p"),
        ("invalid UTF-8", {"p/CLAUDE.md": "a\udcff\udcfeb\n"}, "p", {}, "p"),
        ("a worktree", {"p/CLAUDE.md": "of the worktree\n", "main/CLAUDE.md": "of the main one\n"}, "p", {}, "p", "main"),
        ("a worktree inside its repository", {"main/w/CLAUDE.md": "of the worktree\n", "main/CLAUDE.md": "of the main one\n", "main/CLAUDE.local.md": "local\n"}, "main/w", {}, "main/w", "main"),
        ("a local file alone", {"p/CLAUDE.local.md": "local\n", "p/AGENTS.md": "agents\n"}, "p", {}, "p"),
    ],
    "codex": [
        ("nothing", {}, "p", {}, "p"),
        ("an empty override", {"p/AGENTS.override.md": "", "p/AGENTS.md": "hidden\n"}, "p", {}, "p"),
        ("an empty override at home", {"home/.codex/AGENTS.override.md": "", "home/.codex/AGENTS.md": "user\n"}, "p", {}, "p"),
        ("exactly the limit", {"p/AGENTS.md": "x" * 32_768, "p/s/AGENTS.md": "lost\n"}, "p/s", {}, "p"),
        ("one over the limit", {"p/AGENTS.md": "x" * 32_769}, "p", {}, "p"),
        ("the deepest is cut", {"p/AGENTS.md": "x" * 32_000, "p/s/AGENTS.md": "line\n" * 500}, "p/s", {}, "p"),
        ("cut within a character", {"p/AGENTS.md": "a" + "中" * 11_000}, "p", {}, "p"),
        ("a user file over the limit", {"home/.codex/AGENTS.md": "u" * 40_000, "p/AGENTS.md": "project\n"}, "p", {}, "p"),
        ("no repository", {"p/AGENTS.md": "above\n", "p/s/AGENTS.md": "here\n"}, "p/s", {}, ""),
        ("a wrong case", {"p/agents.md": "lower\n"}, "p", {}, "p"),
        ("a link", {"p/real.md": "linked\n"}, "p", {"p/AGENTS.md": "real.md"}, "p"),
        ("equal texts", {"p/AGENTS.md": "equal\n", "p/s/AGENTS.md": "equal\n"}, "p/s", {}, "p"),
        ("untrusted", {"home/.codex/config.toml": '[projects."{root}/p"]\ntrust_level = "untrusted"\n', "p/AGENTS.md": "a\n"}, "p", {}, "p"),
        ("a fallback name", {"home/.codex/config.toml": 'project_doc_fallback_filenames = ["CLAUDE.md"]\n', "p/CLAUDE.md": "c\n"}, "p", {}, "p"),
        ("blank files", {"p/AGENTS.md": " \n\n", "p/s/AGENTS.md": "said\n"}, "p/s", {}, "p"),
        ("comments and front matter", {"p/AGENTS.md": "---\na: b\n---\n<!-- c -->\n@x.md\n"}, "p", {}, "p"),
        ("a byte order mark", {"p/AGENTS.md": "\ufeffbom\r\n"}, "p", {}, "p"),
        ("Unicode in names", {"p/é 中/AGENTS.md": "u\n"}, "p/é 中", {}, "p"),
        ("a worktree", {"p/AGENTS.md": "of the worktree\n", "main/AGENTS.md": "of the main one\n"}, "p", {}, "p", "main"),
        ("invalid UTF-8", {"p/AGENTS.md": "a\udcffb\n"}, "p", {}, "p"),
        ("a folder of that name", {"p/AGENTS.md/x": "1", "p/s/AGENTS.md": "here\n"}, "p/s", {}, "p"),
    ],
    "gemini-cli": [
        ("a user file", {"home/.gemini/GEMINI.md": "user\n"}, "p", {}, "p"),
        ("a folder that sorts before", {"p/GEMINI.md": "parent\n", "p/A/GEMINI.md": "child\n"}, "p/A", {}, "p"),
        ("imports six deep", _chain("GEMINI.md", 7), "p", {}, "p"),
        ("imports in a cycle", {"p/GEMINI.md": "@a.md\n", "p/a.md": "a @b.md\n", "p/b.md": "b @a.md\n"}, "p", {}, "p"),
        ("an import from outside", {"p/GEMINI.md": "@../secret.md\n", "secret.md": "s\n"}, "p", {}, "p"),
        ("no repository", {"p/GEMINI.md": "above\n", "p/s/GEMINI.md": "here\n"}, "p/s", {}, ""),
        ("the whole path", {"p/GEMINI.md": "top\n", "p/s/GEMINI.md": "middle\n", "p/s/t/GEMINI.md": "here\n"}, "p/s/t", {}, "p"),
        ("above the repository", {"GEMINI.md": "above\n", "p/GEMINI.md": "here\n"}, "p", {}, "p"),
        ("an empty file", {"p/GEMINI.md": "", "p/s/GEMINI.md": "here\n"}, "p/s", {}, "p"),
        ("a blank file", {"home/.gemini/GEMINI.md": " \n\n", "p/GEMINI.md": "here\n"}, "p", {}, "p"),
        ("a wrong case", {"p/gemini.md": "lower\n", "p/GEMINI.md": "here\n"}, "p", {}, "p"),
        ("a link", {"p/real.md": "linked\n", "p/GEMINI.md": "top\n"}, "p/s", {"p/s/GEMINI.md": "../real.md"}, "p"),
        ("a link to the same file", {"p/GEMINI.md": "once\n"}, "p/s", {"p/s/GEMINI.md": "../GEMINI.md"}, "p"),
        ("a byte order mark and CRLF", {"p/GEMINI.md": "\ufeffbom\r\nx\r\n"}, "p", {}, "p"),
        ("invalid UTF-8", {"p/GEMINI.md": "a\udcffb\n"}, "p", {}, "p"),
        ("comments and front matter", {"p/GEMINI.md": "---\na: b\n---\n<!-- c -->\nend\n"}, "p", {}, "p"),
        ("100,000 characters", {"p/GEMINI.md": "0123456789" * 10_000}, "p", {}, "p"),
        ("imports in code", {"p/GEMINI.md": "`@a.md`\n```\n@a.md\n```\nout @a.md\n", "p/a.md": "a\n"}, "p", {}, "p"),
        ("an import twice", {"p/GEMINI.md": "@./a.md and @./a.md\n", "p/a.md": "a\n"}, "p", {}, "p"),
        ("a worktree", {"p/GEMINI.md": "of the worktree\n", "main/GEMINI.md": "of the main one\n"}, "p", {}, "p", "main"),
        ("Unicode and blanks in names", {"p/é 中/GEMINI.md": "u\n@./ü.md\n", "p/é 中/ü.md": "ü\n"}, "p/é 中", {}, "p"),
        ("a folder of that name", {"p/GEMINI.md/x": "1", "p/s/GEMINI.md": "here\n"}, "p/s", {}, "p"),
    ],
    "opencode": [
        ("a user file", {"home/.config/opencode/AGENTS.md": "user\n", "home/.claude/CLAUDE.md": "hidden\n"}, "p", {}, "p"),
        ("the nearest first", {"p/AGENTS.md": "root\n", "p/s/AGENTS.md": "sub\n", "p/s/CLAUDE.md": "hidden\n"}, "p/s", {}, "p"),
        ("CLAUDE.md alone", {"p/CLAUDE.md": "claude\n"}, "p", {}, "p"),
        ("an empty file", {"p/AGENTS.md": "", "p/CLAUDE.md": "claude\n"}, "p", {}, "p"),
        ("Claude's user file alone", {"home/.claude/CLAUDE.md": "of Claude Code\n", "p/AGENTS.md": "p\n"}, "p", {}, "p"),
        ("no repository", {"p/AGENTS.md": "above\n", "p/s/AGENTS.md": "here\n"}, "p/s", {}, ""),
        ("above the repository", {"AGENTS.md": "above\n", "p/AGENTS.md": "here\n"}, "p", {}, "p"),
        ("CLAUDE.md here, AGENTS.md above", {"p/AGENTS.md": "above\n", "p/s/CLAUDE.md": "here\n"}, "p/s", {}, "p"),
        ("CONTEXT.md alone", {"p/CONTEXT.md": "context\n"}, "p", {}, "p"),
        ("a wrong case", {"p/agents.md": "lower\n", "p/CLAUDE.md": "claude\n"}, "p", {}, "p"),
        ("a link", {"p/real.md": "linked\n"}, "p", {"p/AGENTS.md": "real.md"}, "p"),
        ("a byte order mark and CRLF", {"p/AGENTS.md": "\ufeffbom\r\nx\r\n"}, "p", {}, "p"),
        ("invalid UTF-8", {"p/AGENTS.md": "a\udcffb\n"}, "p", {}, "p"),
        ("imports, comments and front matter", {"p/AGENTS.md": "---\na: b\n---\n<!-- c -->\n@a.md\n", "p/a.md": "a\n"}, "p", {}, "p"),
        ("100,000 characters", {"p/AGENTS.md": "0123456789" * 10_000}, "p", {}, "p"),
        ("equal texts", {"p/AGENTS.md": "equal\n", "p/s/AGENTS.md": "equal\n"}, "p/s", {}, "p"),
        ("a worktree", {"p/AGENTS.md": "of the worktree\n", "main/AGENTS.md": "of the main one\n"}, "p", {}, "p", "main"),
        ("Unicode and blanks in names", {"p/é 中/AGENTS.md": "u\n"}, "p/é 中", {}, "p"),
        ("further instructions", {"p/opencode.json": '{"instructions":["docs/*.md","~/mine.md"]}', "p/docs/one.md": "one\n", "home/mine.md": "mine\n", "p/AGENTS.md": "p\n"}, "p", {}, "p"),
        ("further instructions from above", {"p/opencode.json": '{"instructions":["up.md"]}', "p/up.md": "up\n", "p/s/up.md": "here\n"}, "p/s", {}, "p"),
    ],
    "copilot-cli": [
        ("all names", {"p/AGENTS.md": "a\n", "p/CLAUDE.md": "c\n", "p/GEMINI.md": "g\n"}, "p", {}, "p"),
        ("equal texts", {"p/AGENTS.md": "equal\n", "p/CLAUDE.md": "equal\n"}, "p", {}, "p"),
        ("above the repository", {"AGENTS.md": "above\n", "p/AGENTS.md": "here\n"}, "p", {}, "p"),
        ("imports in a cycle", {"p/AGENTS.md": "@a.md\n", "p/a.md": "a @b.md\n", "p/b.md": "b @a.md\n"}, "p", {}, "p"),
        ("folders between", {"p/AGENTS.md": "root\n", "p/s/AGENTS.md": "between\n", "p/s/t/AGENTS.md": "here\n"}, "p/s/t", {}, "p"),
        ("nothing", {}, "p", {}, "p"),
        ("a user file", {"home/.copilot/copilot-instructions.md": "user\n", "p/AGENTS.md": "a\n"}, "p", {}, "p"),
        ("no repository", {"p/AGENTS.md": "above\n", "p/s/AGENTS.md": "here\n"}, "p/s", {}, ""),
        ("an empty file", {"p/AGENTS.md": "", "p/CLAUDE.md": " \n\n", "p/GEMINI.md": "g\n"}, "p", {}, "p"),
        ("a wrong case", {"p/agents.md": "lower\n", "p/CLAUDE.md": "c\n"}, "p", {}, "p"),
        ("a link", {"p/real.md": "linked\n"}, "p", {"p/AGENTS.md": "real.md"}, "p"),
        ("Claude's own places", {"p/.claude/CLAUDE.md": "hidden\n", "home/.claude/CLAUDE.md": "of Claude Code\n", "p/AGENTS.md": "a\n"}, "p", {}, "p"),
        ("imports six deep", _chain("AGENTS.md", 6), "p", {}, "p"),
        ("imports in code", {"p/AGENTS.md": "`@a.md`\n```\n@a.md\n```\nout @a.md\n", "p/a.md": "a\n"}, "p", {}, "p"),
        ("an import from outside", {"p/AGENTS.md": "@../up.md and @~/x.md\n", "up.md": "up\n", "home/x.md": "x\n"}, "p", {}, "p"),
        ("a byte order mark and CRLF", {"p/AGENTS.md": "\ufeffbom\r\nx\r\n"}, "p", {}, "p"),
        ("invalid UTF-8", {"p/AGENTS.md": "a\udcffb\n"}, "p", {}, "p"),
        ("comments and front matter", {"p/AGENTS.md": "---\na: b\n---\n<!-- c -->\nend\n"}, "p", {}, "p"),
        ("a worktree", {"p/AGENTS.md": "of the worktree\n", "main/AGENTS.md": "of the main one\n"}, "p", {}, "p", "main"),
        ("Unicode and blanks in names", {"p/é 中/AGENTS.md": "u\n@ü.md\n", "p/é 中/ü.md": "ü\n"}, "p/é 中", {}, "p"),
    ],
    "hermes": [
        ("nothing", {}, "p", {}, "p"),
        ("memory and user", {"home/.hermes/memories/MEMORY.md": "one\n§\ntwo\n", "home/.hermes/memories/USER.md": "She is a nurse.\n"}, "p", {}, "p"),
        ("entries twice", {"home/.hermes/memories/MEMORY.md": "one\n§\n one \n§\n\n§\ntwo"}, "p", {}, "p"),
        ("memory at its limit", {"home/.hermes/memories/MEMORY.md": "m" * 2_200}, "p", {}, "p"),
        ("memory over its limit", {"home/.hermes/memories/MEMORY.md": "m" * 2_201, "home/.hermes/memories/USER.md": "u" * 1_376}, "p", {}, "p"),
        ("memory far over its limit", {"home/.hermes/memories/MEMORY.md": "line\n§\n" * 1_000 + "m" * 5_000}, "p", {}, "p"),
        ("Unicode in memory", {"home/.hermes/memories/MEMORY.md": "ünï 中\n§\n🙂\n"}, "p", {}, "p"),
        ("the first kind", {"p/.hermes.md": "hermes\n", "p/AGENTS.md": "agents\n", "p/CLAUDE.md": "claude\n"}, "p", {}, "p"),
        ("its own file above", {"p/HERMES.md": "above\n", "p/s/AGENTS.md": "here\n"}, "p/s", {}, "p"),
        ("AGENTS.md above", {"p/AGENTS.md": "above\n", "p/s/CLAUDE.md": "here\n"}, "p/s", {}, "p"),
        ("CLAUDE.md alone", {"p/CLAUDE.md": "claude\n"}, "p", {}, "p"),
        ("lower case", {"p/claude.md": "lower\n"}, "p", {}, "p"),
        ("rules of Cursor", {"p/.cursorrules": "old\n", "p/.cursor/rules/b.mdc": "b\n", "p/.cursor/rules/a.mdc": "---\nglobs: x\n---\na\n"}, "p", {}, "p"),
        ("an empty first kind", {"p/.hermes.md": " \n", "p/AGENTS.md": "agents\n"}, "p", {}, "p"),
        ("exactly the limit", {"p/AGENTS.md": "x" * 20_000}, "p", {}, "p"),
        ("over the limit", {"p/AGENTS.md": "word\n" * 20_000}, "p", {}, "p"),
        ("front matter and comments", {"p/AGENTS.md": "---\na: b\n---\n<!-- c -->\nend\n", "p/.cursorrules": "x\n"}, "p", {}, "p"),
        ("front matter in its own file", {"p/.hermes.md": "---\na: b\n---\nbody\n"}, "p", {}, "p"),
        ("a byte order mark and CRLF", {"p/AGENTS.md": "\ufeffbom\r\nx\r\n"}, "p", {}, "p"),
        ("invalid UTF-8", {"p/AGENTS.md": "a\udcffb\n"}, "p", {}, "p"),
        ("a link", {"p/real.md": "linked\n"}, "p", {"p/AGENTS.md": "real.md"}, "p"),
        ("Unicode and blanks in names", {"p/é 中/AGENTS.md": "u\n"}, "p/é 中", {}, "p"),
        ("a soul", {"home/.hermes/SOUL.md": "Be kind.\n", "p/AGENTS.md": "a\n"}, "p", {}, "p"),
    ],
    "deepagents-code": [
        ("nothing", {}, "p", {}, "p"),
        ("a user file", {"home/.deepagents/agent/AGENTS.md": "user\n"}, "p", {}, "p"),
        ("all three", {"home/.deepagents/agent/AGENTS.md": "user\n", "p/.deepagents/AGENTS.md": "own\n", "p/AGENTS.md": "root\n"}, "p", {}, "p"),
        ("from a folder below", {"p/AGENTS.md": "root\n", "p/s/AGENTS.md": "not read\n"}, "p/s", {}, "p"),
        ("no repository", {"p/AGENTS.md": "here\n", "home/.deepagents/agent/AGENTS.md": "user\n"}, "p", {}, ""),
        ("comments", {"p/AGENTS.md": "a\n<!-- gone -->\nb <!-- inline --> c\n"}, "p", {}, "p"),
        ("comments in code", {"p/AGENTS.md": "```html\n<!-- gone too -->\n```\nend\n"}, "p", {}, "p"),
        ("a comment over lines", {"p/AGENTS.md": "a\n<!--\nb\n\nc -->\nd\n"}, "p", {}, "p"),
        ("an open comment", {"p/AGENTS.md": "a\n<!-- b\nc\n"}, "p", {}, "p"),
        ("comments alone", {"p/AGENTS.md": "<!-- a -->\n"}, "p", {}, "p"),
        ("an empty file", {"p/AGENTS.md": "", "p/.deepagents/AGENTS.md": "own\n"}, "p", {}, "p"),
        ("a blank file", {"p/AGENTS.md": " \n\n"}, "p", {}, "p"),
        ("front matter", {"p/AGENTS.md": "---\na: b\n---\nbody\n"}, "p", {}, "p"),
        ("a byte order mark and CRLF", {"p/AGENTS.md": "\ufeffbom\r\nx\r\n"}, "p", {}, "p"),
        ("imports", {"p/AGENTS.md": "@a.md\n", "p/a.md": "a\n"}, "p", {}, "p"),
        ("a link inside", {"p/real.md": "linked\n"}, "p", {"p/AGENTS.md": "real.md"}, "p"),
        ("a link out", {"real.md": "outside\n"}, "p", {"p/AGENTS.md": "../real.md"}, "p"),
        ("a wrong case", {"p/agents.md": "lower\n"}, "p", {}, "p"),
        ("100,000 characters", {"p/AGENTS.md": "0123456789" * 10_000}, "p", {}, "p"),
        ("a worktree", {"p/AGENTS.md": "of the worktree\n", "main/AGENTS.md": "of the main one\n"}, "p", {}, "p", "main"),
        ("Unicode and blanks in names", {"p/é 中/AGENTS.md": "u\n"}, "p/é 中", {}, "p/é 中"),
    ],
}  # fmt: skip
