"""What memory files name and is not in the checkout: imports, paths, `make` targets and package scripts. Nothing is run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import cache, lru_cache

from memoryhub.dialects.coding.plain_files import matches_like_gitignore
from memoryhub.dialects.coding.tree import from_to, is_below
from memoryhub.domain.coding_agents.check.file import FindingInFile, MemoryFile, is_there

MENTION = re.compile(r"(?:^|\s)@((?:\.{1,2}/)?[\w./-]+\.(?:md|mdc|txt|rst|json|ya?ml|toml))(?=$|[\s,.;:)])")
CODE_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
PATH = re.compile(r"(?:\./)?[A-Za-z0-9_.@-]+(?:/[A-Za-z0-9_.@-]+)+\.[A-Za-z][A-Za-z0-9]{0,5}")
COMMAND = re.compile(r"(?:\$ )?(make|npm run|pnpm run|yarn run) ([A-Za-z][\w:.-]*)$")
HEAD_OF_RULE = re.compile(r"[\t#]")  # what ends it
BUILT = frozenset(["dist", "build", "out", "target", "node_modules", "coverage", "tmp", "temp", ".next", "htmlcov"])
# A line with one of these, outside of code, speaks of a file that need not be there.
MADE_LATER = re.compile(
    r"\b(?:e\.g\.|example|create[sd]?|creating|generate[sd]?|output|new file|will be|writes?|template|rename|deprecated|removed|legacy"
    r"|git-?ignored|untracked|not exist|no longer|(?:is|are|was|were|been) (?:deleted|missing|moved|gone))\b"
    r"|不存在|未发现|没有|创建|生成|例如|示例",
    re.IGNORECASE,
)
# Names that stand for any other, and files with secrets, which no checkout has.
ANY_NAME = re.compile(r"(?:^|[/_.-])(?:xyz|xxx+|placeholder|your)(?:[/_.-]|$)|(?:^|/)\.env(?:\.|$)", re.IGNORECASE)
GOES_ELSEWHERE = re.compile(r"(?:cd|pushd) \S")
MAX_PATTERNS = 1_000  # of one .gitignore
WORKSPACES = ("pnpm-workspace.yaml", "lerna.json")


def missing_imports(file: MemoryFile) -> Iterator[FindingInFile]:
    """Imports in the syntax of Claude Code and Gemini CLI whose file is not there; both pass over it without a word."""
    if os.path.basename(file.path) not in ("CLAUDE.md", "CLAUDE.local.md", "GEMINI.md"):
        return
    for number, line in enumerate(file.lines, 1):
        if "@" not in line or number in file.fenced:
            continue
        for match in MENTION.finditer(CODE_SPAN.sub("", line)):
            if not is_there(file.tree, os.path.join(file.folder, match[1])):
                says = f"The import @{match[1]} leads to no file"
                yield FindingInFile("missing_import", file.path, number, says, ("claude-code", "gemini-cli"))


# ---- paths


def dead_paths(file: MemoryFile) -> Iterator[FindingInFile]:
    """Paths in code whose folder exists in the checkout and whose file does not."""
    is_dead = cache(lambda name: _is_dead(file, name))  # most lines name the same few
    for number, line in enumerate(file.lines, 1):
        if "/" not in line or "`" not in line or number in file.fenced:
            continue
        names = (match[1].split(":")[0].removeprefix("./") for match in CODE_SPAN.finditer(line))
        dead = [name for name in names if is_dead(name)]
        if dead and not MADE_LATER.search(CODE_SPAN.sub("", line)):
            yield from (FindingInFile("dead_path", file.path, number, f"{name} does not exist") for name in dead)


def _is_dead(file: MemoryFile, name: str) -> bool:
    first = name.split("/")[0]
    if not PATH.fullmatch(name) or first in BUILT or ANY_NAME.search(name) or not file.has(first) or file.has(name):
        return False
    places = [os.path.normpath(os.path.join(folder, name)) for folder in file.folders]
    if first == ".." and not (is_below(places[0], file.root) and file.tree.kind(os.path.dirname(places[0]))):
        return False  # of another checkout beside this one
    return not any(_is_left_out(file, one) for one in places)


def _is_left_out(file: MemoryFile, path: str) -> bool:
    """Whether a `.gitignore` file takes a path out of the checkout: it may be there on the machine of who wrote the line."""
    left_out = False
    for folder in from_to(file.root, os.path.dirname(path)) if is_below(path, file.root) else ():
        text = (file.tree.read_settings(os.path.join(folder, ".gitignore")) or b"").decode("utf-8", "replace")
        for line in (line.strip() for line in text.split("\n")[:MAX_PATTERNS]):
            pattern = line.removeprefix("!")
            if pattern and line[0] != "#" and matches_like_gitignore(pattern, os.path.relpath(path, folder)):
                left_out = line[0] != "!"
    return left_out


# ---- commands


def missing_commands(file: MemoryFile) -> Iterator[FindingInFile]:
    """`make` targets and package scripts that the checkout does not define."""
    defined = cache(lambda tool: _defined(file, tool))
    is_elsewhere = False  # behind a `cd` of the same block
    for number, line in enumerate(file.lines, 1):
        is_fenced = number in file.fenced
        is_elsewhere = is_fenced and (is_elsewhere or bool(GOES_ELSEWHERE.match(line.strip())))
        if is_elsewhere or ("make " not in line and "run " not in line):
            continue
        pieces = [line.strip()] if is_fenced else [match[1].strip() for match in CODE_SPAN.finditer(line)]
        for piece in pieces:
            match = COMMAND.match(piece)
            if match and match[2] not in defined(match[1]):
                kind = "make target" if match[1] == "make" else "script of package.json"
                yield FindingInFile("missing_command", file.path, number, f"{match[2]} is no {kind} here")


class _Everything(frozenset[str]):
    """What cannot be known counts as defined."""

    def __contains__(self, name: object) -> bool:
        return True


def _defined(file: MemoryFile, tool: str) -> frozenset[str]:
    """What is defined in the file's folder, in those above it, or directly below it, where a line may mean each of them."""
    tree, name = file.tree, "Makefile" if tool == "make" else "package.json"
    below = (os.path.join(file.folder, one) for one in tree.names(file.folder))
    places = [os.path.join(folder, name) for folder in (*file.folders, *below)]
    texts = [
        (tree.read_settings(path) or b"").decode("utf-8", "replace") for path in places if tree.kind(path) == "file"
    ]
    workspaces = any(tree.kind(os.path.join(folder, one)) for folder in file.folders for one in WORKSPACES)
    known = [_make_targets(text) if tool == "make" else _scripts(text) for text in texts]
    if not known or (tool != "make" and workspaces) or any(isinstance(one, _Everything) for one in known):
        return _Everything()
    return frozenset().union(*known)


@lru_cache(maxsize=256)  # most files of a checkout mean the same
def _make_targets(text: str) -> frozenset[str]:
    if any(_makes_any(line) for line in text.split("\n")):
        return _Everything()
    heads = re.findall(r"^([^\t#=:\n]+):(?!=)", text, re.M)
    return frozenset(name for head in heads for name in head.split())


def _makes_any(line: str) -> bool:
    """Whether a line includes another file, or is a rule for every name of a pattern."""
    at = HEAD_OF_RULE.split(line, maxsplit=1)[0].find("%")
    return line.startswith(("include", "-include")) or (at >= 0 and ":" in line[at:])


@lru_cache(maxsize=256)
def _scripts(text: str) -> frozenset[str]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return _Everything()
    scripts = document.get("scripts") if isinstance(document, dict) else None
    if not isinstance(scripts, dict) or "workspaces" in document:
        return _Everything()
    return frozenset(scripts)
