"""What a coding agent's dialect answers: the exact text with the place of each file in it, and what is not in it and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .tree import Tree


@dataclass(frozen=True)
class Start:
    """How an agent is started: where, by whom, with which settings in its environment, and which files it touched since."""

    tree: Tree
    directory: str  # without links
    home: str
    touched: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    heading: str = ""  # the program's own words above its files, where they are known

    def at(self, *parts: str) -> str:
        """A path below the home."""
        return os.path.join(self.home, *parts)


@dataclass(frozen=True)
class Block:
    """A file in the context; `start` and `end` count bytes of the text, without the agent's own label before it."""

    path: str
    kind: str  # managed user project local rule import memory fallback nested
    why: str
    start: int
    end: int
    cut_at: int | None = None  # the first line of the file that is lost


@dataclass(frozen=True)
class Ignored:
    """A file that a reader may expect in the context, and why it is not there."""

    path: str
    why: str


@dataclass(frozen=True)
class Later:
    """A file that is loaded on demand, and on what."""

    path: str
    trigger: str


@dataclass(frozen=True)
class Inlined:
    """A file whose text stands inside the block of another, which imports it."""

    path: str
    by: str


@dataclass(frozen=True)
class Context:
    """What stands in an agent's context."""

    text: bytes
    blocks: tuple[Block, ...]
    ignored: tuple[Ignored, ...]
    later: tuple[Later, ...]
    inlined: tuple[Inlined, ...] = ()


class Writer:
    """Puts the text of a context together and notes where each file stands in it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self.blocks: list[Block] = []
        self.ignored: list[Ignored] = []
        self.later: list[Later] = []
        self.inlined: list[Inlined] = []

    def add(self, text: str | bytes) -> None:
        """Text of the agent's own, such as a label or a separator."""
        data = text.encode("utf-8", "replace") if isinstance(text, str) else text
        self._parts.append(data)
        self._size += len(data)

    def block(self, path: str, kind: str, why: str, text: str | bytes, cut_at: int | None = None) -> None:
        """The text of a file."""
        start = self._size
        self.add(text)
        self.blocks.append(Block(path, kind, why, start, self._size, cut_at))

    def ignore(self, path: str, why: str) -> None:
        self.ignored.append(Ignored(path, why))

    def load_later(self, path: str, trigger: str) -> None:
        self.later.append(Later(path, trigger))

    def inline(self, path: str, by: str) -> None:
        self.inlined.append(Inlined(path, by))

    def context(self) -> Context:
        taken = {one.path for one in self.blocks}
        return Context(
            b"".join(self._parts), tuple(self.blocks),
            tuple(dict.fromkeys(one for one in self.ignored if one.path not in taken)),
            tuple(dict.fromkeys(one for one in self.later if one.path not in taken)),
            tuple(dict.fromkeys(one for one in self.inlined if one.path not in taken)),
        )  # fmt: skip


@dataclass(frozen=True)
class CodingAgent:
    """A coding agent's way of loading memory, as one version of it does."""

    name: str  # as on the command line
    title: str
    version: str  # the version that was compared
    verified: bool  # against the program; else by its documentation alone
    read: Callable[[Start], Context]
    files: tuple[str, ...]  # names that it looks for in a project
    program: str = ""  # the command that starts it
