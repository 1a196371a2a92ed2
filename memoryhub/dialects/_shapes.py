"""The plain data that goes into a dialect and comes out of it: no models, no request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

MISSING, INVALID_UTF8 = "file_not_found", "invalid_utf8"

INCLUDED, EMPTY, ABSENT, BROKEN, UNUSED = "included", "empty", "missing", "error", "unused"

# What may be left out to keep a budget, in the order that holds unless people set another.
CUT_ORDER = ("working", "longterm", "source")


@dataclass(frozen=True, slots=True)
class Source:
    """One configured path and what stood there: a text, or the reason why there is none."""

    path: str
    text: str | None = None
    error: str = ""  # "" | file_not_found | is_directory | permission_denied | invalid_utf8 | anything else
    revision: int | None = None
    sha256: str | None = None
    size: int = 0
    is_view: bool = False  # made of memory at the moment of reading: a budget cuts it first

    @property
    def has_bytes(self) -> bool:
        """Whether the sha256 is that of the text, or of bytes that are no text."""
        return bool(self.sha256) and self.error in ("", INVALID_UTF8)


@dataclass(frozen=True)
class Entry:
    """One remembered thing that retrieval found: a working entry (hot) or a long-term chunk (cold).

    How it is printed is cached with it, as callers keep entries from one prompt to the next.
    """

    id: int
    content: str
    created_at: datetime
    score: float = 1.0
    own: bool = False  # of the agent's own experience rather than of the group
    number: int = 0  # of the long-term entry that a chunk is of

    @cached_property
    def clock(self) -> str:
        """Hours and minutes; `strftime` takes five times as long."""
        return self.created_at.isoformat()[11:16]

    @cached_property
    def item(self) -> str:
        """The text as a list item: its further lines are indented so that it stays one."""
        return self.content.strip().replace("\n", "\n  ")


@dataclass(frozen=True, slots=True)
class Ingredients:
    """Everything a prompt is made of, gathered by whoever asks: now, at a past moment, or as it would be."""

    positioning: str = ""  # what the group is for, before the agent's base prompt
    base: str = ""
    persona: str = ""
    guidelines: str | None = None  # None: the hub's own words
    template: str | None = None
    sources: tuple[Source, ...] = ()
    working: tuple[Entry, ...] = ()
    longterm: tuple[Entry, ...] = ()
    task: str = ""
    off: bool = False
    budget: int | None = None  # in tokens
    cut_order: tuple[str, ...] = CUT_ORDER


class Piece(NamedTuple):  # several for each prompt, and a tuple is made three times as quickly as a dataclass
    """A stretch of text with the place it came from; glue between two pieces belongs to the first."""

    kind: str  # positioning | base | persona | guidelines | template | source | working | longterm | task
    label: str
    text: str
    source: int | None = None  # index into Ingredients.sources
    entries: tuple[int, ...] = ()

    def with_text(self, text: str) -> Piece:
        """This stretch with another text."""
        return Piece(self.kind, self.label, text, self.source, self.entries)


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the finished prompt in byte offsets; the parts of a prompt cover it without gaps."""

    kind: str
    label: str
    start: int
    end: int
    source: int | None = None
    entries: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Warn:
    """Something a person should know about this prompt; `needle` finds its place in the text."""

    code: str
    path: str | None
    message: str
    needle: str = ""
    at: int | None = None
    places: tuple[tuple[int, int], ...] = ()  # the bytes of the prompt that it speaks of


@dataclass(slots=True)
class Block:
    """What a dialect makes of the ingredients, before the base prompt takes its place beside it."""

    pieces: list[Piece]
    statuses: list[str]
    find_warnings: Callable[[], list[Warn]]  # a function, as most calls need the bytes alone
    placement: str = "append"
    glue: str = "\n\n"
    lead: int = 0  # pieces that stand before the base prompt all the same


@dataclass(frozen=True, slots=True)
class Form:
    """One way of wrapping, named by the first version that used it."""

    name: str
    since: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialect:
    """A resolved name: the form that serves it, the version that was named, and whether its bytes were compared with the library's."""

    family: str
    form: Form
    version: tuple[int, ...] | None = None
    verified: bool = True
    named: str = ""  # the version as it was asked for

    @property
    def name(self) -> str:
        return self.form.name

    @property
    def label(self) -> str:
        """The name with the version that was named."""
        return f"{self.family}/{self.named}" if self.named else self.name


@dataclass(frozen=True, slots=True)
class Family:
    """All forms of one framework; `build` is its assembly rule."""

    name: str
    forms: tuple[Form, ...]  # oldest first
    build: Callable[[Dialect, Ingredients], Block]
    newest: tuple[int, ...] = ()  # the newest version whose bytes are proven; () for families without versions
    one_file: bool = False
    published: Callable[[str, str], bool] | None = None  # whether a form's template text is a published one
    retrieves: bool = False  # has a place for working and long-term memory
    cuts: bool = False  # whether the hub may leave things out; other frameworks take everything

    @property
    def templated(self) -> bool:
        """Whether memory stands in a template text of the framework."""
        return self.published is not None


@dataclass(frozen=True)
class Rendered:
    """The exact prompt, and where every byte of it came from; what a call for the bytes does not need is made on demand."""

    dialect: Dialect
    placement: str
    pieces: tuple[Piece, ...]  # of the whole text, in order
    statuses: tuple[str, ...]
    block: tuple[Piece, ...]  # what memory adds to the base prompt
    find_warnings: Callable[[int], list[Warn]]  # of a prompt of so many bytes
    has_published_template: Callable[[], bool] = lambda: True

    @cached_property
    def verified(self) -> bool:
        """Whether these are the framework's own bytes: its rule was compared, and its template, if any, is a published one."""
        return self.dialect.verified and self.has_published_template()

    @cached_property
    def data(self) -> bytes:
        return "".join([piece.text for piece in self.pieces]).encode()

    @cached_property
    def text(self) -> str:
        return self.data.decode()

    @cached_property
    def fragment(self) -> str:
        return "".join([piece.text for piece in self.block])

    @property
    def size(self) -> int:
        return len(self.data)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        found, start = [], 0
        for piece in self.pieces:
            end = start + len(piece.text.encode())
            found.append(Part(piece.kind, piece.label, start, end, piece.source, piece.entries))
            start = end
        return tuple(found)

    @cached_property
    def warnings(self) -> tuple[Warn, ...]:
        """All warnings; those that speak of a stretch of the text know its bytes."""
        return tuple(self.with_place(one) if one.needle else one for one in self.find_warnings(self.size))

    def with_place(self, warning: Warn) -> Warn:
        """The warning with the bytes that it speaks of, in the first stretch of its source."""
        for part in self.parts:
            if part.kind == "source" and part.label == warning.path:
                needle = warning.needle.encode()
                start = self.data.find(needle, part.start, part.end)
                places = ((start, start + len(needle)),) if start >= 0 else ()
                return replace(warning, at=max(start, part.start), places=places)
        return warning
