"""Faults of memory files: what agents do not read or cut, what it names and is not there, and what must not stand in it."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache

from memoryhub import detectors
from memoryhub.dialects import coding
from memoryhub.dialects.coding import Tree
from memoryhub.dialects.coding.tree import is_below
from memoryhub.domain.coding_agents import rules
from memoryhub.domain.coding_agents.walk import memory_files

MAX_LOADED = 200 << 20  # bytes of all contexts; one of 1 MB takes a tenth of a second
NO_HOME = "/nonexistent"  # a check of a project says the same for everybody
UNREADABLE = "This file cannot be read by whoever runs the check, or is over 8 MB"
HARMLESS = ("Empty", "Says what", "A link to")
MENTION_LINE = re.compile(r"\s*(?:[-*]\s+)?@\S+\s*$")
HEADING_LINE = re.compile(r"#{1,6}\s")
MENTION = re.compile(r"(?:^|\s)@((?:\.{1,2}/)?[\w./-]+\.(?:md|mdc|txt|rst|json|ya?ml|toml))(?=$|[\s,.;:)])")
CODE_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
PATH = re.compile(r"(?:\./)?[A-Za-z0-9_.@-]+(?:/[A-Za-z0-9_.@-]+)+\.[A-Za-z][A-Za-z0-9]{0,5}")
COMMAND = re.compile(r"(?:\$ )?(make|npm run|pnpm run|yarn run) ([A-Za-z][\w:.-]*)$")
HEAD_OF_RULE = re.compile(r"[\t#]")  # what ends it
# A line with one of these speaks of a file that need not be there.
MADE_LATER = re.compile(
    r"\b(?:e\.g\.|example|create[sd]?|creating|generate[sd]?|output|new file|will be|writes?|template|rename|deprecated|removed|legacy)\b",
    re.IGNORECASE,
)
BUILT = frozenset(["dist", "build", "out", "target", "node_modules", "coverage", "tmp", "temp", ".next", "htmlcov"])


@dataclass(frozen=True)
class FindingInFile:
    """One fault, and the agents that it matters to (none for faults that matter to all)."""

    code: str
    path: str
    line: int
    message: str
    agents: tuple[str, ...] = ()


@dataclass(frozen=True)
class MemoryFile:
    """A file as it is checked."""

    root: str
    path: str
    tree: Tree = field(default_factory=coding.DiskTree)

    @cached_property
    def text(self) -> str:
        return (self.tree.read(self.path) or b"").decode("utf-8", "replace")

    @property
    def is_unreadable(self) -> bool:
        return self.tree.read(self.path) is None

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def fenced(self) -> set[int]:
        """The numbers of the lines inside of code fences."""
        found, inside = set(), False
        for number, line in enumerate(self.lines, 1):
            if line.lstrip().startswith(("```", "~~~")):
                inside = not inside
            elif inside:
                found.add(number)
        return found

    @property
    def folder(self) -> str:
        return os.path.dirname(self.path)

    def has(self, name: str) -> bool:
        """Whether a relative path exists below the file's folder or below the root."""
        return any(_is_there(self.tree, os.path.join(base, name)) for base in (self.folder, self.root))


def without_mentions(text: bytes) -> bytes:
    """A text without the lines that are imports or headings alone."""
    lines = text.decode("utf-8", "surrogateescape").split("\n")
    kept = "\n".join(line for line in lines if not MENTION_LINE.match(line) and not HEADING_LINE.match(line))
    return kept.strip().encode("utf-8", "surrogateescape")


def _is_there(tree: Tree, path: str) -> bool:
    return bool(tree.kind(path)) or tree.is_link(path)  # a link that leads nowhere is there


