"""A prompt as the preview shows it: sections with their origin, a bar of tokens, warnings with their line."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoryhub import dialects
from memoryhub.db.prepared import any_of, prepared
from memoryhub.dialects import BYTES_PER_TOKEN, Entry, Part, Warn, tokens_of_bytes
from memoryhub.domain.prompts import LAYER_NAMES, Prompt
from memoryhub.models import Revision, Space
from memoryhub.stores import paths
from memoryhub.templatetags.prompts import MAX_NUMBERED

FOLD_AT = 16  # longer sections that are not memory are folded after their first lines
LINES_BEFORE_FOLD = 3
PART_GLYPHS = {
    "positioning": "info", "base": "settings", "persona": "agent", "guidelines": "info", "template": "info", "source": "source",
    "working": "working", "longterm": "longterm", "task": "comment",
}  # fmt: skip
PART_TITLES = {
    "positioning": gettext_lazy("Group positioning"), "base": gettext_lazy("Base prompt"),
    "persona": gettext_lazy("Persona"), "guidelines": gettext_lazy("Guidelines"), "template": gettext_lazy("Template"),
    "working": gettext_lazy("Working memory"), "longterm": gettext_lazy("Long-term memory"), "task": gettext_lazy("Task"),
}  # fmt: skip
LAYERS = ("plain", "source", "working", "longterm")
GRAVE_WARNINGS = {
    "invalid_utf8", "is_directory", "permission_denied", "source_error", "secret_like", "hidden_characters", "closing_tag",
    "unclosed_comment", "over_budget", "cut", "lines_dropped", "template_unknown", "dialect_unverified", "memory_off",
    "root_missing", "invalid_path", "not_a_file", "comment_reaches_model", "disk_error",
}  # fmt: skip

# Warnings that are fixed in the list of sources, not in a file.
WARNINGS_ABOUT_SOURCES = {"duplicate_source", "sources_unused", "is_directory", "invalid_path", "source_error"}


def layer_of(kind: str) -> str:
    return kind if kind in LAYERS else "plain"


REVISIONS = prepared(
    lambda space, paths, numbers: (
        Revision.objects.within(space).filter(any_of("path", paths), any_of("number", numbers)).defer("content")
    )
)


@dataclass(frozen=True, slots=True)
class PromptSection:
    """A part of the prompt with its lines, and the revision that it came from if it is a file."""

    part: Part
    first: int
    lines: tuple[str, ...]
    starts_line: bool
    revision: Revision | None = None

    @property
    def kind(self) -> str:
        return self.part.kind

    @property
    def layer(self) -> str:
        return layer_of(self.part.kind)

    @property
    def glyph(self) -> str:
        return PART_GLYPHS.get(self.part.kind, "dot")

    @property
    def title(self) -> str:
        return str(PART_TITLES.get(self.part.kind, "")) or self.part.label.capitalize()

    @property
    def path(self) -> str:
        return self.part.label if self.part.kind == "source" else ""

    @property
    def where(self) -> str:
        """The path that a source leads to, however it was configured."""
        return paths.of_source(self.path)

    @property
    def tokens(self) -> int:
        return tokens_of_bytes(self.part.end - self.part.start)

    @property
    def count(self) -> int:
        return len(self.part.entries)

    @property
    def is_folded(self) -> bool:
        return (
            self.part.kind in ("template", "guidelines", "positioning", "base", "persona") and len(self.lines) > FOLD_AT
        )

    @property
    def hidden_lines(self) -> int:
        return len(self.lines) - LINES_BEFORE_FOLD if self.is_folded else 0

    @property
    def head(self) -> tuple[str, ...]:
        return self.lines[:LINES_BEFORE_FOLD] if self.is_folded else self.lines

    @property
    def rest(self) -> tuple[str, ...]:
        return self.lines[LINES_BEFORE_FOLD:]

    @property
    def rest_first(self) -> int:
        return self.first + LINES_BEFORE_FOLD

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1


@dataclass(frozen=True, slots=True)
class Segment:
    """The size of a layer in the prompt, in tokens."""

    layer: str
    name: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Block:
    """The place of a part in the bar, in bytes."""

    layer: str
    name: str
    x: int
    width: int


@dataclass(frozen=True, slots=True)
class DroppedEntry:
    """An entry that the budget left out."""

    layer: str
    entry: Entry


@dataclass(frozen=True, slots=True)
class Notice:
    warn: Warn
    line: int | None

    @property
    def is_grave(self) -> bool:
        return self.warn.code in GRAVE_WARNINGS

    @property
    def leads_to(self) -> str:
        """What to fix: "template", "sources", "file", or ""."""
        if self.warn.code == "template_unknown":
            return "template"
        if self.warn.code in WARNINGS_ABOUT_SOURCES:
            return "sources"
        return "file" if self.warn.path else ""


@dataclass(frozen=True)
class PromptView:
    """What the preview page reads of a prompt."""

    space: Space
    prompt: Prompt

    @cached_property
    def line_starts(self) -> list[int]:
        starts, at = [0], self.prompt.data.find(b"\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.prompt.data.find(b"\n", at + 1)
        return starts

    @property
    def line_count(self) -> int:
        return len(self.line_starts) if self.prompt.data else 0

    @property
    def is_long(self) -> bool:
        """Whether some of its lines are drawn many at once."""
        return self.line_count > MAX_NUMBERED

    def line_at(self, offset: int) -> int:
        return bisect_right(self.line_starts, offset)

    @cached_property
    def stretches(self) -> list[PromptSection]:
        revisions = self.revisions()
        return [self.stretch(part, revisions) for part in self.prompt.parts if part.end > part.start]

    def stretch(self, part: Part, revisions: dict[tuple[str, int], Revision]) -> PromptSection:
        first = self.line_at(part.start)
        starts_line = self.line_starts[first - 1] == part.start
        lines = self.prompt.data[part.start : part.end].decode().split("\n")
        if lines[-1] == "":
            lines.pop()  # the next section begins there
        if not starts_line and lines and lines[0] == "":
            lines, first = lines[1:], first + 1  # the part begins with the end of the line above
        where = paths.of_source(part.label if part.kind == "source" else "")
        number = self.prompt.revisions.get(where)
        revision = revisions.get((where, number)) if number else None
        return PromptSection(part, first, tuple(lines), starts_line, revision)

    def revisions(self) -> dict[tuple[str, int], Revision]:
        wanted = self.prompt.revisions
        found = REVISIONS(self.space.pk, list(wanted), list(wanted.values())) if wanted else ()
        return {(one.path, one.number): one for one in found if wanted.get(one.path) == one.number}

    @property
    def folded(self) -> int:
        return sum(stretch.is_folded for stretch in self.stretches)

    @cached_property
    def segments(self) -> list[Segment]:
        sizes = dict.fromkeys(LAYERS, 0)
        for part in self.prompt.parts:
            sizes[layer_of(part.kind)] += part.end - part.start
        return [Segment(layer, str(LAYER_NAMES[layer]), tokens_of_bytes(size)) for layer, size in sizes.items() if size]

    @property
    def blocks(self) -> list[Block]:
        """The parts of the bar in the order of the prompt."""
        words = _("%(name)s, %(n)s tokens")
        return [
            Block(one.layer, words % {"name": one.path or one.title, "n": f"{one.tokens:,}"}, one.part.start, one.part.end - one.part.start)
            for one in self.stretches
        ]  # fmt: skip

    @property
    def width(self) -> int:
        """The width of the bar in bytes: the budget or the size of the prompt, whichever is larger."""
        return max((self.prompt.budget or 0) * BYTES_PER_TOKEN, self.prompt.bytes, 1)

    @property
    def gone(self) -> list[DroppedEntry]:
        """The entries of working and long-term memory that the budget left out."""
        included = {(part.kind, pk) for part in self.prompt.parts for pk in part.entries}
        found = [DroppedEntry("working" if one.score == 1.0 else "longterm", one) for one in self.prompt.entries]
        return [one for one in found if (one.layer, one.entry.id) not in included]

    @property
    def free(self) -> int:
        return max((self.prompt.budget or 0) - self.prompt.tokens, 0)

    @property
    def spoken(self) -> str:
        parts = _(", ").join(f"{one.name} {one.tokens:,}" for one in self.segments)
        words = (
            _("Tokens per part: %(parts)s, free %(free)s") if self.prompt.budget else _("Tokens per part: %(parts)s")
        )
        return words % {"parts": parts, "free": f"{self.free:,}"}

    @property
    def one_file(self) -> bool:
        return dialects.families()[self.prompt.rendered.dialect.family].one_file

    @property
    def gives_way(self) -> str:
        if not dialects.families()[self.prompt.rendered.dialect.family].cuts:
            return _("this framework loads memory completely, the budget only warns")
        names = {"working": _("working memory"), "longterm": _("long-term memory"), "source": _("the last file")}
        order = [names[kind] for kind in self.prompt.cut_order if kind in names]
        return _("left out first: %(order)s") % {"order": _(", then ").join(order)}

    @cached_property
    def marks(self) -> dict[int, list[tuple[int, int, str]]]:
        """Places of warnings by line number: first character, end, and CSS class."""
        found: dict[int, list[tuple[int, int, str]]] = {}
        for warn in self.prompt.all_warnings:
            css = "found" if warn.code == "secret_like" else "found mild"
            for start, end in warn.places:
                number = self.line_at(start)
                first = self.line_starts[number - 1]
                last = self.line_starts[number] - 1 if number < len(self.line_starts) else len(self.prompt.data)
                before = len(self.prompt.data[first:start].decode())
                within = len(self.prompt.data[start : min(end, last)].decode())
                found.setdefault(number, []).append((before, before + within, css))
        return found

    @cached_property
    def notices(self) -> list[Notice]:
        """The warnings of the prompt, grave ones first."""
        found = [Notice(one, self.line_at(one.at) if one.at is not None else None) for one in self.prompt.all_warnings]
        return sorted(found, key=lambda one: not one.is_grave)
