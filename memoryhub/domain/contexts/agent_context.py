"""What a coding agent sees in a place, and what about it is worth mending."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from memoryhub import detectors
from memoryhub.detectors import Finding
from memoryhub.dialects import coding, tokens_of_bytes
from memoryhub.dialects.coding import CodingAgent, Context, Tree, installed
from memoryhub.domain import coding_agents, spaces
from memoryhub.domain.coding_agents import Cut, FindingInFile, Fix, Group
from memoryhub.domain.contexts.places import Place

LOOKED_FOR = ("hidden", "injection")
HARMLESS = ("Empty", "Says what", "A link to", coding_agents.NOT_LOADED)
MAX_TRIED = 12  # files that fixes are tried for
SHOWN_FIRST = ("claude-code", "codex", "gemini-cli", "opencode", "copilot-cli", "hermes", "cursor")


@dataclass(frozen=True)
class Problem:
    """Something to mend: `code` is ignored, cut, finding or secret; `line` counts in the file, for findings in the context."""

    code: str
    path: str
    why: str = ""
    line: int | None = None
    cut: Cut | None = None
    fixes: tuple[Fix, ...] = ()
    count: int = 0
    is_high: bool = False


@dataclass
class AgentContext:
    """The context of one agent in one place."""

    place: Place
    agent: CodingAgent
    touched: tuple[str, ...]
    context: Context

    @property
    def tree(self) -> Tree:
        return self.place.tree

    @property
    def tokens(self) -> int:
        return tokens_of_bytes(len(self.context.text))

    @cached_property
    def installed(self) -> str:
        """The version on this machine, where it is that of the person who starts the agent."""
        home = self.place.tree.home
        return installed.installed_version(self.agent.program, home) if home else ""

    @property
    def is_newer(self) -> bool:
        return installed.is_newer(self.installed, self.agent.version)

    @property
    def is_verified(self) -> bool:
        return self.agent.verified and not self.is_newer

    @cached_property
    def text(self) -> bytes:
        """The exact text; what looks like a secret only in it, and not in the files, is a mark as well."""
        return spaces.mark_secrets(self.place.tree.space, self.context.text).content

    @cached_property
    def findings(self) -> dict[str, list[Finding]]:
        """What is found in each loaded file, by path; lines count in the loaded text."""
        found = {}
        for block in self.context.blocks:
            text = self.context.text[block.start : block.end].decode("utf-8", "replace")
            if not self.place.tree.why_withheld(block.path):
                found[block.path] = detectors.find(text, only=LOOKED_FOR)
        return found

    @cached_property
    def cuts(self) -> dict[str, Cut]:
        """Where files are cut, by path."""
        found = {}
        for block in self.context.blocks:
            if block.cut_at and not self.place.tree.why_withheld(block.path):
                loaded = self.context.text[block.start : block.end].decode("utf-8", "replace")
                whole = (self.place.tree.read(block.path) or b"").decode("utf-8", "replace")
                found[block.path] = coding_agents.cut_of(loaded, whole, block.cut_at)
        return found

    def read_changed(self, tree: Tree) -> Context:
        """The context after a change of files."""
        return _context(self.place, self.agent.name, self.touched, tree)

    @cached_property
    def problems(self) -> list[Problem]:
        """What is worth mending: files that do not reach the agent, cuts, and what is found in the text."""
        return [*self._ignored(), *self._cut(), *self._found()]

    @property
    def missed(self) -> list[tuple[str, str]]:
        """The files that the agent looks for and passes over, of which it gets no text otherwise, with the cause."""
        causes = {one.path: one.why for one in reversed(self.context.ignored)}  # the first cause says most
        missed = [one for one in causes.items() if not one[1].startswith(HARMLESS) and self._says_more(one[0])]
        return missed[::-1]

    def _ignored(self) -> list[Problem]:
        return [
            Problem("ignored", path, why, fixes=self._fixes(path) if number < MAX_TRIED else ())
            for number, (path, why) in enumerate(self.missed)
        ]

    def _says_more(self, path: str) -> bool:
        """Whether a file that is not read holds more than imports, and more than what the agent reads anyway."""
        content = (self.tree.read(path) or b"").removeprefix(b"\xef\xbb\xbf").strip()
        return coding_agents.says_more(content, self.context.text)

    def fixes_for(self, path: str) -> tuple[Fix, ...]:
        """What would bring the text of a file to this agent, whether it looks for the file or not."""
        return self._fixes(path) if self._says_more(path) else ()

    def _fixes(self, path: str) -> tuple[Fix, ...]:
        if self.place.tree.why_withheld(path):
            return ()
        place = self.place
        return tuple(
            coding_agents.fixes_for_ignored(
                self.agent.name, path, self.context, self.tree, place.directory, place.home, self.read_changed
            )
        )

    def _cut(self) -> list[Problem]:
        return [
            Problem("cut", path, line=cut.first, cut=cut, fixes=self._fixes_of_cut(path))
            for path, cut in self.cuts.items()
        ]

    def _fixes_of_cut(self, path: str) -> tuple[Fix, ...]:
        home = self.place.tree.home
        found = coding_agents.fixes_for_cut(self.agent.name, path, self.context, self.tree, home, self.read_changed)
        return tuple(found) if home else ()

    def _found(self) -> list[Problem]:
        marked = self.place.tree.secrets
        found = [
            Problem("secret", one.path, count=marked[one.path]) for one in self.context.blocks if one.path in marked
        ]
        for block in self.context.blocks:
            first = self.context.text.count(b"\n", 0, block.start)
            for one in self.findings.get(block.path, ())[:20]:
                found.append(
                    Problem("finding", block.path, one.message, first + one.line, is_high=one.severity == "high")
                )
        return found


def read_context(place: Place, name: str, touched: Sequence[str] = ()) -> AgentContext:
    """What this agent gets when it is started in this place, by the files as they are now. Nothing is run or written."""
    return AgentContext(place, coding.agent(name), tuple(touched), _context(place, name, touched, place.tree))


def _context(place: Place, name: str, touched: Sequence[str], tree: Tree) -> Context:
    heading = installed.claude_heading() if name == "claude-code" and place.tree.home else ""
    return coding_agents.context_in(
        name, place.directory, place.home, below=place.below, touched=touched, tree=tree, heading=heading
    )


@dataclass
class Compared:
    """Several agents in one place."""

    place: Place
    seen: dict[str, AgentContext]  # by name, in the order of the columns

    @cached_property
    def groups(self) -> list[Group]:
        """Files by agents, folder by folder."""
        found = coding_agents.matrix_of({name: one.context for name, one in self.seen.items()}, self.place.directory)
        return [group for group in found if group.rows]

    @property
    def complete(self) -> int:
        """How many agents get all of their files in full."""
        return sum(not self._misses(name) for name in self.seen)

    def _misses(self, name: str) -> bool:
        cells = [row.cells[name] for group in self.groups for row in group.rows]
        return any(
            cell.state == "cut" or (cell.state == "ignored" and not cell.says.startswith(HARMLESS)) for cell in cells
        )


def compare(place: Place, names: Sequence[str]) -> Compared:
    """What several agents get in one place."""
    return Compared(place, {name: read_context(place, name) for name in names})


def check(place: Place) -> list[FindingInFile]:
    """What `memoryhub check` finds in the folder, of files whose text is shown; their secrets by kind and line alone."""
    tree = place.tree
    inside = [path for path in place.all_files if path.startswith(place.directory.rstrip("/") + "/")]
    shown = [path for path in inside if not tree.why_withheld(path)]
    verified = [one.name for one in coding.agents().values() if one.verified]
    found = coding_agents.check_folder(place.directory, verified, tree=tree, files=shown)
    found = [one for one in found if not tree.why_withheld(one.path)]
    for path in tree.marked_files:
        found += [FindingInFile("secret", path, line, kind) for kind, line in tree.secrets_in(path)]
    return sorted(set(found), key=lambda one: (one.path, one.line, one.code, one.message))
