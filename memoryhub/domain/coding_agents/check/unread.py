"""What agents do not read of memory files, or cut: looked at by starting each of them beside each file."""

from __future__ import annotations

import itertools
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from memoryhub.dialects import coding
from memoryhub.dialects.coding.markdown_imports import without_block_comments
from memoryhub.dialects.coding.tree import is_below
from memoryhub.domain.coding_agents.check.file import FindingInFile, MemoryFile

MAX_LOADED = 200 << 20  # bytes of all contexts; one of 1 MB takes a tenth of a second
NO_HOME = "/nonexistent"  # a check of a project says the same for everybody
HARMLESS = ("Empty", "Says what", "A link to")
OTHER_USES = ("CONTEXT.md",)  # a name that agents look for, and that people give to files for themselves
ALONE = re.compile(r"\s*(?:[-*]\s+)?@(\S+)\s*$|#{1,6}\s")  # a line that is an import or a heading


def says_more(text: bytes, read: bytes) -> bool:
    """Whether a text holds more than imports and headings, and more than what an agent reads anyway."""
    return text not in read and any(part not in read for part in _between_headings(text))


def _between_headings(text: bytes) -> Iterator[bytes]:
    """What stands between the lines that are imports or headings alone."""
    lines = text.decode("utf-8", "surrogateescape").split("\n")
    for is_alone, part in itertools.groupby(lines, lambda line: bool(ALONE.match(line))):
        if not is_alone and (section := "\n".join(part).strip()):
            yield section.encode("utf-8", "surrogateescape")


@dataclass
class UnreadFiles:
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


def find_unread(files: list[MemoryFile], agents: list[str]) -> UnreadFiles:
    """What each agent loads beside each file. A large file above many folders is loaded in each of them: contexts are looked at one
    after the other, up to a size of all of them."""
    by_path = {file.path: file for file in files}
    folders = sorted({_start_of(file.path) for file in files})
    unread = UnreadFiles(files[0].root if files else "", folders=len(folders))
    for folder in folders:
        if unread.loaded > MAX_LOADED:
            break
        unread.looked_at += 1
        for agent in agents:
            context = coding.context_of(agent, folder, NO_HOME, tree=files[0].tree)
            unread.loaded += len(context.text)
            _note_not_read(unread, by_path, folder, agent, context)
            paths = [one.path for one in context.blocks if one.kind == "import"]
            paths += [one.path for one in context.inlined]
            unread.imported |= dict.fromkeys(
                path for path in paths if path not in by_path and is_below(path, unread.root)
            )
    return unread


def _note_not_read(
    unread: UnreadFiles, by_path: dict[str, MemoryFile], folder: str, agent: str, context: coding.Context
) -> None:
    """Files that an agent passes over or cuts, where it is started in their folder."""
    for one in context.ignored:
        if one.path not in by_path or _start_of(one.path) != folder or one.why.startswith(HARMLESS):
            continue
        if os.path.basename(one.path) in OTHER_USES:
            continue
        if _says_something(by_path[one.path], context):
            unread.passed_over["not_read", one.path, 1, one.why].add(agent)
    for block in context.blocks:
        if block.cut_at and block.path in by_path:
            message = "Cut here: what follows is over the limit"
            unread.passed_over["cut", block.path, block.cut_at, message].add(agent)


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
    """Whether a file that is not read holds more than imports, and more than what the agent reads anyway. Beside the import of a
    file that the agent reads, the other lines are for the agent that reads the import: so CLAUDE.md is meant to go on."""
    own_text = file.text.removeprefix("\ufeff").strip()
    for text in (own_text, without_block_comments(own_text)):
        if not says_more(text.encode("utf-8", "surrogateescape"), context.text):
            return False
    read = [*(one.path for one in context.blocks), *(one.path for one in context.inlined)]
    if not _imported_by(file).isdisjoint(read):
        return False
    return not any(file.tree.read(path) == file.tree.read(file.path) for path in read)  # comments may be left out of it


def _imported_by(file: MemoryFile) -> set[str]:
    """The paths of the imports that stand in a line of their own."""
    found = map(ALONE.match, file.text.removeprefix("\ufeff").split("\n"))
    return {os.path.normpath(os.path.join(os.path.dirname(file.path), one[1])) for one in found if one and one[1]}