def check_folder(
    root: str, agents: list[str] | None = None, *, tree: Tree | None = None, files: Iterable[str] | None = None
) -> list[FindingInFile]:
    """The faults of the memory files in a folder and below it, by path and line. Nothing is run and nothing is written.

    A `tree` other than the disk comes with the `files` in it that are checked.
    """
    root = os.path.realpath(root) if tree is None else root
    tree = coding.KeptTree(tree or coding.DiskTree())
    chosen = agents or [one.name for one in coding.agents().values() if one.verified]
    listed = memory_files(root, chosen) if files is None else files
    found = [MemoryFile(root, path, tree) for path in listed]
    unreadable = (
        [] if files is not None else [one for one in found if tree.kind(one.path) == "file" and one.is_unreadable]
    )
    return [*(FindingInFile("unreadable", one.path, 1, UNREADABLE) for one in unreadable), *_check(found, chosen)]


def _check(files: list[MemoryFile], chosen: list[str]) -> list[FindingInFile]:
    looked = _look(files, chosen)
    files = files + [MemoryFile(files[0].root, path, files[0].tree) for path in looked.imported]
    found = [*looked.findings(), *_of_rules(files)]
    for file in files:
        found += [*_secrets_and_hidden(file), *_missing_imports(file), *_dead_paths(file), *_missing_commands(file)]
    return sorted(set(found), key=lambda one: (one.path, one.line, one.code, one.message))


# ---- what agents do not read


