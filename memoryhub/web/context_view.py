"""The context of a coding agent as its page shows it: the exact text in sections, files in their order, what to mend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from memoryhub.detectors import Finding
from memoryhub.dialects import tokens_of_bytes
from memoryhub.dialects.coding import Block
from memoryhub.domain import contexts
from memoryhub.domain.coding_agents import Fix
from memoryhub.domain.contexts import AgentContext, Missed, Place, Problem
from memoryhub.web.context_lines import Piece, folded, with_cut

MAX_PLAIN = 20_000
SHADES = {"user": "user", "managed": "user", "local": "local", "memory": "memory"}
SHADE_ORDER = ("wrapper", "user", "project", "local", "memory")
SHADE_CSS = {
    "wrapper": "is-plain",
    "user": "is-source",
    "project": "is-source t2",
    "local": "is-source t3",
    "memory": "is-source t4",
}

Marks = dict[int, list[tuple[int, int, str]]]


def shade_names() -> dict[str, str]:
    """What each part of the bar is called."""
    return {
        "wrapper": _("wrapper"), "user": _("user"), "project": _("project and imports"), "local": _("local"),
        "memory": _("its own memory"),
    }  # fmt: skip


def kind_names() -> dict[str, str]:
    """The tag of each kind of file."""
    return {
        "managed": _("Managed"), "user": _("User"), "project": _("Project"), "local": _("Local"), "rule": _("Rule"),
        "import": _("Import"), "memory": _("Own memory"), "fallback": _("Fallback"), "nested": _("On demand"),
    }  # fmt: skip


def session_notes() -> dict[str, str]:
    """When a change of a file reaches a session that runs already."""
    return {
        "claude-code": _("A running session keeps its copy until /clear or compaction."),
        "codex": _("A running session keeps its copy."),
        "gemini-cli": _("A running session keeps its copy until /memory reload."),
        "opencode": _("Read again at each step of the model: a change counts at once."),
        "hermes": _("A running session keeps its copy of the memory."),
    }


@dataclass
class Section:
    """A file in the text, or what the agent writes around its files."""

    id: str
    kind: str
    first: int
    pieces: list[Piece]
    tokens: int
    path: str = ""
    short: str = ""
    why: str = ""
    number: int = 0
    file_path: str = ""
    withheld: str = ""
    secrets: int = 0
    inlined: list[str] = field(default_factory=list)

    @property
    def tag(self) -> str:
        return kind_names().get(self.kind, "")

    @property
    def shade(self) -> str:
        return "wrapper" if self.kind == "wrapper" else SHADES.get(self.kind, "project")


@dataclass(frozen=True)
class Listed:
    """A file of the lists at the left: ignored, or loaded later."""

    path: str
    short: str
    why: str
    tokens: int
    file_path: str


@dataclass(frozen=True)
class ShownFix:
    """A fix with the tokens of the context before and after it."""

    fix: Fix
    path: str
    file_path: str
    before: int
    after: int
    can_be_made: bool  # by the hub, of a person who may edit
    query: str  # what its page is asked for


@dataclass(frozen=True)
class ShownProblem:
    problem: Problem
    path: str
    why: str
    anchor: str
    file_path: str
    lost_tokens: int
    fixes: list[ShownFix]


class ContextView:
    """What the page reads of a context."""

    def __init__(self, seen: AgentContext) -> None:
        self.seen, self.place = seen, seen.place
        self.text = seen.text
        self.is_marked_again = seen.text != seen.context.text  # then places are those of the text before

    @property
    def session_note(self) -> str:
        return session_notes().get(self.seen.agent.name, "")

    @property
    def line_count(self) -> int:
        return self.seen.context.text.count(b"\n") + 1 if self.seen.context.text else 0

    # ---- the text

    @property
    def plain(self) -> str:
        """The text alone, its first lines where it is very long."""
        return "\n".join(self.seen.text.decode("utf-8", "replace").split("\n")[:MAX_PLAIN])

    @cached_property
    def sections(self) -> list[Section]:
        """The text from its beginning to its end: each file with the agent's label above it, what stands around them apart."""
        return list(self._sections())

    def _sections(self) -> Iterator[Section]:
        data, blocks = self.seen.context.text, self.seen.context.blocks
        at = 0
        for number, block in enumerate(blocks, 1):
            label = self._label_start(at, block.start) if number == 1 else at
            if label > at:
                yield self._wrapper("start", at, label)
            yield self._file(number, block, label)
            at = block.end
        if data[at:].strip():
            yield self._wrapper("end", at, len(data))

    def _label_start(self, at: int, start: int) -> int:
        """Where the last line with text before a block begins: the agent's label of the file."""
        before = self.seen.context.text[at:start]
        stripped = before.rstrip(b"\n")
        found = stripped.rfind(b"\n")
        return at + found + 1 if found >= 0 and len(stripped) < len(before) else start

    def _lines(self, start: int, end: int) -> tuple[int, list[str]]:
        """The number of the first line of a stretch, and its lines. What only ends the line above is left to that one."""
        data = self.seen.context.text
        first = data.count(b"\n", 0, start) + 1
        lines = data[start:end].decode("utf-8", "replace").split("\n")
        if start and data[start - 1 : start] != b"\n" and lines[0] == "":
            lines, first = lines[1:], first + 1
        if len(lines) > 1 and lines[-1] == "" and end < len(data):
            lines.pop()
        return first, lines

    def _wrapper(self, name: str, start: int, end: int) -> Section:
        first, lines = self._lines(start, end)
        return Section(f"w-{name}", "wrapper", first, folded(lines, first, {}), tokens_of_bytes(end - start))

    def _file(self, number: int, block: Block, label: int) -> Section:
        first, lines = self._lines(label, block.end)
        tree = self.place.tree
        head = self.seen.context.text.count(b"\n", 0, block.start) + 1 - first
        found: dict[int, list[Finding]] = {}
        for one in self.seen.findings.get(block.path, ()):
            found.setdefault(first + head + one.line - 1, []).append(one)
        cut = self.seen.cuts.get(block.path)
        return Section(
            f"b{number}", block.kind, first, with_cut(lines, first, found, cut, head), tokens_of_bytes(block.end - label),
            block.path, self.place.shorten(block.path), self.place.shorten(block.why), number, tree.file_path(block.path),
            tree.why_withheld(block.path), tree.secrets.get(block.path, 0),
            [self.place.shorten(one.path) for one in self.seen.context.inlined if one.by == block.path],
        )  # fmt: skip

    @cached_property
    def marks(self) -> Marks:
        """Where findings stand, by line: first character, end, and CSS class."""
        found: Marks = {}
        for block in self.seen.context.blocks:
            text = self.seen.context.text[block.start : block.end].decode("utf-8", "replace")
            first = self.seen.context.text.count(b"\n", 0, block.start)
            before = self.seen.context.text.rfind(b"\n", 0, block.start) + 1
            shift = len(self.seen.context.text[before : block.start].decode("utf-8", "replace"))
            for one in self.seen.findings.get(block.path, ()):
                start = text.rfind("\n", 0, one.start) + 1
                end = text.find("\n", one.start)
                until = min(one.end, end if end >= 0 else len(text))
                lead = shift if start == 0 else 0
                css = "found" if one.severity == "high" else "found mild"
                found.setdefault(first + one.line, []).append((lead + one.start - start, lead + until - start, css))
        return found

    # ---- its parts

    @cached_property
    def parts(self) -> list[dict[str, Any]]:
        """The bar: the bytes of each kind of part, in a fixed order."""
        sizes: Counter[str] = Counter()
        for one in self.seen.context.blocks:
            sizes[SHADES.get(one.kind, "project")] += one.end - one.start
        sizes["wrapper"] = len(self.seen.context.text) - sum(sizes.values())
        names, at, drawn = shade_names(), 0, []
        for shade in SHADE_ORDER:
            if sizes[shade]:
                css = SHADE_CSS[shade]
                size = tokens_of_bytes(sizes[shade])
                drawn.append({"css": css, "name": names[shade], "x": at, "width": sizes[shade], "tokens": size})
                at += sizes[shade]
        return drawn

    @property
    def width(self) -> int:
        return max(len(self.seen.context.text), 1)

    @property
    def spoken(self) -> str:
        return _("Tokens: %(parts)s") % {
            "parts": _(", ").join(f"{one['name']} {one['tokens']:,}" for one in self.parts)
        }

    # ---- files that are not in the text

    @property
    def ignored(self) -> list[Listed]:
        causes: dict[str, list[str]] = {}
        for one in self.seen.context.ignored:
            causes.setdefault(one.path, []).append(one.why)
        return [self._listed(path, _("; ").join(dict.fromkeys(found))) for path, found in causes.items()]

    @property
    def later(self) -> list[Listed]:
        return [self._listed(one.path, one.trigger) for one in self.seen.context.later]

    @property
    def later_tokens(self) -> int:
        return sum(one.tokens for one in self.later)

    def _listed(self, path: str, why: str) -> Listed:
        return listed(self.place, path, why)

    # ---- what to mend

    @cached_property
    def problems(self) -> list[ShownProblem]:
        anchors = {one.path: one.id for one in reversed(self.sections) if one.path}
        return [self._problem(one, anchors) for one in self.seen.problems]

    def _problem(self, one: Problem, anchors: dict[str, str]) -> ShownProblem:
        tree = self.place.tree
        lost = tokens_of_bytes(one.cut.lost_bytes) if one.cut else 0
        anchor = f"L{one.line}" if one.code == "finding" and one.line else anchors.get(one.path, "")
        return ShownProblem(
            one, self.place.shorten(one.path), self.place.shorten(one.why), anchor, tree.file_path(one.path), lost,
            [self._fix(fix) for fix in one.fixes],
        )  # fmt: skip

    def missed(self, one: Missed) -> dict[str, Any]:
        """A file that another context has and this one has not, with what would bring it here."""
        shown = listed(self.place, one.path, one.why)
        return {"file": shown, "missed": one, "fixes": [self._fix(fix) for fix in one.fixes]}

    def _fix(self, fix: Fix) -> ShownFix:
        path = self.place.shorten(fix.path)
        file_path, after = self.place.tree.file_path(fix.path), tokens_of_bytes(fix.size)
        asks = {"agent": self.seen.agent.name, "about": self.place.tree.file_path(fix.about), "code": fix.code}
        can = contexts.can_make(self.place, fix)
        return ShownFix(fix, path, file_path, self.seen.tokens, after, can, urlencode(asks))


def listed(place: Place, path: str, why: str) -> Listed:
    """A file that is not in a text, with the tokens it would be."""
    return Listed(
        path,
        place.shorten(path),
        place.shorten(why),
        tokens_of_bytes(place.tree.size(path)),
        place.tree.file_path(path),
    )
