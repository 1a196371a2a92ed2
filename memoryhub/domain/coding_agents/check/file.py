"""A memory file as it is checked, and what a check says of one."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property

from memoryhub.dialects import coding
from memoryhub.dialects.coding import Tree
from memoryhub.dialects.coding.tree import from_to


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
    def is_link(self) -> bool:
        return self.tree.is_link(self.path)

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

    @cached_property
    def folders(self) -> list[str]:
        """The file's folder and those above it up to the root, the nearest first."""
        return from_to(self.root, self.folder)[::-1]

    def has(self, name: str) -> bool:
        """Whether a relative path exists below the file's folder, the root, or a folder between them."""
        return any(is_there(self.tree, os.path.join(folder, name)) for folder in self.folders)


def is_there(tree: Tree, path: str) -> bool:
    return bool(tree.kind(path)) or tree.is_link(path)  # a link that leads nowhere is there