@dataclass
class Looked:
    """What was found where each agent is started beside one of the files."""

    root: str = ""
    passed_over: dict[tuple[str, str, int, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    imported: dict[str, None] = field(default_factory=dict)  # their text reaches agents as well
    folders: int = 0
    looked_at: int = 0  # of the folders
    loaded: int = 0  # bytes

    def findings(self) -> Iterator[FindingInFile]:
        for (code, path, line, message), names in self.passed_over.items():
            yield FindingInFile(code, path, line, message, tuple(sorted(names)))
        if (looked := self.looked_at) < self.folders:
            message = f"What agents load was looked at in {looked} of {self.folders} folders: together it is too large"
            yield FindingInFile("too_large", self.root, 1, message)


def _look(files: list[MemoryFile], agents: list[str]) -> Looked:
    """What each agent loads beside each file. A large file above many folders is loaded in each of them: contexts are looked at one
    after the other, up to a size of all of them."""
    by_path = {file.path: file for file in files}
    folders = sorted({_start_of(file.path) for file in files})
    looked = Looked(files[0].root if files else "", folders=len(folders))
    for folder in folders:
        if looked.loaded > MAX_LOADED:
            break
        looked.looked_at += 1
        for agent in agents:
            context = coding.context_of(agent, folder, NO_HOME, tree=files[0].tree)
            looked.loaded += len(context.text)
            _note_not_read(looked, by_path, folder, agent, context)
            paths = [one.path for one in context.blocks if one.kind == "import"]
            paths += [one.path for one in context.inlined]
            looked.imported |= dict.fromkeys(
                path for path in paths if path not in by_path and is_below(path, looked.root)
            )
    return looked


def _note_not_read(
    looked: Looked, by_path: dict[str, MemoryFile], folder: str, agent: str, context: coding.Context
) -> None:
    """Files that an agent passes over or cuts, where it is started in their folder."""
    for one in context.ignored:
        if one.path not in by_path or _start_of(one.path) != folder or one.why.startswith(HARMLESS):
            continue
        if _says_something(by_path[one.path], context):
            looked.passed_over["not_read", one.path, 1, one.why].add(agent)
    for block in context.blocks:
        if block.cut_at and block.path in by_path:
            message = "Cut here: what follows is over the limit"
            looked.passed_over["cut", block.path, block.cut_at, message].add(agent)


def _start_of(path: str) -> str:
    """The folder in which an agent would be started to read this file."""
    folder = os.path.dirname(path)
    while os.path.basename(folder) in (
        ".claude",
        ".cursor",
        ".github",
        "rules",
        "instructions",
        ".windsurf",
        ".deepagents",
    ):
        folder = os.path.dirname(folder)
    return folder


def _says_something(file: MemoryFile, context: coding.Context) -> bool:
    """Whether a file that is not read holds more than imports, and more than what the agent reads anyway."""
    said = file.text.removeprefix("\ufeff").strip().encode("utf-8", "surrogateescape")
    return bool(without_mentions(said)) and said not in context.text


def _of_rules(files: list[MemoryFile]) -> Iterator[FindingInFile]:
    """Rules that stand in several files, and rules that say the opposite of each other."""
    plain = [(file.path, file.lines, file.fenced) for file in files if not file.tree.is_link(file.path)]
    for code, path, line, message in (*rules.repeated(plain), *rules.contradictions(plain)):
        yield FindingInFile(code, path, line, message)


# ---- what stands in a file


def _secrets_and_hidden(file: MemoryFile) -> Iterator[FindingInFile]:
    for one in detectors.find(file.text, only=("secrets", "hidden")):
        code = "secret" if one.code == "secrets" else one.code
        yield FindingInFile(code, file.path, one.line, one.message)


def _missing_imports(file: MemoryFile) -> Iterator[FindingInFile]:
    """Imports in the syntax of Claude Code and Gemini CLI whose file is not there; both pass over it without a word."""
    if os.path.basename(file.path) not in ("CLAUDE.md", "CLAUDE.local.md", "GEMINI.md"):
        return
    for number, line in enumerate(file.lines, 1):
        if number in file.fenced:
            continue
        for match in MENTION.finditer(CODE_SPAN.sub("", line)):
            if not _is_there(file.tree, os.path.join(file.folder, match[1])):
                yield FindingInFile(
                    "missing_import",
                    file.path,
                    number,
                    f"The import @{match[1]} leads to no file",
                    ("claude-code", "gemini-cli"),
                )


def _dead_paths(file: MemoryFile) -> Iterator[FindingInFile]:
    """Paths in code whose folder exists in the checkout and whose file does not."""
    is_dead = cache(lambda name: _is_dead(file, name))  # most lines name the same few
    for number, line in enumerate(file.lines, 1):
        if "/" not in line or "`" not in line or number in file.fenced:
            continue
        names = (match[1].split(":")[0].removeprefix("./") for match in CODE_SPAN.finditer(line))
        dead = [name for name in names if is_dead(name)]
        if dead and not MADE_LATER.search(line):
            yield from (FindingInFile("dead_path", file.path, number, f"{name} does not exist") for name in dead)


def _is_dead(file: MemoryFile, name: str) -> bool:
    first = name.split("/")[0]
    return bool(PATH.fullmatch(name)) and first not in BUILT and file.has(first) and not file.has(name)


def _missing_commands(file: MemoryFile) -> Iterator[FindingInFile]:
    """`make` targets and package scripts that the checkout does not define."""
    for number, line in enumerate(file.lines, 1):
        if "make " not in line and "run " not in line:
            continue
        pieces = [line.strip()] if number in file.fenced else [match[1].strip() for match in CODE_SPAN.finditer(line)]
        for piece in pieces:
            match = COMMAND.match(piece)
            if match and match[2] not in _defined(file, match[1]):
                kind = "make target" if match[1] == "make" else "script of package.json"
                yield FindingInFile("missing_command", file.path, number, f"{match[2]} is no {kind} here")


class _Everything(frozenset[str]):
    """What cannot be known counts as defined."""

    def __contains__(self, name: object) -> bool:
        return True


def _defined(file: MemoryFile, tool: str) -> frozenset[str]:
    places = (os.path.join(one, _definition(tool)) for one in (file.folder, file.root))
    path = next((one for one in places if file.tree.kind(one)), "")
    text = (file.tree.read_settings(path) or b"").decode("utf-8", "replace") if path else ""
    return (_make_targets(text) if tool == "make" else _scripts(text)) if text else _Everything()


def _definition(tool: str) -> str:
    return "Makefile" if tool == "make" else "package.json"


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
